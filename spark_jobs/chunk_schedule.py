"""Which chunk comes next: the decisions of a scan's driver, without threads and without Spark.

* A segment has one chunk at a time; its next one begins where the last one ended. Segments that
  have begun go before those that have not, so few are half done at any time.
* Segments begin in an order that spreads them over the table (bit-reversed), since neighbours lie
  in the same partition of DynamoDB, which has a throughput limit of its own.
* What the outside refuses for now (throttling, a broker that is away) is tried again for ever, with
  growing waits, as the daemon does. A chunk that is *lost* (its executor or Python worker died) is
  tried again too; ``LOST_MAX`` losses of a segment in a row, without progress, end the scan: it may
  be the data that kills the worker.
* What waiting does not mend ends the scan at once.

Read capacity is shared out evenly over the chunks that can run; that number only falls, so the sum
of the shares never exceeds the whole. Times are monotonic seconds that the caller hands in. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from connectd.connectors.dynamodb.offsets import SegmentPosition
from spark_jobs.chunks import ChunkResult

LOST_MAX: Final = 5
"""Chunks of one segment that may be lost one after the other."""

WAIT_MIN_S: Final = 1.0
"""After the first failure; it doubles."""

WAIT_MAX_S: Final = 30.0


@dataclass
class _Segment:
    """One unfinished segment. ``failures`` and ``losses`` count since its last progress."""

    position: SegmentPosition
    order: int
    has_begun: bool = False
    is_running: bool = False
    ready_at_s: float = 0.0
    failures: int = 0
    losses: int = 0

    @property
    def rank(self) -> tuple[bool, float, int]:
        """The lowest goes first: begun ones, then those that have waited longest."""
        return not self.has_begun, self.ready_at_s, self.order


@dataclass(frozen=True)
class Failure:
    """Why a scan ends unfinished; ``retriable``: another driver may succeed."""

    error: str
    retriable: bool


class ChunkSchedule:
    """See the module's docstring. Owned by one thread."""

    def __init__(self, positions: Iterable[SegmentPosition], *, slots: int) -> None:
        """``positions`` are those of the unfinished segments; ``slots`` chunks run at once."""
        spread = sorted(positions, key=lambda each: _bits_reversed(each.segment))
        self._left = {
            each.segment: _Segment(each, order)
            for order, each in enumerate(spread)
            if not each.is_finished
        }
        self._slots = slots
        self.failure: Failure | None = None

    @property
    def is_finished(self) -> bool:
        """Whether every segment is at its end."""
        return not self._left

    @property
    def running(self) -> int:
        """Chunks under way."""
        return sum(each.is_running for each in self._left.values())

    def share(self, units_per_s: float | None) -> float | None:
        """What one chunk may consume of the scan's read capacity."""
        if units_per_s is None:
            return None
        return units_per_s / max(1, min(self._slots, len(self._left)))

    def next(self, now_s: float) -> SegmentPosition | None:
        """The position to start a chunk from now; None: wait, or there is none."""
        if self.failure is not None or self.running >= self._slots:
            return None
        ready = [
            each for each in self._left.values() if not each.is_running and each.ready_at_s <= now_s
        ]
        if not ready:
            return None
        chosen = min(ready, key=lambda each: each.rank)
        chosen.is_running = chosen.has_begun = True
        return chosen.position

    def wait_s(self, now_s: float) -> float | None:
        """How long until ``next`` may have something new; None: until a chunk comes back."""
        if self.failure is not None or self.running >= self._slots:
            return None
        idle = [each.ready_at_s for each in self._left.values() if not each.is_running]
        return max(0.0, min(idle) - now_s) if idle else None

    def on_result(self, result: ChunkResult, now_s: float) -> int:
        """A chunk has come back; returns which attempt in a row has failed now, 0: none has."""
        segment = self._left[result.position.segment]
        if result.position != segment.position:
            segment.failures = segment.losses = 0
        segment.is_running, segment.position = False, result.position
        segment.ready_at_s = now_s
        if result.position.is_finished:
            del self._left[result.position.segment]
        if result.error is None:
            segment.failures = segment.losses = 0
            return 0
        if not result.retriable:
            self.give_up(Failure(result.error, retriable=False))
            return 1
        return self._back_off(segment, now_s)

    def on_lost(self, number: int, error: str, now_s: float) -> int:
        """A chunk of a segment will never come back; returns how many in a row by now."""
        segment = self._left[number]
        segment.is_running = False
        segment.losses += 1
        if segment.losses >= LOST_MAX:
            self.give_up(
                Failure(
                    f"segment {number}: {segment.losses} chunks in a row were lost without "
                    f"progress, the last one with: {error}",
                    retriable=True,
                )
            )
        self._back_off(segment, now_s)
        return segment.losses

    def give_up(self, failure: Failure) -> None:
        """End the scan unfinished; the first reason is the one that counts."""
        if self.failure is None:
            self.failure = failure

    def _back_off(self, segment: _Segment, now_s: float) -> int:
        segment.failures += 1
        wait_s = min(WAIT_MAX_S, WAIT_MIN_S * 2.0 ** min(segment.failures - 1, 30))
        segment.ready_at_s = now_s + wait_s
        return segment.failures


def _bits_reversed(number: int) -> int:
    return int(f"{number:020b}"[::-1], 2)
