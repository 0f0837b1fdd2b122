"""Sees to it that the process ends: in time, and at once at a second signal.

The orderly end is the business of the event loop (``process``). Whoever has asked for it relies on
it, though, whatever plugins do: one may swallow its cancellation, keep the loop from turning, or
leave a thread behind that the interpreter waits for. So this is a thread, and nothing that others
do can hold it up, short of a library that keeps the interpreter's lock. It hears the signals,
passes the first one on, and counts the grace period down; when that is over it says what is still
there, and ends the process where it stands. Nothing is lost by that: what is not committed is sent
again.

A signal's handler runs between any two steps of the main thread, so it only puts the signal into a
queue that was made for that. Log lines are written by a further thread, which is not waited for for
long: the pipe that they go to may be the very thing that hangs.

State: all of the watching thread, but ``exit_code``, which the loop's thread writes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

import structlog

from connectd.app.exit_code import ExitCode
from connectd.runtime.loop_watch import frames_of

_log = structlog.get_logger(__name__)

LEFTOVERS_S: Final = 5.0
"""What jobs and threads that nobody needs any more get, once everything of ours is closed."""

_LAST_WORDS_S: Final = 2.0

_NAMES_MAX: Final = 20
"""Names in the last line of the log, of each kind."""


class EndWatch:
    """See the module's docstring. ``end`` is ``os._exit``, and made for tests to replace.

    ``exit_code`` is how the process ends if it has to be ended.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        grace_s: float,
        leftovers_s: float = LEFTOVERS_S,
        end: Callable[[int], object] = os._exit,
    ) -> None:
        self.exit_code = ExitCode.TAIL_REPEATED
        self.is_listening = False
        self._loop = loop
        self._grace_s = grace_s
        self._leftovers_s = leftovers_s
        self._end = end
        self._on_signal: Callable[[signal.Signals], None] = lambda number: None
        self._heard: queue.SimpleQueue[signal.Signals | float] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._watch, name="end-watch", daemon=True)

    def listen(self, on_signal: Callable[[signal.Signals], None]) -> None:
        """Hear SIGTERM and SIGINT, from the main thread, for as long as the process lives.

        ``on_signal`` is called on the loop, once.
        """
        self._on_signal = on_signal
        self._start()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _: self._heard.put(signal.Signals(number)))
        self.is_listening = True

    def begin(self) -> None:
        """The end begins, for whatever reason: the grace period runs, if it does not yet."""
        self._start()
        self._heard.put(self._grace_s)

    def all_closed(self, code: ExitCode) -> None:
        """Everything of ours is through, and this is how it went."""
        self.exit_code = code
        self._start()
        self._heard.put(self._leftovers_s)

    def _start(self) -> None:
        if self._thread.ident is None:
            self._thread.start()

    # -- the watching thread --------------------------------------------------------------------

    def _watch(self) -> None:
        ends_at_s, is_told = float("inf"), False
        while True:
            left_s = max(0.0, ends_at_s - time.monotonic())
            try:
                heard = self._heard.get(timeout=None if left_s == float("inf") else left_s)
            except queue.Empty:
                self._end_process(
                    logging.ERROR, "ending the process: not everything has ended in time"
                )
                return
            if not isinstance(heard, signal.Signals):
                ends_at_s = min(ends_at_s, time.monotonic() + heard)
            elif is_told:
                self._end_process(
                    logging.WARNING, "stopping at once, as a second signal asks", signal=heard.name
                )
                return
            else:
                is_told = True
                ends_at_s = min(ends_at_s, time.monotonic() + self._grace_s)
                self._pass_on(heard)

    def _pass_on(self, number: signal.Signals) -> None:
        try:
            self._loop.call_soon_threadsafe(self._on_signal, number)
        except RuntimeError:  # the loop is closed: it has stopped already
            return

    def _end_process(self, level: int, message: str, **fields: object) -> None:
        code = self.exit_code
        fields["exit_code"] = int(code)
        try:
            speaker = threading.Thread(
                target=self._speak, args=(level, message, fields), daemon=True
            )
            speaker.start()
            speaker.join(_LAST_WORDS_S)
        finally:
            self._end(code)

    def _speak(self, level: int, message: str, fields: dict[str, object]) -> None:
        _log.log(level, message, **fields, **self._what_is_left())
        sys.stdout.flush()

    def _what_is_left(self) -> dict[str, object]:
        """Jobs and threads that would be waited for, and where the main thread stands."""
        main = threading.main_thread()
        jobs = [job.get_name() for job in asyncio.all_tasks(self._loop)]
        threads = [each.name for each in threading.enumerate() if not each.daemon]
        return {
            "jobs": sorted(jobs)[:_NAMES_MAX],
            "threads": sorted(name for name in threads if name != main.name)[:_NAMES_MAX],
            "frames": [] if main.ident is None else frames_of(main.ident),
        }
