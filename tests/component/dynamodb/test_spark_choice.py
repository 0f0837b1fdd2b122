"""Which tables go to Spark, and when it is their turn; on virtual time."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from connectd.connectors.dynamodb.scan_reports import Failed
from tests.component.dynamodb import spark
from tests.component.dynamodb.rig import Rig, virtual
from tests.component.dynamodb.spark import FakeSpark, new_rig


def states_of(rig: Rig) -> list[str]:
    return sorted(str(row["state"]) for row in rig.rows())


@virtual
async def test_small_tables_stay_with_the_daemon_by_default() -> None:
    rig, _ = new_rig(init_sync_engine="auto")
    fake = FakeSpark(rig)
    with capture_logs() as logs:
        await rig.start()
        await rig.until(lambda: rig.is_in_sync("orders"))
    (line,) = [each for each in logs if each["event"].startswith("INIT_SYNC: who scans")]
    assert line["engine"] == "daemon"
    assert line["why"] == ("the table has 24000 bytes and 60 items, below the thresholds of Spark")
    assert fake.jobs == []
    await rig.stop()


@virtual
@pytest.mark.parametrize("threshold", ["bytes", "items"])
async def test_large_tables_go_to_spark_with_a_segment_for_every_two_gigabytes(
    threshold: str,
) -> None:
    rig, table = new_rig(init_sync_engine="auto", init_sync_segments="0")
    rig.config |= {
        "init.sync.spark.threshold.bytes": "1000" if threshold == "bytes" else "99999999999999",
        "init.sync.spark.threshold.items": "60" if threshold == "items" else "0",
    }
    table.item_bytes = 1024**3
    fake = FakeSpark(rig)
    with capture_logs() as logs:
        await rig.start()
        await rig.until(lambda: rig.is_in_sync("orders"))
    (line,) = [each for each in logs if each["event"].startswith("INIT_SYNC: who scans")]
    assert line["engine"] == "spark"
    assert f"enough for init.sync.spark.threshold.{threshold}" in line["why"]
    assert fake.jobs[0].total_segments == 30
    assert rig.topic_view("orders") == table.items
    await rig.stop()


@virtual
async def test_without_a_way_to_spark_the_daemon_scans_what_auto_would_hand_over() -> None:
    rig, table = new_rig(
        init_sync_engine="auto",
        init_sync_spark_threshold_bytes="1",
        init_sync_page_size="5",
        init_sync_read_capacity_units="1",
    )
    fake = FakeSpark(rig)
    fake.missing = "no spark-submit was found"
    with capture_logs() as logs:
        await rig.start()
        await rig.until(lambda: len(rig.log) >= 10)
        assert rig.row("orders")["reason"] == (
            "read by this worker, not by Spark: no spark-submit was found"
        )
        await rig.until(lambda: rig.is_in_sync("orders"))
    (line,) = [each for each in logs if each["event"].startswith("INIT_SYNC: who scans")]
    assert line["why"].endswith(
        "enough for init.sync.spark.threshold.bytes, but no spark-submit was found"
    )
    assert rig.topic_view("orders") == table.items
    assert fake.jobs == []
    await rig.stop()


@virtual
@pytest.mark.parametrize(
    ("behaviours", "says"),
    [
        ([spark.stays_silent(1, "UnsupportedClassVersionError: x")], "this Java is too old"),
        ([spark.stays_silent(1)] * 2, "cannot be started, twice for the same reason"),
        ([spark.stays_silent(1, "timeout: x")] * 3, "failed 3 times in a row"),
        ([spark.fails_unstarted(Failed("no such plugin", retriable=False))], "no such plugin"),
    ],
)
async def test_a_spark_that_never_starts_leaves_what_is_automatic_to_the_daemon(
    behaviours: list[spark.Behaviour], says: str
) -> None:
    rig, table = new_rig(
        init_sync_engine="auto",
        init_sync_spark_threshold_bytes="1",
        init_sync_page_size="5",
        init_sync_read_capacity_units="1",
    )
    fake = FakeSpark(rig, restarts_max=2)
    fake.script.extend(behaviours)
    with capture_logs() as logs:
        await rig.start()
        await rig.until(lambda: len(rig.log) >= 10)
        reason, scan = str(rig.row("orders")["reason"]), rig.row("orders")["scan"]
        await rig.until(lambda: rig.is_in_sync("orders"))
    assert reason.startswith("read by this worker, not by Spark: ")
    assert says in reason
    assert isinstance(scan, dict)
    assert scan["engine"] == "daemon"
    assert len(fake.jobs) == len(behaviours)
    assert len([each for each in logs if each["event"].startswith("Spark cannot be started")]) == 1
    assert rig.topic_view("orders") == table.items
    assert rig.row("orders")["reason"] == ""
    await rig.stop()


@virtual
@pytest.mark.parametrize("engine", ["auto", "spark"])
async def test_a_spark_that_was_there_or_is_asked_for_by_name_fails_the_table(engine: str) -> None:
    rig, _ = new_rig(init_sync_engine=engine, init_sync_spark_threshold_bytes="1")
    fake = FakeSpark(rig)
    failed = Failed("no such plugin", retriable=False)
    is_auto = engine == "auto"
    fake.script.append(spark.tells(failed) if is_auto else spark.fails_unstarted(failed))
    await rig.start()
    await rig.until(lambda: rig.state("orders") == "FAILED")
    assert len(fake.jobs) == 1
    await rig.stop()


@virtual
@pytest.mark.parametrize("has_spark", [True, False])
async def test_without_a_way_to_spark_a_table_that_must_go_there_fails(has_spark: bool) -> None:
    rig, _ = new_rig()
    if has_spark:
        FakeSpark(rig).missing = "no Java was found"
    await rig.start()
    await rig.until(lambda: rig.state("orders") == "FAILED")
    problem = "no Java was found" if has_spark else "this worker offers no Spark"
    assert rig.row("orders")["reason"] == (
        f"table orders: init.sync.engine is spark, but {problem}"
    )
    await rig.stop()


# -- turns --------------------------------------------------------------------------------------


@virtual
async def test_tables_wait_for_their_turn_before_their_scan_begins() -> None:
    rig, table = new_rig()
    others = [rig.account.add_table(f"t{number}") for number in range(3)]
    for other in others:
        for number in range(10):
            other.put(f"k{number}", number)
    fake = FakeSpark(rig, drivers_max=2)
    most = 0

    def look() -> bool:
        nonlocal most
        most = max(most, fake.running)
        return all(rig.is_in_sync(each) for each in rig.account.tables)

    await rig.start()
    await rig.until(lambda: fake.running == 2)
    waiting = [row for row in rig.rows() if row["state"] == "DELAYED"]
    assert len(waiting) == 2
    assert all("spark.drivers.max is 2" in str(row["reason"]) for row in waiting)
    assert all(rig.stored(str(row["table"])) is None for row in waiting)
    await rig.until(look)
    assert most == 2
    for each in (table, *others):
        assert rig.topic_view(each.name) == each.items
    await rig.stop()


@virtual
async def test_the_daemon_scans_without_waiting_for_a_turn() -> None:
    rig, _ = new_rig()
    rig.config |= {"init.sync.engine": "auto", "init.sync.spark.threshold.items": "60"}
    rig.account.add_table("small").put("k", 1)
    fake = FakeSpark(rig)
    await rig.start()
    await rig.until(lambda: fake.running == 1)
    await rig.until(lambda: rig.is_in_sync("small"))
    assert rig.state("orders") == "INIT_SYNC"
    await rig.stop()


@virtual
async def test_a_table_that_fails_or_pauses_gives_its_turn_to_others() -> None:
    rig, _ = new_rig()
    rig.account.add_table("other").put("k", 1)
    fake = FakeSpark(rig)
    fake.script.append(spark.tells(Failed("no", retriable=False), code=3))
    await rig.start()
    await rig.until(lambda: states_of(rig) == ["FAILED", "SYNC"])
    await rig.stop()

    rig, table = new_rig()
    second = Rig(rig.account, rig.config)
    second.offsets = rig.offsets
    rig.account.add_table("other").put("k", 1)
    rig.tables, second.tables = ["orders"], ["other"]
    fake = FakeSpark(rig)
    second.resources = rig.resources
    await rig.start()
    await rig.until(lambda: len(rig.log) >= 20)
    await second.start()
    await second.until(lambda: second.state("other") == "DELAYED")
    rig.is_paused = True
    await second.until(lambda: second.is_in_sync("other"))
    rig.is_paused = False
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.topic_view("orders") == table.items
    await rig.stop()
    await second.stop()
