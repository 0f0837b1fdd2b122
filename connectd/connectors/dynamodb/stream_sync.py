"""SYNC: follows a table's stream, all lineages in parallel, parents before children.

Level-triggered: on every event (a reader has ended, a look at the stream is over) the plan is made
anew from listing and positions (``lineage``), and what it lacks is started. Readers are jobs of
this room's group; one that must retry retries by itself, one that fails for good fails the table.

AWS allows ten listings per second and account, so that those of a thousand tables take minutes.
Nobody waits for that who need not: shards that were begun are read on at once
(``lineage.readable_unlisted``), and looks at the stream are a job beside everything else. One that
only waits for its turn gives way to an urgent one.

When the stream has come to its ending (``stream_watch``) what is left of it is read first, then
``run`` ends: the less is lost, the less a resync cannot repair (deletions).

Gaps: ``on_gap`` decides. What is let pass is mended here; ``run`` ends with the gap that another
scan, or another stream, is needed for.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import structlog

from connectd.aio.backoff import Backoff
from connectd.aio.jobs import JobGroup
from connectd.connectors.dynamodb import lineage
from connectd.connectors.dynamodb.emission_queue import REMOVED
from connectd.connectors.dynamodb.gap_policy import GapDecision
from connectd.connectors.dynamodb.gaps import Gap
from connectd.connectors.dynamodb.offsets import ShardPosition
from connectd.connectors.dynamodb.shard_reader import (
    ReaderEnd,
    ReaderOutcome,
    ReadingRules,
    ShardReader,
)
from connectd.connectors.dynamodb.stored_table import shard_partition
from connectd.connectors.dynamodb.stream_watch import Listed, StreamWatch
from connectd.connectors.dynamodb.table_scope import TableScope, Unacked
from connectd.model.record import Seal

_log = structlog.get_logger(__name__)

ORPHAN_LISTINGS: Final = 8
"""Listings in a row that show a shard of unknown parentage before that counts as a gap."""

DENIALS_MAX: Final = 8
"""How often a shard that the service lists and yet denies is tried again."""

FORGET_AFTER_S: Final = 600.0
"""A finished shard must have been unlisted for this long before its position is removed."""

_WAIT_MIN_S: Final = 0.001
"""A timer may fire a moment early; without a pause the same moment would be waited for again."""

_DENIED: Final = Backoff(initial_s=0.5, max_s=30.0)


@dataclass(frozen=True)
class SyncEnd:
    """Why SYNC ended, and what was decided about it."""

    gap: Gap
    decision: GapDecision


class StreamSync:
    """The SYNC of one table on one stream; see the module's docstring."""

    def __init__(
        self,
        scope: TableScope,
        arn: str,
        positions: Mapping[str, ShardPosition],
        rules: ReadingRules,
        *,
        on_gap: Callable[[Gap], GapDecision],
        iterators: Mapping[str, str] | None = None,
        listed: Listed | None = None,
    ) -> None:
        """``positions`` are durable and not empty. ``iterators`` stand at LATEST positions.

        ``listed``: what the stream was found to have a moment ago.
        """
        self._scope = scope
        self._rules = rules
        self._on_gap = on_gap
        self._iterators = dict(iterators or {})
        self._positions = dict(positions)
        self._watch = StreamWatch(scope, arn, listed)
        self._look_job: str | None = None  # the one under way
        self._looks_begun = 0
        self._is_urgent_look = False
        self._readers: dict[str, ShardReader] = {}
        self._readers_started = 0
        self._sealed_here: set[str] = set()
        self._unlisted_since: dict[str, float] = {}
        self._denials: dict[str, int] = {}
        self._orphans_since: int | None = None
        self._outcomes: deque[ReaderOutcome] = deque()
        self._failure: BaseException | None = None
        self._wake = asyncio.Event()
        self._jobs = JobGroup(f"{scope.table}/stream", on_failure=self._on_failure)

    async def run(self) -> SyncEnd:
        """Follow the stream until a gap needs another scan or another stream.

        Raises:
            TableGoneError: the table is deleted and its stream drained.
            FatalTaskError: a reader cannot go on, or ``on_gap`` raised.
        """
        try:
            self._read_on()
            while True:
                end = self._perform()
                if end is not None:
                    return end
                await self._begin_look()
                await self._wait()
                end = await self._settle_outcomes()
                if end is not None:
                    return end
        finally:
            await self._jobs.stop()
            self._scope.progress.shards.clear()

    @property
    def positions(self) -> Mapping[str, ShardPosition]:
        """Where all known shards are: after what was emitted, which may not be durable yet."""
        return {
            **self._positions,
            **{name: reader.position for name, reader in self._readers.items()},
        }

    # -- planning and performing ----------------------------------------------------------------

    def _read_on(self) -> None:
        """Start what needs no listing; one is urgent if that is not all that is left to read."""
        readable = lineage.readable_unlisted(
            self._positions, now_ms=self._scope.time.now_ms(), windows=self._rules.windows
        )
        for position in readable:
            self._start_reader(position)
        unblocked = lineage.frontier(self._positions)
        self._watch.is_urgent = any(each.shard_id not in self._readers for each in unblocked)

    async def _begin_look(self) -> None:
        watch = self._watch
        if not watch.is_due:
            return
        if self._look_job is not None:
            if self._is_urgent_look or not watch.is_urgent:
                return
            await self._jobs.cancel(self._look_job)
        self._looks_begun += 1
        self._look_job = f"look-{self._looks_begun}"
        self._is_urgent_look = watch.is_urgent
        self._jobs.spawn(self._look_job, self._look())

    async def _look(self) -> None:
        await self._watch.look()
        self._look_job = None
        self._wake.set()

    def _perform(self) -> SyncEnd | None:
        """Make the plan and start what it lacks; returns the end if there is one."""
        watch = self._watch
        if watch.is_gone:
            return self._finish()
        if watch.listing is None:
            return None
        for shard_id, reader in self._readers.items():
            reader.is_closed = shard_id in watch.closed
        plan = self._plan()
        while gaps := [*plan.gaps, *self._gaps_of_orphans(plan)]:
            end = self._on_gaps(gaps)
            if end is not None:
                return end
            plan = self._plan()
        for position in plan.read:
            self._start_reader(position)
        if watch.ending is not None and not self._readers:
            return self._finish()
        self._forget(plan)
        watch.schedule(plan)
        self._scope.progress.shards_waiting = len(plan.waiting)
        self._scope.progress.shards_closed = sum(
            each.is_sealed for each in self._positions.values()
        )
        self._scope.progress.note = self._note(plan)
        return None

    def _plan(self) -> lineage.Plan:
        assert self._watch.listing is not None
        return lineage.plan_reading(
            self._watch.listing.shards,
            self.positions,
            now_ms=self._scope.time.now_ms(),
            windows=self._rules.windows,
            live=self._readers.keys() | self._sealed_here,
        )

    def _start_reader(self, position: ShardPosition) -> None:
        shard_id = position.shard_id
        if shard_id in self._readers:
            return
        denials = self._denials.get(shard_id, 0)
        reader = ShardReader(
            self._scope,
            self._rules,
            position,
            is_durable=shard_id in self._positions,
            is_closed=shard_id in self._watch.closed if self._watch.listing else None,
            iterator=self._iterators.pop(shard_id, None),
        )
        self._readers[shard_id] = reader
        self._readers_started += 1
        self._jobs.spawn(
            f"shard-{shard_id}-{self._readers_started}",
            self._run_reader(reader, _DENIED.wait_s(denials) if denials else 0.0),
        )

    async def _run_reader(self, reader: ShardReader, wait_s: float) -> None:
        outcome = await reader.run(wait_s)
        self._outcomes.append(outcome)
        self._wake.set()

    def _on_failure(self, name: str, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error
        self._wake.set()

    def _note(self, plan: lineage.Plan) -> str:
        """What people should know although nothing fails."""
        watch = self._watch
        if isinstance(watch.ending, Gap):
            return "the stream was replaced: draining the old one"
        if watch.ending is not None:
            return "the table was deleted: draining its stream"
        if watch.is_disabled:
            return "the stream is disabled: waiting for it to be enabled again"
        if not self._readers:
            after = f", after shard {plan.leaves[0]}" if plan.leaves else ""
            return f"no open shard: waiting for one to be listed{after}"
        return ""

    def _forget(self, plan: lineage.Plan) -> None:
        """Remove positions of finished shards that have been unlisted for a while."""
        now = self._scope.clock.monotonic()
        since = {name: self._unlisted_since.get(name, now) for name in plan.forgettable}
        for name in [name for name, start in since.items() if now - start >= FORGET_AFTER_S]:
            del since[name]
            del self._positions[name]
            self._sealed_here.discard(name)
            self._scope.queue.put(Seal(shard_partition(self._scope.table, name), REMOVED))
        self._unlisted_since = since

    # -- waiting and settling -------------------------------------------------------------------

    async def _wait(self) -> None:
        """Until a reader has ended, a look is over, or one is due."""
        wait_s = None
        if self._look_job is None:
            wait_s = max(_WAIT_MIN_S, self._watch.due_s - self._scope.clock.monotonic())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), wait_s)
        self._wake.clear()
        if self._failure is not None:
            raise self._failure

    async def _settle_outcomes(self) -> SyncEnd | None:
        while self._outcomes:
            outcome = self._outcomes.popleft()
            reader = self._readers.pop(outcome.shard_id)
            self._positions[outcome.shard_id] = reader.position
            if reader.has_read:
                self._denials.pop(outcome.shard_id, None)
            end = None
            if outcome.end is ReaderEnd.SEALED:
                self._sealed_here.add(outcome.shard_id)
                self._watch.on_sealed()
            elif outcome.end is ReaderEnd.GAP:
                assert outcome.gap is not None
                end = self._on_gaps([outcome.gap])
            else:
                end = await self._on_shard_denied(outcome)
            if end is not None:
                return end
        return None

    async def _on_shard_denied(self, outcome: ReaderOutcome) -> SyncEnd | None:
        """The service denies a shard: all its records are trimmed, or the stream is gone."""
        assert outcome.error is not None
        shard_id, watch = outcome.shard_id, self._watch
        await watch.list_shards()
        if watch.is_gone or watch.listing is None:
            return None
        if shard_id in watch.parents:
            self._denials[shard_id] = denials = self._denials.get(shard_id, 0) + 1
            if denials > DENIALS_MAX:
                raise outcome.error
            self._scope.report_trouble(f"shard {shard_id}", outcome.error, denials)
            return None
        position = self._positions[shard_id]
        gap = lineage.gap_of_age(
            position,
            is_listed=False,
            now_ms=self._scope.time.now_ms(),
            windows=self._rules.windows,
        )
        if gap is not None:
            return self._on_gaps([gap])
        _log.info("shard trimmed away, nothing lost", table=self._scope.table, shard=shard_id)
        sealed = self._positions[shard_id] = position.sealed()
        await self._scope.queue.commit(
            shard_partition(self._scope.table, shard_id), sealed.to_offset()
        )
        self._sealed_here.add(shard_id)
        return None

    # -- gaps -----------------------------------------------------------------------------------

    def _gaps_of_orphans(self, plan: lineage.Plan) -> list[Gap]:
        """Orphans that several listings in a row have shown are no accident of paging."""
        if not plan.orphans:
            self._orphans_since = None
            return []
        if self._orphans_since is None:
            self._orphans_since = self._watch.listings
        if self._watch.listings - self._orphans_since < ORPHAN_LISTINGS:
            return []
        newest_ms = max(position.position_ms for position in self._positions.values())
        return [
            lineage.gap_of_orphan(name, self._watch.parents.get(name) or "", newest_ms)
            for name in plan.orphans
        ]

    def _on_gaps(self, gaps: list[Gap]) -> SyncEnd | None:
        """Ask what becomes of gaps; what is let pass is mended here."""
        if self._watch.ending is not None:
            return self._finish()
        first, others = gaps[0], len(gaps) - 1
        if others:
            first = replace(first, detail=f"{first.detail} (and {others} more shards)")
        if self._on_gap(first) is GapDecision.RESYNC:
            return SyncEnd(first, GapDecision.RESYNC)
        now_ms = self._scope.time.now_ms()
        for gap in gaps:
            self._skip(gap, now_ms)
        return None

    def _skip(self, gap: Gap, now_ms: int) -> None:
        position = lineage.after_skipping(gap, self._positions, now_ms=now_ms)
        if position is None:
            assert self._watch.listing is not None
            shards = self._watch.listing.shards
            shard = next(each for each in shards if each.shard_id == gap.shard_id)
            position = lineage.adopt(shard, self._positions, None, now_ms)
        self._positions[position.shard_id] = position
        partition = shard_partition(self._scope.table, position.shard_id)
        # It counts as a page under way: the shard's next reader must not overtake it.
        under_way = self._scope.progress.under_way(position.shard_id)
        now_s = self._scope.clock.monotonic()
        under_way.append(Unacked(now_s, now_s))

        def on_committed() -> None:
            under_way.popleft()

        self._scope.queue.put(Seal(partition, position.to_offset(), on_committed))

    def _finish(self) -> SyncEnd:
        """The end of a stream that was replaced or went with its table."""
        ending = self._watch.ending
        if isinstance(ending, Gap):
            return SyncEnd(ending, self._on_gap(ending))
        assert ending is not None
        raise ending
