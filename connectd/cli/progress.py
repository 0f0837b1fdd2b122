"""One line on standard error that says how far something is; nothing where nobody watches."""

from __future__ import annotations

import sys
import time
from typing import Final

_INTERVAL_S: Final = 0.1
_WIDTH: Final = 30


class ProgressLine:
    """Draws over itself; ``clear`` takes the line away before anything else is printed."""

    def __init__(self) -> None:
        self._is_watched = sys.stderr.isatty()
        self._drawn_at = 0.0
        self._length = 0

    def __call__(self, step: str, done: int, total: int | None) -> None:
        """Show a step; ``total`` None: nobody knows how much there is."""
        now = time.monotonic()
        if not self._is_watched or now - self._drawn_at < _INTERVAL_S:
            return
        self._drawn_at = now
        self._draw(line(step, done, total))

    def clear(self) -> None:
        """Remove what is drawn."""
        if self._length:
            self._draw("")

    def _draw(self, text: str) -> None:
        try:
            print(f"\r{text.ljust(self._length)}\r{text}", end="", file=sys.stderr, flush=True)
        except OSError:  # the terminal is gone
            self._is_watched, text = False, ""
        self._length = len(text)


def line(step: str, done: int, total: int | None) -> str:
    """The text of a step."""
    if not total:
        return f"{step}  {done:,}" if done else step
    share = min(done / total, 1.0)
    filled = int(share * _WIDTH)
    return f"{step}  [{'#' * filled}{'.' * (_WIDTH - filled)}] {share:4.0%}  {done:,} of {total:,}"
