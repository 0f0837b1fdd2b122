"""How often AWS was called, by operation, and what became of it: for metrics.

Counted per request, which is once per page. Shared by all clients of a process; state of the loop.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from connectd.aio.clock import Clock
from connectd.aws.errors import Call
from connectd.errors import ConnectdError, StreamGoneError, TableGoneError, ThrottledError


@dataclass
class OperationCounts:
    """One operation, as IAM names it; ``seconds`` is the time that its calls took together."""

    calls: int = 0
    throttles: int = 0
    failures: int = 0
    seconds: float = 0.0

    def end(self, seconds: float, error: BaseException | None = None) -> None:
        """A call is over; one that was cancelled is none."""
        self.seconds += seconds
        match error:
            case None | StreamGoneError() | TableGoneError():
                self.calls += 1  # an answer: AWS works, even if it knows no such thing
            case ThrottledError():
                self.calls += 1
                self.throttles += 1
            case ConnectdError():
                self.calls += 1
                self.failures += 1


class CallCounts:
    """See the module's docstring."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counts: dict[str, OperationCounts] = {}

    def of(self, call: Call) -> OperationCounts:
        """Those of its operation, to be told when the call is over."""
        counts = self._counts.get(call.action)
        if counts is None:
            counts = self._counts[call.action] = OperationCounts()
        return counts

    @contextlib.contextmanager
    def counting(self, call: Call) -> Iterator[None]:
        """``with`` it: counts what happens inside as one call. Calls by the thousand use ``of``."""
        counts = self.of(call)
        began_s = self._clock.monotonic()
        try:
            yield
        except BaseException as error:
            counts.end(self._clock.monotonic() - began_s, error)
            raise
        counts.end(self._clock.monotonic() - began_s)

    def statistics(self) -> Mapping[str, OperationCounts]:
        """By operation, as ``dynamodb:Scan``; not to be changed."""
        return self._counts
