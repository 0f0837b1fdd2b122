"""What time it is for AWS.

Rules about the age of positions compare times that DynamoDB stamped with "now". A worker whose
clock is hours off would see gaps where there are none, or none where there are. So "now" follows
the ``Date`` header of answers when it differs clearly from the local clock (spec streams-and-leases
5, row 18), and the local clock otherwise.
"""

from __future__ import annotations

from connectd.aio.clock import Clock

_TOLERANCE_S = 5.0
"""A difference up to this is latency and the header's resolution of one second."""

_AGREEMENT_S = 2.0
"""Two answers in a row must agree this well before they are believed: a cache may answer, too."""


class ServiceTime:
    """The service's wall clock, as far as it can be told. Owned by one task or connector."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset_s = 0.0
        self._candidate_s: float | None = None

    def observe(self, date_s: float | None) -> None:
        """Take note of an answer's ``Date``, seconds since the epoch."""
        if date_s is None:
            return
        found_s = date_s + 0.5 - self._clock.wall_s()
        previous_s, self._candidate_s = self._candidate_s, found_s
        if previous_s is not None and abs(found_s - previous_s) <= _AGREEMENT_S:
            self._offset_s = found_s if abs(found_s) > _TOLERANCE_S else 0.0

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        return int((self._clock.wall_s() + self._offset_s) * 1000)
