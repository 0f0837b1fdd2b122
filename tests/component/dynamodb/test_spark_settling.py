"""After a scan on a cluster nothing is streamed before no executor can send any more.

An executor whose driver is gone goes on for a while, and sends what it has read by then. Here it
is a line of the test: a record of an old value, sent at the last moment at which that may happen.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from connectd.connectors.dynamodb import scan_lease
from connectd.connectors.dynamodb.scan_reports import ScanReport
from tests.component.dynamodb import spark
from tests.component.dynamodb.rig import Rig, Sent, virtual
from tests.component.dynamodb.spark import FakeDriver, FakeSpark, new_rig

CLUSTER = "spark://elsewhere:7077"
SETTLE_S = scan_lease.settle_s(scan_lease.lease_s(5.0))


def send_late(rig: Rig) -> None:
    """What an executor has read before everything else, and sends now."""
    rig.log.append(Sent("orders", "r", "k1", -1, None, "RUNNING"))


@virtual
@pytest.mark.parametrize("is_asked", [False, True])
async def test_a_driver_that_did_not_finish_is_outlived_before_the_stream_is_followed(
    is_asked: bool,
) -> None:
    rig, table = new_rig()
    fake = FakeSpark(rig, master=CLUSTER, restart_initial_s=0.1)
    if not is_asked:
        fake.script.append(spark.dies_after(2))
    await rig.start()
    await rig.until(lambda: len(rig.log) >= 10)
    if is_asked:
        rig.is_paused = True
        await rig.until(lambda: fake.running == 0)
        rig.is_paused = False
    table.put("k1", 1000)
    await rig.until(lambda: fake.running == 0 and "are waited for" in str(rig.row("orders")))
    assert rig.state("orders") == "INIT_SYNC"
    assert len(fake.jobs) == 2, "another driver has scanned meanwhile"
    assert all(each.op == "r" for each in rig.log)
    send_late(rig)
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    assert rig.row("orders")["reason"] == ""
    await rig.stop()


@virtual
async def test_how_long_it_takes_is_the_lease_and_what_may_arrive_behind_it() -> None:
    rig, _ = new_rig()
    fake = FakeSpark(rig, master=CLUSTER, restart_initial_s=0.1)
    fake.script.append(spark.dies_after(2))
    await rig.start()
    await rig.until(lambda: len(fake.jobs) == 1 and fake.running == 1)
    await rig.until(lambda: fake.running == 0)
    died_s = rig.clock.monotonic()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert SETTLE_S <= rig.clock.monotonic() - died_s < SETTLE_S + 10
    await rig.stop()


@virtual
@pytest.mark.parametrize("then", ["daemon", "spark"])
async def test_the_next_life_of_a_scan_waits_for_the_executors_of_the_last_one(then: str) -> None:
    rig, table = new_rig()
    FakeSpark(rig, master=CLUSTER)
    await rig.start()
    await rig.until(lambda: len(rig.log) >= 20)
    await rig.crash()
    stored = rig.stored("orders")
    assert stored is not None
    assert stored["spark_settle_ms"] == SETTLE_S * 1000
    table.put("k1", 1000)
    rig.config["init.sync.engine"] = then
    await rig.start()
    began_s = rig.clock.monotonic()
    await rig.sleep(SETTLE_S - 1)
    assert rig.state("orders") == "INIT_SYNC"
    send_late(rig)
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.clock.monotonic() - began_s < SETTLE_S + 60
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    rig.settle()
    stored = rig.stored("orders")
    assert stored is not None
    assert "spark_settle_ms" not in stored
    await rig.stop()


@virtual
@pytest.mark.parametrize("then", ["daemon", "spark"])
async def test_executors_are_waited_for_although_somebody_has_removed_the_offsets(
    then: str,
) -> None:
    rig, table = new_rig()
    FakeSpark(rig, master=CLUSTER)
    await rig.start()
    await rig.until(lambda: len(rig.log) >= 20)
    await rig.stop()
    stopped_s = rig.clock.monotonic()
    rig.offsets.stored.clear()  # as PATCH or DELETE on the offsets of a stopped connector do
    table.put("k1", 1000)
    rig.config["init.sync.engine"] = then
    await rig.start()
    await rig.sleep(SETTLE_S - 1 - (rig.clock.monotonic() - stopped_s))
    assert rig.state("orders") == "INIT_SYNC"
    send_late(rig)
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.clock.monotonic() - stopped_s < SETTLE_S + 60
    table.put("k1", 1001)
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    await rig.stop()


async def finishes_nothing(driver: FakeDriver) -> AsyncIterator[ScanReport]:
    """A driver that scans all and dies before it has said so: it may have waited for somebody."""
    yield spark.STARTED
    for position in driver.job.segments:
        async for report in spark.pages(driver, position):
            yield report
    driver.code = -9


@virtual
async def test_only_a_driver_that_says_so_has_left_nobody_behind() -> None:
    rig, _ = new_rig()
    fake = FakeSpark(rig, master=CLUSTER)
    fake.script.append(finishes_nothing)
    with capture_logs() as logs:
        await rig.start()
        await rig.until(lambda: rig.is_in_sync("orders"))
    (line,) = [each for each in logs if each["event"].startswith("INIT_SYNC waits until")]
    assert line["wait_s"] == SETTLE_S
    assert len(fake.jobs) == 1
    await rig.stop()


@virtual
@pytest.mark.parametrize(
    ("master", "first"),
    [("local[2]", spark.dies_after(2)), (CLUSTER, spark.scans)],
    ids=["on this machine", "finished"],
)
async def test_where_nobody_can_be_left_behind_nothing_is_waited_for(
    master: str, first: spark.Behaviour
) -> None:
    rig, _ = new_rig()
    fake = FakeSpark(rig, master=master, restart_initial_s=0.1)
    fake.script.append(first)
    with capture_logs() as logs:
        await rig.start()
        await rig.until(lambda: rig.is_in_sync("orders"))
    assert not [each for each in logs if each["event"].startswith("INIT_SYNC waits until")]
    await rig.stop()
