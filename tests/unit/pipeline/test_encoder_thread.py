"""A task's own thread for plugins."""

from __future__ import annotations

import asyncio
import contextlib
import threading

import pytest

from connectd.aio.jobs import JobGroup
from connectd.errors import FatalTaskError
from connectd.pipeline.encoder_thread import EncoderThread

_DEADLINE_S = 10.0


def _run_in(encoder: EncoderThread) -> str:
    async def scenario() -> str:
        return await encoder.run(lambda: threading.current_thread().name)

    return asyncio.run(scenario())


def test_work_runs_in_a_thread_of_that_name() -> None:
    encoder = EncoderThread("orders-0")
    assert _run_in(encoder) == "encoder-orders-0"
    encoder.close()


def test_what_it_raises_is_raised_where_it_is_waited_for() -> None:
    async def scenario() -> None:
        encoder = EncoderThread("orders-0")

        def fail() -> None:
            raise ValueError("not this one")

        with pytest.raises(ValueError, match="not this one"):
            await encoder.run(fail)
        assert await encoder.run(lambda: 7) == 7
        encoder.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), StopIteration(), asyncio.CancelledError()]
)
def test_what_must_not_cross_into_the_loop_fails_the_work_and_the_next_is_done(
    error: BaseException,
) -> None:
    async def scenario() -> None:
        encoder = EncoderThread("orders-0")

        def leave() -> None:
            raise error

        with pytest.raises(FatalTaskError) as caught:
            await encoder.run(leave)
        assert str(caught.value).startswith(
            f"encoding records of task orders-0: {error!r} in {__name__}."
        )
        assert await encoder.run(lambda: 7) == 7
        encoder.close()

    asyncio.run(scenario())


def test_a_plugin_that_hangs_holds_up_neither_the_loop_nor_the_end() -> None:
    async def scenario() -> None:
        encoder = EncoderThread("orders-0")
        hangs = threading.Event()
        jobs = JobGroup("test")
        jobs.spawn("page", encoder.run(lambda: hangs.wait(_DEADLINE_S)))
        await asyncio.sleep(0)
        assert await jobs.cancel("page")
        encoder.close()
        hangs.set()
        for thread in threading.enumerate():
            if thread.name == "encoder-orders-0":
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.to_thread(thread.join), _DEADLINE_S)
                assert not thread.is_alive()

    asyncio.run(scenario())


def test_nothing_is_started_without_work() -> None:
    before = threading.active_count()
    EncoderThread("orders-0").close()
    assert threading.active_count() == before
