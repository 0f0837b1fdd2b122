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

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import structlog

from connectd.aio.backoff import Backoff
from connectd.aio.jobs import JobGroup
from connectd.connectors.dynamodb.decode import ScanPage, decode_scan_page
from connectd.connectors.dynamodb.emission_queue import REMOVED
from connectd.connectors.dynamodb.envelope import InitSyncState
from connectd.connectors.dynamodb.offsets import SegmentPosition, TableState
from connectd.connectors.dynamodb.pacing import ScanPacer
from connectd.connectors.dynamodb.payload import ScanPayload
from connectd.connectors.dynamodb.plan import TablePlan
from connectd.connectors.dynamodb.source_api import TableDescription
from connectd.connectors.dynamodb.stored_table import segment_partition, table_partition
from connectd.connectors.dynamodb.table_scope import TableScope
from connectd.errors import ConvertError, RetriableError, TransientNetworkError
from connectd.model.record import RecordBatch, Seal

_log = structlog.get_logger(__name__)

SEGMENT_BYTES: Final = 2 * 1024**3
"""One segment per 2 GB is what AWS advises (spec streams-and-leases 4.6)."""

SEGMENTS_BY_SIZE_MAX: Final = 8
"""More in parallel saturate one core; larger scans are for Spark, or for a setting."""

_BACKOFF: Final = Backoff(initial_s=0.5, max_s=20.0)


def segments_for(size_bytes: int, wanted: int) -> int:
    """How many segments a scan gets: those wanted, or by the table's size."""
    if wanted:
        return wanted
    return min(max(1, -(-size_bytes // SEGMENT_BYTES)), SEGMENTS_BY_SIZE_MAX)


def make_pacer(scope: TableScope, description: TableDescription, segments: int) -> ScanPacer | None:
    """The pacer that settings and the table's capacity ask for; None: unpaced."""
    settings = scope.config.scan
    units_per_s = float(settings.capacity_units) or (
        description.read_capacity_units * settings.capacity_share
    )
    if not units_per_s:
        return None
    items = description.item_count
    return ScanPacer(
        units_per_s=units_per_s,
        clock=scope.clock,
        segments=segments,
        item_bytes=description.size_bytes / items if items else None,
        is_consistent=settings.consistent_read,
    )


class TableScan:
    """One scan of one table, from a durable RUNNING state to a durable FINISHED one."""

    def __init__(
        self,
        scope: TableScope,
        plan: TablePlan,
        state: TableState,
        stored: Mapping[int, SegmentPosition],
        pacer: ScanPacer | None,
    ) -> None:
        assert state.total_segments is not None
        self._scope = scope
        self._plan = plan
        self._state = state
        self._pacer = pacer
        self._positions = {
            segment: stored.get(segment)
            or SegmentPosition(segment, state.total_segments, state.init_sync_start_ms)
            for segment in range(state.total_segments)
        }
        self._end_ms: int | None = None
        self._is_too_old = False
        self._unsealed = 0
        self._over = asyncio.Event()
        self._failure: BaseException | None = None
        self._jobs = JobGroup(f"{scope.table}/scan", on_failure=self._on_failure)

    async def run(self) -> TableState:
        """Scan what is left; returns the FINISHED state, durable.

        Raises:
            FatalTaskError: a segment cannot go on.
        """
        self._scope.progress.items_scanned = sum(each.count for each in self._positions.values())
        left = [each for each in self._positions.values() if not each.is_finished]
        self._unsealed = len(left)
        try:
            for position in left:
                self._jobs.spawn(f"segment-{position.segment}", self._run_segment(position))
            if left:
                await self._over.wait()
        finally:
            await self._jobs.stop()
        if self._failure is not None:
            raise self._failure
        return await self._finish()

    async def _finish(self) -> TableState:
        queue, table = self._scope.queue, self._scope.table
        finished = self._finished_state(sum(each.count for each in self._positions.values()))
        await queue.commit(table_partition(table), finished.to_offset())
        for segment in self._positions:
            queue.put(Seal(segment_partition(table, segment), REMOVED))
        return finished

    def _finished_state(self, count: int) -> TableState:
        if self._end_ms is None:
            self._end_ms = self._scope.time.now_ms()
        return replace(
            self._state,
            init_sync=InitSyncState.FINISHED,
            init_sync_end_ms=self._end_ms,
            init_sync_count=count,
            start_key=None,
        )

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
                self._positions[position.segment] = position
                self._check_age()
        await self._scope.queue.commit(
            segment_partition(self._scope.table, position.segment), position.to_offset()
        )
        self._unsealed -= 1
        if self._unsealed == 0:
            self._over.set()

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
            place.fill(self._batch(page, after))
        scope.progress.items_scanned += len(page.items)
        return after

    def _batch(self, page: ScanPage, after: SegmentPosition) -> RecordBatch:
        progress, items = self._scope.progress, len(page.items)
        last_info = None
        if after.is_finished and after.total_segments == 1 and items:
            last_info = self._finished_state(after.count).info()

        def on_acked() -> None:
            progress.records_sent += items

        return RecordBatch(
            segment_partition(self._scope.table, after.segment),
            after.to_offset(),
            ScanPayload(self._plan, self._state.info(), page.items, last_info),
            on_acked,
        )

    def _check_age(self) -> None:
        """Say, once, that the scan takes so long that the stream may not reach back to its start.

        The Java connector starts again at that age, and again (field case I02).
        """
        age_ms = self._scope.time.now_ms() - self._state.init_sync_start_ms
        if self._is_too_old or age_ms < self._scope.config.scan.max_age_ms:
            return
        self._is_too_old = True
        hours = self._scope.config.scan.max_age_ms / 3_600_000
        self._scope.progress.note = (
            f"INIT_SYNC is under way for more than {hours:.0f} hours: the stream may not reach "
            "back to its start; give it more segments or capacity"
        )
        _log.warning(
            "INIT_SYNC takes too long, it goes on from its saved position",
            table=self._scope.table,
            age_ms=age_ms,
            items=self._scope.progress.items_scanned,
        )

    def _on_failure(self, name: str, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error
        self._over.set()
