"""Who owns librdkafka's admin clients: one thread of the process, the keeper.

A client that is merely left to the garbage collector is let go at a moment, and by a thread, that
nobody chose. If that happens with a question open, the answer never comes; if an answer is read in
the same moment, or the thread is one of the client's own (they run Python when they bring an
answer, and so the collector too), the process is aborted. Besides, what a client has to say piles
up in memory until somebody polls it.

So the keeper holds every client, polls it now and then, and lets go of it when its user has gone
and all that was asked has been answered; librdkafka answers everything in the time that was given
for it. The thread starts with the first client and ends with the last. It is a daemon: a process
that ends does not wait for it, and there is nothing to be saved.

State: the list of clients, under a lock. A future leaves its set in the thread that resolves it.
"""

from __future__ import annotations

import threading
import weakref
from concurrent.futures import Future
from typing import Any, Final, Protocol

import structlog

_log = structlog.get_logger(__name__)

POLL_S: Final = 1.0
"""Between two looks: how long what a client says may wait, and a client that nobody needs."""


class Polled(Protocol):
    """What is kept: a client of confluent_kafka."""

    def poll(self, timeout: float) -> int:
        """Serve its callbacks."""
        ...


class KeptClient:
    """A client, who uses it, and what it has still to answer."""

    def __init__(self, client: Polled, user: object) -> None:
        self.client = client
        self._user = weakref.ref(user)
        self._asked: set[Future[Any]] = set()

    def expect(self, answer: Future[Any]) -> None:
        """Keep the client until this is resolved. Nobody may cancel it: it would seem resolved."""
        self._asked.add(answer)
        answer.add_done_callback(self._asked.discard)

    @property
    def is_needed(self) -> bool:
        """Whether it has a user, or something to answer."""
        return self._user() is not None or bool(self._asked)


class AdminKeeper:
    """See the module's docstring; ``keep`` may be called in every thread.

    Without a thread (``has_thread``) somebody has to call ``look``.
    """

    def __init__(self, *, has_thread: bool = True, poll_s: float = POLL_S) -> None:
        self._has_thread = has_thread
        self._poll_s = poll_s
        self._lock = threading.Lock()
        self._kept: list[KeptClient] = []
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        """Whether its thread lives."""
        return self._thread is not None

    def keep(self, client: Polled, user: object) -> KeptClient:
        """Own a client for as long as ``user`` lives, and until it has answered everything."""
        kept = KeptClient(client, user)
        with self._lock:
            self._kept.append(kept)
            if self._has_thread and self._thread is None:
                self._thread = threading.Thread(target=self._run, name="kafka-admins", daemon=True)
                self._thread.start()
        return kept

    def look(self) -> bool:
        """Poll every client and let go of those that nobody needs; False when none is left."""
        with self._lock:
            kept = list(self._kept)
        for each in kept:
            try:
                each.client.poll(0)
            except Exception as error:  # the boundary of the thread: the others need it
                _log.error("an admin client cannot be polled", error=str(error), exc_info=error)
        over = [each for each in kept if not each.is_needed]
        with self._lock:
            self._kept = [each for each in self._kept if each not in over]
            return bool(self._kept)

    def _run(self) -> None:
        pause = threading.Event()  # never set
        while True:
            while self.look():
                pause.wait(self._poll_s)
            with self._lock:
                if not self._kept:
                    self._thread = None
                    return


KEEPER: Final = AdminKeeper()
"""The one of this process."""
