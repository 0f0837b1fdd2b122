"""Blocking checks run in a few threads, and a hanging one hurts only who asked for it."""

from __future__ import annotations

import asyncio
import threading

import pytest

from connectd.aio.jobs import JobGroup
from connectd.errors import FatalTaskError
from connectd.runtime.validation import ValidationThreads


def test_a_call_runs_in_another_thread_and_its_result_comes_back() -> None:
    async def scenario() -> int:
        return await ValidationThreads()(threading.get_ident)

    assert asyncio.run(scenario()) != threading.get_ident()


def test_what_a_call_raises_is_raised_to_who_asked() -> None:
    def refuse() -> None:
        raise ValueError("bad config")

    async def scenario() -> None:
        await ValidationThreads()(refuse)

    with pytest.raises(ValueError, match="bad config"):
        asyncio.run(scenario())


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), StopIteration()])
def test_what_would_end_its_thread_is_an_answer_and_the_place_is_free_again(
    error: BaseException,
) -> None:
    def leave() -> None:
        raise error

    async def scenario() -> None:
        threads = ValidationThreads(threads_max=1)
        with pytest.raises(FatalTaskError) as caught:
            await threads(leave, "com.acme.Ticks")
        assert str(caught.value).startswith(
            f"asking plugins about a com.acme.Ticks: {error!r} in {__name__}."
        )
        assert await threads(lambda: 7) == 7

    asyncio.run(scenario())


def test_a_hanging_call_keeps_its_place_but_others_go_on() -> None:
    release = threading.Event()

    async def scenario() -> None:
        threads = ValidationThreads(threads_max=2)
        jobs = JobGroup("test")

        async def hang() -> None:
            await threads(lambda: release.wait(30.0))

        jobs.spawn("hanging", hang())
        await asyncio.sleep(0)
        for number in range(5):
            assert await threads(lambda number=number: number) == number  # type: ignore[misc]
        await jobs.cancel("hanging")
        # Its thread still holds one of the two places: a second one fills the last.
        jobs.spawn("second", hang())
        await asyncio.sleep(0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await threads(lambda: None)
        release.set()
        assert await threads(lambda: "after") == "after"
        assert await jobs.join(deadline_s=10.0)

    asyncio.run(scenario())


def test_calls_of_one_group_that_hang_leave_places_for_the_others() -> None:
    release = threading.Event()

    async def scenario() -> None:
        threads = ValidationThreads(threads_max=4, group_threads_max=2)
        jobs = JobGroup("test")

        async def hang() -> None:
            await threads(lambda: release.wait(30.0), "hanging.Source")

        for number in range(10):
            jobs.spawn(f"hanging-{number}", hang())
        await asyncio.sleep(0)
        for number in range(5):
            assert await threads(lambda number=number: number, "other.Source") == number  # type: ignore[misc]
        release.set()
        assert await jobs.join(deadline_s=10.0)

    asyncio.run(scenario())


def test_a_call_that_outlives_the_loop_is_forgotten() -> None:
    release, ended = threading.Event(), threading.Event()

    def hang() -> None:
        release.wait(30.0)
        ended.set()

    async def scenario() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await ValidationThreads()(hang)

    asyncio.run(scenario())
    release.set()
    assert ended.wait(30.0)
