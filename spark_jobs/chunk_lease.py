"""The time in which a chunk may send; see ``connectd.connectors.dynamodb.scan_lease``.

Two clocks count, and the first to say that it is over is believed: the machine's, since an order
may have been under way for long and a machine may have slept, and the event loop's, since the
other may be set back.
"""

from __future__ import annotations

from connectd.aio.clock import Clock, wall_ms
from connectd.errors import RetriableError
from spark_jobs.chunks import ChunkOrder


class LeaseOverError(RetriableError):
    """A chunk may not send any more."""


class ChunkLease:
    """Of one chunk, from its arrival in the Python worker on."""

    def __init__(self, order: ChunkOrder, clock: Clock) -> None:
        now_ms = wall_ms(clock)
        self._clock = clock
        self._lease_s = order.lease_s
        self._late_s = max(0, now_ms - order.issued_ms) / 1000
        # A clock that is behind the driver's shows by an order from the future.
        self._ends_ms = min(now_ms, order.issued_ms) + order.lease_s * 1000
        self._ends_at_s = clock.monotonic() + order.lease_s

    @property
    def left_s(self) -> float:
        """What is left of it; none or less: it is over."""
        by_wall_s = (self._ends_ms - wall_ms(self._clock)) / 1000
        return min(by_wall_s, self._ends_at_s - self._clock.monotonic())

    def check(self) -> None:
        """Whether something may be sent now.

        Raises:
            LeaseOverError: not any more.
        """
        if self.left_s <= 0:
            raise self.over()

    def over(self) -> LeaseOverError:
        """That it is over, and what that may come from."""
        if self._late_s >= self._lease_s:
            return LeaseOverError(
                f"the chunk came to an executor {self._late_s:.0f} s after it was handed out, and "
                f"may send for {self._lease_s:.0f} s after that; it is handed out anew. If this "
                "goes on, compare the clocks of the worker's machine and of the executors"
            )
        return LeaseOverError(
            f"the chunk was not done {self._lease_s:.0f} s after it was handed out, so what it has "
            "not sent is left to the next one; is DynamoDB or Kafka slow?"
        )
