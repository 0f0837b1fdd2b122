"""Starts a process for tasks: the same Python, the same connectd, one end of a socket pair.

Nothing about the worker stands on the command line or in the environment; its configuration is the
first message. What the process logs goes through our own output, so that lines of several processes
do not mix; the last lines of its standard error say why it has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TextIO

import msgspec
import structlog

import connectd
from connectd.aio.child_process import ChildCommand, ChildProcess, running
from connectd.aio.framed_socket import FramedSocket
from connectd.aio.jobs import JobGroup, wait_first
from connectd.runtime.cores import messages

_log = structlog.get_logger(__name__)

PROGRAM: Final = "connectd.app.task_program"

_GRACE_S: Final = 0.5
"""It hears no SIGTERM: this is for what it has left behind."""

_LAST_WORDS_S: Final = 1.0
"""How long what an ended process has said before is read, and how long its log."""

_EXIT_S: Final = 10.0
"""How long one that has hung up may take to end: an interpreter has a lot to tidy up."""

_REASON_LINES: Final = 5
"""Lines of standard error that a reason shows."""


class SpawnedProcess:
    """A process that runs (``processes.Peer``)."""

    def __init__(self, child: ChildProcess) -> None:
        self._child = child
        self._is_hung_up = asyncio.Event()
        self._socket: FramedSocket | None = None

    async def connect(
        self, end: socket.socket, on_message: Callable[[messages.ToParent], None]
    ) -> None:
        """Take our end of the connection over."""

        def on_frame(frame: bytes) -> None:
            try:
                message = messages.from_child(frame)
            except msgspec.DecodeError as error:
                _log.error("a process of tasks does not speak our language", error=str(error))
                self._is_hung_up.set()
                return
            on_message(message)

        self._socket = await FramedSocket.open(end, on_frame=on_frame, on_end=self._is_hung_up.set)

    def send(self, message: messages.ToChild) -> None:
        """See ``processes.Peer``."""
        if self._socket is not None:
            self._socket.send(messages.encode(message))

    async def wait(self) -> str:
        """See ``processes.Peer``. What it has said before its end is heard by then."""
        await wait_first(self._child.wait(), self._is_hung_up.wait())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS_S):
                await self._is_hung_up.wait()
        try:
            async with asyncio.timeout(_EXIT_S):
                code = await self._child.wait()
        except TimeoutError:
            return "it has closed its connection"
        how = f"it was ended by {_signal_name(-code)}" if code < 0 else f"it has ended with {code}"
        # Not the frames of a traceback, which are indented: they are in the log.
        said = [line for line in self._child.tail() if line[:1].strip()]
        return "; ".join([how, *said[-_REASON_LINES:]])

    async def close(self) -> None:
        """Hang up."""
        if self._socket is not None:
            self._socket.close()
            await self._socket.wait_closed()


@asynccontextmanager
async def spawned(
    setup: messages.Setup,
    on_message: Callable[[messages.ToParent], None],
    *,
    environ: Mapping[str, str] = os.environ,
    program: str = PROGRAM,
    output: TextIO | None = None,
) -> AsyncIterator[SpawnedProcess]:
    """Run a process for as long as the block lasts (``processes.PeerStarter``).

    ``output`` is where its log goes, by default where ours does.

    Raises:
        OSError: it cannot be started.
    """
    ours, theirs = socket.socketpair()  # the connection closes ours
    jobs = JobGroup("process", on_failure=lambda name, error: _log.error(name, error=repr(error)))
    try:
        command = ChildCommand(
            (sys.executable, "-P", "-m", program, str(theirs.fileno())),
            {**environ, "PYTHONPATH": _python_path(environ)},
            fds=(theirs.fileno(),),
        )
        async with running(command, grace_s=_GRACE_S) as child:
            theirs.close()
            process = SpawnedProcess(child)
            await process.connect(ours, on_message)
            jobs.spawn("log", _relay(child, output or sys.stdout))
            try:
                process.send(setup)
                yield process
            finally:
                await process.close()
    except OSError:
        ours.close()
        raise
    finally:
        theirs.close()
        await jobs.stop(grace_s=_LAST_WORDS_S)


def _python_path(environ: Mapping[str, str]) -> str:
    """This connectd before any other, wherever it was started from."""
    own = str(Path(connectd.__file__).parents[1])
    return os.pathsep.join(filter(None, [own, environ.get("PYTHONPATH", "")]))


async def _relay(child: ChildProcess, output: TextIO) -> None:
    async for line in child.lines():
        output.write(f"{line}\n")
        output.flush()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
