"""Numbers over the last while, as Kafka's metrics library computes them (spec kafka-connect G).

A window is a few samples in a row (``metrics.num.samples`` of ``metrics.sample.window.ms``). A
value goes into the newest sample; what is older than all samples together counts no more. A rate
is the sum over the time since the oldest sample began, but over no less than all samples except
one: a burst at the beginning is no rate. Costs a microsecond per value, so values come per page,
never per record. Owned by one event loop.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Final

SAMPLE_S: Final = 30.0
SAMPLES: Final = 2

_SAMPLE_MIN_S: Final = 0.001


@dataclass(frozen=True)
class WindowSettings:
    """How long a sample is, and how many are kept."""

    sample_s: float = SAMPLE_S
    samples: int = SAMPLES


@dataclass
class _Sample:
    began_s: float
    count: int = 0
    total: float = 0.0
    highest: float = -math.inf


class Window:
    """Values of the last while. Times are monotonic seconds."""

    def __init__(self, settings: WindowSettings, now_s: float) -> None:
        self._sample_s = max(settings.sample_s, _SAMPLE_MIN_S)
        self._samples_max = max(settings.samples, 1)
        self._samples = deque([_Sample(now_s)], maxlen=self._samples_max)

    def record(self, value: float, now_s: float) -> None:
        """Take a value in."""
        newest = self._samples[-1]
        if now_s - newest.began_s >= self._sample_s:
            newest = _Sample(now_s)
            self._samples.append(newest)
        newest.count += 1
        newest.total += value
        newest.highest = max(newest.highest, value)

    def rate(self, now_s: float) -> float:
        """Sum per second."""
        live = self._live(now_s)
        elapsed_s = now_s - live[0].began_s if live else 0.0
        full = elapsed_s // self._sample_s
        missing = max(0.0, self._samples_max - 1 - full)
        span_s = elapsed_s + missing * self._sample_s
        total = sum(sample.total for sample in live)
        return total / span_s if span_s > 0 else 0.0

    def average(self, now_s: float) -> float:
        """The mean, NaN when there is no value."""
        live = self._live(now_s)
        count = sum(sample.count for sample in live)
        return sum(sample.total for sample in live) / count if count else math.nan

    def maximum(self, now_s: float) -> float:
        """The largest, NaN when there is no value."""
        highest = max((sample.highest for sample in self._live(now_s)), default=-math.inf)
        return math.nan if math.isinf(highest) else highest

    def count(self, now_s: float) -> int:
        """How many values there are."""
        return sum(sample.count for sample in self._live(now_s))

    def total(self, now_s: float) -> float:
        """Their sum."""
        return sum(sample.total for sample in self._live(now_s))

    def _live(self, now_s: float) -> list[_Sample]:
        oldest_s = now_s - self._sample_s * self._samples_max
        return [sample for sample in self._samples if sample.began_s > oldest_s]
