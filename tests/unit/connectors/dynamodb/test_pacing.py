"""A scan keeps within its share of a table's capacity, whatever its items measure (I06)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from connectd.aio.clock import LoopClock
from connectd.aio.jobs import JobGroup
from connectd.connectors.dynamodb.pacing import ScanPacer
from tests.kit.virtual import virtual

_PAGE_BYTES_MAX = 1_048_576

_WINDOW_S = 30.0


def _units(item_bytes: int, items: int, *, is_consistent: bool = False) -> float:
    """What DynamoDB charges for a page: half a unit per 4 KB begun, eventually consistent."""
    return math.ceil(item_bytes * items / 4096) * (1.0 if is_consistent else 0.5)


@dataclass
class _Table:
    """Answers pages as DynamoDB does, and keeps the bill. Sizes may change from item to item."""

    item_bytes: Callable[[int], int]
    clock: LoopClock
    is_consistent: bool = False
    page_s: float = 0.02
    read: int = 0
    bill: list[tuple[float, float]] = field(default_factory=list)
    pages: list[int] = field(default_factory=list)

    def page(self, limit: int | None) -> tuple[float, int]:
        """Units and items of the next page."""
        size = items = 0
        while size < _PAGE_BYTES_MAX and (limit is None or items < limit):
            size += self.item_bytes(self.read)
            self.read += 1
            items += 1
        units = _units(size, 1, is_consistent=self.is_consistent)
        self.bill.append((self.clock.monotonic(), units))
        self.pages.append(items)
        return units, items

    def consumed(self, start_s: float, end_s: float) -> float:
        return sum(units for at_s, units in self.bill if start_s <= at_s < end_s)

    def highest(self, start_s: float, end_s: float) -> float:
        """The most consumed in any window of 30 seconds that begins in that time."""
        starts = [at_s for at_s, _ in self.bill if start_s <= at_s < end_s]
        return max(self.consumed(at_s, at_s + _WINDOW_S) for at_s in starts)


async def _scan(
    table: _Table,
    *,
    units_per_s: float,
    segments: int = 1,
    average_bytes: float | None,
    page_size: int = 0,
    for_s: float = 120.0,
) -> None:
    """Scan an endless table for a while, in segments that share one pacer."""
    pacer = ScanPacer(
        units_per_s=units_per_s,
        clock=table.clock,
        segments=segments,
        item_bytes=average_bytes,
        is_consistent=table.is_consistent,
    )

    async def read_segment() -> None:
        while True:
            limit = pacer.limit(page_size)
            expected = await pacer.take(limit)
            units, items = table.page(limit)
            await table.clock.sleep(table.page_s)
            pacer.settle(expected, units, limit=limit, items=items)

    jobs = JobGroup("scan")
    for segment in range(segments):
        jobs.spawn(f"segment-{segment}", read_segment())
    await table.clock.sleep(for_s)
    await jobs.stop()


@pytest.mark.parametrize("segments", [1, 4])
@pytest.mark.parametrize("is_consistent", [False, True])
@pytest.mark.parametrize(
    ("item_bytes", "rate"),
    [(40_960, 5.0), (40_960, 100.0), (400, 5.0), (400, 50.0), (4_000, 12.5), (400_000, 50.0)],
)
@pytest.mark.parametrize("is_average_known", [True, False])
@virtual
async def test_a_scan_stays_under_its_share_over_thirty_seconds(
    segments: int, is_consistent: bool, item_bytes: int, rate: float, is_average_known: bool
) -> None:
    """Field case I06: RCU 10, half of it, items of 40 KB, of which each costs a second's worth."""
    table = _Table(lambda _: item_bytes, LoopClock(), is_consistent)
    await _scan(
        table,
        units_per_s=rate,
        segments=segments,
        average_bytes=item_bytes if is_average_known else None,
        for_s=75,
    )
    # A window begins with a page whose units accrued before it, and each segment may have one page
    # under way that turns out to cost more than was set aside for it.
    page = max(units for _, units in table.bill)
    assert table.highest(0, 45) <= rate * _WINDOW_S + page * segments


@pytest.mark.parametrize(("item_bytes", "rate"), [(40_960, 5.0), (400, 20.0), (2_000, 500.0)])
@virtual
async def test_a_scan_uses_its_share(item_bytes: int, rate: float) -> None:
    table = _Table(lambda _: item_bytes, LoopClock())
    await _scan(table, units_per_s=rate, average_bytes=item_bytes)
    assert table.consumed(30, 60) >= rate * _WINDOW_S * 0.8


