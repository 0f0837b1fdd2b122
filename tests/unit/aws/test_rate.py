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


def test_what_can_wait_lets_others_pass_and_yet_gets_its_share() -> None:
    async def scenario() -> list[str]:
        bucket, order = TokenBucket(rate_per_s=5, clock=LoopClock()), []

        async def caller(name: str, *, can_wait: bool) -> None:
            await bucket.take(can_wait=can_wait)
            order.append(name)

        async with asyncio.timeout(100):
            await asyncio.gather(
                *(caller(f"patient {number}", can_wait=True) for number in range(4)),
                *(caller(f"urgent {number}", can_wait=False) for number in range(7)),
            )
        assert bucket.waiting == 0
        return order

    order = run_virtual(scenario())
    assert [name for name in order if name.startswith("urgent")] == [
        f"urgent {number}" for number in range(7)
    ], "in the order of asking"
    assert [name for name in order if name.startswith("patient")] == [
        f"patient {number}" for number in range(4)
    ]
    assert order.index("urgent 6") <= 9, "of four calls three are theirs"
    assert order.index("patient 1") < 5, "none waits for ever"


def test_an_urgent_call_passes_those_that_have_waited_for_long() -> None:
    async def scenario() -> float:
        bucket = TokenBucket(rate_per_s=5, clock=LoopClock())
        waiting = [asyncio.create_task(bucket.take(can_wait=True)) for _ in range(10_000)]
        await asyncio.sleep(60)
        before_s = asyncio.get_running_loop().time()
        await bucket.take()
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert bucket.waiting == 0
        return asyncio.get_running_loop().time() - before_s

    assert run_virtual(scenario()) <= 0.4 + 1e-9


def test_a_cancelled_wait_does_not_hold_up_those_behind_it() -> None:
    async def scenario() -> float:
        bucket = TokenBucket(rate_per_s=1, clock=LoopClock())
        await bucket.take()
        first, second = (asyncio.create_task(bucket.take()) for _ in range(2))
        await asyncio.sleep(0.5)
        first.cancel()
        await second
        return asyncio.get_running_loop().time()

    assert round(run_virtual(scenario()), 6) == 1.0
