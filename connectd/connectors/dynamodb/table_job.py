"""One table, from discovery to the end of its task: owns its phase and performs it.

The phase machine is ``phases``; what each phase does:

* DISCOVERY: describe the table, read what is stored, decide what comes first (``opening``).
* INIT_SYNC: wait for the start delay, make the state durable, then ``scanning``, and beside it
  the stream's baseline.
* SYNC: ``stream_sync``, until a gap.
* RESYNC: close the gap with incremental exports (``export_catch_up``), where they can; or make the
  start of another scan durable, before anything of the old state is given up.

Order of durability, on which everything rests. Positions count only under the state that names
their INIT_SYNC and their stream (``stored_table``). A state RUNNING is durable before the positions
of its baseline, which are completed on every start of the scan, and these before FINISHED. In all
other cases positions are durable before the state under which they count. So a crash between any
two writes finds the old picture, or one that is completed; never half a picture.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final, NoReturn

import structlog

from connectd.aio.backoff import Backoff
from connectd.aio.clock import iso_instant
from connectd.aio.jobs import JobGroup
from connectd.connectors.dynamodb import (
    export_catch_up,
    export_sync,
    gap_policy,
    lineage,
    lost_table,
    opening,
    scanning,
    stored_table,
)
from connectd.connectors.dynamodb.config import StartPosition
from connectd.connectors.dynamodb.discovery import stream_problem
from connectd.connectors.dynamodb.emission_queue import REMOVED
from connectd.connectors.dynamodb.envelope import InitSyncState
from connectd.connectors.dynamodb.export_catch_up import CatchUp, ExportRefusedError
from connectd.connectors.dynamodb.gap_policy import GapDecision
from connectd.connectors.dynamodb.gaps import Gap, GapKind
from connectd.connectors.dynamodb.offsets import SegmentPosition, ShardPosition, TableState
from connectd.connectors.dynamodb.opening import OpeningKind
from connectd.connectors.dynamodb.phases import Phase, PhaseEvent, next_phase
from connectd.connectors.dynamodb.plan import TablePlan
from connectd.connectors.dynamodb.service_time import ask_time
from connectd.connectors.dynamodb.shard_reader import ReadingRules
from connectd.connectors.dynamodb.source_api import StreamDescription, TableDescription
from connectd.connectors.dynamodb.spark_engine import Turn
from connectd.connectors.dynamodb.stream_sync import StreamSync, SyncEnd
from connectd.connectors.dynamodb.stream_watch import Listed
from connectd.connectors.dynamodb.table_scope import TableScope
from connectd.errors import (
    FatalTaskError,
    InvalidRequestError,
    InvariantError,
    StreamGoneError,
    TableGoneError,
    TransientNetworkError,
)
from connectd.model.record import Seal, SourceOffset, SourcePartition

_log = structlog.get_logger(__name__)

_LISTINGS_MAX: Final = 8
"""Listings that hide the parent of a young shard before that shard is taken for a first one."""

START_MARGIN_MS: Final = 10_000
"""What no lookback may take away: creation times are rounded down to the second (API reference of
StreamRecord), and our idea of the service's time may differ by ``service_time``'s tolerance."""

_LISTING: Final = Backoff(initial_s=0.5, max_s=30.0)

_ASKING: Final = Backoff(initial_s=0.25, max_s=2.0)
"""For the service's time: calls of several kinds have to work, and every table waits for them."""


