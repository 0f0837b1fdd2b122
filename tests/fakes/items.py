"""The items of one table, in scan order, with bulk items made on demand.

Items written through the API lie in a dict and a sorted list of positions. Bulk items
(``BulkItems``) take no memory: they are ranges in hash order, and an item written or deleted
through the API hides the bulk item at its position.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import Protocol

from tests.fakes.attributes import StoredItem
from tests.fakes.keys import HASH_SPACE, Position, key_at


class BulkItems(Protocol):
    """Items that are made on demand, in hash order, ``0 .. count - 1``.

    Their keys name their hash (``keys.key_at``), so index and key are two sides of one number.
    """

    count: int
    size_total: int

    def hash_at(self, index: int) -> int:
        """The hash of an item; rises with the index."""
        ...

    def item(self, index: int) -> StoredItem:
        """The item itself."""
        ...

    def index_from(self, hash_: int) -> int:
        """The first index whose hash is at least ``hash_``."""
        ...


class ItemStore:
    """All items of one table."""

    def __init__(self) -> None:
        self._written: dict[Position, StoredItem | None] = {}  # None hides a bulk item
        self._order: list[Position] = []  # the positions in _written, sorted
        self._bulk: list[BulkItems] = []  # disjoint and in hash order
        self.count = 0
        self.size_total = 0

    @property
    def has_bulk(self) -> bool:
        """Whether bulk items were loaded."""
        return bool(self._bulk)

    def load(self, bulk: list[BulkItems]) -> None:
        """Put bulk items, disjoint and in hash order, into a store that is still empty."""
        if self.count or self._bulk:
            raise ValueError(f"bulk loading a table that has {self.count} items: expected none")
        self._bulk = bulk
        self.count = sum(part.count for part in bulk)
        self.size_total = sum(part.size_total for part in bulk)

    def get(self, position: Position) -> StoredItem | None:
        """The item at a position."""
        if position in self._written:
            return self._written[position]
        return self._bulk_item(position)

    def _bulk_item(self, position: Position) -> StoredItem | None:
        for part in self._bulk:
            index = part.index_from(position.hash)
            if index < part.count and _bulk_position(part, index) == position:
                return part.item(index)
        return None

    def set(self, position: Position, item: StoredItem | None) -> None:
        """Write (or with None delete) the item at a position."""
        before = self.get(position)
        self.count += (item is not None) - (before is not None)
        self.size_total += (item.size if item else 0) - (before.size if before else 0)
        if item is None and self._bulk_item(position) is None:
            if position in self._written:
                del self._written[position]
                del self._order[bisect.bisect_left(self._order, position)]
            return
        if position not in self._written:
            bisect.insort(self._order, position)
        self._written[position] = item

    def walk(
        self, low: int, high: int, after: Position | None = None
    ) -> Iterator[tuple[Position, StoredItem]]:
        """The items with ``low <= hash < high`` that stand after a position, in scan order."""
        start = bisect.bisect_left(self._order, (low,))
        if after is not None:
            start = max(start, bisect.bisect_right(self._order, after))
            low = max(low, after.hash)
        previous = after
        for written_at in range(start, bisect.bisect_left(self._order, (high,))):
            position = self._order[written_at]
            yield from self._walk_bulk(low, position.hash + 1, previous, position)
            item = self._written[position]
            if item is not None:
                yield position, item
            previous = position
            low = position.hash
        yield from self._walk_bulk(low, high, previous, None)

    def _walk_bulk(
        self, low: int, high: int, after: Position | None, before: Position | None
    ) -> Iterator[tuple[Position, StoredItem]]:
        for part in self._bulk:
            first, last = part.index_from(low), part.index_from(min(high, HASH_SPACE))
            if first < last and after is not None and _bulk_position(part, first) <= after:
                first += 1
            if first < last and before is not None and _bulk_position(part, last - 1) >= before:
                last -= 1
            for index in range(first, last):
                yield _bulk_position(part, index), part.item(index)


def _bulk_position(part: BulkItems, index: int) -> Position:
    hash_ = part.hash_at(index)
    return Position(hash_, key_at(hash_).encode(), b"")
