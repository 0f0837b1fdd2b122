"""Plugin code that blocks the loop is interrupted where it stands; our own is only reported.

Threads, signals and a real clock are what is tested here. Nothing sleeps: what blocks would block
for ever, and the watch's limits are short.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable

import pytest
import structlog

from connectd.runtime import loop_watch
from connectd.runtime.loop_watch import BlockedLoopError, Limits, LoopWatch, foreign

LIMITS = Limits(waiting_s=0.2, working_s=0.4)
GENEROUS_S = 20.0


@contextlib.asynccontextmanager
async def watched(limits: Limits = LIMITS) -> AsyncIterator[LoopWatch]:
    watch = LoopWatch(limits)
    watch.start()
    try:
        yield watch
    finally:
        watch.stop()


def _waits_for_a_lock() -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def _waits_for_a_socket() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.recv(1)


def _works_without_end() -> None:
    while True:
        pass


@pytest.mark.parametrize("block", [_waits_for_a_lock, _waits_for_a_socket, _works_without_end])
def test_what_blocks_the_loop_is_interrupted_and_named(block: Callable[[], None]) -> None:
    async def run() -> None:
        async with watched():
            with (
                pytest.raises(BlockedLoopError, match="starting connector s: blocked") as caught,
                foreign("starting connector s"),
            ):
                block()
            assert f"{__file__}:" in str(caught.value)
            assert block.__name__ in [entry.name for entry in caught.traceback]

    asyncio.run(run())


def test_a_job_that_plugin_code_has_started_is_plugin_code_too() -> None:
    async def block() -> None:
        _waits_for_a_lock()

    async def run() -> None:
        async with watched():
            with foreign("starting connector s"):
                job = asyncio.get_running_loop().create_task(block())
            with pytest.raises(BlockedLoopError, match="starting connector s"):
                await job

    asyncio.run(run())


def test_one_that_swallows_the_interruption_is_interrupted_again() -> None:
    def stubborn() -> None:
        with contextlib.suppress(BlockedLoopError):
            _waits_for_a_lock()
        _waits_for_a_lock()

    async def run() -> None:
        async with watched():
            with pytest.raises(BlockedLoopError), foreign("polling task s-0"):
                stubborn()

    asyncio.run(run())


def test_our_own_code_is_reported_and_left_alone() -> None:
    released = threading.Event()

    async def run() -> None:
        async with watched():
            # Released by another thread, long after the limits.
            timer = threading.Timer(8 * LIMITS.working_s, released.set)
            timer.start()
            assert released.wait(GENEROUS_S)
            timer.join()

    with structlog.testing.capture_logs() as lines:
        asyncio.run(run())
    reports = [line for line in lines if line["event"].startswith("the event loop is blocked")]
    assert len(reports) == 1, "once for each time that it stands still"
    assert any("test_loop_watch.py" in frame for frame in reports[0]["frames"])


def test_plugin_code_that_awaits_is_never_disturbed() -> None:
    async def run() -> None:
        async with watched(Limits(waiting_s=GENEROUS_S, working_s=GENEROUS_S)):
            with foreign("starting connector s"):
                await asyncio.get_running_loop().run_in_executor(None, len, "patience")

    with structlog.testing.capture_logs() as lines:
        asyncio.run(run())
    assert lines == []


def test_a_signal_from_elsewhere_does_no_harm_and_the_handler_is_given_back() -> None:
    before = signal.getsignal(signal.SIGURG)

    async def run() -> None:
        async with watched():
            with foreign("starting connector s"):
                signal.raise_signal(signal.SIGURG)

    asyncio.run(run())
    assert signal.getsignal(signal.SIGURG) == before


def test_a_loop_in_another_thread_is_not_watched() -> None:
    async def run() -> None:
        async with watched() as watch:
            watch.stop()

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    thread.join()


def test_a_thread_that_waits_is_told_from_one_that_runs() -> None:
    release = threading.Event()
    waiting = threading.Thread(target=release.wait, args=(GENEROUS_S,), daemon=True)
    waiting.start()
    try:
        while not loop_watch._is_asleep(waiting.native_id):
            assert waiting.is_alive()
        assert loop_watch._is_asleep(threading.get_native_id()) is False
        assert loop_watch._is_asleep(-1) is None
    finally:
        release.set()
        waiting.join()


def test_how_late_the_loop_was_is_remembered_for_a_while() -> None:
    async def run() -> float:
        async with watched(Limits(waiting_s=60.0, working_s=60.0)) as watch:
            assert math.isnan(LoopWatch().lateness_max_s())
            loop = asyncio.get_running_loop()
            busy_until_s = loop.time() + 3 * loop_watch.PULSE_S
            while loop.time() < busy_until_s:
                pass
            while math.isnan(watch.lateness_max_s()):  # noqa: ASYNC110  a timer's doing
                await asyncio.sleep(loop_watch.PULSE_S)
            assert 1 <= watch.pulses_late <= watch.pulses
            return watch.lateness_max_s()

    assert asyncio.run(asyncio.wait_for(run(), GENEROUS_S)) >= loop_watch.PULSE_S
