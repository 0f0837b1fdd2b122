"""Waits grow, are bounded, and honour what the other side asked for."""

from __future__ import annotations

import asyncio

import pytest

from connectd.aio.backoff import Backoff, retry
from connectd.aio.clock import LoopClock
from connectd.errors import RetriableError, ThrottledError
from tests.kit.virtual import virtual


@pytest.mark.parametrize(
    ("attempt", "ceiling_s"), [(1, 0.1), (2, 0.2), (5, 1.6), (8, 10.0), (10_000, 10.0)]
)
def test_a_wait_doubles_up_to_its_limit_and_is_jittered_below(
    attempt: int, ceiling_s: float
) -> None:
    waits = [Backoff(initial_s=0.1, max_s=10.0).wait_s(attempt) for _ in range(200)]
    assert all(ceiling_s / 2 <= wait <= ceiling_s for wait in waits)
    assert len(set(waits)) > 100


def test_a_wait_never_undercuts_the_floor() -> None:
    assert Backoff(initial_s=0.1).wait_s(1, floor_s=3.0) == 3.0


class Scripted:
    """Fails as often as told, then succeeds."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


@virtual
async def test_retriable_errors_are_retried_until_success_and_each_wait_is_told() -> None:
    call = Scripted(RetriableError("one"), ThrottledError("two"))
    told: list[tuple[str, int]] = []
    result = await retry(
        call,
        clock=LoopClock(),
        policy=Backoff(),
        on_retry=lambda error, attempt, wait_s: told.append((str(error), attempt)),
    )
    assert result == "done"
    assert told == [("one", 1), ("two", 2)]


@virtual
async def test_a_lambda_that_returns_an_awaitable_is_retried_like_a_coroutine_function() -> None:
    call = Scripted(ThrottledError("one"))
    assert await retry(lambda: call(), clock=LoopClock(), policy=Backoff()) == "done"
    assert call.calls == 2


@virtual
async def test_the_wait_that_was_asked_for_is_kept() -> None:
    loop = asyncio.get_running_loop()
    before_s = loop.time()
    await retry(
        Scripted(ThrottledError("busy", retry_after_s=30.0)), clock=LoopClock(), policy=Backoff()
    )
    assert loop.time() - before_s == pytest.approx(30.0)


@virtual
async def test_the_last_error_is_raised_as_it_is_when_the_attempts_are_used_up() -> None:
    last = RetriableError("third")
    call = Scripted(RetriableError("first"), RetriableError("second"), last)
    with pytest.raises(RetriableError) as caught:
        await retry(call, clock=LoopClock(), policy=Backoff(attempts_max=3))
    assert caught.value is last
    assert call.calls == 3


@virtual
async def test_other_errors_are_not_retried() -> None:
    call = Scripted(ValueError("bug"))
    with pytest.raises(ValueError, match="bug"):
        await retry(call, clock=LoopClock(), policy=Backoff())
    assert call.calls == 1


@virtual
async def test_cancelling_ends_an_endless_retry_at_once() -> None:
    call = Scripted(*[RetriableError("down") for _ in range(10_000)])
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(60.0):
            await retry(call, clock=LoopClock(), policy=Backoff(max_s=10.0))
    assert 5 < call.calls < 100
