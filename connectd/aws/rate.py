"""A token bucket: keeps the calls that share an account's limit below it.

Two lines stand before it. What somebody waits for (a table that begins, the children of a shard
that has ended) goes first; what is only due again can wait. Without that, ten thousand tables whose
lists of shards are looked at every few minutes would keep a table from its new shards for half an
hour. Of ``_PATIENT_EVERY`` calls one is of the patient, so that none of them waits for ever.
"""

from __future__ import annotations

import asyncio
from typing import Final

from connectd.aio.clock import Clock

_PATIENT_EVERY: Final = 4


class TokenBucket:
    """Lets ``rate_per_s`` calls pass per second, at most ``burst`` of them at once.

    Fair within a line: who asks first goes first. A cancelled wait takes no token. Owned by one
    event loop.
    """

    def __init__(self, *, rate_per_s: float, clock: Clock, burst: int = 1) -> None:
        self._interval_s = 1.0 / rate_per_s
        self._tolerance_s = self._interval_s * (burst - 1)
        self._clock = clock
        self._next_s: float | None = None
        self._passed = 0
        # Ordered sets: whoever is cancelled leaves from the middle.
        self._urgent: dict[asyncio.Event, None] = {}
        self._patient: dict[asyncio.Event, None] = {}

    async def take(self, *, can_wait: bool = False) -> None:
        """Return when the call may be made; ``can_wait``: others go first."""
        line, called = self._patient if can_wait else self._urgent, asyncio.Event()
        line[called] = None
        try:
            while True:
                if self._first() is not called:
                    called.clear()
                    await called.wait()
                    continue
                now = self._clock.monotonic()
                due = now if self._next_s is None else max(self._next_s, now - self._tolerance_s)
                if due <= now:
                    self._next_s = due + self._interval_s
                    self._passed += 1
                    return
                await self._clock.sleep(due - now)
        finally:
            del line[called]
            following = self._first()
            if following is not None:
                following.set()

    @property
    def waiting(self) -> int:
        """Calls that wait for their turn."""
        return len(self._urgent) + len(self._patient)

    def _first(self) -> asyncio.Event | None:
        """Who is next."""
        is_turn_of_patient = self._passed % _PATIENT_EVERY == _PATIENT_EVERY - 1
        lines = [self._urgent, self._patient]
        for line in reversed(lines) if is_turn_of_patient else lines:
            if line:
                return next(iter(line))
        return None
