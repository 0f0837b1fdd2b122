"""Jobs are named, supervised, and stopped by the ladder; none is lost."""

from __future__ import annotations

import asyncio

import pytest

from connectd.aio.jobs import Ahead, JobEndedError, JobGroup, wait_first
from connectd.errors import ConfigError, InvariantError
from tests.kit.virtual import virtual


async def sleep_for_ever() -> None:
    await asyncio.Event().wait()


async def fail(error: BaseException) -> None:
    raise error


async def end() -> None:
    return


async def cling(release: asyncio.Event) -> None:
    """Ignores cancellation until released."""
    while not release.is_set():
        try:
            await release.wait()
        except asyncio.CancelledError:
            continue


@virtual
async def test_names_are_unique_among_running_jobs_and_free_again_afterwards() -> None:
    jobs = JobGroup("g")
    jobs.spawn("a", sleep_for_ever())
    with pytest.raises(InvariantError, match="already runs a job named a"):
        jobs.spawn("a", sleep_for_ever())
    assert jobs.is_running("a")
    assert await jobs.cancel("a")
    assert not jobs.is_running("a")
    jobs.spawn("a", end())
    assert await jobs.join(deadline_s=1.0)


@virtual
async def test_every_failure_is_told_once() -> None:
    told: list[tuple[str, BaseException]] = []
    jobs = JobGroup("g", on_failure=lambda name, error: told.append((name, error)))
    errors = [ValueError("one"), ValueError("two")]
    for number, error in enumerate(errors):
        jobs.spawn(str(number), fail(error))
    assert await jobs.join(deadline_s=1.0)
    assert told == [("0", errors[0]), ("1", errors[1])]
    assert jobs.statistics().failed == 2


@virtual
async def test_a_service_that_ends_by_itself_has_failed() -> None:
    told: list[BaseException] = []
    jobs = JobGroup("g", on_failure=lambda name, error: told.append(error))
    jobs.spawn("worker", end())
    jobs.spawn("service", end(), service=True)
    assert await jobs.join(deadline_s=1.0)
    assert [type(error) for error in told] == [JobEndedError]
    assert "g/service" in str(told[0])


@virtual
async def test_a_service_that_ends_while_the_group_stops_has_not_failed() -> None:
    told: list[BaseException] = []
    stopping = asyncio.Event()
    jobs = JobGroup("g", on_failure=lambda name, error: told.append(error))
    jobs.spawn("service", _until(stopping), service=True)
    await asyncio.sleep(0)
    stopping.set()
    assert await jobs.stop(grace_s=1.0) == ()
    assert told == []


async def _until(event: asyncio.Event) -> None:
    await event.wait()


@virtual
async def test_a_failure_without_a_listener_is_kept_for_whoever_waits_for_the_group() -> None:
    jobs = JobGroup("g")
    jobs.spawn("a", fail(ValueError("kept")))
    assert await jobs.join(deadline_s=1.0)
    with pytest.raises(ValueError, match="kept"):
        await jobs.complete()


@virtual
async def test_cancelled_jobs_have_not_failed() -> None:
    told: list[BaseException] = []
    jobs = JobGroup("g", on_failure=lambda name, error: told.append(error))
    jobs.spawn("a", sleep_for_ever(), service=True)
    await asyncio.sleep(0)
    assert await jobs.cancel("a")
    assert told == []
    assert jobs.statistics().failed == 0


@virtual
async def test_cancelling_what_does_not_run_is_no_error() -> None:
    assert await JobGroup("g").cancel("nobody")


@virtual
async def test_cancelling_gives_up_at_its_deadline() -> None:
    release = asyncio.Event()
    jobs = JobGroup("g")
    jobs.spawn("deaf", cling(release))
    await asyncio.sleep(0)
    before_s = asyncio.get_running_loop().time()
    assert not await jobs.cancel("deaf", deadline_s=3.0)
    assert asyncio.get_running_loop().time() - before_s == pytest.approx(3.0)
    release.set()
    assert await jobs.join(deadline_s=1.0)


@virtual
async def test_the_ladder_waits_cancels_and_names_what_it_abandons() -> None:
    stopping, release = asyncio.Event(), asyncio.Event()
    ended: list[str] = []
    jobs = JobGroup("g")

    async def polite() -> None:
        await stopping.wait()
        await asyncio.sleep(1.0)
        ended.append("polite")

    async def busy() -> None:
        try:
            await asyncio.sleep(1000.0)
        except asyncio.CancelledError:
            ended.append("busy")
            raise

    jobs.spawn("polite", polite())
    jobs.spawn("busy", busy())
    jobs.spawn("deaf", cling(release))
    await asyncio.sleep(0)
    stopping.set()
    before_s = asyncio.get_running_loop().time()
    assert await jobs.stop(grace_s=2.0, hard_s=3.0) == ("deaf",)
    assert ended == ["polite", "busy"]
    assert asyncio.get_running_loop().time() - before_s == pytest.approx(5.0)
    release.set()


@virtual
async def test_a_group_that_stops_starts_nothing_more() -> None:
    jobs = JobGroup("g")
    await jobs.stop()
    with pytest.raises(InvariantError, match="closing"):
        jobs.spawn("late", sleep_for_ever())


