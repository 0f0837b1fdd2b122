"""The token bucket keeps the rate whoever asks, and however long it was idle."""

from __future__ import annotations

import asyncio

from connectd.aio.clock import LoopClock
from connectd.aws.rate import TokenBucket
from tests.kit.virtual_time import run_virtual


async def passes(bucket: TokenBucket, count: int) -> list[float]:
    """When each of ``count`` callers that arrive together got through, in seconds."""
    loop = asyncio.get_running_loop()
    times: list[float] = []

    async def caller() -> None:
        await bucket.take()
        times.append(round(loop.time(), 6))

    async with asyncio.timeout(1000):
        await asyncio.gather(*(caller() for _ in range(count)))
    return times


def test_callers_pass_one_by_one_at_the_rate() -> None:
    async def scenario() -> list[float]:
        return await passes(TokenBucket(rate_per_s=5, clock=LoopClock()), 11)

    assert run_virtual(scenario()) == [round(number * 0.2, 6) for number in range(11)]


def test_idle_time_is_not_saved_up_beyond_the_burst() -> None:
    async def scenario() -> tuple[list[float], list[float]]:
        clock = LoopClock()
        strict = TokenBucket(rate_per_s=5, clock=clock)
        lenient = TokenBucket(rate_per_s=5, clock=clock, burst=3)
        await strict.take()
        await lenient.take()
        await clock.sleep(100)
        first = await passes(strict, 3)
        await clock.sleep(200 - asyncio.get_running_loop().time())
        return first, await passes(lenient, 5)

    strict_times, lenient_times = run_virtual(scenario())
    assert strict_times == [100.0, 100.2, 100.4]
    assert lenient_times == [200.0, 200.0, 200.0, 200.2, 200.4]


def test_a_cancelled_wait_never_lets_more_pass() -> None:
    async def scenario() -> list[float]:
        bucket = TokenBucket(rate_per_s=5, clock=LoopClock())
        await bucket.take()
        waiting = asyncio.create_task(bucket.take())
        await asyncio.sleep(0)
        waiting.cancel()
        return await passes(bucket, 2)

    times = run_virtual(scenario())
    assert times[0] >= 0.2
    assert times[1] - times[0] >= 0.2 - 1e-9