@virtual
async def test_an_average_that_misleads_is_made_up_for() -> None:
    """Field case I06: the table says 100 bytes per item, its first items have 40 KB."""
    rate = 20.0
    table = _Table(lambda _: 40_960, LoopClock())
    await _scan(table, units_per_s=rate, average_bytes=100, for_s=240)
    first = table.pages[0]
    assert table.pages[1] < first
    # The debt of the first page is waited for before the second.
    assert table.bill[1][0] >= (table.bill[0][1] - rate) / rate
    assert table.highest(30, 200) <= rate * (_WINDOW_S + 1) + 5.0


@virtual
async def test_items_that_grow_along_the_way_are_followed() -> None:
    rate = 50.0
    table = _Table(lambda number: 200 if number < 20_000 else 40_960, LoopClock())
    await _scan(table, units_per_s=rate, average_bytes=200, for_s=120)
    assert table.read > 20_000
    # 1 MB is the most that one page can cost beyond what was expected of it.
    assert table.highest(0, 90) <= rate * (_WINDOW_S + 1) + 128.0


@virtual
async def test_a_refused_call_costs_nothing() -> None:
    clock = LoopClock()
    pacer = ScanPacer(
        units_per_s=5, clock=clock, segments=1, item_bytes=40_960, is_consistent=False
    )
    for _ in range(3):
        pacer.settle(await pacer.take(1), 0, limit=1, items=0)
    # The first page waits for its second; refused ones hand their units on.
    assert clock.monotonic() == pytest.approx(1.0)


@virtual
async def test_what_a_pause_did_not_use_is_not_used_later() -> None:
    table = _Table(lambda _: 4_096, LoopClock())
    rate = 10.0
    pacer = ScanPacer(
        units_per_s=rate, clock=table.clock, segments=1, item_bytes=4_096, is_consistent=False
    )
    await pacer.take(1)
    await table.clock.sleep(3600)
    start_s = table.clock.monotonic()
    while table.clock.monotonic() < start_s + 10:
        limit = pacer.limit(0)
        expected = await pacer.take(limit)
        units, items = table.page(limit)
        pacer.settle(expected, units, limit=limit, items=items)
    assert table.consumed(start_s, start_s + 10) <= rate * 11 + max(u for _, u in table.bill)


@virtual
async def test_who_asks_first_goes_first() -> None:
    clock = LoopClock()
    pacer = ScanPacer(units_per_s=1, clock=clock, segments=3, item_bytes=8_192, is_consistent=False)
    order: list[tuple[str, float]] = []

    async def ask(name: str) -> None:
        await pacer.take(1)
        order.append((name, clock.monotonic()))

    jobs = JobGroup("scan")
    for name in ("first", "second", "third"):
        jobs.spawn(name, ask(name))
    await clock.sleep(10)
    await jobs.stop()
    assert [name for name, _ in order] == ["first", "second", "third"]
    assert [at_s for _, at_s in order] == pytest.approx([1.0, 2.0, 3.0])


def _limit(
    rate: float,
    *,
    segments: int = 1,
    item_bytes: float | None = 100,
    page_size: int = 0,
    is_consistent: bool = False,
) -> int | None:
    pacer = ScanPacer(
        units_per_s=rate,
        clock=LoopClock(),
        segments=segments,
        item_bytes=item_bytes,
        is_consistent=is_consistent,
    )
    return pacer.limit(page_size)


def test_a_page_costs_about_a_second() -> None:
    assert _limit(10, item_bytes=8_192) == 10
    assert _limit(10, item_bytes=8_192, segments=5) == 2
    assert _limit(10, item_bytes=8_192, is_consistent=True) == 5


def test_a_page_has_one_item_at_least() -> None:
    assert _limit(1, item_bytes=400_000) == 1
    assert _limit(1, segments=1000) == 40
    assert _limit(0.1, item_bytes=0.0) == 50


def test_nothing_is_assumed_of_items_that_nobody_has_seen() -> None:
    assert _limit(10, item_bytes=None) == 1


def test_a_share_that_pays_for_whole_pages_limits_none() -> None:
    assert _limit(128) is None
    assert _limit(127) is not None
    assert _limit(255, is_consistent=True) is not None
    assert _limit(256, is_consistent=True) is None
    assert _limit(128, segments=2) is not None
    assert _limit(1000, page_size=50) == 50


def test_the_page_size_of_the_user_is_kept() -> None:
    assert _limit(10, page_size=7) == 7
    assert _limit(10, item_bytes=8_192, page_size=500) == 10


@virtual
async def test_pages_grow_step_by_step_from_the_unknown() -> None:
    table = _Table(lambda _: 100, LoopClock())
    await _scan(table, units_per_s=100, average_bytes=None, for_s=30)
    growth = [after / before for before, after in zip(table.pages, table.pages[1:], strict=False)]
    assert table.pages[0] == 1
    assert max(growth) <= 4
    assert table.pages[-1] > 1000
