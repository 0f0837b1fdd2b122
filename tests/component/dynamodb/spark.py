"""A Spark in memory: drivers that scan the account of a test, or do what its script says.

``FakeSpark`` implements ``DriverStarter``. A *behaviour* is an async generator of reports; each
driver takes the next of ``script``, and when there is none left, ``scans``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

import orjson

from connectd.configdef.spark_settings import SparkSettings
from connectd.connectors.dynamodb import spark_command
from connectd.connectors.dynamodb.decode import decode_scan_page
from connectd.connectors.dynamodb.offsets import SegmentPosition
from connectd.connectors.dynamodb.scan_job import ErrorRules, ScanJob
from connectd.connectors.dynamodb.scan_reports import (
    Finished,
    ScanReport,
    SegmentMoved,
    Started,
    from_line,
    to_line,
)
from connectd.connectors.dynamodb.spark_engine import (
    RecordSettings,
    ScanDriver,
    SparkEngine,
    Turns,
)
from connectd.errors import ConnectdError
from connectd.model.record import ConverterSpec
from tests.component.dynamodb.account import FakeTable
from tests.component.dynamodb.rig import Rig, Sent, new_account

SPARK = {"init.sync.engine": "spark"}

PAGE_S = 1.0
"""How long a page takes, so that a test can come in between."""

PAGE_ITEMS = 5

STARTED = Started("4.3.0", "local[2]", 2)

ITEMS = 60


def new_rig(items: int = ITEMS, **config: str) -> tuple[Rig, FakeTable]:
    """A table ``orders`` whose scan has three segments."""
    account = new_account()
    table = account.add_table("orders")
    for number in range(items):
        table.put(f"k{number}", number)
    keys = {name.replace("_", "."): value for name, value in config.items()}
    return Rig(account, {**SPARK, "init.sync.segments": "3", **keys}), table


class FakeDriver:
    """One driver (``spark_engine.ScanDriver``)."""

    def __init__(self, spark: FakeSpark, job: ScanJob, behaviour: Behaviour) -> None:
        self.spark = spark
        self.job = job
        self.code = 0
        self.is_asked = asyncio.Event()
        self.lines: list[str] = ["WARN something that Spark says"]
        self._behaviour = behaviour

    async def reports(self) -> AsyncIterator[ScanReport]:
        async for report in self._behaviour(self):
            yield report

    async def wait(self) -> int:
        return self.code

    def ask_to_end(self) -> None:
        self.is_asked.set()

    def tail(self) -> list[str]:
        return self.lines


Behaviour = Callable[[FakeDriver], AsyncIterator[ScanReport]]


class FakeSpark:
    """See the module's docstring."""

    def __init__(self, rig: Rig, **settings: object) -> None:
        self.rig = rig
        self.script: deque[Behaviour] = deque()
        self.jobs: list[ScanJob] = []
        self.running = 0
        self.missing = ""
        self.settings = replace(SparkSettings(master="local[2]"), **settings)  # type: ignore[arg-type]
        turns = Turns(self.settings.drivers_max)
        rig.resources[SparkEngine] = SparkEngine(self.settings, records_of, self, turns)

    async def problem(self) -> str:
        return self.missing

    def start(self, job: ScanJob) -> AbstractAsyncContextManager[ScanDriver]:
        return self._started(job)

    def verdict(self, code: int, tail: list[str]) -> ConnectdError:
        return spark_command.verdict(code, tail, self.settings)

    def explanation(self, tail: list[str]) -> str:
        return spark_command.explanation(tail, self.settings)

    @asynccontextmanager
    async def _started(self, job: ScanJob) -> AsyncIterator[ScanDriver]:
        # As it arrives at the driver, but for AWS keys.
        self.jobs.append(ScanJob.from_json(job.to_json()))
        self.running += 1
        try:
            yield FakeDriver(self, job, self.script.popleft() if self.script else scans)
        finally:
            self.running -= 1


async def pages(driver: FakeDriver, position: SegmentPosition) -> AsyncIterator[SegmentMoved]:
    """Scan a segment from a position on; its records are in the topic before it is told."""
    account, job = driver.spark.rig.account, driver.job
    while not position.is_finished and not driver.is_asked.is_set():
        await asyncio.sleep(PAGE_S)
        response = await account.dynamodb.scan(
            job.table,
            segment=position.segment,
            total_segments=job.total_segments,
            exclusive_start_key=position.start_key,
            limit=PAGE_ITEMS,
        )
        page = decode_scan_page(response.body)
        for raw in page.items:
            item = orjson.loads(bytes(raw))
            key, value = item["id"]["S"], int(item["v"]["N"])
            driver.spark.rig.log.append(Sent(job.table, "r", key, value, None, "RUNNING"))
        position = position.after_page(page.last_evaluated_key, len(page.items))
        moved = SegmentMoved(
            position, len(page.items), len(page.items), topics=(job.topic,), consumed=0.5
        )
        report = from_line(to_line(moved).strip())
        assert isinstance(report, SegmentMoved)
        yield report


async def scans(driver: FakeDriver) -> AsyncIterator[ScanReport]:
    """A driver that does its work, one segment after the other."""
    await asyncio.sleep(PAGE_S)
    yield STARTED
    for position in driver.job.segments:
        async for report in pages(driver, position):
            yield report
    if driver.is_asked.is_set():
        driver.code = 143
        return
    yield Finished()


def stays_silent(code: int, *lines: str, after_s: float = PAGE_S) -> Behaviour:
    """A driver that ends like this without having told anything."""

    async def behave(driver: FakeDriver) -> AsyncIterator[ScanReport]:
        await asyncio.sleep(after_s)
        driver.code = code
        driver.lines += lines
        nothing: tuple[ScanReport, ...] = ()
        for report in nothing:
            yield report

    return behave


def fails_unstarted(report: ScanReport) -> Behaviour:
    """A driver that says why Spark cannot start."""

    async def behave(driver: FakeDriver) -> AsyncIterator[ScanReport]:
        await asyncio.sleep(PAGE_S)
        driver.code = 3
        yield report

    return behave


def tells(*reports: ScanReport, code: int = 0) -> Behaviour:
    """A driver that tells this and ends."""

    async def behave(driver: FakeDriver) -> AsyncIterator[ScanReport]:
        yield STARTED
        for report in reports:
            yield report
        driver.code = code

    return behave


def dies_after(count: int, code: int = -9) -> Behaviour:
    """A driver that reads so many pages of its first segment."""

    async def behave(driver: FakeDriver) -> AsyncIterator[ScanReport]:
        yield STARTED
        left = count
        async for report in pages(driver, driver.job.segments[0]):
            yield report
            left -= 1
            if left == 0:
                break
        driver.code = code

    return behave


def records_of(connector: str, config: Mapping[str, str]) -> RecordSettings:
    """Plain JSON."""
    json = ConverterSpec("org.apache.kafka.connect.json.JsonConverter")
    return RecordSettings(
        key_converter=json,
        value_converter=json,
        header_converter=ConverterSpec("org.apache.kafka.connect.storage.SimpleHeaderConverter"),
        producer={"bootstrap.servers": "localhost:9092"},
        admin={},
        errors=ErrorRules(),
        creates_topics=False,
        reserved_topics=("connect-configs",),
    )
