"""How many full pages may wait for Kafka at a time: enough to keep it busy, and no standing queue.

What the producer's thread has taken is sent in that order, and a change of a quiet table waits
behind all of it. With as much as fits, that is seconds. As TCP Vegas does with
packets, the window follows the delay: the shortest time to an acknowledgement is what the way
takes, and what later ones take longer is waiting. While they wait little the window grows, while
they wait long it shrinks. A broker that is far away has a long way and gets a large window; a slow
one gets a small one, and is as busy.

Owned by one queue (``emission_queue``), on the event loop only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from connectd.aio.clock import Clock

PAGES_MIN: Final = 4
"""As many as may lie before the producer's thread (``kafka.producer``): fewer leave it idle."""

PAGES_MAX: Final = 64
_PAGES_FIRST: Final = 8.0

_WAITS_LITTLE_S: Final = 0.03
_WAITS_LONG_S: Final = 0.1
"""Less, and a broker that is far away idles; more, and changes of quiet tables wait in line."""

_SHRINKS_BY: Final = 0.5
"""Of a page, for each acknowledgement that came late: to a half within a window of them."""

_SAMPLE_S: Final = 30.0
"""The shortest way is that of this sample and of the one before: brokers move."""


class AckWindow:
    """See the module's docstring."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._window = _PAGES_FIRST
        self._sent = 0
        self._way_s = self._way_before_s = math.inf
        self._sample_began_s = -math.inf

    @property
    def has_room(self) -> bool:
        """Whether another page may be sent."""
        return self._sent < int(self._window)

    @property
    def pages(self) -> int:
        """How many may be unacknowledged just now."""
        return int(self._window)

    def send(self, on_room: Callable[[], None]) -> Callable[[], None]:
        """Count a page in; the result is to be called, once, when it is acknowledged.

        ``on_room`` is called then.
        """
        self._sent += 1
        sent_s = self._clock.monotonic()

        def on_acked() -> None:
            self._sent -= 1
            self._learn(self._clock.monotonic() - sent_s)
            on_room()

        return on_acked

    def _learn(self, took_s: float) -> None:
        now = self._clock.monotonic()
        if now - self._sample_began_s >= _SAMPLE_S:
            self._way_before_s, self._way_s = self._way_s, math.inf
            self._sample_began_s = now
        self._way_s = min(self._way_s, took_s)
        waited_s = took_s - min(self._way_s, self._way_before_s)
        if waited_s > _WAITS_LONG_S:
            self._window = max(PAGES_MIN, self._window - _SHRINKS_BY)
        elif waited_s < _WAITS_LITTLE_S:
            self._window = min(PAGES_MAX, self._window + 1.0)
