"""The only reader of time.

Everything that waits, stamps or measures takes a ``Clock``; tests hand in a loop whose time is
virtual (``tests/kit/virtual_time.py``), so no test ever sleeps. Durations come from
``monotonic``; ``wall_s`` serves timestamps that leave the process and is never subtracted from
itself to measure an interval.
"""

from __future__ import annotations

import asyncio
import sys
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """A source of time, in seconds."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary origin; never goes back."""
        ...

    def wall_s(self) -> float:
        """Seconds since the Unix epoch, UTC."""
        ...

    async def sleep(self, duration_s: float) -> None:
        """Wait; zero and negative durations only yield."""
        ...


class BootClock(Clock, Protocol):
    """A clock for what others count too: theirs go on while this machine is suspended."""

    def boot_s(self) -> float:
        """As ``monotonic``, and suspended time is counted."""
        ...


class LoopClock:
    """The running event loop's time, with a wall clock anchored to it on first use.

    With a virtual loop both readings move together, so windows of hours pass in no time.
    """

    def __init__(self, *, wall_anchor_s: float | None = None) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wall_offset_s: float | None = None
        self._wall_anchor_s = wall_anchor_s

    def monotonic(self) -> float:
        self._loop = loop = running_loop(self._loop)
        return loop.time()

    def boot_s(self) -> float:
        return self.monotonic() + suspended_s()

    def wall_s(self) -> float:
        if self._wall_anchor_s is None:
            return time.time()
        now = self.monotonic()
        if self._wall_offset_s is None:
            self._wall_offset_s = self._wall_anchor_s - now
        return self._wall_offset_s + now

    async def sleep(self, duration_s: float) -> None:
        await asyncio.sleep(max(0.0, duration_s))


def running_loop(last: asyncio.AbstractEventLoop | None) -> asyncio.AbstractEventLoop:
    """The loop that runs, which is the one found last as long as that one runs.

    Asking anew is a system call (CPython asks for the process id), and a poll would do so a dozen
    times. For objects that belong to one loop at a time.
    """
    return asyncio.get_running_loop() if last is None or not last.is_running() else last


def suspended_s() -> float:
    """How long the machine has been suspended since it was started; 0 where nobody tells."""
    if sys.platform != "linux":
        return 0.0
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)


def wall_ms(clock: Clock) -> int:
    """Milliseconds since the Unix epoch, the unit of every timestamp that Kafka Connect shows."""
    return int(clock.wall_s() * 1000)


def iso_instant(wall_s: float) -> str:
    """The form of Java's ``Instant.toString``, with milliseconds: ``2024-05-01T10:00:00.123Z``."""
    moment = datetime.fromtimestamp(wall_s, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
