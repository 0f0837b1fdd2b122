"""Bounded exponential backoff with jitter, over tenacity.

``retry`` repeats an async call while it raises ``RetriableError``; the wait doubles from
``initial_s`` up to ``max_s``, jittered, and never undercuts what the other side asked for.
Waiting goes through the injected clock.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import tenacity

from connectd.aio.clock import Clock
from connectd.errors import RetriableError

T = TypeVar("T")


@dataclass(frozen=True)
class Backoff:
    """Parameters of a retry policy.

    ``attempts_max`` counts calls, not waits; None means for ever (the caller then has a stop check
    of its own: cancellation ends the wait at once).
    """

    initial_s: float = 0.1
    max_s: float = 10.0
    attempts_max: int | None = None

    def wait_s(self, attempt: int, *, floor_s: float = 0.0) -> float:
        """The wait after the ``attempt``-th failure (from 1): at random half to whole of the
        exponential step, and at least ``floor_s``."""
        ceiling = min(self.max_s, self.initial_s * 2.0 ** min(attempt - 1, 30))
        return max(floor_s, ceiling * random.uniform(0.5, 1.0))  # noqa: S311  not a secret


OnRetry = Callable[[RetriableError, int, float], None]


async def retry(
    call: Callable[[], Awaitable[T]],
    *,
    clock: Clock,
    policy: Backoff,
    on_retry: OnRetry | None = None,
) -> T:
    """Call until it succeeds, raises something else, or the attempts are used up.

    ``on_retry(error, attempt, wait_s)`` is told of every wait. The last ``RetriableError`` is
    raised as it is.
    """

    def wait(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        floor_s = (error.retry_after_s or 0.0) if isinstance(error, RetriableError) else 0.0
        return policy.wait_s(state.attempt_number, floor_s=floor_s)

    def before_sleep(state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if on_retry is not None and isinstance(error, RetriableError):
            on_retry(error, state.attempt_number, state.upcoming_sleep)

    stop = (
        tenacity.stop_never
        if policy.attempts_max is None
        else tenacity.stop_after_attempt(policy.attempts_max)
    )
    retrying = tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception_type(RetriableError),
        stop=stop,
        wait=wait,
        before_sleep=before_sleep,
        sleep=clock.sleep,
        reraise=True,
    )

    async def attempt() -> T:  # a lambda that returns an awaitable is awaited here
        return await call()

    return await retrying(attempt)
