"""Standalone workers on real Kafka: positions in a file, and a Java worker before or after ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from connectd.stores import java_serial
from tests.harness.kafka import KafkaBroker
from tests.harness.processes import wait_for
from tests.harness.standalone import RealStandaloneWorker, StandaloneWorker, connector_file
from tests.harness.topics import read_topic
from tests.harness.worker import WorkerProcess

DEADLINE_S = 60.0

pytestmark = pytest.mark.timeout(240)


class Copy:
    """A file that is copied to a topic, by one worker after another."""

    def __init__(self, broker: KafkaBroker, prefix: str, home: Path) -> None:
        self.broker = broker
        self.topic = f"{prefix}lines"
        self.offset_file = home / "offsets"
        self.source = home / "lines.txt"
        self.source.touch()
        self.config = {
            "name": "lines",
            "connector.class": "FileStreamSource",
            "tasks.max": "1",
            "file": str(self.source),
            "topic": self.topic,
        }
        self.connector = connector_file(home / "lines.properties", self.config)
        self._home = home
        self._workers: list[WorkerProcess] = []

    def ours(self, *connectors: Path, **properties: str) -> StandaloneWorker:
        """A worker of ours, not started; without files it creates the one of the copy."""
        home = self._home / f"ours-{len(self._workers)}"
        worker = StandaloneWorker(
            self.broker.bootstrap,
            offset_file=self.offset_file,
            connectors=connectors or [self.connector],
            home=home,
            properties={name.replace("_", "."): value for name, value in properties.items()},
        )
        self._workers.append(worker)
        return worker

    def theirs(self) -> RealStandaloneWorker:
        """A Java worker, not started."""
        home = self._home / f"theirs-{len(self._workers)}"
        worker = RealStandaloneWorker(
            self.broker.bootstrap,
            offset_file=self.offset_file,
            connectors=[self.connector],
            home=home,
        )
        self._workers.append(worker)
        return worker

    def append(self, *lines: str) -> None:
        with self.source.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)

    def copied(self) -> list[str]:
        """The lines in the topic, in their order."""
        records = read_topic(self.broker.bootstrap, self.topic)
        return [json.loads(record.value or b"null") for record in records]

    def wait_copied(self, *lines: str) -> None:
        """Wait until the topic has exactly these lines, and the file says so."""
        wait_for(lambda: len(self.copied()) >= len(lines), deadline_s=DEADLINE_S)
        assert self.copied() == list(lines)
        assert wait_for(self._is_committed, deadline_s=DEADLINE_S)

    def _is_committed(self) -> bool:
        return self.position() == self.source.stat().st_size

    def position(self) -> int | None:
        """What the offset file says."""
        if not self.offset_file.exists():
            return None
        key = json.dumps(["lines", {"filename": str(self.source)}], separators=(",", ":"))
        try:
            value = java_serial.decode(self.offset_file.read_bytes()).get(key.encode())
        except ValueError:
            return None  # a Java worker is in the middle of writing it
        return None if value is None else json.loads(value)["position"]

    def close(self) -> None:
        for worker in self._workers:
            worker.close()


@pytest.fixture
def copy(kafka_broker: KafkaBroker, kafka_prefix: str, tmp_path: Path) -> Iterator[Copy]:
    made = Copy(kafka_broker, kafka_prefix, tmp_path)
    yield made
    made.close()


def state_of(worker: WorkerProcess, connector: str = "lines") -> Any:
    return worker.request("GET", f"/connectors/{connector}/status").body


@pytest.mark.kafka
def test_a_restarted_worker_goes_on_where_the_file_says(copy: Copy) -> None:
    copy.append("one", "two")
    worker = copy.ours()
    worker.start()
    copy.wait_copied("one", "two")
    assert worker.sigterm() == 0
    copy.append("three")
    worker.start()
    copy.wait_copied("one", "two", "three")
    assert worker.sigterm() == 0


@pytest.mark.kafka
def test_a_killed_worker_leaves_a_whole_file_and_no_lock(copy: Copy) -> None:
    copy.append("one", "two")
    worker = copy.ours()
    worker.start()
    copy.wait_copied("one", "two")
    worker.kill9()
    copy.append("three")
    worker.start()
    copy.wait_copied("one", "two", "three")
    assert worker.sigterm() == 0


@pytest.mark.kafka
def test_tasks_in_processes_of_their_own_keep_to_the_one_file(copy: Copy) -> None:
    copy.append("one", "two")
    worker = copy.ours(workers="2")
    worker.start()
    copy.wait_copied("one", "two")
    worker.kill9()
    copy.append("three")
    alone = copy.ours()
    alone.start()
    copy.wait_copied("one", "two", "three")
    assert alone.sigterm() == 0
    copy.append("four")
    worker.start()
    copy.wait_copied("one", "two", "three", "four")
    assert worker.sigterm() == 0


@pytest.mark.kafka
def test_the_rest_api_of_a_standalone_worker(copy: Copy) -> None:
    worker = copy.ours()
    worker.start()
    assert wait_for(
        lambda: worker.request("GET", "/connectors").body == ["lines"],
        deadline_s=DEADLINE_S,
    )
    assert worker.request("GET", "/").body["kafka_cluster_id"]
    assert worker.request("GET", "/health").status == 200
    second = {**copy.config, "name": "second", "topic": f"{copy.topic}-2"}
    created = worker.request("POST", "/connectors", {"name": "second", "config": second})
    assert created.status == 201
    assert created.body["tasks"] == [{"connector": "second", "task": 0}]
    assert [task["state"] for task in state_of(worker, "second")["tasks"]] == ["RUNNING"]
    assert state_of(worker, "second")["connector"]["worker_id"] == f"127.0.0.1:{worker.rest_port}"
    again = worker.request("POST", "/connectors", {"name": "second", "config": second})
    assert (again.status, again.body["message"]) == (409, "Connector second already exists")
    assert worker.request("PUT", "/connectors/second/stop").status == 204
    partition = {"filename": str(copy.source)}
    altered = worker.request(
        "PATCH",
        "/connectors/second/offsets",
        {"offsets": [{"partition": partition, "offset": {"position": 0}}]},
    )
    assert altered.status == 200
    offsets = worker.request("GET", "/connectors/second/offsets").body["offsets"]
    assert offsets == [{"partition": partition, "offset": {"position": 0}}]
    assert worker.request("DELETE", "/connectors/second").status == 204
    assert worker.sigterm() == 0


@pytest.mark.kafka
def test_two_workers_do_not_share_a_file(copy: Copy) -> None:
    first, second = copy.ours(), copy.ours()
    first.start()
    second.launch()
    assert second.wait_exit(deadline_s=DEADLINE_S) == 2
    assert f"in use by process {first.pid}" in second.log_tail()
    assert first.running
    assert first.sigterm() == 0


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ({"topic": ""}, "contains the following 1 error(s)"),
        ({"connector.class": "Nope"}, "Failed to find any class"),
    ],
)
def test_a_connector_that_cannot_be_created_ends_the_worker(
    copy: Copy, tmp_path: Path, broken: dict[str, str], told: str
) -> None:
    path = connector_file(tmp_path / "broken.properties", {**copy.config, **broken})
    worker = copy.ours(path)
    worker.launch()
    assert worker.wait_exit(deadline_s=DEADLINE_S) == 2
    assert f"Failed to create connector for {path}" in worker.log_tail()
    assert told in worker.log_tail()


@pytest.mark.kafka
def test_the_same_name_twice_ends_the_worker(copy: Copy) -> None:
    worker = copy.ours(copy.connector, copy.connector)
    worker.launch()
    assert worker.wait_exit(deadline_s=DEADLINE_S) == 2
    assert "Connector lines already exists" in worker.log_tail()


@pytest.mark.kafka("exact", "control")
def test_a_java_worker_and_ours_take_turns_at_one_file(copy: Copy) -> None:
    """The real connect-standalone writes, ours goes on, and it goes on from there again."""
    turns: list[tuple[Callable[[], WorkerProcess], str]] = [
        (copy.theirs, "one"),
        (copy.ours, "two"),
        (copy.theirs, "three"),
        (copy.ours, "four"),
    ]
    expected: list[str] = []
    for make, line in turns:
        copy.append(line)
        expected.append(line)
        worker = make()
        worker.start()
        copy.wait_copied(*expected)
        worker.sigterm()
        worker.close()
