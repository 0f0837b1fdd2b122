"""One shard: its place in the lineage and its log of records.

Positions count the records of a shard from 0 and are never reused; trimming moves the first
readable position forward. A log may start with a run of bulk records (``bulk``), which are made
when they are read; records written through the API follow.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import Protocol

from tests.fakes.keys import HashRange
from tests.fakes.records import Change, RecordFormat

RETENTION_S = 24 * 3600.0
PAGE_RECORDS_MAX = 1000
PAGE_BYTES_MAX = 1 << 20


class BulkRun(Protocol):
    """Records that are made on demand, at positions ``0 .. count - 1`` of a shard."""

    count: int
    created_s: int

    def read(self, position: int, stop: int, bytes_max: int) -> tuple[list[bytes], int]:
        """The records up to ``stop`` or ``bytes_max``, at least one, and their ``SizeBytes``."""
        ...

    def sequence(self, position: int) -> int:
        """The record's sequence number; rises with the position."""
        ...


class ShardLog:
    """The records of one shard, oldest first."""

    def __init__(self, format_: RecordFormat) -> None:
        self._format = format_
        self._bulk: BulkRun | None = None
        self._changes: list[Change] = []
        self._changes_at = 0  # position of the first element of _changes
        self.trimmed = 0
        self.last_trimmed_sequence = -1
        self.held_from: int | None = None

    @property
    def end(self) -> int:
        """The position after the last record."""
        return self._changes_at + len(self._changes)

    @property
    def readable_end(self) -> int:
        """The position after the last record that readers may see."""
        return self.end if self.held_from is None else self.held_from

    def append(self, change: Change) -> None:
        """Add the newest record."""
        self._changes.append(change)

    def fill(self, bulk: BulkRun) -> None:
        """Put a run of bulk records into a log that is still empty."""
        if self.end:
            raise ValueError(f"filling a shard that has {self.end} records: expected an empty one")
        self._bulk = bulk
        self._changes_at = bulk.count

    def _bulk_count(self) -> int:
        return 0 if self._bulk is None else self._bulk.count

    def sequence_at(self, position: int) -> int:
        """The sequence number of the record at a position that is not trimmed."""
        if self._bulk is not None and position < self._bulk.count:
            return self._bulk.sequence(position)
        return self._changes[position - self._changes_at].sequence

    def created_at(self, position: int) -> int:
        """The creation time, in seconds, of the record at a position that is not trimmed."""
        if self._bulk is not None and position < self._bulk.count:
            return self._bulk.created_s
        return self._changes[position - self._changes_at].created_s

    def position_of_sequence(self, sequence: int, *, after: bool) -> int:
        """The first readable position whose number is at least (or above) ``sequence``."""
        wanted = sequence + 1 if after else sequence
        span = range(self.trimmed, self.end)
        return self.trimmed + bisect.bisect_left(span, wanted, key=self.sequence_at)

    def position_of_time(self, at_s: float) -> int:
        """The first readable position that was created at or after a moment."""
        start = self.trimmed
        if self._bulk is not None and self._bulk.created_s < at_s:
            start = self._bulk.count
        return next((p for p in range(start, self.end) if self.created_at(p) >= at_s), self.end)

    def trim(self, before_s: float) -> None:
        """Forget the records that were created before a moment."""
        position = self.trimmed
        if self._bulk is not None and position < self._bulk.count:
            if self._bulk.created_s >= before_s:
                return
            position = self._bulk.count
        while position < self.end and self.created_at(position) < before_s:
            position += 1
        if position > self.trimmed:
            self.last_trimmed_sequence = self.sequence_at(position - 1)
            drop = max(0, position - self._changes_at)
            del self._changes[:drop]
            self._changes_at += drop
            self.trimmed = position
        if self._bulk is not None and self.trimmed >= self._bulk.count:
            self._bulk = None

    def read(self, position: int, limit: int) -> tuple[list[bytes], int]:
        """Up to ``limit`` records or 1 MB from a position on, and the position after them."""
        records: list[bytes] = []
        size = 0
        stop = min(self.readable_end, position + min(limit, PAGE_RECORDS_MAX))
        if self._bulk is not None and position < min(stop, self._bulk.count):
            bulk_stop = min(stop, self._bulk.count)
            records, size = self._bulk.read(position, bulk_stop, PAGE_BYTES_MAX)
            position += len(records)
            if position < bulk_stop:
                return records, position
        while position < stop:
            change = self._changes[position - self._changes_at]
            size += self._format.size_of(change)
            if records and size > PAGE_BYTES_MAX:
                break
            records.append(self._format.encode(change))
            position += 1
        return records, position


@dataclass(slots=True)
class Shard:
    """One shard of a stream: a range of hashes over a time."""

    shard_id: str
    parent_id: str | None
    hashes: HashRange
    starting_sequence: int
    created_s: float
    log: ShardLog
    ending_sequence: int | None = None
    closed_s: float | None = None
    empty_pages: int = 0  # GetRecords calls that will find nothing
    is_dropped: bool = False  # trimmed by the script, ahead of the retention

    @property
    def is_open(self) -> bool:
        """Whether writes may still arrive."""
        return self.ending_sequence is None

    def is_gone(self, now_s: float) -> bool:
        """Whether the shard fell out of the retention and is listed no more."""
        if self.is_dropped:
            return True
        return (
            self.closed_s is not None
            and self.closed_s < now_s - RETENTION_S
            and self.log.trimmed == self.log.end
        )
