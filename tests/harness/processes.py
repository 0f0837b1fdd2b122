"""Programs that a test or the demo starts: one log file each, bounded waits, ended by their pid.

Who calls it: the broker, ministack and worker modules. A ``ManagedProcess`` owns its
operating-system process from ``start`` to the end. Invariants: nothing is waited for without a
deadline, a failure shows the end of the program's own log, and a process that is still there when
the interpreter exits is killed (`atexit`), so that no run leaves an orphan.

Children run in a session of their own: a Ctrl-C in the terminal reaches only the program that
started them, which then stops them in order.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import random
import signal
import socket
import subprocess
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Self

LOG_TAIL_LINES = 40
POLL_INTERVAL_S = 0.02
EXIT_AFTER_KILL_S = 10.0
STOPPED_WITHIN_S = 5.0


class HarnessError(Exception):
    """A real part could not be started, reached or stopped; the message ends with its log."""


class NotOursError(HarnessError):
    """Asked to stop, kill or pause a process that this run did not start."""


_alive: weakref.WeakSet[ManagedProcess] = weakref.WeakSet()


@atexit.register
def _kill_what_is_left() -> None:
    for process in list(_alive):
        process.kill()


class ManagedProcess:
    """One child process, its log file and the signals it is sent."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        *,
        log_path: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        """``env`` is added to this process's environment; output is appended to ``log_path``."""
        self.name = name
        self.log_path = log_path
        self._argv = list(argv)
        self._env = {**os.environ, **(env or {})}
        self._cwd = cwd
        self._child: subprocess.Popen[bytes] | None = None
        self._paused = False

    @property
    def pid(self) -> int:
        """The process id; raises HarnessError before the first start."""
        return self._started().pid

    @property
    def running(self) -> bool:
        """Whether the process has been started and has not ended (a paused one runs)."""
        return self._child is not None and self._child.poll() is None

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative when a signal ended it, as in ``subprocess``."""
        return self._started().poll()

    def start(self) -> None:
        """Start the program; a second start after its end starts it anew."""
        if self.running:
            raise HarnessError(f"{self.name} already runs as pid {self.pid}; stop it first.")
        with self.log_path.open("ab") as log:
            self._child = subprocess.Popen(
                self._argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._env,
                cwd=self._cwd,
                start_new_session=True,
            )
        self._paused = False
        _alive.add(self)

    def wait_until(self, ready: Callable[[], bool], *, what: str, deadline_s: float) -> None:
        """Poll ``ready`` until it is true.

        Raises HarnessError with the log when the process ends first or ``deadline_s`` passes.
        """

        def ready_while_alive() -> bool:
            if not self.running:
                code = self.exit_code
                raise self.failure(f"ended with exit code {code} while waiting for {what}")
            return ready()

        if not wait_for(ready_while_alive, deadline_s=deadline_s):
            raise self.failure(f"{what} did not happen within {deadline_s:g} s")

    def stop(self, *, grace_s: float) -> int:
        """SIGTERM, wait ``grace_s``, then SIGKILL; returns the exit code (negative: by signal)."""
        if self.running:
            if self._paused:
                self.resume()
            self._started().terminate()
            try:
                self._started().wait(grace_s)
            except subprocess.TimeoutExpired:
                self.kill()
        _alive.discard(self)
        return self.wait_exit(deadline_s=EXIT_AFTER_KILL_S)

    def wait_exit(self, *, deadline_s: float) -> int:
        """Wait for the process's own end; returns the exit code."""
        try:
            return self._started().wait(deadline_s)
        except subprocess.TimeoutExpired as late:
            raise self.failure(f"still runs after {deadline_s:g} s; expected its end") from late

    def kill(self) -> None:
        """SIGKILL, and wait until the process is gone. Harmless on one that has ended."""
        if self.running:
            self._started().kill()
            self._started().wait(EXIT_AFTER_KILL_S)
        _alive.discard(self)

    def send_signal(self, number: signal.Signals) -> None:
        """Send one signal; raises HarnessError when the process has ended."""
        if not self.running:
            raise self.failure(f"ended before it could be sent {number.name}")
        self._started().send_signal(number)

    def pause(self) -> None:
        """SIGSTOP: the process keeps its sockets and answers nothing once this returns."""
        self.send_signal(signal.SIGSTOP)
        self._paused = True
        if not wait_for(self._is_stopped, deadline_s=STOPPED_WITHIN_S):
            raise self.failure(f"was not stopped {STOPPED_WITHIN_S:g} s after SIGSTOP")

    def resume(self) -> None:
        """SIGCONT after ``pause``."""
        self.send_signal(signal.SIGCONT)
        self._paused = False

    def log_tail(self, lines: int = LOG_TAIL_LINES) -> str:
        """The last lines that the program wrote."""
        if not self.log_path.exists():
            return "(no log)"
        text = self.log_path.read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-lines:]) or "(the log is empty)"

    def failure(self, found: str) -> HarnessError:
        """An error about this process that ends with its log."""
        return HarnessError(
            f"{self.name}: {found}.\n--- end of {self.log_path} ---\n{self.log_tail()}"
        )

    def _is_stopped(self) -> bool:
        child = self._started()
        pid, status = os.waitpid(child.pid, os.WNOHANG | os.WUNTRACED)
        if pid and not os.WIFSTOPPED(status):
            child.returncode = os.waitstatus_to_exitcode(status)
            raise self.failure(f"ended with exit code {child.returncode} while being paused")
        return bool(pid)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            raise HarnessError(f"{self.name} has not been started; call start() first.")
        return self._child


class RealPart(ABC):
    """Something that ``start`` brings up and ``close`` takes away; for ``with`` and ``async with``.

    A start that fails is closed before its error travels on.
    """

    @abstractmethod
    def start(self) -> None:
        """Bring it up and wait, within a deadline, until it is ready."""

    @abstractmethod
    def close(self) -> None:
        """Take away what this object started; harmless when nothing was started."""

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)


def wait_for(ready: Callable[[], bool], *, deadline_s: float) -> bool:
    """Poll ``ready`` every 20 ms; True as soon as it is true, False after ``deadline_s``."""
    give_up_at = time.monotonic() + deadline_s
    while not ready():
        if time.monotonic() > give_up_at:
            return False
        time.sleep(POLL_INTERVAL_S)
    return True


def sigterm_is_ctrl_c() -> None:
    """Let SIGTERM end this program as Ctrl-C does, so that it stops its children on the way."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


PORTS: Final = (10_000, 32_000)
"""Below the ports that kernels give to connections: 32,768 on Linux, 49,152 elsewhere."""


def free_ports(count: int) -> list[int]:
    """Distinct free ports of 127.0.0.1, where nobody gets one by chance before they are used.

    Below those that the kernel hands out by itself: it gives such a port to any connection, and a
    server that starts a second later, or again after a kill, finds it taken.
    """
    free: list[int] = []
    while len(free) < count:
        port = random.SystemRandom().randint(*PORTS)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            if port not in free:
                free.append(port)
    return free


def accepts_connections(host: str, port: int) -> bool:
    """Whether something listens on the port."""
    try:
        with socket.create_connection((host, port), timeout=1.0):
            return True
    except OSError:
        return False
