"""An event loop whose time jumps: tests of hours run in milliseconds and never sleep.

``run_virtual(coroutine)`` runs it to its end. When every job waits for a timer, the clock jumps to
the earliest one. File descriptors and threads still work: pending I/O is looked at before a jump.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            # No timer is due, ever: only a thread or a socket can wake the loop. Bounded, so that
            # a test that waits for nothing is stopped by pytest's timeout with a useful trace.
            return super().select(1.0)
        events = super().select(0)
        if not events and timeout > 0:
            self.now_s += timeout
        return events


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """The selector loop on virtual time, which starts at 0."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now_s


def run_virtual(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on virtual time; jobs left over are cancelled."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(work)
