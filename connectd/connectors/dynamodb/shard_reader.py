"""One open shard: from its position to its end.

A reader waits for its turn, takes a place in the queue, reads a page, emits it with the position
after it, and so on until the service says that there is no more (a null iterator, whose page may
still carry records). Then it emits a ``Seal`` and reports once that is durable.

Failures: what may pass is retried by this reader alone, others go on (field case S05); what will
not pass is raised at once (S12). An iterator that expired under back-pressure is renewed after the
last record that was *delivered*, not the last that was acknowledged. Data that was trimmed is a gap
only if the position was too old: a fresh position has handed over everything that can be gone, so
reading goes on at the horizon, without repeating.

A quiet shard: a page without records may also come from the middle of a shard, so only a run of
them counts as its tip. From then on the time of the last read is part of the position, written from
time to time (field case O06), so that a restart can tell quiet from lost.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import orjson
import structlog

from connectd.aio.backoff import Backoff
from connectd.connectors.dynamodb.decode import (
    RecordsPage,
    StreamRecord,
    decode_records_page,
)
from connectd.connectors.dynamodb.envelope import SourceInfo
from connectd.connectors.dynamodb.gaps import Gap, GapKind
from connectd.connectors.dynamodb.lineage import Windows
from connectd.connectors.dynamodb.offsets import ShardPosition
from connectd.connectors.dynamodb.payload import StreamPayload
from connectd.connectors.dynamodb.plan import TablePlan
from connectd.connectors.dynamodb.source_api import RawResponse
from connectd.connectors.dynamodb.stored_table import shard_partition
from connectd.connectors.dynamodb.table_scope import ShardProgress, TableScope, Unacked
from connectd.connectors.dynamodb.tombstones import WithoutTombstones
from connectd.errors import (
    ConvertError,
    IteratorExpiredError,
    RetriableError,
    StreamGoneError,
    TransientNetworkError,
    TrimmedDataError,
)
from connectd.model.ids import SequenceNumber
from connectd.model.record import Acked, BatchPayload, RecordBatch, SourceOffset

_log = structlog.get_logger(__name__)

TIP_PAGES: Final = 10
"""Pages without records in a row after which a reader is taken to be at the tip of its shard."""

_TRIMS_MAX: Final = 5
"""Refusals in a row, each at the horizon, that are put down to trimming that is under way."""

QUIET_SHARE: Final = 1 / 12
"""A shard without new records is read again after this share of the time since the last ones: what
comes once a second is seen at the shortest interval, what comes once an hour costs little."""

_QUIET_AT_FIRST_S: Final = 10.0

_FULL_PAGE_BYTES: Final = 900_000
"""A body of this size is a page that ended at the limit of 1 MB: there is more."""

_BACKOFF: Final = Backoff(initial_s=0.5, max_s=10.0)
_TRIM_WAIT_S: Final = 1.0


class ReaderEnd(Enum):
    """How reading a shard ended."""

    SEALED = "sealed"  # its end is durable
    GAP = "gap"  # its position was trimmed away
    GONE = "gone"  # the service does not know the shard or its stream


@dataclass(frozen=True)
class ReaderOutcome:
    """The report of a reader."""

    shard_id: str
    end: ReaderEnd
    gap: Gap | None = None
    error: Exception | None = None


@dataclass(frozen=True)
class ReadingRules:
    """What is the same for all shards of a stream.

    Records made at or before ``drop_until_ms`` are not wanted: the scan has read them.
    """

    plan: TablePlan
    info: SourceInfo
    windows: Windows
    drop_until_ms: int | None = None


class ShardReader:
    """Reads one shard; see the module's docstring."""

    def __init__(
        self,
        scope: TableScope,
        rules: ReadingRules,
        position: ShardPosition,
        *,
        is_durable: bool,
        is_closed: bool | None,
        iterator: str | None = None,
    ) -> None:
        """``is_durable``: the position is stored. ``iterator``: one at the position, for LATEST.

        ``is_closed``: the shard will not grow; None, as long as nobody has looked. To be set when
        somebody has.
        """
        self._position = position
        self._tip_ms: int | None = None  # when the position was last seen to be the tip
        self.is_closed = is_closed
        self._scope = scope
        self._rules = rules
        self._is_durable = is_durable
        self._iterator = iterator
        self._partition = shard_partition(scope.table, position.shard_id)
        self._what = f"shard {position.shard_id}"
        self._settings = scope.config.stream
        self._drop_until_ms = self._drop_bound()
        self._from_horizon = False
        self._is_page_full = False
        self._empty_pages = self._trims = self._failures = 0
        self._emitted_s = self._read_s = scope.clock.monotonic()
        # Nothing is known of it: thousands that begin together must not all be in a hurry.
        self._quiet_since_s = self._emitted_s - _QUIET_AT_FIRST_S
        unacked = scope.progress.under_way(position.shard_id)
        self._progress = ShardProgress(started_s=self._emitted_s, unacked=unacked)
        # Readers before, of this shard or one that it follows, may have left pages in the long
        # lane, which the short one overtakes. Else a full page will tell.
        self._elders = scope.progress.newest_under_way()
        self._is_behind = bool(self._elders)
        self.has_read = False

    @property
    def position(self) -> ShardPosition:
        """That after what was emitted."""
        if self._tip_ms is not None:  # made here, since most polls find nothing and nobody asks
            self._position = self._position.known_good_at(self._tip_ms)
            self._tip_ms = None
        return self._position

    async def run(self, wait_s: float = 0.0) -> ReaderOutcome:
        """Read to the end of the shard, or to what ends it otherwise; begins after a wait.

        Raises:
            FatalTaskError: the service refuses for good (access, validation).
        """
        shards = self._scope.progress.shards
        self._progress.pause_s = wait_s
        shards[self.position.shard_id] = self._progress
        try:
            return await self._read(wait_s)
        finally:
            shards.pop(self.position.shard_id, None)
            self._scope.progress.troubles.pop(self._what, None)

    async def _read(self, wait_s: float) -> ReaderOutcome:
        while True:
            read = self._read_behind if self._is_behind else self._read_at_tip
            try:
                page = await read(wait_s)
            except IteratorExpiredError:
                self._iterator = None
                wait_s = 0.0
            except RetriableError as error:
                self._failures += 1
                self._scope.report_trouble(self._what, error, self._failures)
                wait_s = _BACKOFF.wait_s(self._failures, floor_s=error.retry_after_s or 0.0)
            except TrimmedDataError as error:
                gap = self._on_trimmed(error)
                if gap is not None:
                    return ReaderOutcome(self.position.shard_id, ReaderEnd.GAP, gap=gap)
                wait_s = _TRIM_WAIT_S
            except StreamGoneError as error:
                return ReaderOutcome(self.position.shard_id, ReaderEnd.GONE, error=error)
            else:
                if page.next_iterator is None:
                    await self._seal()
                    return ReaderOutcome(self.position.shard_id, ReaderEnd.SEALED)
                self._progress.pause_s = wait_s = self._pause_after(page)

    # -- reading --------------------------------------------------------------------------------

    async def _read_at_tip(self, wait_s: float) -> RecordsPage:
        """Wait, then read a page that is expected to be short, and emit it: an idle poll."""
        scope = self._scope
        scheduler, queue = scope.scheduler, scope.queue
        await scheduler.turn(wait_s)
        while not queue.has_room:  # others may go on meanwhile, and may fill it again
            scheduler.free_slot()
            await queue.room()
            await scheduler.take_slot()
        try:
            response = await self._request()
        finally:
            scheduler.free_slot()
        page, found = self._digest(response)
        if found is not None:
            if self._is_page_full and len(found.payload) > 0:
                queue.put_surprise(found)
            else:
                queue.put_short(found)
        self._is_behind = self._is_page_full
        return page

    async def _read_behind(self, wait_s: float) -> RecordsPage:
        """Wait, then read a page that may be full, into a place that is kept for it."""
        scope = self._scope
        await scope.scheduler.wait(wait_s)
        async with scope.queue.place() as place:
            async with scope.scheduler.slot():
                response = await self._request()
            page, found = self._digest(response)
            if found is not None and len(found.payload) > 0:
                place.fill(found)
            elif found is not None:
                scope.queue.put(found)
        # Back to the short lane only when nothing is left in the long one: it would be overtaken.
        self._is_behind = (
            self._is_page_full or bool(self._progress.unacked) or self._are_elders_under_way()
        )
        return page

    def _are_elders_under_way(self) -> bool:
        """Whether pages of the table that were under way at the start still are."""
        self._elders = [
            (pages, newest)
            for pages, newest in self._elders
            if pages and pages[0].emitted_s <= newest.emitted_s
        ]
        return bool(self._elders)

    def _request(self) -> Coroutine[Any, Any, RawResponse]:
        """The next page; what opens an iterator first costs a frame more."""
        if self._iterator is None:
            return self._open_and_request()
        return self._scope.api.streams.get_records(self._iterator, self._settings.page_limit)

    async def _open_and_request(self) -> RawResponse:
        self._iterator = await self._open()
        return await self._scope.api.streams.get_records(self._iterator, self._settings.page_limit)

    def _digest(self, response: RawResponse) -> tuple[RecordsPage, RecordBatch | None]:
        """A page, and what is to be emitted of it, if anything is."""
        self._scope.time.observe(response.date_s)
        try:
            page = decode_records_page(response.body)
        except ConvertError as error:
            raise TransientNetworkError(str(error)) from error
        self._is_page_full = (
            len(page.records) >= self._settings.page_limit or len(response.body) >= _FULL_PAGE_BYTES
        )
        self._on_success(page)
        unseen = self._unseen(page.records) if page.records else ()
        if unseen:
            return page, self._batch(unseen)
        return page, self._emission(()) if self._is_heartbeat_due() else None

    async def _open(self) -> str:
        position = self.position
        streams, arn, shard_id = self._scope.api.streams, position.stream_arn, position.shard_id
        if position.sequence_number is None or self._from_horizon:
            # LATEST too: only its first iterator may stand at the tip, a later one would skip
            # what came since. Records from before the pin are dropped instead.
            return await streams.shard_iterator(arn, shard_id, "TRIM_HORIZON", None)
        return await streams.shard_iterator(
            arn, shard_id, "AFTER_SEQUENCE_NUMBER", position.sequence_number.text
        )

    def _on_success(self, page: RecordsPage) -> None:
        self._iterator = page.next_iterator
        self._trims = self._failures = 0
        self._scope.clear_trouble(self._what)
        self.has_read = True
        self._read_s = self._scope.clock.monotonic()
        self._progress.last_read_s = self._scope.progress.last_read_s = self._read_s
        if page.records:
            self._empty_pages = 0
            self._progress.behind_s = self._age_s(page.records[-1])
            return
        self._empty_pages += 1
        self._progress.behind_s = 0.0
        # A closed shard has no tip: what came after it is in its children.
        if self._empty_pages >= TIP_PAGES and self.is_closed is False:
            self._tip_ms = self._scope.time.now_ms()

    def _age_s(self, record: StreamRecord) -> float:
        return max(0.0, self._scope.time.now_ms() / 1000 - record.created_s)

    def _pause_after(self, page: RecordsPage) -> float:
        interval_s = self._settings.poll_interval_s
        if page.records:
            self._quiet_since_s = self._read_s
            return 0.0 if self._is_page_full or self.is_closed else interval_s
        if self.is_closed:
            return interval_s
        quiet_s = self._read_s - self._quiet_since_s
        return max(interval_s, min(quiet_s * QUIET_SHARE, self._settings.poll_interval_max_s))

    def _on_trimmed(self, error: TrimmedDataError) -> Gap | None:
        """Whether the refusal is a gap; if not, reading goes on at the horizon."""
        self._iterator = None
        self._trims += 1
        position = self.position
        age_ms = self._scope.time.now_ms() - position.position_ms
        if age_ms <= self._rules.windows.safe_zone_ms and self._trims <= _TRIMS_MAX:
            self._from_horizon = True
            _log.warning(
                "position was trimmed, but nothing is lost: reading on at the horizon",
                table=self._scope.table,
                shard=position.shard_id,
                position_ms=position.position_ms,
                error=str(error),
            )
            return None
        after = "its beginning" if position.sequence_number is None else position.sequence_number
        detail = (
            f"shard {position.shard_id} was trimmed after {after}, last known good "
            f"{age_ms / 3_600_000:.1f} hours ago ({error})"
        )
        return Gap(
            GapKind.TRIMMED, detail, shard_id=position.shard_id, since_ms=position.position_ms
        )

    # -- emitting -------------------------------------------------------------------------------

    def _batch(self, records: Sequence[StreamRecord]) -> RecordBatch:
        """The emission for records not delivered before; what is not wanted is left out."""
        before = self.position
        last = records[-1]
        self._position = _behind(before, last.sequence_number, last.created_s)
        return self._emission(
            self._wanted(records),
            lambda number, created_s: _behind(before, number, created_s).to_offset(),
            age_s=self._age_s(records[0]),
        )

    def _is_heartbeat_due(self) -> bool:
        if self._progress.unacked:
            return False  # the position under way is as good
        if not self._is_durable:
            return True
        is_due = self._read_s - self._emitted_s >= self._settings.heartbeat_s
        return is_due and self._empty_pages >= TIP_PAGES

    def _emission(
        self,
        records: Sequence[StreamRecord],
        offset_after: Callable[[str, float], SourceOffset] | None = None,
        *,
        age_s: float = 0.0,
    ) -> RecordBatch:
        """``age_s``: of the oldest record that the page had; 0 for a position at the tip."""
        unacked = self._progress.unacked
        self._is_durable = True
        self._emitted_s = self._scope.clock.monotonic()
        unacked.append(Unacked(self._emitted_s - age_s, self._emitted_s))

        def on_acked(acked: Acked) -> None:  # it lives until the ack: it must not hold the page
            unacked.popleft()
            self._scope.progress.count(acked)

        rules = self._rules
        payload: BatchPayload = StreamPayload(rules.plan, rules.info, records, offset_after)
        if not self._scope.config.messages.tombstones:
            payload = WithoutTombstones(payload)
        return RecordBatch(self._partition, self.position.to_offset(), payload, on_acked)

    async def _seal(self) -> None:
        # The position says sealed only once that is durable: children wait for it.
        sealed = self.position.sealed()
        await self._scope.queue.commit(self._partition, sealed.to_offset())
        self._position = sealed

    # -- which records --------------------------------------------------------------------------

    def _drop_bound(self) -> int | None:
        """Records made at or before this time are dropped; None: all are wanted."""
        bounds = [] if self._rules.drop_until_ms is None else [self._rules.drop_until_ms]
        if self.position.pinned_at_ms is not None:
            # Creation times are whole seconds: one in the second of the pin may be after it.
            bounds.append(self.position.pinned_at_ms // 1000 * 1000 - 1)
        return max(bounds, default=None)

    def _wanted(self, records: Sequence[StreamRecord]) -> Sequence[StreamRecord]:
        if self._drop_until_ms is not None:
            records = self._recent(records, self._drop_until_ms)
        if self._scope.config.messages.drop_ttl_deletes:
            records = [record for record in records if not is_ttl_delete(record)]
        return records

    def _unseen(self, records: Sequence[StreamRecord]) -> Sequence[StreamRecord]:
        """Without what was delivered before reading went on at the horizon."""
        last = self.position.sequence_number
        if not self._from_horizon or last is None:
            return records
        number = int(last.text)
        unseen = [record for record in records if int(record.sequence_number) > number]
        if unseen:
            self._from_horizon = False
        return unseen

    def _recent(self, records: Sequence[StreamRecord], until_ms: int) -> Sequence[StreamRecord]:
        """Without what the scan has read; looks no further once records are younger."""
        until_s = until_ms / 1000
        if records and records[0].created_s > until_s:
            self._drop_until_ms = None
            return records
        return [record for record in records if record.created_s > until_s]


def is_ttl_delete(record: StreamRecord) -> bool:
    """Whether a record is a deletion by time to live (field case S16).

    Deletions that a global table replicates from another region do not say so.
    """
    identity = record.user_identity if record.event_name == "REMOVE" else None
    if identity is None:
        return False
    members = {name.lower(): value for name, value in orjson.loads(identity).items()}
    return (
        members.get("type") == "Service" and members.get("principalid") == "dynamodb.amazonaws.com"
    )


def _behind(position: ShardPosition, sequence_number: str, created_s: float) -> ShardPosition:
    return position.after(SequenceNumber(sequence_number), int(created_s * 1000))
