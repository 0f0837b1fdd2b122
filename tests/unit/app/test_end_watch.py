"""The end of the process: at the second signal, or when the time is over. Nothing ends here."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from connectd.app.end_watch import EndWatch
from connectd.app.exit_code import ExitCode, exit_code_of
from connectd.errors import ConfigError, WorkerError

LONG_S = 3600.0
PATIENCE_S = 30.0


class Exit:
    """Stands for ``os._exit``: remembers the code."""

    def __init__(self) -> None:
        self.code: int | None = None
        self._called = threading.Event()

    def __call__(self, code: int) -> None:
        self.code = code
        self._called.set()

    def wait(self) -> int | None:
        """The code, when it has been called."""
        assert self._called.wait(PATIENCE_S)
        return self.code


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """The signals are what they were, after each test."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def test_the_first_signal_is_told_on_the_loop_and_the_second_ends_the_process() -> None:
    ends, told = Exit(), []

    async def scenario() -> None:
        heard = asyncio.Event()
        watch = EndWatch(asyncio.get_running_loop(), grace_s=LONG_S, end=ends)

        def on_signal(number: signal.Signals) -> None:
            told.append((number, threading.current_thread() is threading.main_thread()))
            heard.set()

        watch.listen(on_signal)
        signal.raise_signal(signal.SIGTERM)
        await asyncio.wait_for(heard.wait(), PATIENCE_S)
        assert ends.code is None
        signal.raise_signal(signal.SIGINT)
        assert ends.wait() == ExitCode.TAIL_REPEATED

    with capture_logs() as lines:
        asyncio.run(scenario())
    assert told == [(signal.SIGTERM, True)]
    (line,) = lines
    assert line["event"] == "stopping at once, as a second signal asks"
    assert (line["signal"], line["exit_code"]) == ("SIGINT", 3)


def test_a_loop_that_does_not_turn_keeps_the_process_no_longer_than_the_grace_period() -> None:
    ends = Exit()

    async def scenario() -> None:
        watch = EndWatch(asyncio.get_running_loop(), grace_s=0.0, end=ends)
        watch.listen(lambda number: None)
        signal.raise_signal(signal.SIGTERM)
        assert ends.wait() == ExitCode.TAIL_REPEATED  # without a step of the loop

    with capture_logs() as lines:
        asyncio.run(scenario())
    (line,) = lines
    assert line["event"] == "ending the process: not everything has ended in time"
    assert any(f"{__file__}:" in frame for frame in line["frames"])


def test_what_is_left_is_named_and_the_code_is_that_of_the_worker() -> None:
    ends, release = Exit(), threading.Event()
    stays = threading.Thread(target=release.wait, args=(PATIENCE_S,), name="left-behind")

    async def scenario() -> None:
        job = asyncio.get_running_loop().create_task(asyncio.Event().wait(), name="orders-0/poll")
        watch = EndWatch(asyncio.get_running_loop(), grace_s=LONG_S, leftovers_s=0.0, end=ends)
        watch.all_closed(ExitCode.CLEAN)
        assert ends.wait() == ExitCode.CLEAN
        job.cancel()

    stays.start()
    try:
        with capture_logs() as lines:
            asyncio.run(scenario())
    finally:
        release.set()
        stays.join()
    (line,) = lines
    assert "orders-0/poll" in line["jobs"]
    assert "left-behind" in line["threads"]


def test_a_failure_begins_the_end_too_and_nothing_makes_it_later() -> None:
    ends = Exit()

    async def scenario() -> None:
        watch = EndWatch(asyncio.get_running_loop(), grace_s=0.0, leftovers_s=LONG_S, end=ends)
        watch.exit_code = ExitCode.FAILED
        watch.begin()
        assert ends.wait() == ExitCode.FAILED

    with capture_logs():
        asyncio.run(scenario())


def test_a_log_that_cannot_be_written_does_not_keep_the_process() -> None:
    ends = Exit()

    class Hangs:
        """Whoever asks for the jobs of this loop fails: so does the line."""

        def call_soon_threadsafe(self, *_: object) -> None:
            raise RuntimeError("closed")

        def __eq__(self, other: object) -> bool:
            raise OSError("no place for a log")

        __hash__ = object.__hash__

    watch = EndWatch(Hangs(), grace_s=0.0, end=ends)  # type: ignore[arg-type]
    watch.begin()
    assert ends.wait() == ExitCode.TAIL_REPEATED


@pytest.mark.parametrize(
    ("error", "code"),
    [(ConfigError("x"), ExitCode.CONFIG), (WorkerError("x"), ExitCode.FAILED)],
)
def test_a_failure_has_its_exit_code(error: Exception, code: ExitCode) -> None:
    assert exit_code_of(error) is code
