"""Several workers of one ``group.id``: they share tables, and take over from each other.

Every test begins and ends with two workers that run; what one of them does to the cluster is seen
from outside, in statuses and in topics.
"""

from __future__ import annotations

import contextlib
import re
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.harness.kafka import KafkaBroker
from tests.harness.worker import WorkerProcess
from tests.integration.worker_rig import Rig, prefix_of

pytestmark = pytest.mark.kafka

SETTINGS = {
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "1000",
    "scheduled.rebalance.max.delay.ms": "1000",
}
TABLES = ("t", "u", "v", "w")


@dataclass
class Pair:
    """Two workers of a cluster; ``rig`` speaks with the first."""

    rig: Rig
    other: WorkerProcess

    def place(self) -> dict[int, str]:
        """Which worker runs each task that is RUNNING, by the task's number."""
        status = self.rig.status() or {"tasks": []}
        return {
            task["id"]: task["worker_id"] for task in status["tasks"] if task["state"] == "RUNNING"
        }

    def copy_tables(self) -> None:
        """A connector with a task per table, shared by both workers."""
        for table in TABLES:
            self.rig.create_table(table, items=3)
        self.rig.create(tasks__max=str(len(TABLES)))
        self.wait_shared()
        for table in TABLES:
            self.rig.wait_equal(table)

    def wait_shared(self) -> None:
        """Wait until each worker runs two of the four tasks."""
        workers = sorted([id_of(self.rig.worker), id_of(self.other)] * 2)
        self.rig.wait(lambda: sorted(self.place().values()) == workers, "tasks on both workers")

    def wait_all_on(self, worker: WorkerProcess) -> None:
        """Wait until one worker runs everything."""
        expected = [id_of(worker)] * len(TABLES)
        self.rig.wait(lambda: list(self.place().values()) == expected, f"all on {id_of(worker)}")

    def change(self, number: int) -> None:
        """An item more in every table."""
        for table in TABLES:
            self.rig.put(table, number)

    def wait_equal(self) -> None:
        """Every topic comes to equal its table."""
        for table in TABLES:
            self.rig.wait_equal(table)


def one_more(rig: Rig, home: Path) -> WorkerProcess:
    """Another worker of the rig's cluster."""
    worker = WorkerProcess(
        rig.broker.bootstrap,
        group_id=rig.worker.properties["group.id"],
        properties=rig.worker.properties,
        home=home,
    )
    worker.properties["listeners"] = worker.rest_url
    return worker


def id_of(worker: WorkerProcess) -> str:
    return f"127.0.0.1:{worker.rest_port}"


