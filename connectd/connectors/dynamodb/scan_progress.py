"""The picture that people see of a scan: who scans, how far it is, how fast, and how long yet.

Written by whoever scans, read by ``table_scope.TableProgress``. Times are monotonic seconds. Pure.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

RATE_WINDOW_S: Final = 60.0
_SAMPLE_S: Final = 1.0


@dataclass
class ScanProgress:
    """One scan. ``items`` counts the whole scan, lives before this one among it."""

    engine: str
    segments: int
    segments_finished: int = 0
    items: int = 0
    items_estimated: int = 0
    _samples: deque[tuple[float, int]] = field(default_factory=deque)

    def observe(self, now_s: float, items: int) -> None:
        """Say how many items are read by now."""
        self.items = items
        if not self._samples or now_s - self._samples[-1][0] >= _SAMPLE_S:
            self._samples.append((now_s, items))
        self._forget(now_s)

    def items_per_s(self, now_s: float) -> float | None:
        """Items per second over the last minute; None: nothing is known yet."""
        self._forget(now_s)
        if not self._samples:
            return None
        began_s, items = self._samples[0]
        return (self.items - items) / (now_s - began_s) if now_s > began_s else None

    def left_s(self, now_s: float) -> float | None:
        """How long it will take yet, by the number of items that DynamoDB tells; None: unknown."""
        rate = self.items_per_s(now_s)
        if not rate or self.items_estimated <= self.items:
            return None
        return (self.items_estimated - self.items) / rate

    def row(self, now_s: float) -> dict[str, object]:
        """For people to look at: JSON-able."""
        rate, left_s = self.items_per_s(now_s), self.left_s(now_s)
        return {
            "engine": self.engine,
            "segments": self.segments,
            "segments_finished": self.segments_finished,
            "items_per_s": None if rate is None else round(rate, 1),
            "left_s": None if left_s is None else round(left_s),
        }

    def _forget(self, now_s: float) -> None:
        """Samples beyond the window, but for the newest of them."""
        while len(self._samples) > 1 and now_s - self._samples[1][0] >= RATE_WINDOW_S:
            self._samples.popleft()
