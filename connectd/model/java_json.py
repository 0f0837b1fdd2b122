"""JSON as the JVM worker writes it: compact, UTF-8, Jackson's escapes, Java's notation of doubles.

Three places need the very same bytes: JsonConverter, the documents of DynamoDB items, and the
records of the internal topics, whose keys are compared as bytes (spec kafka-connect C.3, E.2.1;
spec dynamodb-connector 4.4). Pure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal

import orjson

from connectd.model import java_text

_ASTRAL = re.compile(rb"[\xf0-\xf4][\x80-\xbf]{3}")
"""A character that Java keeps as a pair of surrogates, in UTF-8."""

_BACKSLASH = 0x5C
_CONTROL_ESCAPE = b"\\u00"
_ESCAPE = re.compile(rb"\\(?:u00[0-9a-f]{2}|.)")


def dumps(value: object) -> bytes:
    """The bytes of plain Python data; doubles must have gone through ``double`` before.

    Jackson writes characters beyond U+FFFF as escapes when it writes bytes: ``\\uD83D\\uDE00``.

    Raises:
        TypeError: it cannot be written: another type, an unpaired surrogate, an integer of more
            than 64 bits, or nested too deep.
    """
    text = orjson.dumps(value)
    if text.isascii() and _BACKSLASH not in text:
        return text  # nothing in it that Jackson writes in another way
    return _with_escaped_pairs(_with_upper_hex(text))


def dumps_text(value: object) -> bytes:
    """As ``dumps``, for JSON that becomes text inside of other data: no such escapes.

    Raises:
        TypeError: as ``dumps``.
    """
    text = orjson.dumps(value)
    return _with_upper_hex(text) if _BACKSLASH in text else text


def quoted(text: bytes) -> bytes:
    """``dumps`` of a text without control characters, given as UTF-8."""
    quoted_text = orjson.dumps(text.decode())
    return quoted_text if text.isascii() else _with_escaped_pairs(quoted_text)


def quoted_parts(texts: Sequence[bytes]) -> list[bytes]:
    """What ``quoted`` makes of each, without the quotes around it."""
    escaped = b"\n".join(texts).replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    return (escaped if escaped.isascii() else _with_escaped_pairs(escaped)).split(b"\n")


def _with_upper_hex(text: bytes) -> bytes:
    # orjson writes \\u001f, Jackson \\u001F. Escapes are matched whole, so that an escaped
    # backslash in front of the letters "u001f" stays what it is.
    return _ESCAPE.sub(_upper_hex, text) if _CONTROL_ESCAPE in text else text


def _with_escaped_pairs(text: bytes) -> bytes:
    # Five looks for a byte, written out, are many times cheaper than one search for a pattern.
    has_pairs = 0xF0 in text or 0xF1 in text or 0xF2 in text or 0xF3 in text or 0xF4 in text
    return _ASTRAL.sub(_escaped_pair, text) if has_pairs else text


def _escaped_pair(character: re.Match[bytes]) -> bytes:
    units = character[0].decode().encode("utf-16-be").hex().upper()
    return f"\\u{units[:4]}\\u{units[4:]}".encode("ascii")


def _upper_hex(escape: re.Match[bytes]) -> bytes:
    found = escape[0]
    return b"\\u" + found[2:].upper() if found[1:2] == b"u" else found


def double(value: float) -> object:
    """A number as ``Double.toString`` writes it, or the name of one that JSON lacks, as text."""
    text = java_text.double(value)
    return orjson.Fragment(text) if math.isfinite(value) else text


def single(value: float) -> object:
    """The same of a single-precision number.

    Raises:
        ConvertError: it is out of their range.
    """
    text = java_text.single(value)
    return orjson.Fragment(text) if math.isfinite(value) else text


def number(value: Decimal) -> object:
    """A decimal with all of its digits, in the form of ``BigDecimal.toString``."""
    return orjson.Fragment(str(value))
