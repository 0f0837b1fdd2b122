"""Texts whose type is read from their form: header values and literals in configs (spec E.4).

``[1,2]`` is a list of small integers, ``{"a":true}`` a map, ``2020-02-20`` a day, ``12`` an INT8;
what looks like nothing else is a string. The rules are those of Kafka Connect's ``Values``, which
reads with one look ahead and no look behind, so that its answers surprise here and there: behind a
list nothing is looked at, of ``7,8`` the 7 alone counts, and backslashes stay in quoted texts.

Depth is bounded, so that no text can exhaust the stack.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Final

from connectd.model import java_floats, logical
from connectd.model.date_format import DateFormat, DateFormatError
from connectd.model.schema import BOOLEAN, STRING, Schema, SchemaType

_DEPTH_MAX: Final = 100
_TOKEN: Final = re.compile(r'[:,{}\[\]"]|(?:[^\\:,{}\[\]"]|\\.|\\\Z)+', re.DOTALL)
_BLANKS: Final = "".join(map(chr, range(0x21)))
"""What Java's ``trim`` takes away."""
_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,10})?")
_SCALE_MAX: Final = (1 << 31) - 1
_BEYOND_LONG: Final = 10**19
_TOKENS_OF_TIME: Final = 4
"""So many more tokens make a time of the digits that it begins with."""
_INTEGERS: Final = (
    (8, SchemaType.INT8),
    (16, SchemaType.INT16),
    (32, SchemaType.INT32),
    (64, SchemaType.INT64),
)
_NUMERIC: Final = (*(kind for _, kind in _INTEGERS), SchemaType.FLOAT32, SchemaType.FLOAT64)

Literal = tuple[Schema | None, object]
"""A schema and a value of it; a list or map whose elements have nothing in common has a schema
without one for them."""

_NULL: Final[Literal] = (None, None)


class _NoStructure(Exception):  # noqa: N818  it is no error
    """The text is no list or map after all."""


def parse(text: str) -> Literal:
    """What the text stands for; the text itself, as a string, if for nothing else."""
    return _Reader(text).whole() if text else (STRING, text)


class _Tokens:
    """The text cut at its delimiters, with one look ahead and a way back."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._ahead = ""

    def mark(self) -> int:
        """Where the next token begins."""
        return self._at - len(self._ahead)

    def rewind(self, mark: int) -> None:
        """Go back to a mark."""
        self._at = mark
        self._ahead = ""

    def has_next(self) -> bool:
        """Whether there is another token."""
        return bool(self._ahead) or self._at < len(self._text)

    def next(self) -> str:
        """The next token."""
        token, self._ahead = self._ahead or self._cut(), ""
        return token

    def following(self, count: int) -> str | None:
        """The text of so many tokens; None, and nothing taken, if there are fewer."""
        start = self.mark()
        for _ in range(count):
            if not self.has_next():
                self.rewind(start)
                return None
            self.next()
        return self._text[start : self._at]

    def takes(self, expected: str) -> bool:
        """Take the next token if it is this one; blank ones before it are lost in any case."""
        if not self.has_next():
            return False
        self._ahead = self._ahead or self._cut()
        while not self._ahead.strip(_BLANKS) and self._at < len(self._text):
            self._ahead = self._cut()
        if self._ahead.strip(_BLANKS) != expected:
            return False
        self._ahead = ""
        return True

    def _cut(self) -> str:
        token = _TOKEN.match(self._text, self._at)
        if token is None:
            return ""
        self._at = token.end()
        return token[0]


class _Reader:
    """Reads one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _Tokens(text)
        self._depth = 0

    def whole(self) -> Literal:
        """What it stands for."""
        return self._value(is_nested=False)

    def _value(self, *, is_nested: bool = True) -> Literal:
        if not self._tokens.has_next():
            return _NULL
        if is_nested and self._tokens.takes('"'):
            return self._quoted()
        for word, literal in _WORDS:
            if self._is_word(word, is_nested=is_nested):
                return literal
        start = self._tokens.mark()
        try:
            if self._tokens.takes("["):
                return self._nested(self._list)
            if self._tokens.takes("{"):
                return self._nested(self._map)
        except _NoStructure:
            self._tokens.rewind(start)
        token = self._tokens.next()
        trimmed = token.strip(_BLANKS)
        if not trimmed:
            return STRING, token
        found = self._scalar(trimmed)
        if found is not None:
            return found
        if is_nested:
            raise _NoStructure
        return STRING, self._text

    def _is_word(self, word: str, *, is_nested: bool) -> bool:
        start = self._tokens.mark()
        if self._tokens.takes(word) and (is_nested or not self._tokens.has_next()):
            return True
        self._tokens.rewind(start)
        return False

    def _scalar(self, token: str) -> Literal | None:
        """A day, time, moment or number that begins with the token."""
        if token[0].isdecimal():
            start = self._tokens.mark()
            more = self._tokens.following(_TOKENS_OF_TIME)
            found = None if more is None else _dated(token + more)
            if found is None:
                self._tokens.rewind(start)
                found = _dated(token)
            return found or _number(token)
        return _number(token) if token[0] in "+-" else None

    def _quoted(self) -> Literal:
        found = []
        while self._tokens.has_next() and not self._tokens.takes('"'):
            found.append(self._tokens.next())
        content = "".join(found)
        return _dated(content) or (STRING, content)

    def _nested(self, read: Callable[[], Literal]) -> Literal:
        self._depth += 1
        try:
            if self._depth > _DEPTH_MAX:
                raise _NoStructure
            return read()
        finally:
            self._depth -= 1

    def _list(self) -> Literal:
        elements: list[Literal] = []
        while self._tokens.has_next():
            if self._tokens.takes("]"):
                schema = _joined(elements)
                values = [_aligned(schema, value) for _, value in elements]
                return Schema(SchemaType.ARRAY, value_schema=schema), values
            if self._tokens.takes(","):
                raise _NoStructure
            elements.append(self._value())
            before = self._tokens.mark()
            if self._tokens.takes("]"):
                self._tokens.rewind(before)
            elif not self._tokens.takes(","):
                raise _NoStructure
        raise _NoStructure

    def _map(self) -> Literal:
        keys: list[Literal] = []
        members: list[Literal] = []
        while self._tokens.has_next():
            if self._tokens.takes("}"):
                return _map_of(keys, members)
            if self._tokens.takes(","):
                raise _NoStructure
            key = self._value()
            if key[1] is None or not self._tokens.takes(":"):
                raise _NoStructure
            keys.append(key)
            members.append(self._value())
            self._tokens.takes(",")
        raise _NoStructure