class TableJob:
    """See the module's docstring. One instance lives once."""

    def __init__(self, scope: TableScope, stored: Mapping[SourcePartition, SourceOffset]) -> None:
        """``stored``: the offsets of this table, as durable as they are."""
        self._scope = scope
        self._offsets = stored
        stream = scope.config.stream
        self._windows = lineage.Windows(stream.retention_ms, stream.safe_zone_ms)
        self._phase = Phase.DISCOVERY
        self._plan: TablePlan | None = None
        self._state: TableState | None = None
        self._segments: Mapping[int, SegmentPosition] = {}
        self._positions: dict[str, ShardPosition] = {}
        self._iterators: dict[str, str] = {}
        self._listed: Listed | None = None  # the last one, until the stream is followed
        self._is_delayed = False
        self._gap: Gap | None = None  # the last one

    async def run(self) -> NoReturn:
        """Live until cancelled.

        Raises:
            TableGoneError, DataGapError, FatalTaskError, ConfigError: the table has failed.
        """
        try:
            while True:
                if self._phase is Phase.DISCOVERY:
                    await self._discover()
                elif self._phase is Phase.INIT_SYNC:
                    await self._init_sync()
                elif self._phase is Phase.SYNC:
                    await self._sync()
                elif self._phase is Phase.RESYNC:
                    await self._resync()
                else:
                    raise InvariantError(f"table {self._scope.table} goes on although it is gone")
        except TableGoneError:
            self._enter(PhaseEvent.TABLE_GONE)
            raise

    @property
    def phase(self) -> Phase:
        """The phase the table is in."""
        return self._phase

    def _enter(self, event: PhaseEvent) -> None:
        before, self._phase = self._phase, next_phase(self._phase, event)
        _log.info(
            "table enters another phase",
            table=self._scope.table,
            phase=self._phase.value,
            before=before.value,
            cause=event.value,
        )

    # -- DISCOVERY ------------------------------------------------------------------------------

    async def _discover(self) -> None:
        scope = self._scope
        description = await self._describe()
        await scope.insist(
            "asking for the time",
            functools.partial(
                ask_time, scope.time, scope.api.streams, description.stream_arn or ""
            ),
            policy=_ASKING,
        )
        stored = stored_table.load(scope.table, self._offsets)
        for partition in stored.stale:
            scope.queue.put(Seal(partition, REMOVED))
        self._segments, self._positions = stored.segments, dict(stored.shards)
        opened = opening.open_table(stored, description, scope.config)
        self._state = opened.state
        if opened.state is not None:
            scope.progress.gaps = opened.state.gaps
            scope.progress.items_scanned = opened.state.init_sync_count  # of a scan that is over
        if opened.kind is OpeningKind.NEW_SCAN:
            self._is_delayed = True
            self._enter(PhaseEvent.SCAN_WANTED)
        elif opened.kind is OpeningKind.CONTINUED_SCAN:
            self._continue_scan(stored.state)
            self._enter(PhaseEvent.SCAN_WANTED)
        elif opened.kind is OpeningKind.CONTINUED_CHAIN:
            self._enter(PhaseEvent.GAP_FOUND)
        elif opened.kind is OpeningKind.STREAM:
            self._enter(PhaseEvent.STREAM_WANTED)
        elif opened.kind is OpeningKind.NEW_STREAM:
            await self._begin_stream(description)
            self._enter(PhaseEvent.STREAM_WANTED)
        elif opened.kind is OpeningKind.TAKEN_OVER:
            await self._take_over()
        else:
            assert opened.gap is not None
            await self._apply(SyncEnd(opened.gap, self._on_gap(opened.gap)))

    def _continue_scan(self, stored: TableState | None) -> None:
        """The Java connector's key becomes the position of the only segment."""
        state = self._require_state()
        if stored is not None and stored.start_key is not None:
            position = SegmentPosition(
                0, 1, state.init_sync_start_ms, stored.start_key, stored.init_sync_count
            )
            self._segments = {0: self._segments.get(0, position)}

    async def _begin_stream(self, description: TableDescription) -> None:
        """``init.sync.skip``: pin the beginning before anything is read."""
        state = opening.new_stream(description)
        listing = await self._list(self._arn(state))
        now_ms = self._scope.time.now_ms()
        baseline = lineage.Baseline(listing.arn, state.init_sync_start_ms, now_ms)
        is_latest = self._scope.config.scan.start_position is StartPosition.LATEST
        positions = lineage.first_positions(listing.shards, baseline, latest=is_latest)
        if is_latest:
            # Iterators first, then the pin: what comes in between is behind both.
            await self._open_latest(positions)
        await self._commit_positions(positions)
        await self._commit_state(state)

    async def _open_latest(self, positions: tuple[ShardPosition, ...]) -> None:
        scope = self._scope
        for position in positions:
            if not position.is_sentinel:
                continue
            shard_id = position.shard_id
            call = functools.partial(
                scope.api.streams.shard_iterator, position.stream_arn, shard_id, "LATEST", None
            )
            with contextlib.suppress(StreamGoneError):
                # Gone within a moment: what follows it is read from its beginning.
                self._iterators[shard_id] = await scope.insist(f"shard {shard_id}", call)

    async def _take_over(self) -> None:
        """A state without positions: read all that the stream has, if that leaves no gap."""
        state = self._require_state()
        listing = await self._list(self._arn(state))
        now_ms = self._scope.time.now_ms()
        gap = opening.gap_of_takeover(
            state,
            listing.shards,
            now_ms=now_ms,
            safe_zone_ms=self._scope.config.stream.safe_zone_ms,
        )
        if gap is not None and self._on_gap(gap) is GapDecision.RESYNC:
            self._enter(PhaseEvent.GAP_FOUND)
            return
        await self._switch_stream(self._require_state(), listing, now_ms)
        self._enter(PhaseEvent.STREAM_WANTED)

    # -- INIT_SYNC ------------------------------------------------------------------------------

    async def _init_sync(self) -> None:
        scope = self._scope
        if self._is_delayed:
            await self._delay()
        description = await self._describe()
        under_way = None if self._is_delayed else self._require_state()
        choice = await self._choose_engine(description, under_way)
        if (
            under_way is not None
            and choice.is_export
            and await export_sync.must_begin_anew(scope, under_way)
        ):
            choice = await self._choose_engine(description)
            await self._begin_anew(self._new_scan(description, choice, after=under_way))
        async with scanning.turn_of(scope, choice) as turn:
            if turn is not None:
                description = await self._describe()  # it may have been waited for
            if self._is_delayed:
                self._is_delayed = False
                self._state = self._new_scan(description, choice)
            state = self._require_state()
            scope.progress.enter("INIT_SYNC")
            scope.progress.items_estimated = description.item_count
            await self._commit_state(state)
            await self._scan(description, state, choice, turn)
        self._segments = {}
        self._enter(PhaseEvent.SCAN_FINISHED)

    async def _scan(
        self,
        description: TableDescription,
        state: TableState,
        choice: scanning.EngineChoice,
        turn: Turn | None,
    ) -> None:
        """Scan, and meanwhile remember where the stream stands; the end of the scan waits for it.

        The stream keeps for a day what is made from the start of the scan on, and that start is
        durable. So its shards need not be listed before the first page, only long before the day
        is over (if not, their positions are too old to be trusted). Which matters: the listings of
        a thousand tables take minutes, in which the tables are scanned.
        """
        is_laid = asyncio.Event()

        async def lay() -> None:
            await self._lay_baseline()
            is_laid.set()

        async def scan() -> None:
            self._state = await scanning.scan_table(
                self._scope,
                description,
                self._require_plan(),
                state,
                self._segments,
                choice,
                turn,
                baseline=is_laid.wait,
            )

        jobs = JobGroup(f"{self._scope.table}/init-sync")
        jobs.spawn("baseline", lay())
        jobs.spawn("scan", scan())
        try:
            await jobs.complete()
        except FatalTaskError as error:
            await lost_table.look(self._scope, state, error)
            raise

    def _new_scan(
        self,
        description: TableDescription,
        choice: scanning.EngineChoice,
        after: TableState | None = None,
    ) -> TableState:
        """The state of a scan that begins now."""
        scope = self._scope
        return opening.new_scan(
            description,
            scope.config,
            now_ms=scope.time.now_ms(),
            after=after,
            on_spark=choice.on_spark,
            is_export=choice.is_export,
        )

    async def _choose_engine(
        self, description: TableDescription, under_way: TableState | None = None
    ) -> scanning.EngineChoice:
        scope = self._scope
        return await scanning.choose_engine(
            scope.config.scan, description, scope.hand_off, under_way=under_way
        )

    async def _delay(self) -> None:
        delay_s = self._scope.config.scan.delay_s
        if delay_s <= 0:
            return
        until = iso_instant(self._scope.clock.wall_s() + delay_s)
        self._scope.progress.enter("DELAYED", f"INIT_SYNC begins at {until}")
        await self._scope.clock.sleep(delay_s)

    async def _lay_baseline(self) -> None:
        """Remember where the stream stood when the scan began."""
        state = self._require_state()
        listing = await self._list(self._arn(state))
        baseline = lineage.Baseline(listing.arn, state.init_sync_start_ms, state.init_sync_start_ms)
        positions = lineage.first_positions(listing.shards, baseline)
        await self._commit_positions(
            tuple(each for each in positions if each.shard_id not in self._positions)
        )

    # -- SYNC -----------------------------------------------------------------------------------

    async def _sync(self) -> None:
        state, config = self._require_state(), self._scope.config.stream
        self._scope.progress.enter("SYNC")
        is_scanned = state.init_sync is InitSyncState.FINISHED and state.init_sync_start_ms > 0
        rules = ReadingRules(
            plan=self._require_plan(),
            info=state.info(),
            windows=self._windows,
            drop_until_ms=(
                state.picture_ms - config.lookback_ms - START_MARGIN_MS if is_scanned else None
            ),
        )
        sync = StreamSync(
            self._scope,
            self._arn(state),
            self._positions,
            rules,
            on_gap=self._on_stream_gap,
            iterators=self._iterators,
            listed=self._listed if self._is_listed_lately() else None,
        )
        self._iterators, self._listed = {}, None
        end = await sync.run()
        self._positions = dict(sync.positions)
        await self._apply(end)

    def _is_listed_lately(self) -> bool:
        """Whether the last listing is as good as one that would be made now."""
        if self._listed is None:
            return False
        age_s = self._scope.clock.monotonic() - self._listed.at_s
        return age_s < self._scope.config.stream.describe_interval_s

    # -- gaps -----------------------------------------------------------------------------------

    def _on_stream_gap(self, gap: Gap) -> GapDecision:
        decision = self._on_gap(gap)
        if decision is GapDecision.SKIP:
            # Nothing else will write the state soon, and the count is to survive.
            partition = stored_table.table_partition(self._scope.table)
            self._scope.queue.put(Seal(partition, self._require_state().to_offset()))
        return decision

    def _on_gap(self, gap: Gap) -> GapDecision:
        """Count it, say it loudly, and decide by ``gap.policy``.

        Raises:
            DataGapError: the policy is to fail, or the table has been scanned often enough.
        """
        scope = self._scope
        self._gap = gap
        state = self._state = gap_policy.counted(self._require_state(), scope.time.now_ms())
        scope.progress.gaps = state.gaps
        _log.warning(
            "changes of the table were lost",
            table=scope.table,
            gap=gap.kind.value,
            detail=gap.detail,
            since_ms=gap.since_ms,
            policy=gap_policy.effective_policy(scope.config).value,
            gaps=state.gaps,
        )
        return gap_policy.decide(gap, state, scope.config)

    async def _apply(self, end: SyncEnd) -> None:
        """Go on after a gap that needs another scan or another stream."""
        if end.decision is GapDecision.RESYNC:
            self._enter(PhaseEvent.GAP_FOUND)
            return
        if end.gap.kind is not GapKind.STREAM_REPLACED:
            raise InvariantError(f"table {self._scope.table}: SYNC ended with {end.gap}")
        description = await self._describe()
        before = self._require_state()
        is_scanning = before.init_sync is InitSyncState.RUNNING
        if is_scanning and lost_table.is_another(before, description):
            # Whatever the policy is: what was read of the old table is no part of this one's scan.
            await self._scan_anew(before, description)
            self._enter(PhaseEvent.SCAN_WANTED)
            return
        state = opening.with_stream(before, description)
        listing = await self._list(self._arn(state))
        await self._switch_stream(state, listing, self._scope.time.now_ms())
        if self._phase is Phase.DISCOVERY:
            self._enter(PhaseEvent.SCAN_WANTED if is_scanning else PhaseEvent.STREAM_WANTED)

    async def _switch_stream(
        self, state: TableState, listing: StreamDescription, now_ms: int
    ) -> None:
        """Go on with all that a stream has, for a state that has no positions in it."""
        before, self._positions = self._positions, {}
        baseline = lineage.Baseline(listing.arn, state.init_sync_start_ms, now_ms)
        await self._commit_positions(lineage.first_positions(listing.shards, baseline))
        await self._commit_state(state)
        self._remove_positions(before.keys() - self._positions.keys())

    async def _resync(self) -> None:
        scope = self._scope
        if await self._close_gap():
            self._enter(PhaseEvent.GAP_CLOSED)
            return
        _log.warning(
            "scanning the table again; items deleted in the gap stay in the topic",
            table=scope.table,
            topic=scope.progress.topic,
        )
        scope.progress.enter("RESYNC", "preparing another INIT_SYNC after a gap")
        before = self._require_state()
        await self._scan_anew(replace(before, resyncs=before.resyncs + 1), await self._describe())
        self._enter(PhaseEvent.BASELINE_DURABLE)

    async def _scan_anew(self, before: TableState, description: TableDescription) -> None:
        """Make the start of another INIT_SYNC durable."""
        if lost_table.is_another(before, description):
            self._scope.progress.why_whole = (
                f"the table was deleted and made anew; {lost_table.KEYS_STAY}"
            )
        choice = await self._choose_engine(description)
        await self._begin_anew(self._new_scan(description, choice, after=before))

    async def _close_gap(self) -> bool:
        """Whether incremental exports have closed the gap: then the stream goes on behind them."""
        scope, state, stored = self._scope, self._require_state(), self._segments
        if state.chain is None:
            begun = await export_catch_up.begin(scope, self._gap, state, self._positions)
            if begun is None:
                return False
            state, stored = begun, {}
        scope.progress.enter("RESYNC", "closing a gap with incremental exports")
        description = await self._describe_unchanged(state)
        if description is None:
            return False
        chain = CatchUp(scope, description, self._require_plan(), state, stored)
        try:
            state = self._state = await chain.run()
        except ExportRefusedError as error:
            export_catch_up.give_up(scope, str(error))
            return False
        if await self._describe_unchanged(state) is None:
            return False
        assert state.chain is not None
        await self._follow_from(replace(state, chain=None, export_ms=state.chain.from_ms))
        return True

    async def _describe_unchanged(self, state: TableState) -> TableDescription | None:
        """The table, if it still has the stream that is to be followed behind a chain."""
        description = await self._describe()
        if description.stream_arn == state.stream_arn:
            return description
        why = f"its stream is {description.stream_arn}, it was {state.stream_arn}"
        export_catch_up.give_up(self._scope, why)
        return None

    async def _follow_from(self, state: TableState) -> None:
        """Go on with the stream behind the picture of a state, which it reaches back to."""
        listing = await self._list(self._arn(state))
        before, self._positions = self._positions, {}
        baseline = lineage.Baseline(listing.arn, state.init_sync_start_ms, state.picture_ms)
        await self._commit_positions(lineage.first_positions(listing.shards, baseline))
        # A position from before the gap would be one again: all are gone before the state says so.
        gone = sorted(before.keys() - self._positions.keys())
        await self._scope.queue.commit_all(
            {stored_table.shard_partition(self._scope.table, each): REMOVED for each in gone}
        )
        await self._commit_state(state)

    async def _begin_anew(self, state: TableState) -> None:
        """Make the start of another INIT_SYNC durable, and give up all that belonged to the old."""
        await self._commit_state(state)
        self._remove_positions(self._positions.keys())
        self._positions = {}
        self._segments = {}

    # -- asking and writing ---------------------------------------------------------------------

    async def _describe(self) -> TableDescription:
        """The table, with a stream to follow.

        Raises:
            InvalidRequestError: it never had one, or one without new images.
        """
        scope = self._scope
        description = await scope.insist(
            "describing the table", lambda: scope.api.dynamodb.describe_table(scope.table)
        )
        # A stream that was disabled a moment ago can still be read.
        problem = stream_problem(description)
        if problem is not None and (description.stream_enabled or description.stream_arn is None):
            raise InvalidRequestError(f"table {scope.table}: {problem}")
        self._plan = opening.record_plan(description, scope.config.messages)
        return description

    async def _list(self, arn: str) -> StreamDescription:
        """A listing to begin with: one that is empty, or hides parents, is not believed at once."""
        scope, tries = self._scope, 0
        while True:
            listing = await scope.insist(
                "listing shards", lambda: scope.api.streams.describe_stream(arn)
            )
            hidden = lineage.hidden_parents(
                listing.shards, now_ms=scope.time.now_ms(), windows=self._windows
            )
            if listing.shards and (not hidden or tries >= _LISTINGS_MAX):
                scope.clear_trouble("listing shards")
                self._listed = Listed(listing, scope.clock.monotonic())
                return listing
            tries += 1
            problem = f"it hides shard {min(hidden)}" if hidden else "it has no shard"
            error = TransientNetworkError(f"listing of stream {arn} is incomplete: {problem}")
            scope.report_trouble("listing shards", error, tries)
            await scope.clock.sleep(_LISTING.wait_s(tries))

    async def _commit_state(self, state: TableState) -> None:
        self._state = state
        await self._scope.queue.commit(
            stored_table.table_partition(self._scope.table), state.to_offset()
        )

    async def _commit_positions(self, positions: tuple[ShardPosition, ...]) -> None:
        await self._scope.queue.commit_all(
            {
                stored_table.shard_partition(self._scope.table, each.shard_id): each.to_offset()
                for each in positions
            }
        )
        self._positions.update({each.shard_id: each for each in positions})

    def _remove_positions(self, shard_ids: AbstractSet[str]) -> None:
        for shard_id in sorted(shard_ids):
            partition = stored_table.shard_partition(self._scope.table, shard_id)
            self._scope.queue.put(Seal(partition, REMOVED))

    def _require_state(self) -> TableState:
        if self._state is None:
            raise InvariantError(f"table {self._scope.table} has no state in {self._phase.name}")
        return self._state

    def _require_plan(self) -> TablePlan:
        if self._plan is None:
            raise InvariantError(f"table {self._scope.table} has not been described")
        return self._plan

    def _arn(self, state: TableState) -> str:
        if state.stream_arn is None:
            raise InvariantError(f"table {self._scope.table} has a state without a stream")
        return state.stream_arn
