"""The bounded buffer between the readers of a task and its poll: two lanes, both bounded.

The *long lane* is for those who have much to read: scans, and shards that are behind. It is bounded
by *places*: a reader takes one **before** it asks for a page, so that a task with five hundred
shards and a slow broker holds no more pages than there are places, not one per shard (field case
S13). A place is given back when the page turns out to be empty, or when poll has taken it; from
there on the runner's window bounds what is under way.

The *short lane* is for readers at the tip of their shard, most of whose pages are empty: thousands
of them must not stand in line for a place that few will fill, nor a change behind pages of tables
that are read at full speed. They wait only while the lane is full (``room``) and put what they
found. So it may hold more pages than it has places, by as many as polls were in flight when it
became full. A full page that such a reader found, to its surprise, goes into the long lane without
a place; of these, too, there are at most ``SURPRISES_MAX`` and what was in flight then.

``take`` gives everything of the short lane and then one turn of the long one, of which no more is
under way than Kafka needs to be busy (``ack_window``). Pages of the short lane are *urgent*: they
pass those of the long one before the producer, too. A source partition
must not change from the long lane to the short one before what it has in there is acknowledged;
that is its reader's duty. Seals and positions without records need no place: they are small, and
each reader has at most one of each under way.

Owned by one task, used on the event loop only. Order of putting is order of taking, per lane.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeGuard

from connectd.aio.clock import Clock, LoopClock
from connectd.connectors.dynamodb.ack_window import AckWindow
from connectd.errors import InvariantError
from connectd.model.record import Acked, Emission, RecordBatch, Seal, SourceOffset, SourcePartition

REMOVED: Final = None
"""The offset that removes a source partition: stores write a tombstone for it."""

TURN_RECORDS: Final = 1_000
"""Records of the long lane after which the short one has its turn: a page of a stream."""


SURPRISES_MAX: Final = 32
"""Full pages without a place that may lie in the long lane before readers at the tip wait: twenty
tables that come to life together have eighty shards."""


@dataclass(frozen=True)
class QueueStatistics:
    """Emissions waiting for poll, and places taken by pages (being fetched, or waiting).

    Of the two lanes it is the fuller one whose places are counted.
    """

    emissions: int
    places_taken: int
    places_max: int


class Place:
    """Room for one page, as a context; ``fill`` it at most once."""

    __slots__ = ("_queue", "is_filled")

    def __init__(self, queue: EmissionQueue) -> None:
        self._queue = queue
        self.is_filled = False

    async def __aenter__(self) -> Place:
        await self._queue.take_place()
        return self

    async def __aexit__(self, *_: object) -> None:
        if not self.is_filled:
            self._queue.free_place()

    def fill(self, batch: RecordBatch) -> None:
        """Put the page into the queue."""
        if self.is_filled:
            raise InvariantError(f"place of {batch.source_partition} filled twice")
        self.is_filled = True
        self._queue.put_page(batch)


class EmissionQueue:
    """See the module's docstring."""

    def __init__(self, places_max: int, clock: Clock | None = None) -> None:
        self._window = AckWindow(clock or LoopClock())
        self._places_max = places_max
        self._places = asyncio.Semaphore(places_max)
        self._taken = 0
        self._long: deque[tuple[Emission, bool]] = deque()
        self._short: deque[Emission] = deque()
        self._surprises = 0
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._has_news = asyncio.Event()
        self._end: Exception | None = None

    # -- the long lane --------------------------------------------------------------------------

    def place(self) -> Place:
        """``async with`` it: waits for room for one page; first come, first served."""
        return Place(self)

    async def take_place(self) -> None:
        """What ``place`` does on entering."""
        await self._places.acquire()
        self._taken += 1

    def free_place(self) -> None:
        """Give a place back (called by places)."""
        self._taken -= 1
        self._places.release()

    def put_page(self, batch: RecordBatch) -> None:
        """Add a page that has a place (called by places)."""
        self._long.append((batch, True))
        self._has_news.set()

    def put(self, emission: Emission) -> None:
        """Add a seal, or a position without records."""
        if _is_page(emission):
            raise InvariantError(f"page of {emission.source_partition} needs a place")
        self._long.append((emission, False))
        self._has_news.set()

    async def commit(self, partition: SourcePartition, offset: SourceOffset | None) -> None:
        """Add a seal and wait until its offset is durable."""
        is_durable = asyncio.Event()
        self.put(Seal(partition, offset, is_durable.set))
        await is_durable.wait()

    async def commit_all(self, offsets: Mapping[SourcePartition, SourceOffset | None]) -> None:
        """Add a seal for each offset, in order, and wait until all are durable."""
        missing = len(offsets)
        is_durable = asyncio.Event()

        def on_committed() -> None:
            nonlocal missing
            missing -= 1
            if missing == 0:
                is_durable.set()

        for partition, offset in offsets.items():
            self.put(Seal(partition, offset, on_committed))
        if offsets:
            await is_durable.wait()

    # -- the short lane -------------------------------------------------------------------------

    @property
    def has_room(self) -> bool:
        """Whether a reader at the tip may ask for a page."""
        return self._has_room.is_set()

    async def room(self) -> None:
        """Wait until ``has_room``."""
        await self._has_room.wait()

    def put_short(self, batch: RecordBatch) -> None:
        """Add what a reader at the tip has found."""
        self._short.append(replace(batch, is_urgent=True))
        self._update_room()
        self._has_news.set()

    def put_surprise(self, batch: RecordBatch) -> None:
        """Add a full page that a reader at the tip has found; its next ones need places."""
        self._long.append((batch, False))
        self._surprises += 1
        self._update_room()
        self._has_news.set()

    def _update_room(self) -> None:
        if len(self._short) >= self._places_max or self._surprises >= SURPRISES_MAX:
            self._has_room.clear()
        else:
            self._has_room.set()

    # -- poll -----------------------------------------------------------------------------------

    async def take(self) -> list[Emission]:
        """Wait for emissions and take a turn of them. A cancelled wait has taken nothing.

        Raises:
            Exception: what ``end`` was given, once everything before it has been taken.
        """
        while not self._short and not self._may_take_long():
            if self._end is not None and not self._long:
                raise self._end
            self._has_news.clear()
            await self._has_news.wait()
        taken = list(self._short)
        self._short.clear()
        records = 0
        while records < TURN_RECORDS and self._may_take_long():
            emission, has_place = self._long.popleft()
            if has_place:
                self.free_place()
            if _is_page(emission):
                records += len(emission.payload)
                if not has_place:
                    self._surprises -= 1
                emission = self._watched(emission)
            taken.append(emission)
        self._update_room()
        return taken

    def _may_take_long(self) -> bool:
        """Whether the long lane has something that may go."""
        return bool(self._long) and (self._window.has_room or not _is_page(self._long[0][0]))

    def _watched(self, page: RecordBatch) -> RecordBatch:
        """The page, counted until it is acknowledged."""
        leave, on_acked = self._window.send(self._has_news.set), page.on_acked

        def on_page_acked(acked: Acked) -> None:
            leave()
            if on_acked is not None:
                on_acked(acked)

        return replace(page, on_acked=on_page_acked)

    def end(self, error: Exception) -> None:
        """Nothing more will come, for this reason."""
        self._end = error
        self._has_news.set()

    def statistics(self) -> QueueStatistics:
        """How full the queue is."""
        return QueueStatistics(
            len(self._long) + len(self._short),
            max(self._taken, min(len(self._short), self._places_max)),
            self._places_max,
        )


def _is_page(emission: Emission) -> TypeGuard[RecordBatch]:
    """Whether it has records."""
    return isinstance(emission, RecordBatch) and len(emission.payload) > 0
