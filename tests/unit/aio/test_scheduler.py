"""Thousands of pollers share one timer and a bounded number of slots."""

from __future__ import annotations

import asyncio
from unittest import mock

import pytest
import uvloop

from connectd.aio.jobs import JobGroup
from connectd.aio.scheduler import PollScheduler
from tests.kit.virtual import virtual


async def waited(scheduler: PollScheduler, delay_s: float) -> None:
    await scheduler.wait(delay_s)


@virtual
async def test_pollers_wake_at_their_time_in_order_of_due_time() -> None:
    scheduler = PollScheduler()
    woken: list[tuple[str, float]] = []

    async def poller(name: str, delay_s: float) -> None:
        await scheduler.wait(delay_s)
        woken.append((name, asyncio.get_running_loop().time()))

    jobs = JobGroup("test")
    for name, delay_s in [("c", 30.0), ("a", 1.0), ("b", 10.0), ("a2", 1.0)]:
        jobs.spawn(name, poller(name, delay_s))
    assert await jobs.join(deadline_s=60.0)
    assert [name for name, _ in woken] == ["a", "a2", "b", "c"]
    assert [when for _, when in woken] == pytest.approx([1.0, 1.0, 10.0, 30.0])


@virtual
async def test_a_shorter_wait_that_comes_later_is_served_first() -> None:
    scheduler = PollScheduler()
    jobs = JobGroup("test")
    jobs.spawn("long", waited(scheduler, 100.0))
    await asyncio.sleep(0)
    before_s = asyncio.get_running_loop().time()
    await scheduler.wait(2.0)
    assert asyncio.get_running_loop().time() - before_s == pytest.approx(2.0)
    assert jobs.is_running("long")
    await jobs.stop()


@virtual
async def test_a_cancelled_wait_leaves_nothing_behind() -> None:
    scheduler = PollScheduler()
    for _ in range(100):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await scheduler.wait(1.0)
    assert scheduler.statistics().waiting == 0
    await scheduler.wait(2.0)
    assert not scheduler._due
    assert not scheduler._turns


@virtual
async def test_a_cancelled_wait_does_not_delay_the_next_one() -> None:
    scheduler = PollScheduler()
    jobs = JobGroup("test")
    jobs.spawn("other", waited(scheduler, 5.0))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await scheduler.wait(1.0)
    assert await jobs.join(deadline_s=5.0)


@virtual
async def test_slots_bound_what_is_in_flight_and_are_given_in_the_order_of_asking() -> None:
    scheduler = PollScheduler(in_flight_max=2)
    order: list[int] = []
    most = 0

    async def poll(number: int) -> None:
        nonlocal most
        async with scheduler.slot():
            order.append(number)
            most = max(most, scheduler.statistics().in_flight)
            await asyncio.sleep(1.0)

    jobs = JobGroup("test")
    for number in range(6):
        jobs.spawn(str(number), poll(number))
    assert await jobs.join(deadline_s=10.0)
    assert order == list(range(6))
    assert most == 2
    assert asyncio.get_running_loop().time() == pytest.approx(3.0)
    assert scheduler.statistics().in_flight == 0


@virtual
async def test_a_slot_is_given_back_by_a_failing_poll() -> None:
    scheduler = PollScheduler(in_flight_max=1)
    with pytest.raises(ValueError, match="boom"):
        async with scheduler.slot():
            raise ValueError("boom")
    async with scheduler.slot():
        assert scheduler.statistics().in_flight == 1


@virtual
async def test_a_turn_comes_with_a_slot_in_the_order_of_due_time() -> None:
    scheduler = PollScheduler(in_flight_max=2)
    log: list[tuple[float, int]] = []
    loop = asyncio.get_running_loop()

    async def poll(number: int, delay_s: float) -> None:
        await scheduler.turn(delay_s)
        log.append((round(loop.time(), 3), number))
        assert scheduler.statistics().in_flight <= 2
        await asyncio.sleep(1.0)
        scheduler.free_slot()

    jobs = JobGroup("test")
    for number, delay_s in enumerate((10.3, 10.0, 10.0, 10.0, 10.1)):
        jobs.spawn(str(number), poll(number, delay_s))
    assert await jobs.join(deadline_s=20.0)
    assert log == [(10.0, 1), (10.0, 2), (11.0, 3), (11.0, 4), (12.0, 0)]
    assert scheduler.statistics().in_flight == 0


