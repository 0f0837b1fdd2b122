"""How often AWS was called, by operation, and what became of it: for metrics.

Counted per request, which is once per page. Shared by all clients of a process; state of the loop.
"""

from __future__ import annotations

from collections.abc import Mapping
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


class Counting:
    """One call, as a context. Written out: a generator would cost a poll several microseconds."""

    __slots__ = ("_began_s", "_clock", "_counts")

    def __init__(self, counts: OperationCounts, clock: Clock) -> None:
        self._counts = counts
        self._clock = clock
        self._began_s = clock.monotonic()

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        counts = self._counts
        counts.seconds += self._clock.monotonic() - self._began_s
        match error:
            case None | StreamGoneError() | TableGoneError():
                counts.calls += 1  # an answer: AWS works, even if it knows no such thing
            case ThrottledError():
                counts.calls += 1
                counts.throttles += 1
            case ConnectdError():
                counts.calls += 1
                counts.failures += 1


class CallCounts:
    """See the module's docstring."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counts: dict[str, OperationCounts] = {}

    def counting(self, call: Call) -> Counting:
        """``with`` it: counts what happens inside as one call; one that is cancelled does not."""
        counts = self._counts.get(call.action)
        if counts is None:
            counts = self._counts[call.action] = OperationCounts()
        return Counting(counts, self._clock)

    def statistics(self) -> Mapping[str, OperationCounts]:
        """By operation, as ``dynamodb:Scan``; not to be changed."""
        return self._counts
