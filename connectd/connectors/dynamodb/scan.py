"""INIT_SYNC: everything that is in the table, in parallel segments, each with its own position.

The scan begins after its state (RUNNING, with its start) and the stream's baseline are durable, so
a crash at any moment continues it: each segment from the key after the last page that Kafka has
acknowledged (field cases I05, I12). A segment ends with a ``Seal``, since its last page may be
empty; the table state says FINISHED after all segments' seals are durable.

Reads are paced by consumed capacity (``pacing``). A refused page consumed nothing and is asked for
again with the same key (I07); what waiting will not mend fails the table (I11).

The last record of a scan with one segment says FINISHED already, as the Java connector's does; with
several segments nobody can know which record will be the last.
"""

from __future__ import annotations

from typing import Final

from connectd.aio.backoff import Backoff
from connectd.aio.jobs import JobGroup
from connectd.connectors.dynamodb import stored_table
from connectd.connectors.dynamodb.config import ScanSettings
from connectd.connectors.dynamodb.decode import ScanPage, decode_scan_page
from connectd.connectors.dynamodb.offsets import SegmentPosition, TableState
from connectd.connectors.dynamodb.pacing import ScanPacer
from connectd.connectors.dynamodb.plan import TablePlan
from connectd.connectors.dynamodb.scan_ledger import ScanLedger
from connectd.connectors.dynamodb.source_api import TableDescription
from connectd.connectors.dynamodb.table_scope import TableScope
from connectd.errors import ConvertError, RetriableError, TransientNetworkError

SEGMENT_BYTES: Final = 2 * 1024**3
"""One segment per 2 GB is what AWS advises (spec streams-and-leases 4.6)."""

SEGMENTS_BY_SIZE_MAX: Final = 8
"""More in parallel saturate one core; larger scans are for Spark, or for a setting."""

SPARK_SEGMENTS_FREE: Final = 64
"""So many segments a scan on Spark may have in any case: the slots of a fair cluster."""

SPARK_SEGMENT_BYTES_MIN: Final = 64 * 1024**2
"""What a segment beyond those must hold: about what a slot reads in a chunk of 5 s."""

_BACKOFF: Final = Backoff(initial_s=0.5, max_s=20.0)


def segments_for(size_bytes: int, wanted: int, *, on_spark: bool = False) -> int:
    """How many segments a scan gets: those wanted, or by the table's size.

    On Spark each costs a job at least, a second or so, whatever is in it: beyond a number that
    costs little, none is given less than a chunk can read.
    """
    if wanted and on_spark:
        return min(wanted, max(SPARK_SEGMENTS_FREE, size_bytes // SPARK_SEGMENT_BYTES_MIN))
    if wanted:
        return wanted
    by_size = max(1, -(-size_bytes // SEGMENT_BYTES))
    return min(by_size, stored_table.SEGMENTS_MAX if on_spark else SEGMENTS_BY_SIZE_MAX)


def units_per_s(settings: ScanSettings, description: TableDescription) -> float | None:
    """The read capacity that settings and the table's own capacity allow; None: unpaced."""
    return (
        float(settings.capacity_units)
        or (description.read_capacity_units * settings.capacity_share)
        or None
    )


def item_bytes(description: TableDescription) -> float | None:
    """What an item of the table measures on average; None: nothing is known."""
    items = description.item_count
    return description.size_bytes / items if items else None


def make_pacer(scope: TableScope, description: TableDescription, segments: int) -> ScanPacer | None:
    """The pacer that settings and the table's capacity ask for; None: unpaced."""
    settings = scope.config.scan
    rate = units_per_s(settings, description)
    if rate is None:
        return None
    return ScanPacer(
        units_per_s=rate,
        clock=scope.clock,
        segments=segments,
        item_bytes=item_bytes(description),
        is_consistent=settings.consistent_read,
    )


class TableScan:
    """One scan of one table, from a durable RUNNING state to a durable FINISHED one."""

    def __init__(
        self, scope: TableScope, plan: TablePlan, ledger: ScanLedger, pacer: ScanPacer | None
    ) -> None:
        self._scope = scope
        self._plan = plan
        self._ledger = ledger
        self._pacer = pacer

    async def run(self) -> TableState:
        """Scan what is left; returns the FINISHED state, durable.

        Raises:
            FatalTaskError: a segment cannot go on.
        """
        segments = JobGroup(f"{self._scope.table}/scan")
        for position in self._ledger.unfinished():
            segments.spawn(f"segment-{position.segment}", self._run_segment(position))
        await segments.complete()
        return await self._ledger.finish()

    async def _run_segment(self, position: SegmentPosition) -> None:
        failures = 0
        what = f"scan of segment {position.segment}"
        while not position.is_finished:
            try:
                position = await self._read_page(position)
            except RetriableError as error:
                failures += 1
                self._scope.report_trouble(what, error, failures)
                await self._scope.scheduler.wait(
                    _BACKOFF.wait_s(failures, floor_s=error.retry_after_s or 0.0)
                )
            else:
                failures = 0
                self._scope.clear_trouble(what)
                self._ledger.move(position)
        await self._scope.queue.commit(
            stored_table.segment_partition(self._scope.table, position.segment),
            position.to_offset(),
        )

    async def _read_page(self, position: SegmentPosition) -> SegmentPosition:
        """Read and emit one page; returns the position after it."""
        settings, scope = self._scope.config.scan, self._scope
        limit = settings.page_size or None
        expected = 0.0
        if self._pacer is not None:
            limit = self._pacer.limit(settings.page_size)
            expected = await self._pacer.take(limit)
        page: ScanPage | None = None
        async with scope.queue.place() as place:
            try:
                async with scope.scheduler.slot():
                    response = await scope.api.dynamodb.scan(
                        scope.table,
                        segment=position.segment,
                        total_segments=position.total_segments,
                        exclusive_start_key=position.start_key,
                        limit=limit,
                        consistent=settings.consistent_read,
                    )
                scope.time.observe(response.date_s)
                page = decode_scan_page(response.body)
            except ConvertError as error:
                raise TransientNetworkError(str(error)) from error
            finally:
                if self._pacer is not None:
                    consumed, items = (
                        (page.consumed_capacity, len(page.items)) if page else (0.0, 0)
                    )
                    self._pacer.settle(expected, consumed, limit=limit, items=items)
            after = position.after_page(page.last_evaluated_key, len(page.items))
            place.fill(self._ledger.batch(self._plan, page.items, after))
        return after
