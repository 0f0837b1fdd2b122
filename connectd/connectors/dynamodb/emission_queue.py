"""The bounded buffer between the readers of a task and its poll.

Bounded by *places*: a reader takes one **before** it asks for a page, so that a task with five
hundred shards and a slow broker holds no more pages than there are places, not one per shard
(field case S13). A place is given back when the page turns out to be empty, or when poll has taken
it; from there on the runner's window bounds what is under way.

Seals and positions without records need no place: they are small, and each reader has at most one
of each under way.

Owned by one task, used on the event loop only. Order of putting is order of taking.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from connectd.errors import InvariantError
from connectd.model.record import Emission, RecordBatch, Seal, SourceOffset, SourcePartition

REMOVED: Final = None
"""The offset that removes a source partition: stores write a tombstone for it."""


@dataclass(frozen=True)
class QueueStatistics:
    """Emissions waiting for poll, and places taken by pages (being fetched, or waiting)."""

    emissions: int
    places_taken: int
    places_max: int


class Place:
    """Room for one page; ``fill`` it at most once."""

    def __init__(self, put: Callable[[RecordBatch], None]) -> None:
        self._put = put
        self.is_filled = False

    def fill(self, batch: RecordBatch) -> None:
        """Put the page into the queue."""
        if self.is_filled:
            raise InvariantError(f"place of {batch.source_partition} filled twice")
        self.is_filled = True
        self._put(batch)


class EmissionQueue:
    """See the module's docstring."""

    def __init__(self, places_max: int) -> None:
        self._places_max = places_max
        self._places = asyncio.Semaphore(places_max)
        self._taken = 0
        self._emissions: deque[tuple[Emission, bool]] = deque()
        self._has_news = asyncio.Event()
        self._end: Exception | None = None

    @asynccontextmanager
    async def place(self) -> AsyncIterator[Place]:
        """Wait for room for one page; first come, first served."""
        await self._places.acquire()
        self._taken += 1
        place = Place(self._put_page)
        try:
            yield place
        finally:
            if not place.is_filled:
                self._free()

    def put(self, emission: Emission) -> None:
        """Add a seal, or a position without records."""
        if isinstance(emission, RecordBatch) and len(emission.payload) > 0:
            raise InvariantError(f"page of {emission.source_partition} needs a place")
        self._emissions.append((emission, False))
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

    async def take(self) -> list[Emission]:
        """Wait for emissions and take them all. A cancelled wait has taken nothing.

        Raises:
            Exception: what ``end`` was given, once everything before it has been taken.
        """
        while not self._emissions:
            if self._end is not None:
                raise self._end
            self._has_news.clear()
            await self._has_news.wait()
        taken = list(self._emissions)
        self._emissions.clear()
        for _, has_place in taken:
            if has_place:
                self._free()
        return [emission for emission, _ in taken]

    def end(self, error: Exception) -> None:
        """Nothing more will come, for this reason."""
        self._end = error
        self._has_news.set()

    def statistics(self) -> QueueStatistics:
        """How full the queue is."""
        return QueueStatistics(len(self._emissions), self._taken, self._places_max)

    def _put_page(self, batch: RecordBatch) -> None:
        self._emissions.append((batch, True))
        self._has_news.set()

    def _free(self) -> None:
        self._taken -= 1
        self._places.release()