_WORDS: Final = (("null", _NULL), ("true", (BOOLEAN, True)), ("false", (BOOLEAN, False)))


def _map_of(keys: list[Literal], members: list[Literal]) -> Literal:
    key_schema, value_schema = _joined(keys), _joined(members)
    if key_schema is None:
        value_schema = None
    content: dict[object, object] = {}
    for (_, key), (_, value) in zip(keys, members, strict=True):
        try:
            content[_aligned(key_schema, key)] = _aligned(value_schema, value)
        except TypeError:  # a list or map as a key
            raise _NoStructure from None
    return Schema(SchemaType.MAP, key_schema=key_schema, value_schema=value_schema), content


# -- scalars ----------------------------------------------------------------------------------


def _dated(text: str) -> Literal | None:
    """A day, time or moment; told by its length, read as leniently as Java does."""
    plain = text.replace("\\:", ":")
    found = _DATED.get(len(plain))
    if found is None:
        return None
    pattern, read = found
    try:
        return read(pattern.parse(plain))
    except DateFormatError:
        return None


def _day(moment: datetime) -> Literal:
    return logical.date_schema(), moment.date()


def _time(moment: datetime) -> Literal | None:
    ms = logical.epoch_ms(moment)
    return (logical.time_schema(), logical.time_of(ms)) if 0 <= ms < logical.MS_PER_DAY else None


def _moment(moment: datetime) -> Literal:
    return logical.timestamp_schema(), moment


_DATED: Final[dict[int, tuple[DateFormat, Callable[[datetime], Literal | None]]]] = {
    10: (DateFormat("yyyy-MM-dd"), _day),
    13: (DateFormat("HH:mm:ss.SSS'Z'"), _time),
    24: (DateFormat("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"), _moment),
}


def _number(text: str) -> Literal | None:
    try:
        number = Decimal(text) if _NUMBER.fullmatch(text) else None
    except InvalidOperation:
        return None
    if number is None:
        return None
    scale = -int(number.as_tuple().exponent)
    if abs(scale) > _SCALE_MAX:
        return None
    if not number:
        number = number.copy_abs()
    found = _integer(number)
    if found is not None:
        return found
    single, double = java_floats.single(number), java_floats.double(number)
    if scale != 0 and math.isfinite(single):
        return Schema(SchemaType.FLOAT32), single
    if scale != 0 and math.isfinite(double):
        return Schema(SchemaType.FLOAT64), double
    return logical.decimal_schema(scale), number


def _integer(number: Decimal) -> Literal | None:
    """The smallest type of integers that has it."""
    size = number.copy_abs()
    if size > _BEYOND_LONG or (number and size < 1) or number != int(number):
        return None
    whole = int(number)
    for bits, kind in _INTEGERS:
        if -(1 << bits - 1) <= whole < 1 << bits - 1:
            return Schema(kind), whole
    return None


# -- the schema of elements -------------------------------------------------------------------


def _joined(elements: Iterable[Literal]) -> Schema | None:
    """The one schema that fits all; None when there is none. Nulls have no say."""
    joined: Schema | None = None
    for schema, _ in elements:
        if schema is None:
            continue
        joined = schema if joined is None else _wider(joined, schema)
        if joined is None:
            return None
    return joined


def _wider(one: Schema, other: Schema) -> Schema | None:
    """Of one type the later schema counts, whatever it is named; of two numbers the wider one."""
    if one.type is other.type:
        return other
    if one.type in _NUMERIC and other.type in _NUMERIC:
        return max(one, other, key=lambda schema: _NUMERIC.index(schema.type))
    return None


def _aligned(schema: Schema | None, value: object) -> object:
    """An element in the schema that all have; integers become what the widest one is.

    Raises:
        _NoStructure: it cannot be that; a null cannot be anything.
    """
    if schema is None:
        return value
    if value is None:
        raise _NoStructure
    is_dated = isinstance(value, date | time)
    if schema.name in (logical.DATE, logical.TIME, logical.TIMESTAMP):
        if is_dated and type(value) is not _DATED_TYPES[schema.name]:
            raise _NoStructure
        return value if is_dated else _dated_of(schema, value)
    if is_dated:
        raise _NoStructure
    if schema.type in (SchemaType.FLOAT32, SchemaType.FLOAT64) and isinstance(value, int):
        is_single = schema.type is SchemaType.FLOAT32
        return java_floats.single(value) if is_single else java_floats.double(value)
    return value


_DATED_TYPES: Final[dict[str | None, type]] = {
    logical.DATE: date,
    logical.TIME: time,
    logical.TIMESTAMP: datetime,
}


def _dated_of(schema: Schema, value: object) -> object:
    """A number among days is a day; among times and moments likewise."""
    if not isinstance(value, int):
        raise _NoStructure
    stored = value % logical.MS_PER_DAY if schema.name == logical.TIME else value
    return logical.from_stored(schema, stored)
