"""No orphan: a driver ends, with its JVM, when the daemon that started it is gone.

The daemon names itself by pid and start time (``scan_job.PARENT_ENV``), so a process that got the
pid later is not taken for it. Twice a second a thread looks. The end is hard, since there is nobody
left to tell anything: SIGKILL for the driver's process group, which the daemon has made for it and
in which the JVM is too; Python workers end by themselves when their JVM is gone. Where the group is
not the driver's own, it kills its JVM and itself.

A driver that spark-submit has started is the JVM's child; it ends as well when that is gone.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from connectd.connectors.dynamodb.scan_job import PARENT_ENV
from connectd.errors import ConfigError

_LOOK_S: Final = 0.5
_GATEWAY_ENV: Final = "PYSPARK_GATEWAY_PORT"
"""Set by the JVM of spark-submit for the Python program that it starts."""


@dataclass(frozen=True)
class Parent:
    """A process as nobody else can be: its pid and when it started."""

    pid: int
    started: int

    @classmethod
    def parse(cls, text: str) -> Parent:
        """Of ``<pid>:<start time>``.

        Raises:
            ConfigError: it is not that.
        """
        pid, colon, started = text.partition(":")
        if not (colon and pid.isdecimal() and started.isdecimal()):
            raise ConfigError(f"{PARENT_ENV} is {text!r}, expected <pid>:<start time>")
        return cls(int(pid), int(started))

    def is_alive(self) -> bool:
        """Whether that very process is there; one that is only waited for by its own parent is
        not."""
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return False
        # The second field is the program's name, which may hold blanks and parentheses.
        fields = stat.rpartition(")")[2].split()
        return fields[0] not in ("Z", "X") and int(fields[19]) == self.started


class ParentWatch:
    """The thread; ``start`` it once. Without ``PARENT_ENV`` it watches the JVM alone."""

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        end: Callable[[], None] | None = None,
        look_s: float = _LOOK_S,
    ) -> None:
        """``end`` is called when nobody wants this process any more.

        Raises:
            ConfigError: ``PARENT_ENV`` is not what it should be.
        """
        text = environment.get(PARENT_ENV)
        self._parent = Parent.parse(text) if text else None
        self._jvm_pid = os.getppid() if _GATEWAY_ENV in environment else None
        self._end = end or self._kill_everything
        self._look_s = look_s
        self._is_over = threading.Event()
        self._owns_group = self._parent is not None and _group_of(self._parent.pid) != os.getpgrp()
        self._thread = threading.Thread(target=self._watch, name="parent-watch", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._is_over.set()

    def _watch(self) -> None:
        while not self._is_over.wait(self._look_s):
            if self._is_alone():
                self._end()
                return

    def _is_alone(self) -> bool:
        if self._parent is not None and not self._parent.is_alive():
            return True
        return self._jvm_pid is not None and os.getppid() != self._jvm_pid

    def _kill_everything(self) -> None:
        if self._owns_group:
            os.killpg(os.getpgrp(), signal.SIGKILL)
        if self._jvm_pid is not None and os.getppid() == self._jvm_pid:
            os.kill(self._jvm_pid, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None