@pytest.fixture(scope="module")
def shared(kafka_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    home = tmp_path_factory.mktemp("worker")
    with Rig(kafka_broker, prefix_of(__name__), home, properties=SETTINGS) as rig:
        other = one_more(rig, tmp_path_factory.mktemp("other"))
        other.start()
        try:
            yield Pair(rig, other)
        finally:
            other.close()


@pytest.fixture
def pair(shared: Pair) -> Iterator[Pair]:
    with shared.rig.lent():
        yield shared


def answer(worker: WorkerProcess, method: str, path: str, body: object = None) -> Any:
    answered = worker.request(method, path, body)
    assert answered.status < 300, answered
    return answered.body


def test_tasks_are_shared_and_every_worker_answers(pair: Pair) -> None:
    pair.copy_tables()
    path = pair.rig.path
    workers = (pair.rig.worker, pair.other)
    assert len({str(answer(worker, "GET", f"{path}/status")) for worker in workers}) == 1
    for worker in workers:  # one of them leads, the other one asks it
        answer(worker, "PATCH", f"{path}/config", {"offset.flush.interval.ms": "200"})
        answer(worker, "POST", f"{path}/tasks/0/restart")
        answer(worker, "POST", f"{path}/tasks/1/restart")
        answer(worker, "POST", f"{path}/restart?includeTasks=true")
    pair.wait_shared()
    for worker in workers:
        shown = answer(worker, "GET", f"/connectd{path}/tables")
        assert sorted(row["table"] for row in shown["tables"]) == list(TABLES)
        assert "unanswered" not in shown
    for worker in workers:
        answer(worker, "PUT", f"{path}/stop")
        pair.rig.wait_states("STOPPED")
        assert "reset" in answer(worker, "DELETE", f"{path}/offsets")["message"]
        answer(worker, "PUT", f"{path}/resume")
        pair.wait_shared()
    pair.change(10)
    pair.wait_equal()


def test_a_killed_worker_is_replaced_by_the_other_and_nothing_is_lost(pair: Pair) -> None:
    pair.copy_tables()
    pair.other.kill9()
    pair.change(11)
    pair.wait_all_on(pair.rig.worker)
    pair.wait_equal()
    pair.other.start()
    pair.wait_shared()
    pair.change(12)
    pair.wait_equal()


def test_when_the_leader_is_killed_the_other_leads(pair: Pair) -> None:
    pair.copy_tables()
    pair.rig.worker.kill9()  # it has been in the group for longest
    pair.change(13)
    status = f"{pair.rig.path}/status"
    ours = id_of(pair.other)

    def has_taken_over() -> bool:
        tasks = answer(pair.other, "GET", status)["tasks"]
        return [(task["worker_id"], task["state"]) for task in tasks] == [(ours, "RUNNING")] * 4

    pair.rig.wait(has_taken_over, "the other worker runs everything")
    answer(pair.other, "PUT", f"{pair.rig.path}/pause")
    answer(pair.other, "PUT", f"{pair.rig.path}/resume")
    pair.rig.worker.start()
    pair.wait_shared()
    pair.wait_equal()


def test_a_third_worker_gets_its_part_and_gives_it_back(pair: Pair, tmp_path: Path) -> None:
    pair.copy_tables()
    third = one_more(pair.rig, tmp_path)
    with contextlib.closing(third):
        third.start()
        pair.rig.wait(
            lambda: sorted(Counter(pair.place().values()).values()) == [1, 1, 2],
            "tasks on three workers",
        )
        pair.change(15)
        pair.wait_equal()
    pair.wait_shared()
    pair.change(16)
    pair.wait_equal()


def test_workers_are_restarted_one_after_the_other_without_a_gap(pair: Pair) -> None:
    pair.copy_tables()
    for number, worker in enumerate((pair.other, pair.rig.worker)):
        assert worker.sigterm() == 0
        pair.change(20 + number)
        worker.start()
        pair.wait_shared()
    pair.wait_equal()
    assert "gap" not in pair.rig.log_text()


def test_a_worker_that_was_frozen_does_not_write_what_others_have_written(pair: Pair) -> None:
    pair.copy_tables()
    pair.other.pause()
    try:
        pair.wait_all_on(pair.rig.worker)
        pair.change(30)
        pair.wait_equal()
        counts = {table: len(pair.rig.records(table)) for table in TABLES}
    finally:
        pair.other.resume()
    pair.wait_shared()
    assert {table: len(pair.rig.records(table)) for table in TABLES} == counts
    pair.change(31)
    pair.wait_equal()


def leader_and_follower(pair: Pair) -> tuple[WorkerProcess, WorkerProcess]:
    """Who leads, once both say the same of a group at rest."""
    pattern = r'_(?:epoch|rebalancing) \S+|leader_name="[^"]+"'

    def said(worker: WorkerProcess) -> set[str]:
        with urllib.request.urlopen(f"{worker.rest_url}/metrics", timeout=30.0) as page:
            return set(re.findall(pattern, page.read().decode()))

    def agree() -> bool:
        ours = said(pair.other)
        return ours == said(pair.rig.worker) and "_rebalancing 0" in ours

    pair.rig.wait(agree, "a group at rest")
    if f'leader_name="{pair.other.rest_url}/"' in said(pair.other):
        return pair.other, pair.rig.worker
    return pair.rig.worker, pair.other


def test_a_leader_that_was_frozen_does_not_do_later_what_it_was_asked(pair: Pair) -> None:
    pair.copy_tables()
    leader, follower = leader_and_follower(pair)
    late = {"connector.class": "FileStreamSource", "file": "/dev/null", "topic": pair.rig.prefix}
    leader.pause()
    try:
        given_up = follower.request("POST", "/connectors", {"name": "late", "config": late})
        assert given_up.status == 500
        assert "another worker is to be asked by now" in given_up.body["message"]
        answer(follower, "PATCH", f"{pair.rig.path}/config", {"offset.flush.interval.ms": "200"})
    finally:
        leader.resume()
    pair.rig.wait(lambda: "has given it up" in leader.log_tail(), "the late request")
    pair.wait_shared()
    for worker in (leader, follower):
        assert answer(worker, "GET", "/connectors") == [pair.rig.name]
