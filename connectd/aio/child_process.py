"""Another program as a child of this process: started, listened to, and ended for certain.

A child leads a session of its own. No key pressed at our terminal reaches it, and whatever it
starts in turn belongs to that session and ends with it: also what has left its process group, as
the Python workers of Spark do. When the child itself has ended, what it has left behind is killed.

The way out is a ladder: SIGTERM to the group, a grace period, SIGKILL to the whole session. It is
climbed when the ``async with`` block is left, for whatever reason, and to its last rung even if it
is cancelled meanwhile: a second cancellation only skips the grace period. A process that is killed
climbs nothing; for that case a guard leads the session and kills all of it (``session_guard``).

Memory is bounded: lines that nobody takes stop the reading of standard output, so that the child
waits; of standard error the newest lines are kept. Longer lines are cut.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import structlog

from connectd.aio import session_guard

_log = structlog.get_logger(__name__)

LINE_BYTES_MAX: Final = 65_536
LINES_HELD_MAX: Final = 1_000
"""Lines of standard output that wait to be taken before reading stops."""

TAIL_LINES: Final = 50
_TAIL_LINE_CHARS: Final = 1_000
_LEFT_BEHIND_S: Final = 1.0
"""How long what a child has left behind may go on writing to the child's output."""

_KILLED_S: Final = 10.0
"""A killed process is gone by then, unless the kernel itself is stuck."""

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_PROC: Final = Path("/proc")

_GUARD: Final = (sys.executable, "-I", "-S", session_guard.__file__)
"""Python without anything that takes time to load."""


