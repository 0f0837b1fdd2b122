"""What plugin code may not raise: on the loop, in threads; and what it may."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

import pytest

from connectd.plugins.containment import EscapeError, contained
from tests.kit.virtual import virtual


class Unusual(BaseException):
    """No Exception, as those of some test tools and schedulers."""


def _leave() -> None:
    sys.exit(3)


ESCAPES: dict[str, Callable[[], BaseException]] = {
    "SystemExit(3)": lambda: SystemExit(3),
    "KeyboardInterrupt()": KeyboardInterrupt,
    "GeneratorExit()": GeneratorExit,
    "Unusual()": Unusual,
    "StopIteration()": StopIteration,
    "CancelledError()": asyncio.CancelledError,
}


@pytest.mark.parametrize("name", ESCAPES)
def test_what_is_no_error_becomes_one_and_names_itself(name: str) -> None:
    with pytest.raises(EscapeError) as caught, contained("polling task s-0 (acme.Ticks)"):
        raise ESCAPES[name]()
    assert str(caught.value).startswith(f"polling task s-0 (acme.Ticks): {name} in {__name__}.")
    assert repr(caught.value.__cause__) == name


@pytest.mark.parametrize("name", ESCAPES)
def test_on_the_loop_too(name: str) -> None:
    async def scenario() -> None:
        with contained("polling"):
            raise ESCAPES[name]()

    with pytest.raises(EscapeError, match=r"polling: "):
        asyncio.run(scenario())


def test_the_line_is_the_first_that_is_not_ours() -> None:
    with pytest.raises(EscapeError) as caught, contained("x"):
        _leave()
    text = str(caught.value)
    assert f"SystemExit(3) in {__name__}.test_the_line" in text
    assert f" ({__file__}:" in text
    assert text.endswith("; a plugin that gives up raises an Exception, such as FatalTaskError")


def test_errors_are_none_of_its_business() -> None:
    with pytest.raises(ZeroDivisionError), contained("x"):
        raise ZeroDivisionError


@virtual
async def test_a_job_that_is_cancelled_is_cancelled() -> None:
    async def work() -> None:
        with contained("x"):
            await asyncio.Event().wait()

    job = asyncio.ensure_future(work())
    await asyncio.sleep(1)
    job.cancel()
    await asyncio.wait((job,))
    assert job.cancelled()


@virtual
async def test_a_deadline_around_it_is_a_deadline() -> None:
    async def work() -> None:
        async with asyncio.timeout(5.0):
            with contained("x"):
                await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await work()


@virtual
async def test_the_cancellation_of_something_else_is_not_that_of_the_job() -> None:
    """A plugin that awaits a job of its own which it has cancelled: it would end unseen."""

    async def work() -> None:
        own = asyncio.ensure_future(asyncio.Event().wait())
        own.cancel()
        with contained("x"):
            await own

    with pytest.raises(EscapeError, match=r"CancelledError\(\) in "):
        await asyncio.ensure_future(work())


def test_a_coroutine_that_is_thrown_away_ends_quietly() -> None:
    async def work() -> None:
        with contained("x"):
            await asyncio.Event().wait()

    async def begin() -> None:
        thrown_away.send(None)

    thrown_away = work()
    asyncio.run(begin())
    thrown_away.close()  # as the end of the interpreter does
