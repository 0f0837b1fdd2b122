"""Plugin code that blocks the event loop: found by a thread, named, and interrupted.

Everything of a worker runs on one event loop, plugins too. One that waits without ``await`` (a
``sleep``, a socket, a lock) would stop the REST API, every other connector and the heartbeats with
it. A thread looks whether the loop still turns. When it does not, the job that stands still is
interrupted where it stands: it gets a ``BlockedLoopError``, fails as from any other error, its
status says in which line, and everything else goes on.

Only plugin code is interrupted: what runs inside of ``foreign(...)``, and jobs started from there.
Our own code that blocks is a defect, and only reported, with its stack.

Waiting and working are told apart by the state that the kernel gives the loop's thread: asleep, or
ready to run. Waiting is never right, so that little of it is enough. Work is measured in processor
time: a thread that gets no processor, on a busy machine or in a throttled container, and one that
waits for a disk, are innocent. Waiting is counted in looks of the watching thread, so that a
process that was stopped and goes on is innocent too.

How: the thread sends SIGURG (ignored where nobody listens, and of no use to anybody else) to the
loop's thread, whose handler raises. System calls are interrupted by that, Python code at its next
step; a library in C that never returns is not. State: all of the watching thread, except the pulse,
which the loop's thread writes and the watching thread reads.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final

import structlog

from connectd.errors import FatalTaskError
from connectd.observe.metrics_windows import Window, WindowSettings
from connectd.plugins import containment

_log = structlog.get_logger(__name__)

PULSE_S: Final = 0.1
"""Time between two signs of life of the loop, and between two looks at it."""

WAITING_MAX_S: Final = 0.5
"""So long plugin code may wait without ``await``: every other request then takes under a second."""

WORKING_MAX_S: Final = 5.0
"""So much processor time it may take without a break: more than loading a large library takes."""

LATE_S: Final = 0.02
"""A pulse that is later than this counts as late: requests of the REST API wait as long."""

_IDLE_BELOW: Final = 0.05
"""Where the kernel does not tell, a thread that uses less than this part of a processor sleeps."""

_STACK_FRAMES_MAX: Final = 12

_foreign: ContextVar[str | None] = ContextVar("foreign_code", default=None)


class BlockedLoopError(FatalTaskError):
    """Plugin code has blocked the event loop and was interrupted."""


@contextlib.contextmanager
def foreign(doing: str) -> Iterator[None]:
    """Mark plugin code, by what it does: ``starting connector s``. Jobs started inside inherit.

    Raises:
        EscapeError: the code raised what would have ended the worker (``plugins.containment``).
    """
    token = _foreign.set(doing)
    try:
        with containment.contained(doing):
            yield
    finally:
        _foreign.reset(token)


@dataclass(frozen=True)
class Limits:
    """How long plugin code may block, in seconds."""

    waiting_s: float = WAITING_MAX_S
    working_s: float = WORKING_MAX_S


class LoopWatch:
    """Watches the running loop, which must be that of the main thread: only it takes signals."""

    def __init__(self, limits: Limits = Limits(), window: WindowSettings | None = None) -> None:
        """``window``: over how long ``lateness_max_s`` looks."""
        self._limits = limits
        self._window = window or WindowSettings()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pulse = 0
        self._pulse_timer: asyncio.TimerHandle | None = None
        self._pulse_due_s = 0.0
        self._lateness: Window | None = None
        self.pulses = self.pulses_late = 0
        """So far, and those of them that came more than ``LATE_S`` late."""
        self._suspect: asyncio.Task[Any] | None = None
        self._blocked_s = 0.0
        self._is_stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._handler_before: Any = signal.SIG_DFL

    def start(self) -> None:
        """Begin to watch; without effect when the loop runs in another thread than the main one."""
        if threading.current_thread() is not threading.main_thread():
            return
        self._loop = asyncio.get_running_loop()
        self._handler_before = signal.signal(signal.SIGURG, self._interrupt)
        self._beat()
        self._thread = threading.Thread(target=self._watch, name="loop-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End watching. Idempotent."""
        self._is_stopped.set()
        if self._pulse_timer is not None:
            self._pulse_timer.cancel()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            signal.signal(signal.SIGURG, self._handler_before)

    def lateness_max_s(self) -> float:
        """How late a pulse was at worst, over the window; NaN when nothing is watched."""
        if self._lateness is None:
            return math.nan
        return self._lateness.maximum(asyncio.get_running_loop().time())

    def _beat(self) -> None:
        self._pulse += 1
        loop = asyncio.get_running_loop()
        now_s = loop.time()
        if self._lateness is None:
            self._lateness = Window(self._window, now_s)
        else:
            late_s = max(0.0, now_s - self._pulse_due_s)
            self._lateness.record(late_s, now_s)
            self.pulses += 1
            self.pulses_late += late_s > LATE_S
        self._pulse_due_s = now_s + PULSE_S
        self._pulse_timer = loop.call_later(PULSE_S, self._beat)

    # -- the watching thread --------------------------------------------------------------------

    def _watch(self) -> None:
        main_id, kernel_id = threading.main_thread().ident, threading.main_thread().native_id
        assert main_id is not None, "the main thread runs"
        processor_clock = time.pthread_getcpuclockid(main_id)
        pulse, stall = -1, _Stall()
        while not self._is_stopped.wait(PULSE_S):
            used_s = time.clock_gettime(processor_clock)
            if self._pulse != pulse:
                pulse, stall = self._pulse, _Stall(used_from_s=used_s)
                continue
            stall.looks += 1
            worked_s = used_s - stall.used_from_s
            is_asleep = _is_asleep(kernel_id)
            if is_asleep is None:
                is_asleep = worked_s < stall.looks * PULSE_S * _IDLE_BELOW
            stall.looks_asleep += is_asleep
            self._judge(stall, worked_s, main_id)

    def _judge(self, stall: _Stall, worked_s: float, main_id: int) -> None:
        waited_s = stall.looks_asleep * PULSE_S
        waits = waited_s - stall.waited_from_s >= self._limits.waiting_s
        if not waits and worked_s - stall.worked_from_s < self._limits.working_s:
            return
        stall.waited_from_s, stall.worked_from_s = waited_s, worked_s
        job, frames = asyncio.current_task(self._loop), frames_of(main_id)
        blocked_s = stall.looks * PULSE_S
        self._suspect, self._blocked_s = job, blocked_s
        signal.pthread_kill(main_id, signal.SIGURG)
        if not stall.is_reported:
            stall.is_reported = True
            _log.warning(
                "the event loop is blocked: nothing else is served meanwhile",
                job=None if job is None else job.get_name(),
                blocked_s=round(blocked_s, 1),
                waits=waits,
                frames=frames,
            )

    # -- the loop's thread ----------------------------------------------------------------------

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        suspect, self._suspect = self._suspect, None
        doing = _foreign.get()
        if suspect is None or doing is None or asyncio.current_task() is not suspect:
            return  # it has moved on meanwhile, or it is our own code
        place = "" if frame is None else f" in {frame.f_code.co_filename}:{frame.f_lineno}"
        raise BlockedLoopError(
            f"{doing}: blocked the worker's event loop for {self._blocked_s:.1f} s{place} and was "
            "interrupted; plugin code that waits must await, or wait in a thread"
        )


@dataclass
class _Stall:
    """One time in which the loop does not turn, as the watching thread sees it."""

    used_from_s: float = 0.0
    looks: int = 0
    looks_asleep: int = 0
    is_reported: bool = False
    waited_from_s: float = 0.0
    worked_from_s: float = 0.0


def _is_asleep(kernel_id: int | None) -> bool | None:
    """Whether a thread of this process sleeps (interruptibly); None: this system does not tell."""
    try:
        status = Path(f"/proc/self/task/{kernel_id}/stat").read_text(encoding="utf-8")
    except OSError:
        return None
    state = status.rpartition(")")[2].split()[0]  # the name before it may have anything in it
    return state == "S"


def frames_of(thread_id: int) -> list[str]:
    """Where a thread stands, innermost last; empty when it has ended."""
    frame = sys._current_frames().get(thread_id)
    frames = traceback.extract_stack(frame)[-_STACK_FRAMES_MAX:] if frame is not None else []
    return [f"{each.filename}:{each.lineno} {each.name}" for each in frames]
