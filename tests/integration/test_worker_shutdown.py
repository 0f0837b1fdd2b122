"""SIGTERM and kill -9 while data flows: what is sent again afterwards, counted record by record.

Every write has a version of its own (``tests.simulation.workload``), so a record that comes twice
is a replay. A table that is only followed (``init.sync.skip``) gives one record per write.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.kafka import KafkaBroker
from tests.integration.worker_rig import Rig
from tests.simulation.workload import Workload

pytestmark = [pytest.mark.kafka, pytest.mark.crash]

ITEMS = 400
PAGE = 10
EXIT_S = 20.0  # of the interpreter, on a busy machine
WRITES_MAX = 100_000  # more than a test takes; it stops the load itself
FLUSH_INTERVAL_S = 0.1
WRITES_PER_S_MAX = 500.0  # the workload pauses 2 ms after each


@pytest.fixture
def rig(kafka_broker: KafkaBroker, kafka_prefix: str, tmp_path: Path) -> Iterator[Rig]:
    flush = {"offset.flush.interval.ms": str(int(FLUSH_INTERVAL_S * 1000))}
    with Rig(kafka_broker, kafka_prefix, tmp_path, partitions=2, properties=flush) as rig:
        yield rig


def versions(rig: Rig) -> Counter[str]:
    """How often each item or version that the table ever had is in its topic."""
    return Counter(value["document"] for value in rig.values("t") if value["document"])


def replays(rig: Rig) -> int:
    found = versions(rig)
    return found.total() - len(found)


def scanning_slowly(rig: Rig) -> None:
    """A scan of 40 pages that takes two seconds, half done."""
    rig.create_table("t", items=ITEMS)
    rig.control.latency(operation="Scan", delay_s=0.05)
    rig.create(init__sync__page__size=str(PAGE))
    rig.wait(lambda: rig.row("t").get("items_scanned", 0) >= ITEMS // 4, "a part of the scan")
    assert rig.row("t")["state"] == "INIT_SYNC"


def followed_under_load(rig: Rig) -> Workload:
    rig.create_table("t")
    rig.create(init__sync__skip="true")
    rig.wait_following("t")
    load = Workload(rig.control, "t", seed=1, writes_max=WRITES_MAX)
    load.start()
    rig.wait(lambda: rig.row("t")["records_sent"] >= 400, "a part of the load")
    return load


def finish(rig: Rig, load: Workload) -> None:
    """The worker runs again: let some more writes come, then everything come to rest."""
    assert load.running
    rig.wait_following("t")
    rig.wait(lambda: rig.row("t")["records_sent"] > 0, "a record of the new life")
    load.stop()
    rig.wait_equal("t")
    written = {
        state["v"]["N"]
        for history in rig.control.history(table="t")
        for state in history["states"]
        if state is not None
    }
    assert len(versions(rig)) == len(written)  # every version of every item, not the last alone


def test_sigterm_under_load_ends_cleanly_and_nothing_is_sent_twice(rig: Rig) -> None:
    load = followed_under_load(rig)

    assert rig.worker.sigterm() == 0
    rig.worker.start()

    finish(rig, load)
    assert replays(rig) == 0


def test_kill_9_under_load_sends_again_what_was_not_yet_committed_and_no_more(rig: Rig) -> None:
    """O11: at least once; a replay is bounded by the flush interval."""
    load = followed_under_load(rig)

    rig.worker.kill9()
    rig.worker.start()

    finish(rig, load)
    # Two intervals of writes: one that was not due, one under way; and a page of each shard.
    assert replays(rig) <= 2 * FLUSH_INTERVAL_S * WRITES_PER_S_MAX + 2 * PAGE


def test_sigterm_during_the_scan_goes_on_at_the_next_page(rig: Rig) -> None:
    scanning_slowly(rig)

    assert rig.worker.sigterm() == 0
    scanned = rig.ops("t").count("r")
    assert 0 < scanned < ITEMS
    rig.worker.start()

    rig.wait_following("t")
    rig.wait_equal("t")
    assert rig.ops("t") == ["r"] * ITEMS  # none of the pages before it came again


def test_kill_9_during_the_scan_repeats_few_pages(rig: Rig) -> None:
    scanning_slowly(rig)

    rig.worker.kill9()
    rig.worker.start()

    rig.wait_following("t")
    rig.wait_equal("t")
    # 20 pages per second, so two come within a flush interval; and some are under way.
    assert replays(rig) <= 6 * PAGE


@pytest.mark.kafka("control")
def test_sigterm_while_the_broker_is_silent_ends_in_time_and_its_code_tells_of_the_tail(
    kafka_broker: KafkaBroker, kafka_prefix: str, tmp_path: Path
) -> None:
    limits = {
        "offset.flush.timeout.ms": "500",
        "task.shutdown.graceful.timeout.ms": "1000",
        "connectd.shutdown.grace.ms": "4000",
    }
    with Rig(kafka_broker, kafka_prefix, tmp_path, properties=limits) as rig:
        scanning_slowly(rig)
        with kafka_broker.paused():
            # Something is sent that nobody acknowledges.
            scanned = rig.row("t")["items_scanned"]
            rig.wait(lambda: rig.row("t")["items_scanned"] > scanned, "another page")
            began = time.monotonic()
            assert rig.worker.sigterm() == 3
            assert time.monotonic() - began < 4.0 + EXIT_S
        rig.worker.start()

        rig.wait_following("t")
        rig.wait_equal("t")


def test_a_second_signal_ends_it_at_once_with_a_code_that_tells_of_the_tail(rig: Rig) -> None:
    rig.create_table("t", items=20)
    rig.create()
    rig.wait_following("t")

    rig.worker.pause()  # so that both are there when it looks
    for number in (signal.SIGTERM, signal.SIGINT):
        os.kill(rig.worker.pid, number)
    rig.worker.resume()

    assert rig.worker.wait_exit(deadline_s=30.0) == 3
    assert "stopping at once" in rig.log_text()
    rig.worker.start()
    rig.wait_following("t")
    rig.wait_equal("t")


def test_a_worker_that_starts_again_scans_nothing_again(rig: Rig) -> None:
    rig.create_table("t", items=20)
    rig.create()
    rig.wait_following("t")
    rig.wait_equal("t")
    for number in range(20, 25):
        rig.put("t", number)
    rig.wait_equal("t")
    rig.control.clear_journal()

    for _ in range(2):
        assert rig.worker.sigterm() == 0
        rig.worker.start()
        rig.wait_following("t")

    assert rig.control.counts().get("Scan", 0) == 0
    rig.put("t", 30)
    rig.wait_equal("t")
    assert sorted(rig.ops("t")) == ["c"] * 6 + ["r"] * 20


def test_what_happens_while_the_worker_is_away_is_read_when_it_is_back(rig: Rig) -> None:
    rig.create_table("t", items=5)
    rig.create()
    rig.wait_following("t")
    rig.wait_equal("t")
    assert rig.worker.sigterm() == 0
    rig.control.delete(table="t", key={"id": {"S": "k0"}})
    for shard in rig.control.open_shards(table="t"):
        rig.control.split_shard(table="t", shard=shard)
    rig.put("t", 6)

    rig.worker.start()

    rig.wait_equal("t")
    assert rig.ops("t").count("r") == 5
