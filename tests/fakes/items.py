"""The items of one table, in scan order, with bulk items made on demand.

Items written through the API lie in a dict and a sorted list of positions. Bulk items
(``BulkItems``) take no memory: they are ranges in hash order, and an item written or deleted
through the API hides the bulk item at its position.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from typing import Protocol

from tests.fakes.attributes import StoredItem
from tests.fakes.keys import HASH_SPACE, Position, key_at


@dataclass(slots=True)
class Page:
    """What one read gathers: at most ``count_max`` items, or what takes it over ``bytes_max``."""

    count_max: int
    bytes_max: int
    wires: list[bytes] = field(default_factory=list)
    size: int = 0
    last: Position | None = None  # of the item that made the page full

    def add(self, item: StoredItem) -> bool:
        """Add an item; whether the page is full now."""
        self.wires.append(item.wire)
        self.size += item.size
        return self.size > self.bytes_max or len(self.wires) >= self.count_max


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

    def read(self, page: Page, first: int, end: int) -> int | None:
        """Put the items from ``first`` up to ``end`` on a page; the index that made it full."""
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

    def read(self, page: Page, low: int, high: int, after: Position | None = None) -> None:
        """Put the items with ``low <= hash < high`` after a position on a page, till it is full."""
        start = bisect.bisect_left(self._order, (low,))
        if after is not None:
            start = max(start, bisect.bisect_right(self._order, after))
            low = max(low, after.hash)
        previous = after
        for at in range(start, bisect.bisect_left(self._order, (high,))):
            position = self._order[at]
            if self._bulk:
                self._read_bulk(page, (low, position.hash + 1), previous, position)
            if page.last is not None:
                return
            item = self._written[position]
            if item is not None and page.add(item):
                page.last = position
                return
            previous = position
            low = position.hash
        self._read_bulk(page, (low, high), previous, None)

    def _read_bulk(
        self, page: Page, hashes: tuple[int, int], after: Position | None, before: Position | None
    ) -> None:
        low, high = hashes
        for part in self._bulk:
            first, end = part.index_from(low), part.index_from(min(high, HASH_SPACE))
            if first < end and after is not None and _bulk_position(part, first) <= after:
                first += 1
            if first < end and before is not None and _bulk_position(part, end - 1) >= before:
                end -= 1
            last = part.read(page, first, end)
            if last is not None:
                page.last = _bulk_position(part, last)
                return


def _bulk_position(part: BulkItems, index: int) -> Position:
    hash_ = part.hash_at(index)
    return Position(hash_, key_at(hash_).encode(), b"")
