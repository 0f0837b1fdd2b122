"""A worker with two processes for its tasks, on real Kafka: the same worker to everybody, and a
process that is killed loses nothing (decision 15)."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import signal
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import uvloop

from connectd.aio.jobs import wait_first
from connectd.runtime.cores import messages
from connectd.runtime.cores.spawning import spawned
from tests.harness.kafka import KafkaBroker
from tests.harness.processes import wait_for
from tests.integration.worker_rig import DEADLINE_S, Rig, prefix_of

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

TABLES = ("a", "b", "c", "d")
PAGES_ITEMS = 6_000
"""Three pages of a scan."""
LONG_S = 600.0
"""An answer that no test waits for."""


@pytest.fixture(scope="module")
def shared(kafka_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """The worker."""
    home = tmp_path_factory.mktemp("worker")
    # A worker that is lost is not waited for: it comes back, and is given its tasks at once.
    properties = {"workers": "2", "scheduled.rebalance.max.delay.ms": "1000"}
    with Rig(kafka_broker, prefix_of(__name__), home, properties=properties) as rig:
        yield rig


def processes(rig: Rig) -> dict[int, int]:
    """Ids of the newest processes for tasks, by their numbers."""
    return {
        line["process"]: line["pid"]
        for line in rig.log_lines()
        if line["event"] == "a process of tasks is ready"
    }


def is_alive(pid: int) -> bool:
    """Whether a process runs (one that has ended and is not collected does not)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def metric(rig: Rig, name: str) -> float:
    """A metric without labels."""
    with urllib.request.urlopen(f"{rig.worker.rest_url}/metrics", timeout=DEADLINE_S) as answer:
        lines = answer.read().decode().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith(f"{name} ")))


def kill_processes_of(rig: Rig, *tables: str) -> None:
    """SIGKILL to the processes that read these tables, and an end of all faults of the source;
    returns when others are there."""
    places = {rig.row(table)["task"] % 2 for table in tables}  # tasks take turns in a connector
    before, lost = processes(rig), metric(rig, "connectd_worker_task_processes_lost_total")
    for place in places:
        os.kill(before[place], signal.SIGKILL)
    rig.control.clear_faults()
    rig.wait(
        lambda: all(processes(rig)[place] != before[place] for place in places),
        f"other processes in {places}",
    )
    name = "connectd_worker_task_processes_lost_total"
    rig.wait(lambda: metric(rig, name) == lost + len(places), f"{name} to tell of them")


def create(rig: Rig, tables: Sequence[str], items: int = 20, **keys: str) -> None:
    """Tables with items, and a connector with two tasks for them."""
    for table in tables:
        rig.create_table(table, items)
    rig.create(tasks__max="2", **keys)


def test_tables_of_both_processes_are_copied_and_followed(rig: Rig) -> None:
    create(rig, TABLES)
    for table in TABLES:
        rig.wait_following(table)
        rig.put(table, 7, n={"N": "1"})
        rig.control.delete(table=table, key={"id": {"S": "k3"}})
    for table in TABLES:
        rig.wait_equal(table)
    assert {row["task"] for row in rig.rows().values()} == {0, 1}
    rig.wait(lambda: metric(rig, "connectd_worker_task_processes_running") == 2, "two processes")
    told = {line.get("process") for line in rig.log_lines() if line.get("table") in TABLES}
    assert told >= {0, 1}


def test_what_is_said_to_a_process_while_it_loads_waits_until_it_has(rig: Rig) -> None:
    async def test() -> list[messages.ToParent]:
        heard: list[messages.ToParent] = []
        has_news = asyncio.Event()

        def hear(message: messages.ToParent) -> None:
            if not isinstance(message, messages.Report):
                heard.append(message)
                has_news.set()

        setup = messages.Setup(
            0, 1, "distributed", "json", dict(rig.worker.properties), dict(os.environ), []
        )
        async with asyncio.timeout(DEADLINE_S), spawned(setup, hear, output=io.StringIO()) as peer:
            peer.send(messages.SetLevel("connectd", "DEBUG"))
            peer.send(messages.PlacesFree(1))
            peer.send(messages.AbandonTask(7))
            while len(heard) < 2:
                has_news.clear()
                await wait_first(has_news.wait(), peer.wait())
                assert has_news.is_set(), await peer.wait()
        return heard

    ready, let_go = uvloop.run(test())
    assert isinstance(ready, messages.Ready)
    assert let_go == messages.LetGo(7)


