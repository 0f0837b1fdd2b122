"""A real Connect worker and connectd are members of one group: a rolling migration.

Each leads in turn. The same story is told under both leaders: connectors are created by way of
either, both run some of them, what one of them computed for its tasks the other commits, and when
one goes the other goes on behind its last position.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.harness.connect import RealConnectWorker
from tests.harness.kafka import KafkaBroker
from tests.harness.processes import wait_for
from tests.harness.topics import read_topic
from tests.harness.worker import WorkerProcess
from tests.integration.worker_rig import prefix_of

pytestmark = [pytest.mark.real_connect, pytest.mark.kafka("exact"), pytest.mark.timeout(300)]

DEADLINE_S = 60.0
SETTINGS = {
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "1000",
    "scheduled.rebalance.max.delay.ms": "1000",
    "offset.flush.interval.ms": "500",
    "offset.storage.partitions": "3",
    "status.storage.partitions": "1",
}
STRINGS = "org.apache.kafka.connect.storage.StringConverter"
FILES = "org.apache.kafka.connect.file.FileStreamSourceConnector"
NAMES = ("a", "b", "c", "d")


@dataclass
class Mixed:
    """The two workers of a cluster, and files that its connectors read."""

    broker: KafkaBroker
    prefix: str
    home: Path
    java: WorkerProcess
    ours: WorkerProcess

    def create(self, name: str, by: WorkerProcess) -> None:
        """A connector that reads ``name``'s file."""
        self.write(name, "first")
        config = {
            "connector.class": FILES,
            "file": str(self.file(name)),
            "topic": self.topic(name),
            "key.converter": STRINGS,
            "value.converter": STRINGS,
        }
        answer = by.request("PUT", f"/connectors/{name}/config", config)
        assert answer.status == 201, answer

    def file(self, name: str) -> Path:
        return self.home / f"{name}.txt"

    def topic(self, name: str) -> str:
        return f"{self.prefix}{name}"

    def write(self, name: str, line: str) -> None:
        """One line more."""
        with self.file(name).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def lines(self, name: str) -> list[str]:
        """What its topic holds."""
        return [(each.value or b"").decode() for each in self.records(name)]

    def records(self, name: str) -> list[Any]:
        return list(read_topic(self.broker.bootstrap, self.topic(name)))

    def wait_lines(self, *lines: str) -> None:
        """Wait until every connector's topic holds these lines, each once."""
        wanted = {name: list(lines) for name in NAMES}

        def are_there() -> bool:
            return {name: self.lines(name) for name in NAMES} == wanted

        assert wait_for(are_there, deadline_s=DEADLINE_S), {n: self.lines(n) for n in NAMES}

    def workers_of(self, asked: WorkerProcess) -> set[str]:
        """Who runs connectors or tasks, when all of them run; else nobody."""
        found: set[str] = set()
        for name in NAMES:
            answer = asked.request("GET", f"/connectors/{name}/status")
            body = answer.body if answer.status == 200 else {"connector": {}, "tasks": []}
            parts = [body["connector"], *body["tasks"]]
            if len(parts) != 2 or any(part.get("state") != "RUNNING" for part in parts):
                return set()
            found |= {part["worker_id"] for part in parts}
        return found

    def wait_run_by(self, asked: WorkerProcess, *workers: WorkerProcess) -> None:
        """Wait until everything runs, and on exactly these workers."""
        wanted = {f"127.0.0.1:{worker.rest_port}" for worker in workers}
        ready = wait_for(lambda: self.workers_of(asked) == wanted, deadline_s=DEADLINE_S)
        assert ready, asked.request("GET", "/connectors?expand=status").body


@pytest.fixture
def mixed(kafka_broker: KafkaBroker, tmp_path: Path) -> Iterator[Mixed]:
    prefix = prefix_of(__name__)

    def worker(kind: type[WorkerProcess], name: str) -> WorkerProcess:
        return kind(
            kafka_broker.bootstrap,
            group_id=f"{prefix}group",
            topics_prefix=prefix,
            properties=SETTINGS,
            home=tmp_path / name,
        )

    java, ours = worker(RealConnectWorker, "java"), worker(WorkerProcess, "ours")
    with contextlib.closing(java), contextlib.closing(ours):
        yield Mixed(kafka_broker, prefix, tmp_path, java, ours)


def test_a_cluster_is_migrated_worker_by_worker_and_back(mixed: Mixed) -> None:
    java, ours = mixed.java, mixed.ours
    java.start()
    ours.start()
    ours.wait_healthy()

    # The real worker leads. What connectd is asked for it passes on, and so are its task sets.
    for name, by in zip(NAMES, (ours, java, ours, java), strict=True):
        mixed.create(name, by)
    mixed.wait_run_by(ours, java, ours)
    mixed.wait_run_by(java, java, ours)
    mixed.wait_lines("first")
    for asked in (java, ours):
        for name in NAMES:
            answer = asked.request("POST", f"/connectors/{name}/tasks/0/restart")
            assert answer.status == 204, answer
    mixed.wait_run_by(ours, java, ours)

    # It goes, and connectd takes over where it was.
    assert java.sigterm() in (0, 143)
    for name in NAMES:
        mixed.write(name, "second")
    mixed.wait_run_by(ours, ours)
    mixed.wait_lines("first", "second")

    # It comes back under connectd's lead.
    java.start()
    mixed.wait_run_by(ours, java, ours)
    for name in NAMES:
        answer = java.request("PATCH", f"/connectors/{name}/config", {"batch.size": "100"})
        assert answer.status == 200, answer
        mixed.write(name, "third")
    mixed.wait_run_by(java, java, ours)
    mixed.wait_lines("first", "second", "third")

    # connectd goes, and the real worker goes on.
    assert ours.sigterm() == 0
    for name in NAMES:
        mixed.write(name, "fourth")
    mixed.wait_run_by(java, java)
    mixed.wait_lines("first", "second", "third", "fourth")
