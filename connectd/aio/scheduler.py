"""One due-time heap wakes thousands of pollers.

A thousand idle tables with four shards each would mean four thousand timers in the event loop;
here they share one. A poller asks ``wait(delay_s)`` for its next turn and then takes a ``slot``:
slots bound how many polls are in flight, and are handed out in the order of due time, so no busy
table can starve the others (DESIGN section 4, last bullet).
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
from dataclasses import dataclass
from typing import Final

from connectd.aio.clock import running_loop
from connectd.aio.places import Places

_TICK_S: Final = 0.01
_TICK_FROM_S: Final = 0.1
"""Longer waits end at multiples of a tick, so that those who come due together wake the loop once:
a poll is cheaper in company. Nobody waits more than a tenth longer for it."""


@dataclass(frozen=True)
class SchedulerStatistics:
    """Pollers waiting for their turn, polls in flight, and their limit."""

    waiting: int
    in_flight: int
    in_flight_max: int


class Slot:
    """One of the places, as a context; the same object serves all, since it keeps nothing."""

    __slots__ = ("_scheduler",)

    def __init__(self, scheduler: PollScheduler) -> None:
        self._scheduler = scheduler

    async def __aenter__(self) -> None:
        await self._scheduler.take_slot()

    async def __aexit__(self, *_: object) -> None:
        self._scheduler.free_slot()


class PollScheduler:
    """Shared by all pollers of a process; needs no job of its own.

    ``in_flight_max`` follows Little's law: polls per second times latency.
    """

    def __init__(self, *, in_flight_max: int = 64) -> None:
        self._slots = Places(in_flight_max)
        self._heap: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self._timer: asyncio.Handle | None = None
        self._timer_due_s = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._slot = Slot(self)

    def wait(self, delay_s: float) -> asyncio.Future[None]:
        """To be awaited: done when the delay has passed, or cancelled before.

        A wait of more than ``_TICK_FROM_S`` ends with the tick after that.
        """
        loop = running_loop(self._loop)
        self._loop = loop
        turn: asyncio.Future[None] = loop.create_future()
        due = loop.time() + max(0.0, delay_s)
        if delay_s >= _TICK_FROM_S:
            due = math.ceil(due / _TICK_S) * _TICK_S
        heapq.heappush(self._heap, (due, next(self._order), turn))
        if self._timer is None or due < self._timer_due_s:
            self._arm(loop, due)
        return turn

    def _arm(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due_s = due
        self._timer = loop.call_at(due, self._fire, loop)

    def _fire(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time()
        heap = self._heap
        while heap and (heap[0][0] <= now or heap[0][2].done()):
            _, _, turn = heapq.heappop(heap)
            if not turn.done():
                turn.set_result(None)
        if heap:
            self._arm(loop, heap[0][0])

    def slot(self) -> Slot:
        """``async with`` it: holds one of the places for a call that is in flight."""
        return self._slot

    def take_slot_at_once(self) -> bool:
        """What ``slot`` does on entering where one is free; answered by one ``free_slot``.

        For those who poll by the thousand: a context that is entered asynchronously costs more
        than the comparison that it mostly is.
        """
        return self._slots.take_at_once()

    async def take_slot(self) -> None:
        """What ``slot`` does on entering; answered by one ``free_slot``."""
        await self._slots.take()

    def free_slot(self) -> None:
        """What ``slot`` does on leaving."""
        self._slots.give_back()

    def statistics(self) -> SchedulerStatistics:
        """How full the scheduler is."""
        waiting = sum(1 for _, _, turn in self._heap if not turn.done())
        return SchedulerStatistics(waiting, self._slots.taken, self._slots.count)