@dataclass(frozen=True)
class ChildCommand:
    """What to run: a program by its path, with its arguments, and its whole environment.

    ``fds`` are descriptors of ours that it gets under the same numbers.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    fds: tuple[int, ...] = ()


class ChildProcess(asyncio.SubprocessProtocol):
    """A running child; see the module's docstring. Made by ``running``, used on its loop.

    ``pid`` is the guard's, and with it the session's and its first group's.
    """

    def __init__(self, *, grace_s: float) -> None:
        self.pid = 0
        self._grace_s = grace_s
        self._transport: asyncio.SubprocessTransport | None = None
        self._lines: deque[str] = deque()
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._splitters = {_STDOUT: _LineSplitter(), _STDERR: _LineSplitter()}
        self._open_pipes = {_STDOUT, _STDERR}
        self._is_reading = True
        self._is_heard = True
        self._has_news = asyncio.Event()
        self._has_exited = asyncio.Event()
        self._are_pipes_closed = asyncio.Event()
        self._ending: asyncio.Future[None] | None = None

    # -- what the owner calls -------------------------------------------------------------------

    async def lines(self) -> AsyncIterator[str]:
        """Standard output, line by line, until the child and all of its own have closed it."""
        while True:
            while self._lines:
                line = self._lines.popleft()
                self._update_reading()
                yield line
            if _STDOUT not in self._open_pipes:
                return
            self._has_news.clear()
            await self._has_news.wait()

    async def wait(self) -> int:
        """Wait for its end; its exit code, or minus the signal that ended it.

        By then what it wrote last is heard: its output is closed, or what keeps that open is none
        of its own.
        """
        await self._has_exited.wait()
        await self._pipes_closed(2 * _LEFT_BEHIND_S)  # what is left behind is killed in between
        assert self._transport is not None
        code = self._transport.get_returncode()
        assert code is not None
        return code

    def keep(self, line: str) -> None:
        """Put a line of standard output among those of standard error."""
        self._tail.append(line[:_TAIL_LINE_CHARS])

    def tail(self) -> list[str]:
        """The newest lines of standard error and what was kept, the oldest first.

        Lines that have begun and are not ended stand behind them.
        """
        begun = [each.held()[:_TAIL_LINE_CHARS] for each in self._splitters.values()]
        return [*self._tail, *filter(None, begun)][-TAIL_LINES:]

    def ask_to_end(self, *, grace_s: float) -> None:
        """SIGTERM now, SIGKILL after the grace period. Its lines can still be read."""
        if self._ending is None and not self._has_exited.is_set():
            self._ending = asyncio.ensure_future(self._climb(grace_s))

    # -- what the loop calls --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Started."""
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self.pid = self._transport.get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Output."""
        for line in self._splitters[fd].feed(data):
            self._on_line(fd, line)
        self._update_reading()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """The last one that could write there has closed it."""
        if fd == _STDIN:  # the guard is gone, and nobody reads there any more
            return
        rest = self._splitters[fd].rest()
        if rest:
            self._on_line(fd, rest)
        self._open_pipes.discard(fd)
        self._has_news.set()
        if not self._open_pipes:
            self._are_pipes_closed.set()

    def process_exited(self) -> None:
        """The child itself is gone."""
        self._has_exited.set()

    def _on_line(self, fd: int, line: str) -> None:
        if fd == _STDERR:
            self.keep(line)
        elif self._is_heard:
            self._lines.append(line)
            self._has_news.set()

    def _update_reading(self) -> None:
        """Read on while there is room; a child that nobody hears out must not wait for us."""
        wants = not self._is_heard or len(self._lines) < LINES_HELD_MAX
        if wants is self._is_reading or _STDOUT not in self._open_pipes:
            return
        assert self._transport is not None
        pipe = cast("asyncio.ReadTransport", self._transport.get_pipe_transport(_STDOUT))
        if wants:
            pipe.resume_reading()
        else:
            pipe.pause_reading()
        self._is_reading = wants

    # -- the end --------------------------------------------------------------------------------

    async def sweep_after_exit(self) -> None:
        """Wait for the child's end, then see to it that nothing of it stays."""
        await self._has_exited.wait()
        await self._pipes_closed(_LEFT_BEHIND_S)
        self.kill()

    async def end(self) -> None:
        """Climb the ladder to its end and let go of everything."""
        self._is_heard = False
        self._lines.clear()
        self._update_reading()
        try:
            if not self._has_exited.is_set():
                await self._climb(self._grace_s)
        finally:
            self.kill()
            if self._ending is not None:
                self._ending.cancel()
        try:
            async with asyncio.timeout(_KILLED_S):
                await self._has_exited.wait()
        except TimeoutError:
            _log.error("a child process could not be killed", pid=self.pid)
        assert self._transport is not None
        self._transport.close()
        await self._pipes_closed(_LEFT_BEHIND_S)

    async def _pipes_closed(self, longest_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(longest_s):
                await self._are_pipes_closed.wait()

    async def _climb(self, grace_s: float) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await self._has_exited.wait()
        if not self._has_exited.is_set():
            self.kill()

    def kill(self) -> None:
        """SIGKILL to every process of the session."""
        session_guard.kill_session(self.pid)


@asynccontextmanager
async def running(command: ChildCommand, *, grace_s: float) -> AsyncIterator[ChildProcess]:
    """Run a child for as long as the block lasts; standard input is empty.

    Raises:
        OSError: the program cannot be started.
    """
    child = await _started(command, grace_s)
    sweep = asyncio.ensure_future(child.sweep_after_exit())
    try:
        yield child
    finally:
        await _to_the_end(child.end(), on_cancel=child.kill)
        sweep.cancel()
        await asyncio.gather(sweep, return_exceptions=True)


def process_start(pid: int, proc: Path = _PROC) -> str | None:
    """When a process began, in the kernel's ticks: with its id, it names a process for good.

    None: there is no such process, or the system does not tell.
    """
    try:
        fields = (proc / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return fields[19].decode() if len(fields) > 19 else None


class _LineSplitter:
    """From chunks to lines, of which none is longer than ``LINE_BYTES_MAX``."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> Sequence[str]:
        *whole, held = (self._held + data).split(b"\n")
        self._held = held[:LINE_BYTES_MAX]
        return [_text(line) for line in whole]

    def held(self) -> str:
        """The line that has begun and is not ended; "": there is none."""
        return _text(self._held)

    def rest(self) -> str:
        """The last line, if nothing ended it; there is none from then on."""
        held, self._held = self.held(), b""
        return held


def _text(line: bytes) -> str:
    return line[:LINE_BYTES_MAX].removesuffix(b"\r").decode(errors="replace")


async def _started(command: ChildCommand, grace_s: float) -> ChildProcess:
    """Start it; if that is cancelled meanwhile, what was started is killed."""
    _look_at(command.argv[0])
    loop = asyncio.get_running_loop()
    start = asyncio.ensure_future(
        loop.subprocess_exec(
            lambda: ChildProcess(grace_s=grace_s),
            *_GUARD,
            session_guard.descriptors(command.fds),
            *command.argv,
            stdin=asyncio.subprocess.PIPE,
            env=dict(command.env),
            start_new_session=True,
            pass_fds=command.fds,
        )
    )
    try:
        _, child = await asyncio.shield(start)
    except asyncio.CancelledError:
        await asyncio.wait({start})
        if start.exception() is None:
            child = start.result()[1]
            child.kill()
            await _to_the_end(child.end(), on_cancel=child.kill)
        raise
    return child


def _look_at(program: str) -> None:
    """Raise the OSError of a program that cannot be started; the guard could only print it."""
    if not os.path.exists(program):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)
    if not (os.path.isfile(program) and os.access(program, os.X_OK)):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), program)


async def _to_the_end(work: Coroutine[Any, Any, None], *, on_cancel: Callable[[], None]) -> None:
    """Await work that is not to be cancelled; a cancellation is passed on after it."""
    job = asyncio.ensure_future(work)
    is_cancelled = False
    while not job.done():
        try:
            await asyncio.wait({job})
        except asyncio.CancelledError:
            is_cancelled = True
            on_cancel()
    job.result()
    if is_cancelled:
        raise asyncio.CancelledError
