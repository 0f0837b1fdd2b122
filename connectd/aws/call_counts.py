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


class CallCounts:
    """See the module's docstring."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counts: dict[str, OperationCounts] = {}

    @contextlib.contextmanager
    def counting(self, call: Call) -> Iterator[None]:
        """Count what happens inside as one call; one that is cancelled does not count."""
        counts = self._counts.get(call.action)
        if counts is None:
            counts = self._counts[call.action] = OperationCounts()
        began_s = self._clock.monotonic()
        try:
            yield
        except ThrottledError:
            counts.throttles += 1
            raise
        except (StreamGoneError, TableGoneError):  # an answer: AWS works, and knows no such thing
            raise
        except ConnectdError:
            counts.failures += 1
            raise
        except BaseException:
            counts.calls -= 1
            raise
        finally:
            counts.calls += 1
            counts.seconds += self._clock.monotonic() - began_s

    def statistics(self) -> Mapping[str, OperationCounts]:
        """By operation, as ``dynamodb:Scan``; not to be changed."""
        return self._counts
