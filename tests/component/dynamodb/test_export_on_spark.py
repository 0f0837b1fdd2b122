"""An export that Spark reads, of the whole task and on virtual time; Spark is a script."""

from __future__ import annotations

import asyncio
import dataclasses
import io
from collections.abc import AsyncIterator

import orjson
import pytest

from connectd.connectors.dynamodb.export_files import read_pages
from connectd.connectors.dynamodb.scan_reports import Finished, ScanReport, SegmentMoved
from tests.component.dynamodb import spark
from tests.component.dynamodb.account import FakeTable
from tests.component.dynamodb.rig import Rig, Sent, virtual
from tests.component.dynamodb.spark import FakeDriver, FakeSpark
from tests.component.dynamodb.spark import new_rig as spark_rig


def new_rig(**config: str) -> tuple[Rig, FakeTable]:
    rig, table = spark_rig()
    rig.config |= {
        "init.sync.engine": "export",
        "init.sync.export.reader": "spark",
        "init.sync.export.s3.bucket": "exports",
        "init.sync.page.size": "5",
        **{name.replace("_", "."): value for name, value in config.items()},
    }
    return rig, table


async def reads(driver: FakeDriver) -> AsyncIterator[ScanReport]:
    """A driver that reads its files, one after the other."""
    rig, job = driver.spark.rig, driver.job
    yield spark.STARTED
    for position in job.segments:
        file = job.files[position.segment]
        content = io.BytesIO(rig.account.exports.objects["exports", file.key])
        for page in read_pages("it", content, file, skip=position.count, items_max=5):
            await asyncio.sleep(spark.PAGE_S)
            for raw in page.items:
                item = orjson.loads(bytes(raw))
                key, value = item["id"]["S"], int(item["v"]["N"])
                rig.log.append(Sent(job.table, "r", key, value, None, "RUNNING"))
            count = len(page.items)
            position = dataclasses.replace(
                position, count=position.count + count, is_finished=page.is_last
            )
            yield SegmentMoved(position, count, count, topics=(job.topic,))
    yield Finished()


@virtual
async def test_spark_reads_the_export_and_needs_no_turn_to_wait_for_it() -> None:
    rig, table = new_rig()
    fake = FakeSpark(rig)
    fake.script.append(reads)
    await rig.start()
    await rig.until(lambda: len(rig.account.exports.exports) == 1)
    await rig.sleep(60.0)
    assert fake.jobs == []
    table.put("k1", 1000)
    await rig.until(lambda: len(rig.log) >= 10)
    scan = rig.row("orders")["scan"]
    assert isinstance(scan, dict)
    assert (scan["engine"], scan["segments"]) == ("spark (local[2], 2 at a time)", 7)
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    (job,) = fake.jobs
    assert sorted(job.files) == [each.segment for each in job.segments] == list(range(7))
    assert sum(each.items for each in job.files.values()) == spark.ITEMS
    assert job.state.export_bucket == "exports"
    assert job.units_per_s is None
    assert rig.account.calls["Scan"] == 0
    await rig.stop()


@virtual
@pytest.mark.parametrize(("first", "then"), [("spark", "daemon"), ("daemon", "spark")])
async def test_the_reading_changes_hands_over_a_crash(first: str, then: str) -> None:
    rig, table = new_rig(init_sync_export_reader=first)
    fake = FakeSpark(rig)
    fake.script += [reads, reads]
    rig.account.exports.duration_s = 0.0
    await rig.start()
    await rig.until(lambda: len(rig.log) >= 15, step_s=0.001)
    rig.settle()
    await rig.crash()
    assert fake.running == 0
    sent = len(rig.log)
    rig.config["init.sync.export.reader"] = then
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    assert len(rig.account.exports.exports) == 1
    assert len([each for each in rig.log if each.op == "r"]) < sent + spark.ITEMS
    assert len(fake.jobs) == 1
    await rig.stop()


@virtual
async def test_a_small_export_is_read_by_the_daemon_with_auto() -> None:
    rig, table = new_rig(init_sync_export_reader="auto")
    fake = FakeSpark(rig)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert fake.jobs == []
    assert rig.topic_view("orders") == table.items
    await rig.stop()


@virtual
async def test_without_a_way_to_spark_nothing_is_exported_for_it() -> None:
    rig, _ = new_rig()
    FakeSpark(rig).missing = "no Java was found"
    await rig.start()
    await rig.until(lambda: rig.state("orders") == "FAILED")
    reason = str(rig.row("orders")["reason"])
    assert "init.sync.export.reader is spark, but no Java was found" in reason
    assert rig.account.exports.exports == {}
    await rig.stop()
