"""How errors travel between processes: as texts, and as one of the few kinds that are acted upon.

Traces are written where the error was raised; nobody else could. Everything is without secrets, as
statuses and logs are.
"""

from __future__ import annotations

import msgspec

from connectd.errors import (
    ConnectdError,
    ProducerLostError,
    RetriableError,
    SendAgainError,
    TaskProcessLostError,
    TopicGoneError,
    WorkerError,
)
from connectd.runtime.statuses import CarriedError, summary_of, trace_of

_KINDS: tuple[type[ConnectdError], ...] = (
    TaskProcessLostError,
    TopicGoneError,
    ProducerLostError,
    SendAgainError,
    RetriableError,
    WorkerError,
)
"""What whoever gets the error acts upon; the most special first."""


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error as it travels; ``kind`` names one of those that are acted upon, or is empty."""

    summary: str
    trace: str
    kind: str = ""


def failure_of(error: BaseException) -> Failure:
    """For the way."""
    kind = next((each.__name__ for each in _KINDS if isinstance(error, each)), "")
    return Failure(_plain(summary_of(error)), _plain(trace_of(error)), kind)


def error_of(failure: Failure) -> Exception:
    """At its end: an error of that kind, or one that shows the trace of the other process."""
    for each in _KINDS:
        if each.__name__ == failure.kind:
            return each(failure.summary)
    return CarriedError(failure.summary, failure.trace)


def _plain(text: str) -> str:
    """Half of a surrogate pair has no place in UTF-8."""
    return text.encode(errors="replace").decode()
