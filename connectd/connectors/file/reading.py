"""Gets the bytes: blocking calls, in one thread per task, so that the event loop never waits.

A file on a server that is gone blocks a read for ever. Therefore the thread is a daemon, has one
task alone, and ``close`` does not wait for it. ``BackgroundReader`` may be cancelled at any moment:
what a read brings later is kept for the next one.
"""

from __future__ import annotations

import asyncio
import os
import queue
import select
import stat
import threading
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from connectd.aio.threads import Inbox

READ_BYTES_MAX: Final = 256 * 1024
"""How much is read at once: enough to make the way through the thread cheap."""


class Situation(Enum):
    """Why there is something to read, or not yet."""

    DATA = "data"
    END = "end"  # everything has been read
    MISSING = "missing"  # there is no such file
    SHRUNK = "shrunk"  # the file is shorter than the position


@dataclass(frozen=True)
class Reading:
    """What a read has found; bytes only with DATA."""

    situation: Situation
    data: bytes = b""


class Source(Protocol):
    """Something to read from. Used by one thread."""

    def read(self) -> Reading:
        """The next bytes. Never waits for more to come.

        Raises:
            OSError: it cannot be read.
        """
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class FollowedFile:
    """A file that may not be there yet, and that grows. Opened by the first read that finds it."""

    def __init__(self, path: str, position: int) -> None:
        self._path = path
        self._position = position
        self._descriptor: int | None = None

    def read(self) -> Reading:
        """See ``Source``."""
        if self._descriptor is None:
            try:
                self._descriptor = self._open()
            except FileNotFoundError:
                return Reading(Situation.MISSING)
        try:
            data = os.read(self._descriptor, READ_BYTES_MAX)
        except BlockingIOError:  # a pipe whose writer has nothing to say
            return Reading(Situation.END)
        if data:
            self._position += len(data)
            return Reading(Situation.DATA, data)
        return Reading(Situation.SHRUNK if self._is_too_short() else Situation.END)

    def _is_too_short(self) -> bool:
        assert self._descriptor is not None
        status = os.fstat(self._descriptor)
        return stat.S_ISREG(status.st_mode) and status.st_size < self._position

    def _open(self) -> int:
        # Without O_NONBLOCK, opening a named pipe waits for somebody to write to it.
        descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):  # nothing else has a place to go to
                os.lseek(descriptor, self._position, os.SEEK_SET)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def close(self) -> None:
        """See ``Source``."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class StandardInput:
    """The input of the process, shared by all that read from it; it is never closed."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor

    def read(self) -> Reading:
        """See ``Source``."""
        readable, _, _ = select.select([self._descriptor], [], [], 0)
        if not readable:
            return Reading(Situation.END)
        data = os.read(self._descriptor, READ_BYTES_MAX)
        return Reading(Situation.DATA, data) if data else Reading(Situation.END)

    def close(self) -> None:
        """See ``Source``."""


class BackgroundReader:
    """Reads in a thread that lives from construction to ``close``. Used on one event loop."""

    def __init__(self, source: Source, *, name: str) -> None:
        self._source = source
        self._inbox: Inbox[Reading | OSError] = Inbox(asyncio.get_running_loop(), self._on_answers)
        self._requests: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._under_way: asyncio.Future[Reading | OSError] | None = None
        threading.Thread(target=self._work, name=f"file-{name}", daemon=True).start()

    async def read(self) -> Reading:
        """What the next read finds. Cancelling it loses nothing.

        Raises:
            OSError: the source cannot be read.
        """
        if self._under_way is None:
            self._under_way = asyncio.get_running_loop().create_future()
            self._requests.put(True)
        answer = await asyncio.shield(self._under_way)
        self._under_way = None
        if isinstance(answer, OSError):
            raise answer
        return answer

    def close(self) -> None:
        """Let the thread close the source and end; what it reads by then is dropped."""
        self._inbox.close()
        self._requests.put(False)

    def _on_answers(self, answers: list[Reading | OSError]) -> None:
        for answer in answers:
            if self._under_way is not None and not self._under_way.done():
                self._under_way.set_result(answer)

    def _work(self) -> None:
        try:
            while self._requests.get():
                try:
                    self._inbox.push(self._source.read())
                except OSError as error:
                    self._inbox.push(error)
        finally:
            self._source.close()
