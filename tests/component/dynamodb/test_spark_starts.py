"""A Spark that does not start: what is tried again, what is not, and what is said."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from connectd.connectors.dynamodb.scan_reports import Failed, ScanReport
from connectd.runtime import statuses
from tests.component.dynamodb import spark
from tests.component.dynamodb.rig import Rig, virtual
from tests.component.dynamodb.spark import Behaviour, FakeDriver, FakeSpark, new_rig


def failure_of(rig: Rig) -> Exception:
    assert rig.context is not None
    (failure,) = rig.context.failures
    return failure


def trace_of(error: BaseException | None) -> str:
    texts = []
    while error is not None:
        texts.append(str(error))
        error = error.__cause__
    return "\n".join(texts)


@virtual
async def test_failures_without_progress_end_in_a_failed_table_with_the_last_lines() -> None:
    rig, _ = new_rig()
    fake = FakeSpark(rig, restarts_max=2)
    fake.script += [spark.stays_silent(1, "timeout: the last line") for _ in range(3)]
    await rig.start()
    await rig.until(lambda: rig.state("orders") == "FAILED")
    reason = str(rig.row("orders")["reason"])
    assert "failed 3 times in a row" in reason
    assert "spark.restart.attempts.max is 2" in reason
    assert "exit code 1: timeout: the last line" in reason
    assert statuses.trace_of(failure_of(rig)).endswith(
        "failed 3 times in a row without getting on (spark.restart.attempts.max is 2); the last "
        "time: the Spark driver has ended with exit code 1: timeout: the last line\n"
        "the last lines of the Spark driver:\nWARN something that Spark says\n"
        "timeout: the last line"
    )
    assert len(fake.jobs) == 3
    assert fake.running == 0
    await rig.stop()


@virtual
async def test_what_another_start_would_not_mend_fails_the_table_at_once() -> None:
    rig, _ = new_rig()
    rig.account.add_table("good").put("k", 1)
    rig.config["init.sync.segments"] = "1"
    fake = FakeSpark(rig)
    fake.script.append(spark.tells(Failed("access denied to Scan", retriable=False), code=3))
    await rig.start()
    await rig.until(lambda: "FAILED" in (rig.state("orders"), rig.state("good")))
    await rig.until(lambda: "SYNC" in (rig.state("orders"), rig.state("good")))
    assert len(fake.jobs) == 2
    assert "access denied to Scan" in trace_of(failure_of(rig))
    await rig.stop()


@virtual
@pytest.mark.parametrize(
    ("line", "meaning", "starts"),
    [
        ("JAVA_HOME is not set", "no Java was found", 1),
        ("java.lang.UnsupportedClassVersionError: x", "too old for Spark", 1),
        ("ERROR All masters are unresponsive! Giving up.", "cannot be reached", 2),
    ],
)
async def test_what_spark_says_at_its_start_is_understood(
    line: str, meaning: str, starts: int
) -> None:
    rig, _ = new_rig()
    fake = FakeSpark(rig, restarts_max=1)
    fake.script += [spark.stays_silent(1, line, "something else") for _ in range(2)]
    await rig.start()
    await rig.until(lambda: rig.state("orders") == "FAILED")
    assert meaning in str(rig.row("orders")["reason"])
    assert len(fake.jobs) == starts
    await rig.stop()


@virtual
@pytest.mark.parametrize(
    "behaviours",
    [
        [
            spark.stays_silent(1, "ERROR: cannot use /tmp/connectd-scan-7-12-a3b/x (pid 4)"),
            spark.stays_silent(1, "ERROR: cannot use /tmp/connectd-scan-7-12-zz9/x (pid 5)"),
        ],
        [spark.fails_unstarted(Failed("no such thing", retriable=True, at_start=True))] * 2,
    ],
)
async def test_a_spark_that_never_starts_for_one_reason_is_not_tried_for_minutes(
    behaviours: list[Behaviour],
) -> None:
    rig, _ = new_rig()
    fake = FakeSpark(rig, restarts_max=5)
    fake.script += behaviours
    await rig.start()
    await rig.until(lambda: rig.state("orders") == "FAILED")
    reason = str(rig.row("orders")["reason"])
    assert "Spark cannot be started, twice for the same reason" in reason
    assert "no such thing" in reason or "cannot use" in reason
    assert len(fake.jobs) == 2
    await rig.stop()


@virtual
@pytest.mark.parametrize(
    "behaviours",
    [
        [spark.stays_silent(1, "one thing"), spark.stays_silent(1, "another thing")],
        [spark.stays_silent(1, "m:7077: Connection refused")] * 2,
        [spark.stays_silent(-9, "killed by whoever")] * 2,
        [spark.fails_unstarted(Failed("no executor would do it", retriable=True))] * 2,
        [spark.dies_after(0), *[spark.stays_silent(1, "it was there before")] * 2],
    ],
)
async def test_a_spark_that_may_start_later_has_all_its_attempts(
    behaviours: list[Behaviour],
) -> None:
    rig, table = new_rig()
    fake = FakeSpark(rig)
    fake.script += behaviours
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert len(fake.jobs) == len(behaviours) + 1
    assert rig.topic_view("orders") == table.items
    await rig.stop()


@virtual
async def test_the_cause_that_stands_in_the_log_alone_is_told_before_its_consequence() -> None:
    rig, _ = new_rig()
    fake = FakeSpark(rig, restarts_max=0)

    async def has_no_master(driver: FakeDriver) -> AsyncIterator[ScanReport]:
        yield spark.STARTED
        driver.lines.append("ERROR Reason: All masters are unresponsive! Giving up.")
        yield Failed("Cannot call methods on a stopped SparkContext", retriable=True)

    fake.script.append(has_no_master)
    await rig.start()
    await rig.until(lambda: rig.state("orders") == "FAILED")
    reason = str(rig.row("orders")["reason"])
    assert "the Spark master cannot be reached (spark.master is local[2]): Cannot call" in reason
    await rig.stop()
