"""Bytes that are made once with marks in them, and filled with other texts from then on.

Whoever makes many values that differ in some texts alone makes one of them the long way, with
``MARKS`` in the place of those texts, and cuts the bytes open where they stand: a ``Pattern``. What
a text looks like between the bytes is the ``TextForm`` of its format. A mark is a text that nobody
can guess, so nothing else is taken for one. Whoever looks into a text asks ``read`` for it first:
what a mark says is not what the texts say that it stands for. Pure.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from connectd.errors import InvariantError, RecordError
from connectd.model import java_json
from connectd.model.schema import Struct

MARKS_MAX: Final = 8

_MARK_BYTES: Final = 40
"""As hexadecimal digits they are more than 63 characters: Avro's size of a mark has two bytes."""

MARKS: Final = tuple(secrets.token_hex(_MARK_BYTES) for _ in range(MARKS_MAX))
"""Texts to be replaced, other ones in each process."""

_MARK_SIZE: Final = len(MARKS[0])
_MARKS: Final = frozenset(MARKS)
_POSITION_BY_MARK: Final = {mark.encode(): at for at, mark in enumerate(MARKS)}
_ANY_MARK: Final = re.compile(b"(%b)" % b"|".join(_POSITION_BY_MARK))


class MarkedTextError(RecordError):
    """Somebody has to know what a text says that a mark stands for."""


def read(text: str) -> str:
    """A text, to be looked into.

    Raises:
        MarkedTextError: it stands for others.
    """
    if len(text) == _MARK_SIZE and text in _MARKS:
        raise MarkedTextError("a text is looked into that stands for others")
    return text


def are_in(value: object) -> bool:
    """Whether a value, Connect data, has marks in it at any depth."""
    match value:
        case str():
            return len(value) >= _MARK_SIZE and any(mark in value for mark in MARKS)
        case Struct():
            return any(map(are_in, value.values))
        case dict():
            return any(map(are_in, value)) or any(map(are_in, value.values()))
        case list() | tuple():
            return any(map(are_in, value))
    return False


class TextForm(Enum):
    """How a format writes a text wherever one may stand, whatever the text is."""

    JSON = "a JSON string, as ``java_json.dumps`` writes it"
    COUNTED = "its size in bytes as a zig-zag variable-length integer, and UTF-8: Avro's string"
    BARE = "UTF-8 and nothing else"


Fill = Callable[[Sequence[Any]], bytes]
"""Writes the bytes for texts, by the positions of their marks."""


@dataclass(frozen=True)
class Pattern:
    """The bytes around marks: ``pieces[i]`` stands before the text of ``marks[i]``, one behind."""

    pieces: tuple[bytes, ...]
    marks: tuple[int, ...]

    def fill(self, encoders: Sequence[Callable[[Any], bytes]]) -> Fill:
        """What writes these bytes with other texts; ``encoders`` give texts their form, by mark."""
        pieces, marks = self.pieces, self.marks
        if not marks:
            return lambda texts: pieces[0]
        if len(marks) == 1:
            (mark,), (head, tail) = marks, pieces
            encode = encoders[mark]
            return lambda texts: head + encode(texts[mark]) + tail
        head, steps = pieces[0], [(at, encoders[at]) for at in marks]
        tails = pieces[1:]

        def fill_all(texts: Sequence[Any]) -> bytes:
            filled = head
            for (at, encode), tail in zip(steps, tails, strict=True):
                filled += encode(texts[at]) + tail
            return filled

        return fill_all


def cut(data: bytes, form: TextForm) -> Pattern | None:
    """The bytes, open where marks stand; None: one of them does not stand there in that form."""
    found = _ANY_MARK.split(data)
    pieces, marks = found[::2], tuple(_POSITION_BY_MARK[mark] for mark in found[1::2])
    before, behind = _around(form)
    for at in range(len(marks)):
        if not pieces[at].endswith(before) or not pieces[at + 1].startswith(behind):
            return None
        pieces[at] = pieces[at].removesuffix(before)
        pieces[at + 1] = pieces[at + 1].removeprefix(behind)
        if form is TextForm.JSON and pieces[at].endswith(b"\\"):
            return None  # a string inside of a string
    return Pattern(tuple(pieces), marks)


def _around(form: TextForm) -> tuple[bytes, bytes]:
    """What a format writes before and behind a mark."""
    mark = MARKS[0].encode()
    before, found, behind = text_encoder(form)(MARKS[0]).partition(mark)
    if not found:
        raise InvariantError(f"{form} does not show a mark as it is")
    return before, behind


def text_encoder(form: TextForm) -> Callable[[str], bytes]:
    """What gives any text the form; half a character is a ``ValueError`` or ``TypeError``."""
    match form:
        case TextForm.JSON:
            return java_json.dumps
        case TextForm.COUNTED:
            return lambda text: _counted(text.encode())
        case TextForm.BARE:
            return str.encode


def utf8_encoder(form: TextForm) -> Callable[[bytes], bytes]:
    """The same for a text without control characters that is given as UTF-8."""
    match form:
        case TextForm.JSON:
            return java_json.quoted
        case TextForm.COUNTED:
            return _counted
        case TextForm.BARE:
            return bytes


def _counted(utf8: bytes) -> bytes:
    size = len(utf8) << 1  # zig-zag: never negative
    if size < 0x80:
        return _SIZES[size] + utf8
    if size < 0x4000:
        return _SIZES[size & 0x7F | 0x80] + _SIZES[size >> 7] + utf8
    written = bytearray()
    while size >= 0x80:
        written.append(size & 0x7F | 0x80)
        size >>= 7
    written.append(size)
    return bytes(written) + utf8


_SIZES: Final = tuple(bytes([number]) for number in range(0x100))
