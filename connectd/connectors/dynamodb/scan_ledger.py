"""How far the scan of a table is, whoever scans it: ``scan`` in this process, or ``spark_scan``.

Owns the positions of all segments in this life, the picture of the scan (``scan_progress``), and
its end: the table state says FINISHED once that is durable, and the segments are removed behind it.
Used on the event loop.

What has read for a scan and is out of reach may still write: executors of a cluster. The scan is
not over before that is over too (``settle_after``), over the end of this process as well
(``share``; see ``scan_lease``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

import structlog

from connectd.connectors.dynamodb.decode import Raw
from connectd.connectors.dynamodb.emission_queue import REMOVED
from connectd.connectors.dynamodb.envelope import InitSyncState
from connectd.connectors.dynamodb.offsets import SegmentPosition, TableState
from connectd.connectors.dynamodb.payload import ScanPayload
from connectd.connectors.dynamodb.plan import TablePlan
from connectd.connectors.dynamodb.scan_progress import ScanProgress
from connectd.connectors.dynamodb.stored_table import segment_partition, table_partition
from connectd.connectors.dynamodb.table_scope import TableScope
from connectd.model.record import RecordBatch, Seal

_log = structlog.get_logger(__name__)


class ScanLedger:
    """See the module's docstring; ``state`` is the durable state RUNNING of the scan."""

    def __init__(
        self,
        scope: TableScope,
        state: TableState,
        stored: Mapping[int, SegmentPosition],
        *,
        engine: str,
        baseline: Callable[[], Awaitable[object]],
    ) -> None:
        """``baseline`` returns once it is durable where the stream stands: no end before that."""
        self._baseline = baseline
        assert state.total_segments is not None
        self.state = state
        self._scope = scope
        self._positions = {
            segment: stored.get(segment)
            or SegmentPosition(segment, state.total_segments, state.init_sync_start_ms)
            for segment in range(state.total_segments)
        }
        self._items = sum(each.count for each in self._positions.values())
        self._end_ms: int | None = None
        self._settled_s = scope.clock.monotonic() + (state.spark_settle_ms or 0) / 1000
        if scope.hand_off is not None:  # also where the state, which says so too, was removed
            left = scope.hand_off.engine.leftovers
            now_s = scope.clock.monotonic()
            self.settle_after(left.left_s(scope.hand_off.connector, scope.table, now_s))
        self._is_too_old = False
        self.progress = scope.progress.scan = ScanProgress(
            engine,
            segments=state.total_segments,
            segments_finished=sum(each.is_finished for each in self._positions.values()),
            items_estimated=scope.progress.items_estimated or 0,
        )
        self._show()

    @property
    def items(self) -> int:
        """Items read by now, in all lives of the scan."""
        return self._items

    def position(self, segment: int) -> SegmentPosition | None:
        """How far a segment is; None: the scan has none of that number."""
        return self._positions.get(segment)

    def unfinished(self) -> list[SegmentPosition]:
        """The segments that are left, in order."""
        return [each for each in self._positions.values() if not each.is_finished]

    def move(self, position: SegmentPosition) -> None:
        """A segment is at another position now."""
        before = self._positions[position.segment]
        self._positions[position.segment] = position
        self._items += position.count - before.count
        self.progress.segments_finished += position.is_finished - before.is_finished
        self._show()
        self._check_age()

    async def share(self, settle_s: float) -> None:
        """Let executors of a cluster read, which may write for so long after this life's end."""
        settle_ms = round(settle_s * 1000)
        if self.state.spark_settle_ms != settle_ms:
            self.state = replace(self.state, spark_settle_ms=settle_ms)
            await self._scope.queue.commit(
                table_partition(self._scope.table), self.state.to_offset()
            )

    def settle_after(self, settle_s: float) -> None:
        """Something that is out of reach may write for so long from now on."""
        self._settled_s = max(self._settled_s, self._scope.clock.monotonic() + settle_s)

    def end_at(self, end_ms: int) -> None:
        """The scan has ended then: its last record has said so."""
        self._end_ms = end_ms

    def finished_state(self, count: int) -> TableState:
        """The state of the finished scan, of so many items; it ends now if it has not yet."""
        if self._end_ms is None:
            self._end_ms = self._scope.time.now_ms()
        return replace(
            self.state,
            init_sync=InitSyncState.FINISHED,
            init_sync_end_ms=self._end_ms,
            init_sync_count=count,
            start_key=None,
            spark_settle_ms=None,
        )

    def batch(self, plan: TablePlan, items: Sequence[Raw], after: SegmentPosition) -> RecordBatch:
        """The emission of a page, with the position after it.

        With one segment the last record says FINISHED already, as the Java connector's does; with
        several nobody can know which record will be the last.
        """
        last_info = None
        if after.is_finished and after.total_segments == 1 and items:
            last_info = self.finished_state(after.count).info()

        return RecordBatch(
            segment_partition(self._scope.table, after.segment),
            after.to_offset(),
            ScanPayload(plan, self.state.info(), items, last_info),
            self._scope.progress.count,
        )

    async def finish(self) -> TableState:
        """Make the end durable, which that of all segments must be, and forget the segments."""
        await self._settle()
        await self._wait_for_baseline()
        queue, table = self._scope.queue, self._scope.table
        finished = self.finished_state(self._items)
        await queue.commit(table_partition(table), finished.to_offset())
        for segment in self._positions:
            queue.put(Seal(segment_partition(table, segment), REMOVED))
        return finished

    async def _wait_for_baseline(self) -> None:
        progress, note = self._scope.progress, self._scope.progress.note
        progress.note = "all is scanned; the list of the stream's shards is waited for"
        await self._baseline()
        progress.note = note

    async def _settle(self) -> None:
        left_s = self._settled_s - self._scope.clock.monotonic()
        if left_s <= 0:
            return
        progress, note = self._scope.progress, self._scope.progress.note
        progress.note = (
            "all is scanned; executors of Spark that are out of reach may go on to send for "
            f"{left_s:.0f} s, which are waited for before the stream is followed"
        )
        _log.info(
            "INIT_SYNC waits until no executor of Spark can send any more",
            table=self._scope.table,
            wait_s=round(left_s, 1),
        )
        await self._scope.rest(left_s)
        progress.note = note

    def _show(self) -> None:
        self._scope.progress.items_scanned = self._items
        self._scope.move()
        self.progress.observe(self._scope.clock.monotonic(), self._items)

    def _check_age(self) -> None:
        """Say, once, that the scan takes so long that the stream may not reach back to its start.

        The Java connector starts again at that age, and again (field case I02).
        """
        max_age_ms = self._scope.config.scan.max_age_ms
        age_ms = self._scope.time.now_ms() - self.state.init_sync_start_ms
        if self._is_too_old or age_ms < max_age_ms:
            return
        self._is_too_old = True
        self._scope.progress.note = (
            f"INIT_SYNC is under way for more than {max_age_ms / 3_600_000:.0f} hours: the stream "
            "may not reach back to its start; give it more segments or capacity"
        )
        _log.warning(
            "INIT_SYNC takes too long, it goes on from its saved position",
            table=self._scope.table,
            age_ms=age_ms,
            items=self._items,
        )
