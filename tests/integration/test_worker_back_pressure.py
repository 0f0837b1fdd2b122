"""A broker that is silent or slow while data waits (P05, O05), and many connectors at once (R32).

Two limits are made small, so that a table of some megabytes already shows whether they hold: pages
that a task buffers, and what a producer holds.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.kafka import KafkaBroker
from tests.harness.processes import wait_for
from tests.integration.worker_rig import Rig
from tests.simulation.workload import Workload, judge

pytestmark = pytest.mark.kafka("control")

ITEMS = 120_000
ITEM_BYTES = 400
SILENCE_S = 10.0
RSS_MIB_MAX = 200.0
"""The worker alone has about 90; the table is 48 MB on the wire, and 70 MB of messages."""

TASK_PAGES = 2
PRODUCER_KIB = 2048
PAGES_ON_THE_WAY_MAX = TASK_PAGES + 4 + 2 + 3
"""The task's buffer, the thread's queue, the producer's buffer, and one each in the hands of the
scan, the task and the thread."""

CONNECTORS = 50
COME_UP_S = 45.0


@pytest.fixture
def rig(kafka_broker: KafkaBroker, kafka_prefix: str, tmp_path: Path) -> Iterator[Rig]:
    properties = {
        "connectd.producer.queue.kbytes": str(PRODUCER_KIB),
        # A worker that hears nothing of its group for longer than that stops its tasks.
        "session.timeout.ms": "60000",
    }
    with Rig(kafka_broker, kafka_prefix, tmp_path, properties=properties) as rig:
        yield rig


def rss_mib(pid: int) -> float:
    """Resident memory of a process, from /proc."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"process {pid} shows no VmRSS")


def scan_calls(rig: Rig) -> int:
    count: int = rig.control.counts().get("Scan", 0)
    return count


def load_and_create(rig: Rig, items: int, **keys: str) -> None:
    rig.create_table("t")
    rig.control.bulk_load(table="t", count=items, item_bytes=ITEM_BYTES)
    rig.create(task__buffer__pages=str(TASK_PAGES), **keys)


def assert_every_item_arrived(rig: Rig, items: int) -> None:
    rig.wait_following("t")  # a scan is finished when Kafka has acknowledged all of it
    assert len({record.key for record in rig.records("t")}) == items


def test_a_silent_broker_stops_the_reading_costs_no_memory_and_loses_nothing(rig: Rig) -> None:
    """P05."""
    rig.control.latency(operation="Scan", delay_s=0.05)
    load_and_create(rig, ITEMS)
    rig.wait(lambda: scan_calls(rig) >= 3, "the scan to begin")
    highest_mib = 0.0

    with rig.broker.paused():
        before = scan_calls(rig)
        end = time.monotonic() + SILENCE_S

        def is_over() -> bool:
            nonlocal highest_mib
            highest_mib = max(highest_mib, rss_mib(rig.worker.pid))
            return time.monotonic() > end

        assert wait_for(is_over, deadline_s=6 * SILENCE_S)
        row = rig.row("t")
        assert row["state"] == "INIT_SYNC"
        assert row["reason"] == "waiting for Kafka: buffer is full"
        assert scan_calls(rig) - before <= PAGES_ON_THE_WAY_MAX
        assert rig.states() == ("RUNNING", "RUNNING")

    assert_every_item_arrived(rig, ITEMS)
    assert highest_mib < RSS_MIB_MAX


@contextlib.contextmanager
def slow(broker: KafkaBroker) -> Iterator[None]:
    """The broker works a sixth of the time."""
    over = threading.Event()

    def stutter() -> None:
        while not over.is_set():
            with broker.paused():
                over.wait(0.25)
            over.wait(0.05)

    thread = threading.Thread(target=stutter, name="slow-broker")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_positions_move_with_what_a_slow_broker_acknowledges(rig: Rig) -> None:
    """O05."""
    items = ITEMS // 4
    rig.control.latency(operation="Scan", delay_s=0.02)
    load_and_create(rig, items, init__sync__page__size="200")
    rig.wait(lambda: scan_calls(rig) >= 3, "the scan to begin")
    seen: list[int] = []

    def look() -> bool:
        for text, offset in rig.offsets().items():
            if "segment" in json.loads(text) and offset["count"] not in seen[-1:]:
                seen.append(offset["count"])
        return len(seen) >= 6

    with slow(rig.broker):
        assert wait_for(look, deadline_s=20.0), seen
        assert rig.row("t")["state"] == "INIT_SYNC"

    assert seen == sorted(seen)
    assert_every_item_arrived(rig, items)


@pytest.mark.kafka("durable")
def test_a_broker_that_is_killed_and_comes_back_loses_nothing(rig: Rig) -> None:
    rig.create_table("t")
    rig.create(init__sync__skip="true")
    rig.wait_following("t")
    load = Workload(rig.control, "t", seed=3, writes_max=100_000)
    load.start()
    rig.wait(lambda: rig.row("t")["records_sent"] >= 100, "a part of the load")
    pid = rig.worker.pid

    with rig.broker.away():
        written = load.version
        rig.wait(lambda: load.version > written + 100, "writes meanwhile")

    load.stop()
    rig.wait_equal("t")
    verdict = judge(rig.control, "t", rig.broker.bootstrap, rig.topic("t"))
    assert verdict.faults == ()
    assert rig.worker.pid == pid
    assert rig.worker.running
    assert rig.states() == ("RUNNING", "RUNNING")


def test_fifty_connectors_are_up_soon_after_a_restart(rig: Rig) -> None:
    """R32. All follow the same table, which no test of a real service should."""
    rig.create_table("t", items=2)
    names = [f"c{number}" for number in range(CONNECTORS)]
    for name in names:
        rig.name = name
        rig.create(stream__poll__interval__max__ms="2000")

    def all_run() -> bool:
        answer = rig.expect(200, "GET", "/connectors?expand=status").body
        states = {
            name: (
                entry["status"]["connector"]["state"],
                [task["state"] for task in entry["status"]["tasks"]],
            )
            for name, entry in answer.items()
        }
        return states == dict.fromkeys(names, ("RUNNING", ["RUNNING"]))

    rig.wait(all_run, "all connectors to run")
    assert rig.worker.sigterm() == 0
    rig.worker.start()
    began = time.monotonic()

    rig.wait(all_run, "all connectors to run again")

    assert time.monotonic() - began < COME_UP_S
    rig.name = names[0]
    rig.wait_equal("t")
