"""INIT_SYNC handed to Spark, of the whole task and on virtual time; Spark is a script."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from connectd.connectors.dynamodb.offsets import SegmentPosition
from connectd.connectors.dynamodb.scan_job import ScanJob
from connectd.connectors.dynamodb.scan_reports import (
    Failed,
    Finished,
    ScanReport,
    SegmentMoved,
    Trouble,
)
from connectd.model.record import RecordBatch
from tests.component.dynamodb import spark
from tests.component.dynamodb.rig import Rig, virtual
from tests.component.dynamodb.spark import ITEMS, FakeDriver, FakeSpark, new_rig


def scan_of(rig: Rig) -> dict[str, object]:
    found = rig.row("orders")["scan"]
    return found if isinstance(found, dict) else {}


def segments_of(job: ScanJob) -> list[int]:
    return [each.segment for each in job.segments]


@virtual
async def test_a_table_is_scanned_on_spark_then_followed() -> None:
    rig, table = new_rig()
    fake = FakeSpark(rig)
    await rig.start()
    await rig.until(lambda: len(rig.log) >= 10)
    row = rig.row("orders")
    assert row["state"] == "INIT_SYNC"
    assert row["items_scanned"] == row["records_sent"] == len(rig.log)
    assert scan_of(rig)["engine"] == "spark (local[2], 2 at a time)"
    assert scan_of(rig)["segments"] == 3
    table.put("k1", 1000)  # whether it is scanned before or after this, the stream tells it
    table.delete("k2")
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    assert int(str(rig.row("orders")["items_scanned"])) >= ITEMS - 1
    assert rig.row("orders")["scan"] is None
    assert rig.stored("orders", segment=0) is None
    assert [segments_of(job) for job in fake.jobs] == [[0, 1, 2]]
    assert fake.running == 0
    await rig.stop()


@virtual
async def test_the_job_holds_what_the_connector_says_and_no_aws_keys() -> None:
    rig, _ = new_rig(
        aws_access_key_id="AKIA",
        aws_secret_key="secret",
        init_sync_read_capacity_units="100",
        init_sync_page_size="7",
        init_sync_consistent_read="true",
        kafka_topic_prefix="copy-",
    )
    fake = FakeSpark(rig, chunk_s=9.0)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    (job,) = fake.jobs
    assert (job.connector, job.table, job.topic) == ("copy", "orders", "copy-orders")
    assert (job.page_size, job.consistent_read, job.units_per_s) == (7, True, 100.0)
    assert (job.chunk_s, job.item_bytes) == (9.0, 400.0)
    assert job.state.to_offset()["init_sync_state"] == "RUNNING"
    assert job.aws.access_key_id is None
    await rig.stop()


@virtual
async def test_positions_are_stored_as_they_are_told_and_topics_and_counts_with_them() -> None:
    rig, _ = new_rig()
    FakeSpark(rig)
    told: list[RecordBatch] = []
    rig.on_emission = lambda each: told.append(each) if isinstance(each, RecordBatch) else None
    await rig.start()
    await rig.until(lambda: len(rig.log) >= 20)
    rig.settle()
    stored = [rig.stored("orders", segment=each) for each in range(3)]
    counts = [0 if each is None else int(str(each["count"])) for each in stored]
    assert 15 <= sum(counts) <= len(rig.log)
    moved = [each.delivered for each in told if each.delivered is not None]
    assert sum(each.records for each in moved) >= sum(counts)
    assert {topic for each in moved for topic in each.topics} == {"dynamodb-orders"}
    await rig.stop()


@virtual
@pytest.mark.parametrize(("first", "then"), [("spark", "daemon"), ("daemon", "spark")])
async def test_a_scan_changes_hands_over_a_crash(first: str, then: str) -> None:
    rig, table = new_rig(init_sync_page_size="5", init_sync_read_capacity_units="1")
    fake = FakeSpark(rig)
    rig.config["init.sync.engine"] = first
    await rig.start()
    await rig.until(lambda: len(rig.log) >= 20)
    await rig.crash()
    assert fake.running == 0
    sent = len(rig.log)
    table.put("k3", 3000)
    rig.config["init.sync.engine"] = then
    rig.config["init.sync.read.capacity.units"] = "0"
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    assert len([each for each in rig.log if each.op == "r"]) - sent <= ITEMS - 20 + 3 * 5
    await rig.stop()


@virtual
async def test_a_driver_that_dies_is_followed_by_one_for_the_rest() -> None:
    rig, table = new_rig()
    fake = FakeSpark(rig)

    async def dies_between_segments(driver: FakeDriver) -> AsyncIterator[ScanReport]:
        yield spark.STARTED
        async for report in spark.pages(driver, driver.job.segments[0]):
            yield report
        driver.code = -9

    fake.script.append(dies_between_segments)
    with capture_logs() as logs:
        await rig.start()
        await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.topic_view("orders") == table.items
    assert [segments_of(job) for job in fake.jobs] == [[0, 1, 2], [1, 2]]
    (line,) = [each for each in logs if each["event"].startswith("a scan on Spark has failed")]
    assert line["error"] == "the Spark driver was ended by signal 9: WARN something that Spark says"
    assert line["segments_left"] == 2
    assert len([each for each in rig.log if each.op == "r"]) == ITEMS
    await rig.stop()


@virtual
async def test_while_another_driver_starts_the_last_failure_stays_in_sight() -> None:
    rig, _ = new_rig()
    fake = FakeSpark(rig, restarts_max=4, chunk_s=5.0)
    fake.script.append(spark.stays_silent(1, "java.io.IOException: no room on the disk"))
    fake.script.append(spark.stays_silent(1, after_s=300.0))
    await rig.start()
    await rig.until(lambda: len(fake.jobs) == 2)
    assert "no room on the disk (attempt 1)" in str(rig.row("orders")["reason"])
    assert scan_of(rig)["engine"] == "spark (local[2], starting, attempt 2 of 5)"
    await rig.until(lambda: "nothing was told" in str(rig.row("orders")["reason"]))
    reason = str(rig.row("orders")["reason"])
    assert "the last attempt: the Spark driver has ended with exit code 1: " in reason
    assert "no room on the disk" in reason
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.stop()


@virtual
async def test_while_another_start_is_waited_for_the_table_says_why() -> None:
    rig, _ = new_rig()
    fake = FakeSpark(rig, restart_initial_s=100.0)
    fake.script.append(
        spark.tells(Failed("Kafka refuses everything", retriable=True), code=3),
    )
    await rig.start()
    await rig.until(lambda: "Kafka refuses everything" in str(rig.row("orders")["reason"]))
    assert fake.running == 0
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.row("orders")["reason"] == ""
    await rig.stop()


@virtual
async def test_a_scan_that_gets_on_has_all_its_attempts_again() -> None:
    rig, table = new_rig()
    fake = FakeSpark(rig, restarts_max=1)
    fake.script += [step for _ in range(4) for step in (spark.dies_after(1), spark.stays_silent(1))]
    await rig.start()
    await rig.until(lambda: rig.state("orders") in ("SYNC", "FAILED"))
    assert rig.state("orders") == "FAILED"  # one that dies, one that is silent: twice in a row
    await rig.stop()
    fake.script.clear()
    fake.script += [spark.dies_after(1) for _ in range(6)]
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.topic_view("orders") == table.items
    await rig.stop()


@virtual
async def test_a_paused_connector_has_no_driver_and_another_one_goes_on_after_it() -> None:
    rig, table = new_rig()
    fake = FakeSpark(rig)
    await rig.start()
    await rig.until(lambda: len(rig.log) >= 25)
    rig.is_paused = True
    await rig.until(lambda: fake.running == 0, within_s=30)
    sent = len(rig.log)
    await rig.sleep(3600)
    assert (len(rig.log), len(fake.jobs)) == (sent, 1)
    assert "paused" in str(rig.row("orders")["reason"])
    rig.is_paused = False
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.topic_view("orders") == table.items
    assert len([each for each in rig.log if each.op == "r"]) == ITEMS, "nothing is read twice"
    assert len(segments_of(fake.jobs[1])) < 3
    assert rig.row("orders")["reason"] == ""
    await rig.stop()


@virtual
async def test_what_troubles_a_driver_on_its_way_out_is_of_no_interest() -> None:
    rig, _ = new_rig()
    fake = FakeSpark(rig)

    async def complains_when_asked(driver: FakeDriver) -> AsyncIterator[ScanReport]:
        yield spark.STARTED
        await driver.is_asked.wait()
        yield Trouble(2, "SparkContext has been shutdown", 1)
        await rig.clock.sleep(5)

    fake.script.append(complains_when_asked)
    await rig.start()
    await rig.until(lambda: fake.running == 1)
    rig.is_paused = True
    await rig.sleep(1)
    assert fake.running == 1
    assert rig.row("orders")["reason"] == ""
    await rig.until(lambda: fake.running == 0)
    assert "paused" in str(rig.row("orders")["reason"])
    await rig.stop()


@virtual
async def test_a_pause_that_is_over_before_the_driver_has_ended_is_no_failure() -> None:
    rig, table = new_rig()
    fake = FakeSpark(rig)
    await rig.start()
    await rig.until(lambda: len(rig.log) >= 25)
    with capture_logs() as logs:
        rig.is_paused = True
        await rig.sleep(0.1)
        rig.is_paused = False
        await rig.until(lambda: rig.is_in_sync("orders"))
    assert [each["event"] for each in logs if each["log_level"] != "info"] == []
    assert len(fake.jobs) == 2
    assert rig.topic_view("orders") == table.items
    await rig.stop()


@virtual
async def test_a_connector_that_is_paused_while_it_waits_for_another_start_starts_none() -> None:
    rig, _ = new_rig()
    fake = FakeSpark(rig, restart_initial_s=50.0)
    fake.script.append(spark.stays_silent(1))
    await rig.start()
    await rig.until(lambda: len(fake.jobs) == 1 and fake.running == 0)
    rig.is_paused = True
    await rig.sleep(3600)
    assert len(fake.jobs) == 1
    rig.is_paused = False
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.stop()


@virtual
async def test_stopping_ends_the_driver() -> None:
    rig, _ = new_rig()
    fake = FakeSpark(rig)
    await rig.start()
    await rig.until(lambda: fake.running == 1)
    await rig.stop()
    assert fake.running == 0


@virtual
async def test_a_driver_that_tells_nothing_is_shown_and_then_replaced() -> None:
    rig, _ = new_rig()
    fake = FakeSpark(rig, idle_timeout_s=600.0)
    fake.script.append(spark.stays_silent(0, after_s=100_000.0))
    await rig.start()
    await rig.sleep(110)
    assert "has local[2] room for it?" in str(rig.row("orders")["reason"])
    assert fake.running == 1
    await rig.sleep(540)
    assert len(fake.jobs) == 2
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.stop()


async def goes_on_waiting(driver: FakeDriver) -> AsyncIterator[ScanReport]:
    """A Spark that has no executors, or has lost them, and does not notice."""
    yield spark.STARTED
    for attempt in itertools.count(1):
        await driver.spark.rig.clock.sleep(65)
        yield Trouble(None, "2 chunks are under way and none has come back", attempt)


@virtual
async def test_a_driver_that_goes_on_saying_that_it_waits_is_replaced() -> None:
    rig, _ = new_rig()
    fake = FakeSpark(rig, idle_timeout_s=600.0)
    fake.script.append(goes_on_waiting)
    with capture_logs() as logs:
        await rig.start()
        await rig.sleep(590)
        assert "none has come back" in str(rig.row("orders")["reason"])
        assert fake.running == 1
        await rig.until(lambda: rig.is_in_sync("orders"))
    assert len(fake.jobs) == 2
    (line,) = [each for each in logs if each["event"].startswith("a scan on Spark has failed")]
    assert "no chunk of the scan on Spark has come back for 610 s" in line["error"]
    await rig.stop()


@virtual
async def test_drivers_that_only_wait_fail_the_table_in_the_end() -> None:
    rig, _ = new_rig()
    fake = FakeSpark(rig, idle_timeout_s=600.0, restarts_max=2)
    fake.script += [goes_on_waiting] * 3
    await rig.start()
    await rig.until(lambda: rig.state("orders") == "FAILED", within_s=3_600)
    assert "failed 3 times in a row" in str(rig.row("orders")["reason"])
    assert (len(fake.jobs), fake.running) == (3, 0)
    await rig.stop()


@virtual
async def test_a_driver_whose_chunks_come_back_may_wait_for_the_outside_as_long_as_it_takes() -> (
    None
):
    rig, _ = new_rig()
    fake = FakeSpark(rig, idle_timeout_s=600.0)

    async def is_throttled_for_hours(driver: FakeDriver) -> AsyncIterator[ScanReport]:
        yield spark.STARTED
        for attempt in range(100):
            await rig.clock.sleep(90)
            yield Trouble(0, "Kafka is away", attempt)
        async for report in spark.scans(driver):
            yield report

    fake.script.append(is_throttled_for_hours)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"), within_s=12_000)
    assert len(fake.jobs) == 1
    await rig.stop()


@virtual
async def test_what_a_driver_retries_is_shown_until_it_works() -> None:
    rig, _ = new_rig()
    fake = FakeSpark(rig)

    async def is_throttled(driver: FakeDriver) -> AsyncIterator[ScanReport]:
        yield spark.STARTED
        yield Trouble(0, "throttled by the table", 3)
        await rig.clock.sleep(20)
        async for report in spark.scans(driver):
            yield report

    fake.script.append(is_throttled)
    await rig.start()
    await rig.until(
        lambda: (
            rig.row("orders")["reason"]
            == "scan on Spark, segment 0: throttled by the table (attempt 3)"
        )
    )
    await rig.until(lambda: len(rig.log) >= 5)
    assert rig.row("orders")["reason"] == ""
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.stop()


def moved(job: ScanJob, segment: int, **changes: object) -> SegmentMoved:
    position = SegmentPosition(segment, 3, job.state.init_sync_start_ms, b'{"id":{"S":"x"}}', 5)
    return SegmentMoved(replace(position, **changes), 5, 5)  # type: ignore[arg-type]


@virtual
@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"segment": 3}, "another scan"),
        ({"total_segments": 4}, "another scan"),
        ({"init_sync_start_ms": 1}, "another scan"),
        ({"count": 4}, "before the one that is known"),
    ],
)
async def test_a_position_that_this_scan_cannot_have_fails_the_table(
    changes: dict[str, int], problem: str
) -> None:
    rig, _ = new_rig()
    fake = FakeSpark(rig)

    async def confuses(driver: FakeDriver) -> AsyncIterator[ScanReport]:
        yield spark.STARTED
        yield moved(driver.job, 0)
        yield moved(driver.job, **{"segment": 0, **changes})
        await rig.clock.sleep(3600)

    fake.script.append(confuses)
    await rig.start()
    await rig.until(lambda: rig.state("orders") == "FAILED", within_s=60)
    assert problem in str(rig.row("orders")["reason"])
    assert fake.running == 0
    stored = rig.stored("orders", segment=0)
    assert stored is None or stored["count"] == 5
    await rig.stop()


@virtual
async def test_records_that_spark_skips_are_counted_and_not_unseen() -> None:
    rig, _ = new_rig(items=3, init_sync_segments="1")
    fake = FakeSpark(rig)

    async def skips_two(driver: FakeDriver) -> AsyncIterator[ScanReport]:
        async for report in spark.pages(driver, driver.job.segments[0]):
            yield replace(report, records=1, skipped=2)
        yield Finished()

    fake.script.append(skips_two)
    told: list[RecordBatch] = []
    rig.on_emission = lambda each: told.append(each) if isinstance(each, RecordBatch) else None
    with capture_logs() as logs:
        await rig.start()
        await rig.until(lambda: rig.is_in_sync("orders"))
    (line,) = [each for each in logs if each["log_level"] == "warning"]
    assert line["event"].startswith("records skipped by a scan on Spark")
    assert (line["segment"], line["records"]) == (0, 2)
    assert sum(each.delivered.skipped for each in told if each.delivered is not None) == 2
    assert rig.row("orders")["records_skipped"] == 2
    await rig.stop()


@virtual
async def test_a_finished_segment_stays_finished() -> None:
    rig, _ = new_rig()
    fake = FakeSpark(rig)

    async def goes_back(driver: FakeDriver) -> AsyncIterator[ScanReport]:
        yield moved(driver.job, 1, start_key=None, is_finished=True)
        yield moved(driver.job, 1, count=9)

    fake.script.append(goes_back)
    await rig.start()
    await rig.until(lambda: rig.state("orders") == "FAILED")
    assert "before the one that is known" in str(rig.row("orders")["reason"])
    await rig.stop()


@virtual
async def test_a_driver_that_only_says_it_has_finished_is_not_believed() -> None:
    rig, table = new_rig()
    fake = FakeSpark(rig)
    fake.script.append(spark.tells(Finished()))
    await rig.start()
    await rig.until(lambda: "3 segments are not" in str(rig.row("orders")["reason"]))
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.topic_view("orders") == table.items
    await rig.stop()


@virtual
async def test_the_end_that_the_last_record_tells_is_the_end_of_the_scan() -> None:
    rig, _ = new_rig(items=3, init_sync_segments="1")
    fake = FakeSpark(rig)

    async def ends_at(driver: FakeDriver) -> AsyncIterator[ScanReport]:
        async for report in spark.pages(driver, driver.job.segments[0]):
            yield replace(report, ended_ms=1_800_000_000_123)
        yield Finished()

    fake.script.append(ends_at)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    stored = rig.stored("orders")
    assert stored is not None
    assert stored["init_sync_end"] == 1_800_000_000_123
    await rig.stop()
