"""A table that is deleted, or deleted and made anew, while it is scanned, here or on Spark."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from connectd.connectors.dynamodb.scan_reports import Failed, ScanReport
from connectd.errors import TableGoneError
from tests.component.dynamodb import spark
from tests.component.dynamodb.account import FakeTable
from tests.component.dynamodb.rig import Rig, virtual
from tests.component.dynamodb.spark import FakeDriver, FakeSpark

ENGINES = pytest.mark.parametrize("engine", ["daemon", "spark"])


def new_rig(engine: str) -> tuple[Rig, FakeTable, FakeSpark]:
    rig, table = spark.new_rig(init_sync_engine=engine, init_sync_page_size=str(spark.PAGE_ITEMS))
    return rig, table, FakeSpark(rig)


async def lose_in_mid_scan(rig: Rig, fake: FakeSpark, *, made_anew: bool) -> FakeTable | None:
    """The scan fails on a table that is gone; by then there may be another one."""
    successor: list[FakeTable] = []

    def lose() -> None:
        if "orders" in rig.account.tables and not successor:
            rig.account.drop_table("orders")

    def make() -> None:
        successor.append(rig.account.add_table("orders"))
        for number in range(40):
            successor[0].put(f"new{number}", number)

    async def finds_nothing(driver: FakeDriver) -> AsyncIterator[ScanReport]:
        async for report in spark.dies_after(1)(driver):
            yield report
        lose()
        if made_anew:
            make()
        yield Failed("segment 0: TableGoneError: Table: orders not found", retriable=False)

    def refuse(operation: str, subject: str) -> Exception | None:
        if operation == "DescribeTable" and made_anew and "orders" not in rig.account.tables:
            make()
        if operation == "Scan" and len(rig.account.scans) >= 3 and not successor:
            lose()
        return None

    fake.script.append(finds_nothing)
    if rig.config["init.sync.engine"] == "daemon":
        rig.account.refuse = refuse
    await rig.start()
    await rig.until(lambda: rig.state("orders") == "FAILED")
    rig.account.refuse = lambda operation, subject: None
    return successor[0] if successor else None


@virtual
@ENGINES
async def test_a_table_that_is_deleted_in_mid_scan_is_gone(engine: str) -> None:
    rig, _, fake = new_rig(engine)
    await lose_in_mid_scan(rig, fake, made_anew=False)
    reason = str(rig.row("orders")["reason"])
    assert reason.startswith("table orders was deleted while it was scanned, it does not exist")
    assert "restart the connector's failed tasks" in reason
    assert isinstance(rig.error.__cause__ if rig.error else None, TableGoneError)
    await rig.stop()


@virtual
@ENGINES
async def test_a_table_made_anew_in_mid_scan_is_told_and_scanned_whole_after_a_restart(
    engine: str,
) -> None:
    rig, _, fake = new_rig(engine)
    successor = await lose_in_mid_scan(rig, fake, made_anew=True)
    assert successor is not None
    reason = str(rig.row("orders")["reason"])
    assert reason.startswith("table orders was deleted and made anew while it was scanned")
    assert "keys of the old table that the new one does not have stay in the topic" in reason
    await rig.stop()
    old = set(rig.topic_view("orders"))
    assert old

    reasons: set[str] = set()

    def note_reason(operation: str, subject: str) -> None:
        if operation == "Scan":
            reasons.add(str(rig.row("orders")["reason"]))

    rig.account.refuse = note_reason
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    (while_scanned,) = reasons
    assert "made anew; keys of the old table" in while_scanned
    assert rig.row("orders")["reason"] == ""
    view = rig.topic_view("orders")
    assert {key: view[key] for key in successor.items} == successor.items
    assert old <= set(view)
    await rig.stop()


@virtual
@ENGINES
async def test_a_scan_that_lost_its_table_is_not_continued_on_another_one(engine: str) -> None:
    """Also where gaps are passed over: the new table is no rest of the old one."""
    rig, _, fake = new_rig(engine)
    rig.config["gap.policy"] = "skip"
    successor = await lose_in_mid_scan(rig, fake, made_anew=True)
    assert successor is not None
    await rig.stop()
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    view = rig.topic_view("orders")
    assert {key: view[key] for key in successor.items} == successor.items
    await rig.stop()
