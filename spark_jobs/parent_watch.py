"""A driver that spark-submit has started ends when its parent is gone: the JVM.

Twice a second a thread looks. The end is hard: without its JVM a driver can do nothing, and Python
workers end by themselves. That all of it ends when the daemon is killed is not its business: the
guard of its session does that, from the first moment on (``connectd.aio.session_guard``).
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Mapping
from typing import Final

_LOOK_S: Final = 0.5
_GATEWAY_ENV: Final = "PYSPARK_GATEWAY_PORT"
"""Set by the JVM of spark-submit for the Python program that it starts."""


class ParentWatch:
    """The thread; ``start`` it once. A program that no JVM has started is not watched."""

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        end: Callable[[], None] | None = None,
        look_s: float = _LOOK_S,
    ) -> None:
        """``end`` is called when the JVM is gone."""
        self._jvm_pid = os.getppid() if _GATEWAY_ENV in environment else None
        self._end = end or _kill_this
        self._look_s = look_s
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="parent-watch", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._is_over.set()

    def _watch(self) -> None:
        while self._jvm_pid is not None and not self._is_over.wait(self._look_s):
            if os.getppid() != self._jvm_pid:
                self._end()
                return


def _kill_this() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
