"""Ctrl-C, and the signals that ask a program to end, from the first moment to the last.

While modules are loaded and a command line is read nobody knows yet what an interrupt would
interrupt, so it waits (``HeldInterrupts``) until the command can answer with an exit code of its
own. Light, since it is loaded before everything else.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

HELD = (signal.SIGINT, signal.SIGTERM)
"""What waits. The first process of a container does not hear SIGTERM without a handler of its own:
it would be lost."""


class HeldInterrupts:
    """Holds them from when it is made until ``let_go``; used in the main thread.

    A signal that somebody ignores, as ``nohup`` and shells do for programs in the background, stays
    ignored.
    """

    def __init__(self) -> None:
        self._came = False
        self._before = {
            each: handler
            for each in HELD
            if (handler := signal.getsignal(each)) in (signal.SIG_DFL, signal.default_int_handler)
        }
        for each in self._before:
            signal.signal(each, self._on_signal)

    def let_go(self) -> None:
        """From here on signals do what they did before.

        Raises:
            KeyboardInterrupt: one has come.
        """
        self.close()
        if self._came:
            raise KeyboardInterrupt

    def close(self) -> None:
        """As ``let_go``, and what has come is forgotten: there is nothing to interrupt."""
        before, self._before = self._before, {}
        for each, handler in before.items():
            signal.signal(each, handler)

    def _on_signal(self, _: int, __: FrameType | None) -> None:
        self._came = True


@contextmanager
def asked_to_end() -> Iterator[Sequence[int]]:
    """Within, SIGTERM and SIGHUP interrupt as Ctrl-C does, unless they are ignored; gives those."""
    before = {
        each: handler
        for each in (signal.SIGTERM, signal.SIGHUP)
        if (handler := signal.getsignal(each)) is not signal.SIG_IGN
    }
    try:
        for each in before:
            signal.signal(each, signal.default_int_handler)
        yield tuple(before)
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def forget_interrupt() -> None:
    """Let the exit code count, wherever the interrupt was raised.

    Code that a library in C runs as text while it is loaded (``PyRun_String``) leaves a mark when
    it is interrupted, by which Python ends itself with SIGINT although the interrupt was caught.
    The next such run, of nothing, takes the mark away.
    """
    import ctypes

    ctypes.pythonapi.PyRun_SimpleString(b"")
