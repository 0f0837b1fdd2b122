"""The second look: whether what differs still differs when table and topic are asked again.

A table that is written to is never compared in one moment: an item changes between the page that
showed it and the end of its topic. So every key that differs becomes a *candidate*. Its item is
read again, then its topic to the end of that time; and since a busy item may change again before
its record arrives, a candidate is in order as soon as *any* record that comes after shows what the
table showed. What stays a candidate until the wait is over is a difference.

Pure; owned by one reconciliation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from connectd.connectors.dynamodb.reconciling import Kind, kind_of


@dataclass
class Candidate:
    """A key that differs: what its record should say, and what it says.

    ``item_key`` is the item's key as DynamoDB's JSON, None where the record's key does not tell it;
    such a candidate is looked at in the topic alone. Place and time are those of the last record,
    whosever it is.
    """

    key_id: bytes
    topic: str
    key: bytes | None
    item_key: bytes | None
    expected: bytes | None
    found: bytes | None
    partition: int | None
    offset: int | None
    timestamp_ms: int | None

    @property
    def kind(self) -> Kind | None:
        """How it differs now."""
        return kind_of(self.expected, self.found)

    @property
    def place(self) -> tuple[int | None, int | None]:
        """Partition and offset of the last record."""
        return self.partition, self.offset


class SecondLook:
    """The candidates that are left, and those that turned out to be in order."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._left = {each.key_id: each for each in candidates}
        self._settled: list[Candidate] = []

    def __len__(self) -> int:
        return len(self._left)

    def __iter__(self) -> Iterator[Candidate]:
        return iter(tuple(self._left.values()))

    @property
    def settled(self) -> list[Candidate]:
        """Those in order; expected and found are the same."""
        return self._settled

    def expect(self, key_id: bytes, expected: bytes | None) -> None:
        """What the table says now of a key."""
        candidate = self._left.get(key_id)
        if candidate is not None:
            candidate.expected = expected
            self._settle(candidate)

    def find(
        self,
        key_id: bytes,
        found: bytes | None,
        *,
        partition: int,
        offset: int,
        timestamp_ms: int,
    ) -> None:
        """A record that has come since; it counts if it is later than the one that is known."""
        candidate = self._left.get(key_id)
        if candidate is None:
            return
        if not is_later(
            (candidate.partition, candidate.offset, candidate.timestamp_ms),
            (partition, offset, timestamp_ms),
        ):
            return
        candidate.found = found
        candidate.partition, candidate.offset = partition, offset
        candidate.timestamp_ms = timestamp_ms
        self._settle(candidate)

    def _settle(self, candidate: Candidate) -> None:
        if candidate.kind is None:
            del self._left[candidate.key_id]
            self._settled.append(candidate)


def is_later(known: tuple[int | None, int | None, int | None], new: tuple[int, int, int]) -> bool:
    """Whether a record is later than the known one; each is partition, offset, timestamp (ms).

    Within a partition the offset says it. A key has records in two partitions when somebody has
    added partitions to the topic; then there is nothing but time to go by.
    """
    partition, offset, timestamp_ms = known
    if partition is None or offset is None or timestamp_ms is None:
        return True
    return new[1] > offset if new[0] == partition else new[2] >= timestamp_ms
