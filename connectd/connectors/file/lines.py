"""Cuts a stream of bytes into lines, however the bytes arrive.

A line ends with ``\\n``, ``\\r\\n`` or ``\\r``. Two things wait for more bytes: a last line without
an end, and a last ``\\r``, which may be half of ``\\r\\n`` (spec kafka-connect F.4). The same bytes
give the same lines and positions in whatever pieces they are fed. Pure.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from connectd.errors import FatalTaskError

LINE_BYTES_MAX: Final = 64 * 1024 * 1024
"""A line without an end must not eat the memory of the worker; no broker takes such a record."""

_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}".encode()

_END: Final = re.compile(rb"\r\n|\n|\r(?!\Z)")


def text_of(line: bytes) -> str:
    """A line as text; what is no UTF-8 becomes replacement characters, as many as Java's reader
    puts there."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        # An encoded surrogate is one wrong character for Java, and three wrong bytes for Python.
        return _SURROGATE.sub(_REPLACEMENT, line).decode("utf-8", errors="replace")


class Line(NamedTuple):
    """A line without its end, and the position behind that end."""

    data: bytes
    position: int


class LineSplitter:
    """``position`` counts the bytes of all lines taken, their ends included, from ``start`` on."""

    def __init__(self, start: int = 0) -> None:
        self.position = start
        self._waiting = bytearray()
        self._searched = 0

    @property
    def read_position(self) -> int:
        """The position behind the last byte that was fed."""
        return self.position + len(self._waiting)

    def feed(self, data: bytes) -> None:
        """Add the next bytes.

        Raises:
            FatalTaskError: the line at hand is too long.
        """
        self._waiting += data
        if self._searched > LINE_BYTES_MAX:
            raise FatalTaskError(
                f"line at byte {self.position} has more than {LINE_BYTES_MAX} bytes and no end; "
                "is this a text file?"
            )

    def take(self, lines_max: int) -> list[Line]:
        """The next complete lines; none: feed more."""
        lines: list[Line] = []
        waiting, begin, search = self._waiting, 0, self._searched
        while len(lines) < lines_max:
            end = _END.search(waiting, search)
            if end is None:
                # A last \r is looked at again, together with what comes after it.
                search = len(waiting) - waiting.endswith(b"\r")
                break
            data = bytes(waiting[begin : end.start()])
            begin = search = end.end()
            lines.append(Line(data, self.position + begin))
        self.position += begin
        self._searched = search - begin
        del waiting[:begin]
        return lines
