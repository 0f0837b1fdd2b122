"""Keeps a scan within its share of a table's read capacity.

DynamoDB tells after each page what it has consumed, so the budget is kept in **read capacity
units**, not in items or pages: a ``Limit`` counts items, which may be 100 bytes or 400 KB
(field case I06). One pacer is shared by all segments of a scan.

Two means: pages are asked for only when their expected cost has accrued, and they are kept so small
that one of them costs about a second's worth. A page of 1 MB costs 128 units at once, more than a
small table has for half a minute.
"""

from __future__ import annotations

from typing import Final

from connectd.aio.clock import Clock

_PAGE_UNITS_MAX: Final = 128.0
"""What 1 MB costs, eventually consistent (0.5 units per 4 KB); strongly consistent, twice that."""

_BYTES_PER_UNIT: Final = 8_192
_GROWTH_MAX: Final = 4
"""A limit grows by this factor at most from one page to the next: sizes of items differ widely."""


class ScanPacer:
    """A token bucket over consumed capacity. Waiting is fair: who asks first goes first."""

    def __init__(
        self,
        *,
        units_per_s: float,
        clock: Clock,
        segments: int,
        item_bytes: float | None,
        is_consistent: bool,
    ) -> None:
        """``item_bytes``: what an item measures on average, None when nothing is known."""
        self._rate = units_per_s
        self._clock = clock
        self._price = 2.0 if is_consistent else 1.0
        self._page_units = max(units_per_s / segments, 0.5)
        self._item_units = (
            None if item_bytes is None else max(item_bytes / _BYTES_PER_UNIT * self._price, 0.01)
        )
        self._limit_max = 1 if self._item_units is None else None
        self._level = 0.0
        self._level_at: float | None = None

    def limit(self, page_size: int) -> int | None:
        """The ``Limit`` for the next page: ``page_size`` (0: none), or fewer."""
        wanted = page_size or None
        if self._page_units >= _PAGE_UNITS_MAX * self._price:
            return wanted
        limit = max(1, int(self._page_units / (self._item_units or 1.0)))
        for other in (self._limit_max, wanted):
            if other is not None:
                limit = min(limit, other)
        return limit

    async def take(self, limit: int | None) -> float:
        """Wait until a page with that limit may be asked for; returns the units set aside."""
        expected = _PAGE_UNITS_MAX * self._price
        if limit is not None and self._item_units is not None:
            expected = min(expected, limit * self._item_units)
        elif limit is not None:
            expected = min(expected, self._page_units)
        self._accrue()
        self._level -= expected
        if self._level < 0:
            await self._clock.sleep(-self._level / self._rate)
        return expected

    def settle(self, expected: float, consumed: float, *, limit: int | None, items: int) -> None:
        """Say what a page has really consumed, 0 for a call that was refused."""
        self._accrue()
        self._level += expected - consumed
        if items:
            self._item_units = max(consumed / items, 0.01)
            self._limit_max = None if limit is None else max(limit, items) * _GROWTH_MAX

    def _accrue(self) -> None:
        now = self._clock.monotonic()
        if self._level_at is not None:
            # What was not used within a second is gone: no bursts after a pause.
            self._level = min(self._rate, self._level + (now - self._level_at) * self._rate)
        self._level_at = now
