"""A token bucket: keeps the calls that share an account's limit below it."""

from __future__ import annotations

from connectd.aio.clock import Clock


class TokenBucket:
    """Lets ``rate_per_s`` calls pass per second, at most ``burst`` of them at once.

    Fair: who asks first goes first. Waiting costs nothing but a timer, and a cancelled wait gives
    its token up to nobody, which errs on the slow side. Owned by one event loop.
    """

    def __init__(self, *, rate_per_s: float, clock: Clock, burst: int = 1) -> None:
        self._interval_s = 1.0 / rate_per_s
        self._tolerance_s = self._interval_s * (burst - 1)
        self._clock = clock
        self._next_s: float | None = None

    async def take(self) -> None:
        """Return when the call may be made."""
        now = self._clock.monotonic()
        due = now if self._next_s is None else max(self._next_s, now - self._tolerance_s)
        self._next_s = due + self._interval_s
        if due > now:
            await self._clock.sleep(due - now)
