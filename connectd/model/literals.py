"""Texts whose type is read from their form: header values and literals in configs (spec E.4).

``[1,2]`` is a list of small integers, ``{"a":true}`` a map, ``2020-02-20`` a day, ``12`` an INT8;
what looks like nothing else is a string. The rules are those of Kafka Connect's header values.
Depth is bounded, so that no text can exhaust the stack.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from functools import reduce
from typing import Final

from connectd.model import logical
from connectd.model.schema import BOOLEAN, STRING, Schema, SchemaType

_DEPTH_MAX: Final = 100
_DOUBLE_EXPONENT_MAX: Final = 400
_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME: Final = re.compile(r"\d{2}:\d{2}:\d{2}\.\d{3}Z", re.ASCII)
_MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z", re.ASCII)
_BARE: Final = re.compile(r"[^,:\[\]{}\"]+")
_INTEGERS: Final = (
    (8, SchemaType.INT8),
    (16, SchemaType.INT16),
    (32, SchemaType.INT32),
    (64, SchemaType.INT64),
)
_NUMERIC: Final = (
    SchemaType.INT8,
    SchemaType.INT16,
    SchemaType.INT32,
    SchemaType.INT64,
    SchemaType.FLOAT32,
    SchemaType.FLOAT64,
)

Literal = tuple[Schema | None, object]
"""A schema and a value of it; the schema None of a list or map whose elements have nothing in
common is that of the element alone."""


class _NoStructure(Exception):  # noqa: N818  it is no error
    """The text is no list or map after all."""


def parse(text: str) -> Literal:
    """What the text stands for; the text itself, as a string, if for nothing else."""
    trimmed = text.strip()
    if trimmed == "null":
        return None, None
    if trimmed in ("true", "false"):
        return BOOLEAN, trimmed == "true"
    if trimmed[:1] in ("[", "{"):
        try:
            return _Reader(trimmed).whole()
        except _NoStructure:
            return STRING, text
    return _scalar(trimmed) or (STRING, text)


def _scalar(text: str) -> Literal | None:
    """A day, time, moment or number."""
    if not text[:1].isdigit() and text[:1] not in ("+", "-"):
        return None
    return _dated(text) or (_number(text) if _NUMBER.fullmatch(text) else None)


def _dated(text: str) -> Literal | None:
    """A day, time or moment."""
    for pattern, read in ((_TIME, _time), (_MOMENT, _moment), (_DAY, _day)):
        if pattern.fullmatch(text):
            try:
                return read(text)
            except ValueError:
                return None
    return None


def _time(text: str) -> Literal:
    return logical.time_schema(), time.fromisoformat(text[:-1])


def _moment(text: str) -> Literal:
    return logical.timestamp_schema(), datetime.fromisoformat(text[:-1]).replace(tzinfo=UTC)


def _day(text: str) -> Literal:
    return logical.date_schema(), date.fromisoformat(text)


def _number(text: str) -> Literal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if abs(number.adjusted()) > _DOUBLE_EXPONENT_MAX:
        return _decimal(number)  # beyond every double: its digits are not written out
    if number == number.to_integral_value():
        whole = int(number)
        for bits, kind in _INTEGERS:
            if -(1 << bits - 1) <= whole < 1 << bits - 1:
                return Schema(kind), whole
        return logical.decimal_schema(0), Decimal(whole)
    single = _single(float(number))
    if math.isfinite(single):
        return Schema(SchemaType.FLOAT32), single
    double = float(number)
    if math.isfinite(double):
        return Schema(SchemaType.FLOAT64), double
    return _decimal(number)


def _decimal(number: Decimal) -> Literal:
    return logical.decimal_schema(-int(number.as_tuple().exponent)), number


def _single(value: float) -> float:
    try:
        (rounded,) = struct.unpack(">f", struct.pack(">f", value))
    except OverflowError:
        return math.inf
    return float(rounded)


class _Reader:
    """Reads one list or map, and what is inside of it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def whole(self) -> Literal:
        """The structure that fills the text."""
        found = self._element()
        self._blanks()
        if self._at < len(self._text):
            raise _NoStructure
        return found

    def _element(self) -> Literal:
        self._blanks()
        match self._text[self._at : self._at + 1]:
            case "[":
                return self._nested(self._list)
            case "{":
                return self._nested(self._map)
            case '"':
                return self._quoted()
        bare = _BARE.match(self._text, self._at)
        if bare is None:
            raise _NoStructure
        # A time has colons in it, which end a bare element otherwise.
        for pattern in (_MOMENT, _TIME):
            longer = pattern.match(self._text, self._at)
            if longer is not None:
                bare = longer
                break
        self._at = bare.end()
        return self._bare(bare[0].strip())

    def _bare(self, text: str) -> Literal:
        if text == "null":
            return None, None
        if text in ("true", "false"):
            return BOOLEAN, text == "true"
        found = _scalar(text)
        if found is None:
            raise _NoStructure
        return found

    def _nested(self, read: Callable[[], Literal]) -> Literal:
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise _NoStructure
        self._at += 1
        found = read()
        self._depth -= 1
        return found

    def _list(self) -> Literal:
        elements: list[Literal] = []
        if not self._takes("]"):
            while True:
                elements.append(self._element())
                if self._takes("]"):
                    break
                self._require(",")
        values = [value for _, value in elements]
        schema = _joined(elements)
        return Schema(SchemaType.ARRAY, value_schema=schema), values

    def _map(self) -> Literal:
        keys: list[Literal] = []
        members: list[Literal] = []
        if not self._takes("}"):
            while True:
                keys.append(self._element())
                if keys[-1][1] is None:
                    raise _NoStructure
                self._require(":")
                members.append(self._element())
                if self._takes("}"):
                    break
                self._require(",")
        try:
            content = {key: value for (_, key), (_, value) in zip(keys, members, strict=True)}
        except TypeError:  # a list or map as a key
            raise _NoStructure from None
        schema = Schema(SchemaType.MAP, key_schema=_joined(keys), value_schema=_joined(members))
        return schema, content

    def _quoted(self) -> Literal:
        found = []
        at = self._at + 1
        while at < len(self._text):
            char = self._text[at]
            if char == "\\" and at + 1 < len(self._text):
                found.append(self._text[at + 1])
                at += 2
                continue
            if char == '"':
                self._at = at + 1
                content = "".join(found)
                return _dated(content) or (STRING, content)
            found.append(char)
            at += 1
        raise _NoStructure

    def _blanks(self) -> None:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1

    def _takes(self, char: str) -> bool:
        self._blanks()
        if self._text.startswith(char, self._at):
            self._at += 1
            return True
        return False

    def _require(self, char: str) -> None:
        if not self._takes(char):
            raise _NoStructure


def _joined(elements: Iterable[Literal]) -> Schema | None:
    """The one schema that fits all; None when there is none. Nulls fit everywhere."""
    schemas = [schema for schema, _ in elements if schema is not None]
    if not schemas:
        return None
    try:
        return reduce(_wider, schemas)
    except _NoStructure:
        return None


def _wider(one: Schema, other: Schema) -> Schema:
    if one == other:
        return one
    plain = one.name is None and other.name is None
    if plain and one.type in _NUMERIC and other.type in _NUMERIC:
        return max(one, other, key=lambda schema: _NUMERIC.index(schema.type))
    if one.type is other.type and one.type in (SchemaType.ARRAY, SchemaType.MAP):
        return one
    raise _NoStructure
