"""Watches one stream from outside: its list of shards, and whether its table still has it.

Listings cost (ten calls per second and account), so they are made when something calls for one:
a shard has ended whose children have not been seen (field case S01: again and again until they
are), a shard of unknown parentage; and else at the describe interval, together with a look at the
table itself. The former are urgent. The latter can wait until other tables have what they need,
with thousands of tables for much longer than the interval.

A stream comes to its *ending* when its table has another one (disabled and enabled again, or the
table made anew) or is deleted. It stays readable for a while and is drained by ``stream_sync``,
which owns this watch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import structlog

from connectd.aio.backoff import Backoff
from connectd.connectors.dynamodb.gaps import Gap, GapKind
from connectd.connectors.dynamodb.lineage import Plan
from connectd.connectors.dynamodb.source_api import StreamDescription
from connectd.connectors.dynamodb.table_scope import TableScope
from connectd.errors import StreamGoneError, TableGoneError

_log = structlog.get_logger(__name__)

GONE_TRIES: Final = 8
"""How often a stream that is denied, though its table has it, is asked for again."""

FOLLOW_UPS_S: Final = (0.5, 2.0, 10.0, 60.0)
"""After the end of a shard the stream is listed again at these times: of two children one may be
visible before the other, and nothing else tells that there are two."""

_RELIST: Final = Backoff(initial_s=0.5, max_s=30.0)


@dataclass(frozen=True)
class Listed:
    """A listing, and when it was made (monotonic)."""

    stream: StreamDescription
    at_s: float


class StreamWatch:
    """See the module's docstring. Attributes are read by the owner, changed here only.

    ``listing`` is the last one that succeeded; ``listings`` counts them. ``closed`` are shards that
    will not grow. ``is_urgent``: something is waiting for the next listing.
    """

    def __init__(self, scope: TableScope, arn: str, first: Listed | None = None) -> None:
        """``first``: a listing that was made already."""
        self.arn = arn
        self.is_urgent = False
        self.listing: StreamDescription | None = None
        self.listings = 0
        self.closed: frozenset[str] = frozenset()
        self.parents: dict[str, str | None] = {}
        self.ending: Gap | TableGoneError | None = None
        self.is_disabled = False
        self.is_gone = False
        self._scope = scope
        self._table_due_s = self._listing_due_s = 0.0
        self._follow_ups: list[float] = []
        self._gone_tries = 0
        self._relists = 0
        self._scheduled_at_listing = 0
        self._leaves: frozenset[str] = frozenset()
        if first is not None:
            self._accept(first)

    @property
    def is_due(self) -> bool:
        """Whether a look is due now."""
        return self._scope.clock.monotonic() >= self.due_s

    @property
    def due_s(self) -> float:
        """When the next look is due, on the clock's monotonic scale."""
        if self.is_gone:
            return self._table_due_s
        return min(self._table_due_s, self._listing_due_s, *self._follow_ups[:1])

    async def look(self) -> None:
        """Refresh the table's description and the listing, each when it is due.

        Raises:
            StreamGoneError: the service denies a stream that the table has, again and again.
            FatalTaskError: access is denied.
        """
        now = self._scope.clock.monotonic()
        if now >= self._table_due_s:
            await self._look_at_table()
        is_due = now >= self._listing_due_s or now >= min(self._follow_ups, default=now + 1)
        if is_due and not self.is_gone:
            await self.list_shards(can_wait=not self.is_urgent)

    def on_sealed(self) -> None:
        """A shard has ended; its children are expected."""
        now = self._scope.clock.monotonic()
        self._follow_ups = [now + after_s for after_s in FOLLOW_UPS_S]
        if self.listing is None:
            self.is_urgent = True  # otherwise a plan tells whether they are known already

    async def list_shards(self, *, can_wait: bool = False) -> None:
        """A new listing, now or when those who cannot wait have theirs; raises as ``look``."""
        scope = self._scope
        try:
            listing = await scope.insist(
                "listing shards",
                lambda: scope.api.streams.describe_stream(self.arn, can_wait=can_wait),
            )
        except StreamGoneError as error:
            await self._on_denied(error)
            return
        self._gone_tries = 0
        self.is_urgent = False
        self._accept(Listed(listing, scope.clock.monotonic()))
        if listing.status in ("DISABLING", "DISABLED") and self.ending is None:
            await self._look_at_table()

    def _accept(self, listed: Listed) -> None:
        shards = listed.stream.shards
        self._follow_ups = [due_s for due_s in self._follow_ups if due_s > listed.at_s]
        self.listing = listed.stream
        self.listings += 1
        self.parents = {shard.shard_id: shard.parent_shard_id for shard in shards}
        self.closed = frozenset(
            shard.shard_id for shard in shards if shard.ending_sequence_number is not None
        )
        self._listing_due_s = listed.at_s + self._scope.config.stream.describe_interval_s

    def schedule(self, plan: Plan) -> None:
        """Let a plan call for another listing."""
        is_child_expected = not self.is_disabled and self.ending is None
        leaves = frozenset(plan.leaves) if is_child_expected else frozenset()
        has_new_leaf = bool(leaves - self._leaves)
        self._leaves = leaves
        if not leaves and not plan.orphans:
            self._relists = 0
            return
        now = self._scope.clock.monotonic()
        self.is_urgent = True
        if has_new_leaf:
            self._relists = 0
            self._listing_due_s = now
        elif self._scheduled_at_listing < self.listings:
            self._relists += 1
            self._listing_due_s = min(self._listing_due_s, now + _RELIST.wait_s(self._relists))
        self._scheduled_at_listing = self.listings

    async def _look_at_table(self) -> None:
        scope = self._scope
        interval_s = scope.config.stream.describe_interval_s
        self._table_due_s = scope.clock.monotonic() + interval_s
        try:
            table = await scope.insist(
                "describing the table", lambda: scope.api.dynamodb.describe_table(scope.table)
            )
        except TableGoneError as error:
            self._note_ending(error)
            return
        self.is_disabled = not table.stream_enabled
        if table.stream_arn is not None and table.stream_arn != self.arn:
            detail = f"the stream of table {scope.table} is {table.stream_arn}, it was {self.arn}"
            self._note_ending(Gap(GapKind.STREAM_REPLACED, detail))

    def _note_ending(self, ending: Gap | TableGoneError) -> None:
        if self.ending is None:
            _log.warning(
                "the stream has come to its end, draining it",
                table=self._scope.table,
                stream=self.arn,
                reason=str(ending),
            )
        self.ending = ending

    async def _on_denied(self, error: StreamGoneError) -> None:
        """The service denies the stream: it was replaced, deleted, or is not there yet."""
        await self._look_at_table()
        if self.ending is not None:
            self.is_gone = True
            return
        self._gone_tries += 1
        if self._gone_tries > GONE_TRIES:
            raise error
        self._scope.report_trouble("listing shards", error, self._gone_tries)
        wait_s = _RELIST.wait_s(self._gone_tries)
        self._listing_due_s = self._scope.clock.monotonic() + wait_s