def test_a_process_that_stands_still_sends_nothing_old_behind_what_is_new(rig: Rig) -> None:
    create(rig, ("a", "b"))
    rig.wait_following("a")
    pid = processes(rig)[rig.row("a")["task"] % 2]
    os.kill(pid, signal.SIGSTOP)
    try:
        task = rig.row("a")["task"]
        rig.expect(204, "POST", f"{rig.path}/tasks/{task}/restart")
        rig.put("a", 3, n={"N": "4"})
        rig.wait_equal("a")
        rig.wait(lambda: not is_alive(pid), "the process that did not let go of its task to end")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def test_clients_pause_resume_restart_and_stop_it_as_ever(rig: Rig) -> None:
    create(rig, ("a", "b"))
    for table in ("a", "b"):
        rig.wait_following(table)
    rig.expect(202, "PUT", f"{rig.path}/pause")
    rig.wait_states("PAUSED", "PAUSED", "PAUSED")
    rig.expect(202, "PUT", f"{rig.path}/resume")
    rig.wait_states("RUNNING", "RUNNING", "RUNNING")
    rig.expect(204, "POST", f"{rig.path}/tasks/1/restart")
    rig.expect(202, "POST", f"{rig.path}/restart?includeTasks=true&onlyFailed=false")
    rig.wait_states("RUNNING", "RUNNING", "RUNNING")
    rig.put("a", 100)
    rig.put("b", 100)
    rig.wait_equal("a")
    rig.wait_equal("b")
    rig.expect(204, "PUT", f"{rig.path}/stop")
    rig.wait_states("STOPPED")
    stored = rig.offsets()
    rig.put("a", 101)
    rig.expect(202, "PUT", f"{rig.path}/resume")
    rig.wait_states("RUNNING", "RUNNING", "RUNNING")
    rig.wait_equal("a")
    assert rig.offsets().keys() >= stored.keys()


def test_a_process_that_is_killed_while_it_scans_goes_on_with_its_scan(rig: Rig) -> None:
    for table in ("a", "b"):
        rig.create_table(table)
        rig.control.bulk_load(table=table, count=PAGES_ITEMS, item_bytes=400)
    rig.control.inject(operation="Scan", times=None, after=2, table="a", delay_s=LONG_S)
    rig.create(tasks__max="2")
    rig.wait(lambda: rig.row("a").get("records_sent"), "some records of a")
    rig.wait_following("b")
    kill_processes_of(rig, "a")
    rig.wait_following("a")
    rig.wait_equal("a")
    rig.wait_equal("b")
    rig.wait_states("RUNNING", "RUNNING", "RUNNING")
    statuses = [each.value_json for each in rig.internal("status") if each.value is not None]
    assert "RESTARTING" in {status.get("state") for status in statuses}


def test_a_process_that_is_killed_while_it_follows_streams_goes_on_with_them(rig: Rig) -> None:
    create(rig, TABLES)
    for table in TABLES:
        rig.wait_following(table)
    rig.control.inject(operation="GetRecords", times=None, delay_s=LONG_S)
    for number in range(30):
        for table in TABLES:
            rig.put(table, number, n={"N": "2"})
    kill_processes_of(rig, "a", "b")
    for table in TABLES:
        rig.put(table, 99)
        rig.wait_equal(table)
    rig.wait_states("RUNNING", "RUNNING", "RUNNING")


def test_a_worker_that_is_killed_leaves_no_process_behind(rig: Rig) -> None:
    create(rig, ("a", "b"))
    rig.wait_following("a")
    pids = processes(rig).values()
    rig.worker.kill9()
    rig.wait(lambda: not any(map(is_alive, pids)), "the end of its processes")
    rig.put("a", 50)
    rig.worker.start()
    rig.wait_equal("a")
    rig.wait_equal("b")


def test_a_signal_to_all_of_them_is_heard_by_the_worker_alone(rig: Rig) -> None:
    """As systemd does: what tasks have sent is committed before they end."""
    create(rig, ("a", "b"))
    rig.wait_following("a")
    rig.put("a", 50)
    rig.wait_equal("a")
    pids, before = processes(rig).values(), len(rig.log_lines())
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    assert rig.worker.sigterm() == 0
    rig.wait(lambda: not any(map(is_alive, pids)), "the end of its processes")
    said = rig.log_lines()[before:]
    assert [line for line in said if line["level"] in ("warning", "error", "critical")] == []
    rig.worker.start()
    rig.wait_equal("b")


def test_processes_of_a_worker_that_stands_still_stop_when_its_session_is_over(rig: Rig) -> None:
    """Others may run their tasks by then, and the worker cannot say so."""
    create(rig, ("a", "b"))
    rig.wait_following("a")
    rig.wait_following("b")

    def reads() -> int:
        return int(rig.control.counts()["GetRecords"])

    def nobody_reads() -> bool:
        before = reads()
        return not wait_for(lambda: reads() != before, deadline_s=2.0)

    rig.worker.pause()
    rig.wait(nobody_reads, "the end of all reading")
    rig.put("a", 60)
    rig.put("b", 60)
    rig.worker.resume()
    rig.wait_equal("a")
    rig.wait_equal("b")
    silent = [line for line in rig.log_lines() if "main process is silent" in line["event"]]
    assert {line["process"] for line in silent} == {0, 1}
