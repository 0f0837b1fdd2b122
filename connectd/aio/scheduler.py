"""One due-time heap wakes thousands of pollers.

A thousand idle tables with four shards each would mean four thousand timers in the event loop;
here they share one. A poller asks for its next ``turn``, which comes with one of the slots that
bound how many polls are in flight. Slots are handed out in the order of due time, so no busy table
can starve the others (DESIGN section 4, last bullet).

Polls are cheaper in company: one timer, one look at the sockets and often one answer's wake-up
serve all that are due together. So longer waits end at multiples of a tick.
"""

from __future__ import annotations

import asyncio
import heapq
from dataclasses import dataclass
from typing import Final, TypeAlias

from connectd.aio.clock import running_loop
from connectd.aio.places import Places

_TICKS: Final = ((2.0, 10), (1.0, 20), (0.1, 100))
"""Waits of so many seconds or more end at the nearest of so many ticks per second: a twentieth
sooner or later at most. Ticks are whole milliseconds, and the very number that a clock of
milliseconds shows then: a timer that is due a hair later fires too early, and again and again."""


@dataclass(frozen=True)
class SchedulerStatistics:
    """Pollers waiting for their turn, polls in flight, and their limit."""

    waiting: int
    in_flight: int
    in_flight_max: int


_Turn: TypeAlias = tuple[asyncio.Future[None], bool]
"""What is done when the time has come, and whether that takes a slot."""


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
        self._due: list[float] = []
        """A heap; what is due then is in ``_turns``."""
        self._turns: dict[float, list[_Turn]] = {}
        self._timer: asyncio.Handle | None = None
        self._timer_due_s = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._slot = Slot(self)

    def wait(self, delay_s: float) -> asyncio.Future[None]:
        """To be awaited: done when the delay has passed, to a tick, or cancelled before."""
        return self._turn(delay_s, needs_slot=False)

    async def turn(self, delay_s: float) -> None:
        """Wait for the delay, to a tick, and for a slot; it is held then (``free_slot``)."""
        await self._slots.taken_by(self._turn(delay_s, needs_slot=True))

    def _turn(self, delay_s: float, *, needs_slot: bool) -> asyncio.Future[None]:
        self._loop = loop = running_loop(self._loop)
        turn: asyncio.Future[None] = loop.create_future()
        due_s = loop.time() + max(0.0, delay_s)
        for from_s, per_s in _TICKS:
            if delay_s >= from_s:
                due_s = round(due_s * per_s) / per_s
                break
        turns = self._turns.get(due_s)
        if turns is None:
            turns = self._turns[due_s] = []
            heapq.heappush(self._due, due_s)
            if self._timer is None or due_s < self._timer_due_s:
                self._arm(loop, due_s)
        turns.append((turn, needs_slot))
        return turn

    def _arm(self, loop: asyncio.AbstractEventLoop, due_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due_s = due_s
        self._timer = loop.call_at(due_s, self._fire, loop)

    def _fire(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now_s = loop.time()
        while self._due and self._due[0] <= now_s:
            for turn, needs_slot in self._turns.pop(heapq.heappop(self._due)):
                if turn.done():
                    continue
                if needs_slot:
                    self._slots.line_up(turn)
                else:
                    turn.set_result(None)
        if self._due:
            self._arm(loop, self._due[0])

    def slot(self) -> Slot:
        """``async with`` it: holds one of the places for a call that is in flight."""
        return self._slot

    async def take_slot(self) -> None:
        """What ``slot`` does on entering; answered by one ``free_slot``."""
        await self._slots.take()

    def free_slot(self) -> None:
        """What ``slot`` does on leaving."""
        self._slots.give_back()

    def statistics(self) -> SchedulerStatistics:
        """How full the scheduler is."""
        waiting = sum(not turn.done() for turns in self._turns.values() for turn, _ in turns)
        return SchedulerStatistics(waiting, self._slots.taken, self._slots.count)
