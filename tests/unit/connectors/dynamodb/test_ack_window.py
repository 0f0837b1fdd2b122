"""The window of unacknowledged pages follows the delay of their acknowledgements."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from connectd.aio.clock import LoopClock
from connectd.connectors.dynamodb.ack_window import PAGES_MAX, PAGES_MIN, AckWindow
from tests.kit.virtual import virtual


async def _run(
    window: AckWindow, *, way_s: float, pages_per_s: float, pages: int
) -> tuple[float, float]:
    """Send as many as the window allows; pages per second, and the last delay."""
    clock, acked, free_s = LoopClock(), 0, 0.0
    began_s = clock.monotonic()
    under_way: deque[tuple[float, float, Callable[[], None]]] = deque()
    delay_s = 0.0
    while acked < pages:
        while window.has_room:
            now = clock.monotonic()
            free_s = max(free_s, now) + 1 / pages_per_s
            under_way.append((free_s + way_s, now, window.send(lambda: None)))
        due_s, sent_s, on_acked = under_way.popleft()
        await asyncio.sleep(max(0.0, due_s - clock.monotonic()))
        delay_s = clock.monotonic() - sent_s
        on_acked()
        acked += 1
    rate = acked / (clock.monotonic() - began_s)
    for _, _, on_acked in under_way:
        on_acked()
    return rate, delay_s


@virtual
async def test_a_slow_broker_is_kept_busy_and_no_queue_stands_before_it() -> None:
    window = AckWindow(LoopClock())
    rate, delay_s = await _run(window, way_s=0.005, pages_per_s=20, pages=400)
    assert rate > 19
    assert PAGES_MIN <= window.pages <= 8
    assert delay_s < 0.4, "64 pages would wait for more than three seconds"


@virtual
async def test_a_broker_that_is_far_away_is_kept_busy_too() -> None:
    window = AckWindow(LoopClock())
    rate, delay_s = await _run(window, way_s=0.3, pages_per_s=60, pages=2000)
    assert rate > 55
    assert delay_s < 0.3 + 0.25


@virtual
async def test_a_fast_broker_gets_all_that_there_is() -> None:
    window = AckWindow(LoopClock())
    await _run(window, way_s=0.01, pages_per_s=5000, pages=500)
    assert window.pages == PAGES_MAX


@virtual
async def test_a_broker_that_has_become_slower_for_good_is_not_starved() -> None:
    """What the way takes is learnt anew."""
    window = AckWindow(LoopClock())
    await _run(window, way_s=0.01, pages_per_s=100, pages=200)
    await _run(window, way_s=0.5, pages_per_s=100, pages=300)
    rate, _ = await _run(window, way_s=0.5, pages_per_s=100, pages=4000)
    assert rate > 40, "and for a minute it was 8"
