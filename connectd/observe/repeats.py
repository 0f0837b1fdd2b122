"""Holds back lines that repeat: a fault in a loop must not bury everything else.

Lines are the same when logger, level, message and the context (connector, task, table) are; other
fields may differ. In a window of ``WINDOW_S`` the first ``LINES_MAX`` of them pass, the others are
counted; the next line that passes carries the count. Lines below INFO always pass: who switches
DEBUG on wants them all. So do those of ``EVERY_LINE``.

Not thread-safe: its owner, the log handler, calls it under the handler's own lock. Time is that of
the log record.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

WINDOW_S: Final = 60.0
LINES_MAX: Final = 20
KINDS_MAX: Final = 2_000  # kinds of lines remembered; the one seen longest ago is forgotten
EVERY_LINE: Final = frozenset({("connectd.pipeline.failure_reports", logging.ERROR)})
"""Loggers and levels of which each line counts: with ``errors.log.enable`` it is the only trace of
a record that was skipped."""

_CONTEXT: Final = ("connector", "task", "table")


@dataclass
class _Window:
    opened_s: float
    lines: int = 0
    suppressed: int = 0


@dataclass(frozen=True)
class RepeatStatistics:
    """``suppressed`` counts all lines held back since the start."""

    kinds: int
    suppressed: int


class RepeatGate:
    """Decides for each record whether it is written."""

    def __init__(self) -> None:
        self._windows: OrderedDict[tuple[object, ...], _Window] = OrderedDict()
        self._suppressed = 0

    def admit(self, record: logging.LogRecord) -> int | None:
        """None: hold it back. Else write it, after so many of its kind were held back."""
        if record.levelno < logging.INFO or (record.name, record.levelno) in EVERY_LINE:
            return 0
        window = self._window(_kind(record), record.created)
        if window.lines >= LINES_MAX:
            window.suppressed += 1
            self._suppressed += 1
            return None
        window.lines += 1
        suppressed, window.suppressed = window.suppressed, 0
        return suppressed

    def statistics(self) -> RepeatStatistics:
        """What is remembered and what was held back."""
        return RepeatStatistics(len(self._windows), self._suppressed)

    def _window(self, kind: tuple[object, ...], now_s: float) -> _Window:
        window = self._windows.get(kind)
        if window is None:
            window = self._windows[kind] = _Window(now_s)
            if len(self._windows) > KINDS_MAX:
                self._windows.popitem(last=False)
        elif not window.opened_s <= now_s < window.opened_s + WINDOW_S:  # also a clock set back
            window.opened_s, window.lines = now_s, 0
        self._windows.move_to_end(kind)
        return window


def _kind(record: logging.LogRecord) -> tuple[object, ...]:
    message = record.msg
    if isinstance(message, dict):  # written through structlog
        context = tuple(str(message.get(name)) for name in _CONTEXT)
        return (record.name, record.levelno, str(message.get("event")), *context)
    return (record.name, record.levelno, str(message))