@virtual
async def test_a_job_may_stop_its_own_group() -> None:
    jobs = JobGroup("g")
    abandoned: list[tuple[str, ...]] = []

    async def stop_all() -> None:
        abandoned.append(await jobs.stop())

    jobs.spawn("other", sleep_for_ever())
    jobs.spawn("stopper", stop_all())
    await asyncio.sleep(1.0)
    assert abandoned == [()]
    assert jobs.statistics().running == ()


@virtual
async def test_joining_tells_whether_all_ended() -> None:
    jobs = JobGroup("g")
    assert await jobs.join(deadline_s=1.0)
    jobs.spawn("a", sleep_for_ever())
    assert not await jobs.join(deadline_s=1.0)
    assert jobs.statistics().running == ("a",)
    await jobs.stop()


@virtual
async def test_a_group_is_complete_when_all_its_jobs_have_ended() -> None:
    ended: list[float] = []

    async def work(for_s: float) -> None:
        await asyncio.sleep(for_s)
        ended.append(for_s)

    jobs = JobGroup("g")
    for each in (3.0, 1.0, 2.0):
        jobs.spawn(str(each), work(each))
    await jobs.complete()
    assert ended == [1.0, 2.0, 3.0]
    await JobGroup("empty").complete()


@virtual
async def test_the_first_failure_of_a_group_ends_the_others_and_is_raised() -> None:
    jobs = JobGroup("g")
    jobs.spawn("a", sleep_for_ever())
    jobs.spawn("b", fail(ValueError("first")))
    with pytest.raises(ValueError, match="first"):
        await jobs.complete()
    assert jobs.statistics().running == ()


@virtual
async def test_a_group_of_which_a_job_was_cancelled_is_not_complete() -> None:
    jobs = JobGroup("g")
    jobs.spawn("a", sleep_for_ever())
    jobs.spawn("b", asyncio.sleep(1))
    asyncio.get_running_loop().call_later(2, lambda: asyncio.ensure_future(jobs.cancel("a")))
    with pytest.raises(InvariantError, match="g/a"):
        await jobs.complete()


@virtual
async def test_cancelling_who_waits_for_a_group_stops_its_jobs() -> None:
    jobs = JobGroup("g")
    jobs.spawn("a", sleep_for_ever())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1.0):
            await jobs.complete()
    assert jobs.statistics().running == ()


@virtual
async def test_the_first_of_several_waits_ends_the_others() -> None:
    cancelled: list[str] = []

    async def slow() -> None:
        try:
            await asyncio.sleep(100.0)
        except asyncio.CancelledError:
            cancelled.append("slow")
            raise

    before_s = asyncio.get_running_loop().time()
    await wait_first(slow(), asyncio.sleep(1.0))
    assert asyncio.get_running_loop().time() - before_s == pytest.approx(1.0)
    assert cancelled == ["slow"]


@virtual
async def test_the_first_of_several_waits_may_fail() -> None:
    with pytest.raises(ValueError, match="first"):
        await wait_first(fail(ValueError("first")), sleep_for_ever())


@virtual
async def test_cancelling_a_wait_for_the_first_cancels_all() -> None:
    release = asyncio.Event()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1.0):
            await wait_first(sleep_for_ever(), _until(release))
    assert len(asyncio.all_tasks()) == 1


@virtual
async def test_work_that_began_ahead_is_under_way_while_the_loop_is_busy() -> None:
    steps: list[str] = []

    async def ask() -> int:
        steps.append("asked")
        await asyncio.sleep(5)
        return 7

    async with Ahead[int]() as ahead:
        begun = [ahead.has_begun]
        await ahead.begin(ask())
        steps.append("busy")
        begun.append(ahead.has_begun)
        assert await ahead.take() == 7
        begun.append(ahead.has_begun)

    assert begun == [False, True, False]
    assert steps == ["asked", "busy"]


@virtual
async def test_what_work_ahead_raises_is_raised_when_it_is_taken() -> None:
    async def ask() -> None:
        raise ConfigError("no")

    async with Ahead[None]() as ahead:
        await ahead.begin(ask())
        with pytest.raises(ConfigError):
            await ahead.take()


@virtual
async def test_work_ahead_that_nobody_takes_is_dropped_with_the_block() -> None:
    ended: list[str] = []
    async with Ahead[None]() as ahead:
        await ahead.begin(_until_dropped(ended))
        with pytest.raises(InvariantError):
            await ahead.begin(_until_dropped(ended))
    assert ended == ["dropped"]


@virtual
async def test_work_ahead_ends_with_the_one_who_waits_for_it() -> None:
    ended: list[str] = []
    async with Ahead[None]() as ahead:
        await ahead.begin(_until_dropped(ended))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await ahead.take()
    with pytest.raises(InvariantError, match="nothing has begun"):
        await ahead.take()

    assert ended == ["dropped"]


async def _until_dropped(ended: list[str]) -> None:
    try:
        await sleep_for_ever()
    finally:
        ended.append("dropped")
