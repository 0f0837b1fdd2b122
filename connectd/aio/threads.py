"""Hand-over from threads to the event loop: many items with one wake-up, or one answer.

A thread calls ``Inbox.push``; the loop receives everything pushed since its last visit in one
callback. A future per record would cost more than the record. ``started`` is for the rare call that
blocks, and may never come back.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class Inbox(Generic[T]):
    """A mailbox that any thread may fill and that one loop empties.

    ``deliver(items)`` runs on the loop, in the order of the pushes. After ``close`` pushed items
    are dropped: the owner has gone.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, deliver: Callable[[list[T]], None]) -> None:
        self._loop = loop
        self._deliver = deliver
        self._items: deque[T] = deque()
        self._is_scheduled = False
        self._is_closed = False

    def push(self, item: T) -> None:
        """Add an item; safe from every thread."""
        if self._is_closed:
            return
        self._items.append(item)
        # Two threads may both see False and schedule twice; the second visit finds nothing.
        if not self._is_scheduled:
            self._is_scheduled = True
            try:
                self._loop.call_soon_threadsafe(self._drain)
            except RuntimeError:  # the loop has been closed: nobody is left to tell
                self._is_closed = True

    def _drain(self) -> None:
        # Cleared before taking: a push after this line schedules another visit.
        self._is_scheduled = False
        items: list[T] = []
        while self._items:
            items.append(self._items.popleft())
        if items and not self._is_closed:
            self._deliver(items)

    def close(self) -> None:
        """Forget what was not delivered and refuse the rest."""
        self._is_closed = True
        self._items.clear()


def started(work: Callable[[], T], *, name: str) -> Future[T]:
    """Have a blocking call done in a thread of its own, which the end of the process does not wait
    for; for a loop by ``asyncio.wrap_future``.

    Whoever waits for the answer may give up: the call goes on, and what it brings is dropped.
    """
    answer: Future[T] = Future()
    answer.set_running_or_notify_cancel()  # from here on nobody can cancel it under the thread

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return answer
