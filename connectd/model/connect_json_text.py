"""The text of JSON as Kafka's JsonConverter reads it: with Jackson, and with its leniency.

Numbers may begin with zeros. What follows the first value is not looked at, when it cannot belong
to it. Of two members with one name the last one counts. A number with a point or an exponent
keeps all of its digits. The encoding is found out from the first bytes. ``NaN``, comments and
trailing commas are refused (spec kafka-connect E.2.3).

Bounded: depth, and digits of a number (Jackson's own bound, which keeps hostile input cheap).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Final

DEPTH_MAX: Final = 200
"""Less than Jackson's 1000, so that Python's stack is enough in any thread."""

_DIGITS_MAX: Final = 1000
_SCALE_MAX: Final = (1 << 31) - 1
_BLANKS: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_LITERAL: Final = re.compile(r"(true|false|null)(?![\w$])")
_PLAIN: Final = re.compile(r'[^"\\\x00-\x1f\udc80-\udcff]*')
_ESCAPE: Final = re.compile(r'\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4}))')
_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_ESCAPED: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LITERALS: Final = {"true": True, "false": False, "null": None}


class Missing(Enum):
    """What an empty text stands for: no value at all, which is not ``null``."""

    MISSING = "missing"


JsonNode = None | bool | int | Decimal | str | list["JsonNode"] | dict[str, "JsonNode"] | Missing


class JsonTextError(ValueError):
    """The text is no JSON."""


def parse(data: bytes) -> JsonNode:
    """The first value of the text; ``Missing`` when it is blank.

    Raises:
        JsonTextError: it is malformed, or beyond a bound.
    """
    # Bytes that are no text become lone surrogates, which strings refuse; behind the value they
    # do not matter.
    try:
        text = data.decode(json.detect_encoding(data), errors="surrogateescape")
    except UnicodeDecodeError as error:
        raise JsonTextError(str(error)) from error
    reader = _Reader(text)
    return Missing.MISSING if reader.is_at_end() else reader.root()


def _number(text: str, *, is_whole: bool) -> int | Decimal:
    digits = sum(map(str.isdigit, text)) if len(text) > _DIGITS_MAX else 0
    if digits > _DIGITS_MAX:
        raise JsonTextError(f"a number has {digits} digits, {_DIGITS_MAX} at most")
    if is_whole:
        return int(text)
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise JsonTextError(f"the exponent of {text} is out of range") from None
    if abs(int(number.as_tuple().exponent)) > _SCALE_MAX:
        raise JsonTextError(f"the exponent of {text} is out of range")
    return number if number else number.copy_abs()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._blanks()

    def is_at_end(self) -> bool:
        return self._at >= len(self._text)

    def root(self) -> JsonNode:
        is_number = self._text[self._at] in "-0123456789"
        value = self._value()
        if is_number and not self.is_at_end() and not self._blanks():
            raise self._unexpected()
        return value

    def _value(self) -> JsonNode:
        match self._text[self._at : self._at + 1]:
            case "{":
                return self._nested(self._object)
            case "[":
                return self._nested(self._array)
            case '"':
                return self._string()
        number = _NUMBER.match(self._text, self._at)
        if number is not None:
            self._at = number.end()
            return _number(number[0], is_whole=number[1] is None and number[2] is None)
        literal = _LITERAL.match(self._text, self._at)
        if literal is None:
            raise self._unexpected()
        self._at = literal.end()
        return _LITERALS[literal[1]]

    def _nested(self, read: Callable[[], JsonNode]) -> JsonNode:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise JsonTextError(f"nested deeper than {DEPTH_MAX} levels")
        self._at += 1
        found = read()
        self._depth -= 1
        return found

    def _array(self) -> list[JsonNode]:
        elements: list[JsonNode] = []
        if self._takes("]"):
            return elements
        while True:
            self._blanks()
            elements.append(self._value())
            if self._takes("]"):
                return elements
            self._require(",")

    def _object(self) -> dict[str, JsonNode]:
        members: dict[str, JsonNode] = {}
        if self._takes("}"):
            return members
        while True:
            self._blanks()
            if not self._text.startswith('"', self._at):
                raise self._unexpected()
            name = self._string()
            self._require(":")
            self._blanks()
            members[name] = self._value()
            if self._takes("}"):
                return members
            self._require(",")

    def _string(self) -> str:
        found = []
        has_escapes = False
        self._at += 1
        while True:
            plain = _PLAIN.match(self._text, self._at)
            assert plain is not None  # it matches nothing, too
            found.append(plain[0])
            self._at = plain.end()
            if self._text.startswith('"', self._at):
                self._at += 1
                text = "".join(found)
                return _PAIR.sub(_character, text) if has_escapes else text
            escape = _ESCAPE.match(self._text, self._at)
            if escape is None:
                raise self._unexpected()
            letter, code = escape.groups()
            found.append(_ESCAPED.get(letter, letter) if letter else chr(int(code, 16)))
            has_escapes = has_escapes or letter is None
            self._at = escape.end()

    def _blanks(self) -> bool:
        """Whether there were any."""
        start = self._at
        blanks = _BLANKS.match(self._text, start)
        assert blanks is not None  # it matches nothing, too
        self._at = blanks.end()
        return self._at > start

    def _takes(self, char: str) -> bool:
        self._blanks()
        if self._text.startswith(char, self._at):
            self._at += 1
            return True
        return False

    def _require(self, char: str) -> None:
        if not self._takes(char):
            raise self._unexpected()

    def _unexpected(self) -> JsonTextError:
        found = ascii(self._text[self._at : self._at + 1]) or "the end"
        return JsonTextError(f"unexpected {found} at character {self._at}")


def _character(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16-be", "surrogatepass").decode("utf-16-be")
