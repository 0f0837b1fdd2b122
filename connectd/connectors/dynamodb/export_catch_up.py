"""Closes a gap with incremental exports, instead of reading the whole table again.

Unlike another INIT_SYNC it sends what has changed and nothing else, deletions among it, and it
costs no read capacity. Which windows, and when there are none, is ``export_windows``' business;
when a chain begins and what follows it is ``table_job``'s.

Each export is read to its end, durably, before the next one is asked for: a key has at most one
line in each, so that its records come in the order of the windows. The state of the table says how
far the chain is (``offsets.ExportChain``), and the positions in the data files are segments of the
export under way. So a crash at any moment goes on with the same export. One that has failed fails
the table, and the next start asks for it anew, as it does when nobody has confirmed it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import IO

import structlog

from connectd.aio.clock import iso_instant
from connectd.aws import exports
from connectd.connectors.dynamodb import export_making, export_windows, lineage, stored_table
from connectd.connectors.dynamodb.config import ScanEngine
from connectd.connectors.dynamodb.decode import StreamRecord
from connectd.connectors.dynamodb.emission_queue import REMOVED
from connectd.connectors.dynamodb.export_changes import change_batch, read_change_pages
from connectd.connectors.dynamodb.export_files import DataFile, LinePage
from connectd.connectors.dynamodb.export_making import UNCONFIRMED_MAX_MS
from connectd.connectors.dynamodb.export_reader import ExportReader
from connectd.connectors.dynamodb.gaps import Gap
from connectd.connectors.dynamodb.offsets import (
    ExportChain,
    SegmentPosition,
    ShardPosition,
    TableState,
)
from connectd.connectors.dynamodb.plan import TablePlan
from connectd.connectors.dynamodb.scan_progress import ScanProgress
from connectd.connectors.dynamodb.source_api import (
    ExportDescription,
    ExportWindow,
    TableDescription,
)
from connectd.connectors.dynamodb.table_scope import TableScope
from connectd.errors import FatalTaskError, InvalidRequestError, InvariantError
from connectd.model.record import RecordBatch, Seal

_log = structlog.get_logger(__name__)


class ExportRefusedError(FatalTaskError):
    """DynamoDB will not export what a gap needs: the table must be read whole."""


async def begin(
    scope: TableScope, gap: Gap | None, state: TableState, positions: Mapping[str, ShardPosition]
) -> TableState | None:
    """The state with the chain that closes a gap, durable; None: there is none, and it is said why.

    ``positions`` are those behind everything that was emitted.
    """
    if scope.config.scan.engine is not ScanEngine.EXPORT or gap is None:
        return None
    now_ms = scope.time.now_ms()
    problem = export_windows.obstacle(gap, state, positions, scope.config, now_ms)
    if problem:
        give_up(scope, problem)
        return None
    # Records that are emitted and not yet acknowledged are before the chain: they come first.
    await scope.queue.commit_all(
        {
            stored_table.shard_partition(scope.table, each.shard_id): each.to_offset()
            for each in lineage.frontier(positions)
        }
    )
    bucket = scope.config.scan.export.bucket
    state = replace(state, chain=export_windows.begin_chain(state, positions, bucket, now_ms))
    await scope.queue.commit(stored_table.table_partition(scope.table), state.to_offset())
    return state


def give_up(scope: TableScope, why: str) -> None:
    """Say that the table is read whole instead, and why: in the log, and in its row."""
    scope.progress.why_whole = f"incremental exports cannot close the gap: {why}"
    _log.warning("incremental exports cannot close the gap", table=scope.table, why=why)


class CatchUp:
    """One chain in one life of the task, from a durable state that has it to one at its end."""

    def __init__(
        self,
        scope: TableScope,
        description: TableDescription,
        plan: TablePlan,
        state: TableState,
        stored: Mapping[int, SegmentPosition],
    ) -> None:
        """``stored``: positions in the files of the export that is under way in ``state``."""
        self._scope = scope
        self._description = description
        self._plan = plan
        self._state = state
        self._stored = stored

    async def run(self) -> TableState:
        """Read exports until the stream reaches back to the end of the last one; durable.

        Raises:
            ExportRefusedError: DynamoDB refuses one; nothing but another INIT_SYNC will help.
            FatalTaskError: an export has failed, or cannot be read.
        """
        if await self._is_useless():
            await self._begin(replace(self._chain, to_ms=None))
        time, took_ms = self._scope.time, 0
        while True:
            chain = self._chain
            if chain.to_ms is None:
                end_ms = export_windows.next_end(
                    chain, time.now_ms(), self._scope.config.stream.safe_zone_ms, took_ms=took_ms
                )
                if end_ms is None:
                    return self._state
                await self._begin(replace(chain, to_ms=end_ms))
            began_ms = self._chain.start_ms
            await self._read_window()
            took_ms = time.now_ms() - began_ms

    @property
    def _chain(self) -> ExportChain:
        if self._state.chain is None:
            raise InvariantError(f"table {self._scope.table} has no chain of exports")
        return self._state.chain

    async def _is_useless(self) -> bool:
        """Whether the export under way when the task was started leads nowhere."""
        chain = self._chain
        if chain.to_ms is None or chain.files is not None:
            return False
        if chain.arn is None:
            return self._scope.time.now_ms() - chain.start_ms > UNCONFIRMED_MAX_MS
        export = await export_making.describe(self._scope, chain.arn)
        return export.status == exports.FAILED

    async def _begin(self, chain: ExportChain) -> None:
        """Another export, or none, under another name: what belonged to the old one is over."""
        before = self._chain
        start_ms = max(self._scope.time.now_ms(), before.start_ms + 1)
        await self._commit(replace(chain, start_ms=start_ms, arn=None, files=None))
        self._stored = {}
        for segment in range(before.files or 0):
            partition = stored_table.segment_partition(self._scope.table, segment)
            self._scope.queue.put(Seal(partition, REMOVED))

    async def _commit(self, chain: ExportChain) -> None:
        self._state = replace(self._state, chain=chain)
        await self._scope.queue.commit(
            stored_table.table_partition(self._scope.table), self._state.to_offset()
        )

    # -- one export -----------------------------------------------------------------------------

    async def _read_window(self) -> None:
        scope, bucket = self._scope, self._chain.bucket
        arn = self._chain.arn or await self._request()
        export = await export_making.completed(scope, arn, bucket, f"; {self._about()}")
        files = await export_making.list_files(
            scope, export, bucket, self._description.arn, exports.INCREMENTAL
        )
        await self._settle(export, files)
        scope.progress.note = self._about()
        changes = sum(each.items for each in files)
        _log.info("reading an incremental export", table=scope.table, export=arn, changes=changes)
        content = _Changes(scope, self._plan, self._state, self._stored, changes)
        await ExportReader(scope, bucket, files, content).run()
        end_ms = self._chain.to_ms
        assert end_ms is not None
        await self._begin(replace(self._chain, from_ms=end_ms, to_ms=None))

    async def _request(self) -> str:
        chain, scope = self._chain, self._scope
        assert chain.to_ms is not None
        wanted = export_making.wanted(
            scope,
            self._description.arn,
            chain.bucket,
            f"{self._state.table_id}|{chain.start_ms}",
            ExportWindow(chain.from_ms, chain.to_ms),
        )
        try:
            export = await export_making.request(scope, wanted)
        except InvalidRequestError as error:
            raise ExportRefusedError(f"table {scope.table}, {self._about()}: {error}") from error
        _log.info(
            "an incremental export is under way",
            table=scope.table,
            export=export.arn,
            from_ms=chain.from_ms,
            to_ms=chain.to_ms,
        )
        await self._commit(replace(chain, arn=export.arn))
        return export.arn

    async def _settle(self, export: ExportDescription, files: tuple[DataFile, ...]) -> None:
        """Make durable what positions in the files stand on."""
        chain, found = self._chain, max(1, len(files))
        if chain.files is None:
            await self._commit(replace(chain, files=found))
        elif chain.files != found:
            raise FatalTaskError(
                f"table {self._scope.table}: export {export.arn} has {len(files)} files, it had "
                f"{chain.files}; remove the table's offset so that it is read anew"
            )

    def _about(self) -> str:
        """What is going on, for people."""
        chain = self._chain
        assert chain.to_ms is not None
        return (
            "an incremental export closes a gap, with the changes from "
            f"{iso_instant(chain.from_ms / 1000)} to {iso_instant(chain.to_ms / 1000)}"
        )


class _Changes:
    """Implements ``ExportContent`` for one export of a chain: changes and deletions."""

    def __init__(
        self,
        scope: TableScope,
        plan: TablePlan,
        state: TableState,
        stored: Mapping[int, SegmentPosition],
        changes: int,
    ) -> None:
        chain = state.chain
        assert chain is not None
        assert chain.files is not None
        self._scope = scope
        self._plan = plan
        self._info = state.info()
        self._positions = {
            segment: stored.get(segment) or SegmentPosition(segment, chain.files, chain.start_ms)
            for segment in range(chain.files)
        }
        self._progress = scope.progress.scan = ScanProgress(
            "incremental export", segments=chain.files, items_estimated=changes
        )
        self._show()

    def unfinished(self) -> Sequence[SegmentPosition]:
        """See ``ExportContent``."""
        return [each for each in self._positions.values() if not each.is_finished]

    def move(self, position: SegmentPosition) -> None:
        """See ``ExportContent``."""
        self._positions[position.segment] = position
        self._show()

    def pages(
        self, where: str, content: IO[bytes], file: DataFile, *, skip: int, items_max: int
    ) -> Iterator[LinePage[StreamRecord]]:
        """See ``ExportContent``."""
        return read_change_pages(where, content, file, skip=skip, items_max=items_max)

    def batch(self, items: Sequence[StreamRecord], after: SegmentPosition) -> RecordBatch:
        """See ``ExportContent``."""
        return change_batch(
            self._plan,
            self._info,
            items,
            after,
            tombstones=self._scope.config.messages.tombstones,
            on_acked=self._scope.progress.count,
        )

    def _show(self) -> None:
        positions = self._positions.values()
        self._progress.segments_finished = sum(each.is_finished for each in positions)
        self._progress.observe(self._scope.clock.monotonic(), sum(each.count for each in positions))
