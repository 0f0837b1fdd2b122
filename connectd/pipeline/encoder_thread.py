"""A thread in which one task encodes its pages, one after the other.

Transforms and converters are foreign code, and some wait for the outside (a schema registry). As in
Kafka Connect they run in a thread of their task, where they hold up neither the event loop nor the
producer, which others share. The thread is started by its first work and lives as long as its task.

It is a daemon: one that hangs in a plugin does not hold up the end of the process. What it was
working on then is thrown away, and was never sent. What must not cross into the loop, such as the
``SystemExit`` of a plugin, fails the work instead (``plugins.containment``).
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from connectd.plugins import containment

T = TypeVar("T")

_Work = tuple[Callable[[], object], "asyncio.Future[object]"]


class EncoderThread:
    """Runs work for one event loop; see the module's docstring."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """The result of ``work``, or what it raised. Cancelling leaves it running, unheard."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._serve,
                args=(asyncio.get_running_loop(),),
                name=f"encoder-{self._name}",
                daemon=True,
            )
            self._thread.start()
        done: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._queue.put((work, done))
        result: T = await done  # type: ignore[assignment]  # what ``work`` has returned
        return result

    def close(self) -> None:
        """Let the thread end after what it is working on; it is not waited for."""
        self._queue.put(None)

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        while (item := self._queue.get()) is not None:
            work, done = item
            result: object = None
            error: Exception | None = None
            try:
                with containment.contained(f"encoding records of task {self._name}"):
                    result = work()
            except Exception as raised:  # delivered to whoever waits for it
                error = raised
            try:
                loop.call_soon_threadsafe(_deliver, done, result, error)
            except RuntimeError:  # the loop has been closed: nobody is left to tell
                return
            del item, work, done, result, error  # a page must not be held while there is no other


def _deliver(done: asyncio.Future[object], result: object, error: Exception | None) -> None:
    if done.done():  # cancelled: the task has ended meanwhile
        return
    if error is None:
        done.set_result(result)
    else:
        done.set_exception(error)
