"""The fake's time, in seconds since the Unix epoch, under the control of the test.

Everything in the fake that has an age (iterators, records, shards, credentials, rate limits) asks
this clock, so a test moves a day in no time. Three kinds: *running* (real time, for a fake in a
process of its own), *following* (another source, e.g. the virtual time of the test's loop) and
*frozen* (moves only when told).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from email.utils import formatdate

FROZEN_START_S = 1_767_225_600.0
"""2026-01-01T00:00:00Z: where frozen and following clocks start unless told otherwise."""


class FakeClock:
    """A clock that runs with ``source`` and can be moved by hand."""

    def __init__(self, source: Callable[[], float], *, start_s: float) -> None:
        self._source = source
        self._offset_s = start_s - source()
        self._date = -1, ""

    @classmethod
    def running(cls) -> FakeClock:
        """Real time, until it is set or advanced."""
        return cls(time.monotonic, start_s=time.time())

    @classmethod
    def frozen(cls, start_s: float = FROZEN_START_S) -> FakeClock:
        """Time stands still until it is set or advanced."""
        return cls(lambda: 0.0, start_s=start_s)

    @classmethod
    def following(cls, source: Callable[[], float], start_s: float = FROZEN_START_S) -> FakeClock:
        """Time runs with ``source``, for example ``loop.time`` of a virtual-time loop."""
        return cls(source, start_s=start_s)

    def now_s(self) -> float:
        """Seconds since the Unix epoch."""
        return self._source() + self._offset_s

    def now_ms(self) -> int:
        """Milliseconds since the Unix epoch."""
        return int(self.now_s() * 1000)

    def set(self, at_s: float) -> None:
        """Jump to a moment, forwards or backwards; it runs on from there."""
        self._offset_s = at_s - self._source()

    def advance(self, by_s: float) -> None:
        """Jump forwards by a duration."""
        if by_s < 0:
            raise ValueError(f"advancing the clock by {by_s} s: expected 0 or more; use set")
        self._offset_s += by_s

    def http_date(self) -> str:
        """The value of the HTTP header ``Date``."""
        second = int(self.now_s())
        if second != self._date[0]:
            self._date = second, formatdate(second, usegmt=True)
        return self._date[1]