@virtual
@pytest.mark.parametrize("is_over", ["waiting", "in line", "just given one"])
async def test_a_turn_that_is_cancelled_holds_no_slot(is_over: str) -> None:
    scheduler = PollScheduler(in_flight_max=1)
    jobs = JobGroup("test")
    await scheduler.turn(0.0)
    jobs.spawn("cancelled", scheduler.turn(1.0))
    jobs.spawn("next", scheduler.turn(2.0))
    await asyncio.sleep(0.5 if is_over == "waiting" else 1.5)
    if is_over == "just given one":
        scheduler.free_slot()
    jobs.cancel_soon("cancelled")
    if is_over != "just given one":
        scheduler.free_slot()
    assert await jobs.join(deadline_s=5.0), "the next one has it"
    assert scheduler.statistics().in_flight == 1
    scheduler.free_slot()
    assert scheduler.statistics().in_flight == 0


@virtual
@pytest.mark.parametrize(
    ("delay_s", "tick_s"), [(0.05, 0.0), (0.1, 0.01), (0.99, 0.01), (1.0, 0.05), (5.0, 0.1)]
)
async def test_long_waits_end_together_and_nearly_when_they_should(
    delay_s: float, tick_s: float
) -> None:
    scheduler = PollScheduler()
    loop = asyncio.get_running_loop()
    await asyncio.sleep(0.123456)
    began_s = loop.time()
    ends_s = set[float]()

    async def wait(number: int) -> None:
        await asyncio.sleep(number * tick_s / 100)
        await scheduler.wait(delay_s)
        ends_s.add(loop.time())

    await asyncio.gather(*map(wait, range(10)))
    assert len(ends_s) <= 2
    for end_s in ends_s:
        assert end_s - began_s == pytest.approx(delay_s, rel=0.0501, abs=tick_s / 10)
        if tick_s:
            assert end_s / tick_s == pytest.approx(round(end_s / tick_s), abs=1e-6)


def test_ticks_are_what_a_clock_of_milliseconds_shows() -> None:
    """uvloop's is one: it looks again at once, without end, at what is due a hair later."""
    now_s = 0.0
    loop = mock.create_autospec(asyncio.AbstractEventLoop, instance=True)
    loop.time.side_effect = lambda: now_s
    with mock.patch("connectd.aio.scheduler.running_loop", return_value=loop):
        for second in range(1, 1_000_000, 997):
            scheduler = PollScheduler()
            for delay_s in (0.5, 1.5, 2.5):
                now_s = second + 0.3 - delay_s
                scheduler.wait(delay_s)
            assert scheduler._due == [(second * 1000 + 300) / 1000]


@virtual
async def test_a_turn_that_nobody_began_to_wait_for_holds_no_slot() -> None:
    scheduler = PollScheduler(in_flight_max=1)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(scheduler.turn(0.0), 0)  # cancelled before its first step
    await asyncio.sleep(1.0)
    assert scheduler.statistics().in_flight == 0


@virtual
async def test_a_poller_keeps_its_interval() -> None:
    """However long its polls take: what is due a little after a tick is not a tick late."""
    scheduler = PollScheduler()
    began_s = asyncio.get_running_loop().time()
    for _ in range(100):
        await scheduler.wait(1.0)
        await asyncio.sleep(0.004)
    taken_s = asyncio.get_running_loop().time() - began_s
    assert taken_s == pytest.approx(100.0, abs=1.0)


@virtual
async def test_a_thousand_pollers_wait_on_one_timer() -> None:
    scheduler = PollScheduler()
    jobs = JobGroup("test")
    for number in range(1000):
        jobs.spawn(str(number), waited(scheduler, float(1 + number % 50)))
    await asyncio.sleep(0)
    assert scheduler.statistics().waiting == 1000
    loop = asyncio.get_running_loop()
    live = [handle for handle in loop._scheduled if not handle.cancelled()]  # type: ignore[attr-defined]
    assert len(live) == 1
    assert await jobs.join(deadline_s=60.0)


def test_waits_of_every_length_end_on_the_loop_of_production() -> None:
    """uvloop hands out another kind of handle for what is due at once."""

    async def scenario() -> None:
        scheduler = PollScheduler()
        async with asyncio.timeout(30):
            await asyncio.gather(
                *(scheduler.wait(delay_s) for delay_s in (0.1, 0.0004, 0.0, 0.05, 0.0002)),
                scheduler.wait(0.0),
            )

    uvloop.run(scenario())
