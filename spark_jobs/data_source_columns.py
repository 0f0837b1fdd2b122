"""From an item in DynamoDB JSON to the columns of a Spark schema, value by value.

What fits what:

=================  ==============================================================================
column             attribute values
=================  ==============================================================================
string             S; N as its digits
decimal(p, s)      N that needs no rounding
tinyint … bigint   N without a fraction, within the type's range
float, double      N, rounded to the type's digits, within its range
binary             B
boolean            BOOL
array<…>           L; SS, NS, BS with their elements
map<string, …>     M
struct<…>          M; members that the struct does not name are left out
=================  ==============================================================================

``NULL`` and an attribute that is not there are null. Everything else does not fit: an error that
names key and attribute, or null in permissive mode. A value is never changed silently: a number
that is too large or too small for a float is neither infinite nor 0. Pure.
"""

from __future__ import annotations

import base64
import binascii
import decimal
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pyspark.sql import types

from connectd.connectors.dynamodb.document import parse_item
from connectd.connectors.dynamodb.keys import KeySchema
from connectd.errors import ConfigError, ConvertError

Convert = Callable[[str, Any], object]
"""From type letter and content to what Arrow takes. Raises ``_MisfitError``."""

_INTEGERS: Final[dict[type[types.DataType], int]] = {
    types.ByteType: 8,
    types.ShortType: 16,
    types.IntegerType: 32,
    types.LongType: 64,
}
_SET_ELEMENTS: Final = {"SS": "S", "NS": "N", "BS": "B"}

# Numbers of DynamoDB have 38 digits; nothing may be rounded before it is looked at.
_EXACT: Final = decimal.Context(prec=400, traps=[decimal.InvalidOperation])


class _MisfitError(Exception):
    """A value does not fit; ``path`` leads from the column to it."""

    def __init__(self, found: str, path: str = "") -> None:
        super().__init__(found)
        self.found = found
        self.path = path


class ItemColumns:
    """Turns items into columns of a schema; made once per reader, pickles."""

    def __init__(
        self,
        table: str,
        keys: KeySchema,
        schema: types.StructType,
        *,
        item_column: str | None,
        is_permissive: bool,
    ) -> None:
        """``item_column`` takes the whole item as its DynamoDB JSON.

        Raises:
            ConfigError: a column has a type that no attribute fits.
        """
        self._table = table
        self._keys = keys
        self._schema = schema
        self._item_column = item_column
        self._is_permissive = is_permissive
        for field in schema.fields:
            if field.name != item_column:
                converter(field.dataType, field.name)
            elif not isinstance(field.dataType, types.StringType):
                raise ConfigError(
                    f"the column {field.name} takes whole items (option itemColumn) and has the "
                    f"type {field.dataType.simpleString()}; declare it as string"
                )

    def columns(self, items: Sequence[bytes]) -> list[list[object]]:
        """One list per column, in the order of the schema.

        Raises:
            ConvertError: a value does not fit, and the mode is not permissive; or an item is none.
        """
        found: list[list[object]] = [[] for _ in self._schema.fields]
        converters = [
            None if field.name == self._item_column else converter(field.dataType, field.name)
            for field in self._schema.fields
        ]
        for text in items:
            item = parse_item(text)
            for column, field, convert in zip(found, self._schema.fields, converters, strict=True):
                if convert is None:
                    column.append(text.decode())
                else:
                    column.append(self._value(item, field, convert))
        return found

    def _value(self, item: Mapping[str, Any], field: types.StructField, convert: Convert) -> object:
        try:
            value = _converted(item.get(field.name), convert)
            if value is None and not field.nullable:
                raise _MisfitError("no value")
        except _MisfitError as misfit:
            if self._is_permissive and field.nullable:
                return None
            raise ConvertError(self._words(item, field, misfit)) from None
        return value

    def _words(
        self, item: Mapping[str, Any], field: types.StructField, misfit: _MisfitError
    ) -> str:
        names = (each.name for each in self._keys.attributes)
        pairs = zip(names, self._keys.values(dict(item)), strict=True)
        key = ", ".join(f"{name}={value}" for name, value in pairs)
        return (
            f"table {self._table}, key {key}: attribute {field.name}{misfit.path} has "
            f"{misfit.found}, which does not fit the column {field.name} "
            f"{field.dataType.simpleString()}; {_advice(field)}"
        )


def _advice(field: types.StructField) -> str:
    change = "change the column (a string takes every number)"
    if field.nullable:
        return f"{change}, or set the option mode to permissive to read null instead"
    return f"declare it without NOT NULL to read null where there is no value, or {change}"


def converter(kind: types.DataType, name: str) -> Convert:
    """What turns attribute values into values of a type.

    Raises:
        ConfigError: no attribute fits the type; names the column.
    """
    bits = _INTEGERS.get(type(kind))
    if bits is not None:
        return _whole_number(bits)
    if isinstance(kind, types.DecimalType):
        return _decimal(kind.precision, kind.scale)
    if isinstance(kind, types.ArrayType):
        return _array(converter(kind.elementType, name), may_be_null=kind.containsNull)
    if isinstance(kind, types.MapType) and isinstance(kind.keyType, types.StringType):
        return _map(converter(kind.valueType, name), may_be_null=kind.valueContainsNull)
    if isinstance(kind, types.StructType):
        members = {each.name: converter(each.dataType, name) for each in kind.fields}
        return _struct(kind, members)
    simple = _SIMPLE.get(type(kind))
    if simple is None:
        raise ConfigError(
            f"the column {name} has the type {kind.simpleString()}, which no attribute fits; "
            "expected string, decimal, tinyint to bigint, float, double, binary, boolean, array, "
            "map of strings, or struct (read dates and times as string or number, then cast)"
        )
    return simple


def _converted(value: Any, convert: Convert) -> object:
    if value is None:
        return None
    if not isinstance(value, dict) or len(value) != 1:
        raise _MisfitError("no DynamoDB JSON")
    ((letter, content),) = value.items()
    return None if letter == "NULL" else convert(letter, content)


def _member(value: Any, convert: Convert, path: str, *, may_be_null: bool) -> object:
    try:
        found = _converted(value, convert)
    except _MisfitError as misfit:
        raise _MisfitError(misfit.found, path + misfit.path) from None
    if found is None and not may_be_null:
        raise _MisfitError("no value", path)
    return found


def _misfit(letter: str, content: Any) -> _MisfitError:
    # A value is somebody's data: its type and, for a number, its digits are enough to mend it.
    return _MisfitError(f"{letter} {content}" if letter == "N" else f"a value of type {letter}")


def _string(letter: str, content: Any) -> object:
    if letter not in ("S", "N"):
        raise _misfit(letter, content)
    return content


def _binary(letter: str, content: Any) -> object:
    if letter != "B":
        raise _misfit(letter, content)
    try:
        return base64.b64decode(content, validate=True)
    except binascii.Error:
        raise _MisfitError("B that is no base64") from None


def _boolean(letter: str, content: Any) -> object:
    if letter != "BOOL":
        raise _misfit(letter, content)
    return content


def _floating(form: str, least: float) -> Convert:
    """A binary number; ``form`` is ``struct``'s, ``least`` the smallest one with all its digits."""

    def convert(letter: str, content: Any) -> object:
        number = _number(letter, content)
        try:
            (found,) = struct.unpack(form, struct.pack(form, float(number)))
        except OverflowError:
            raise _misfit(letter, content) from None
        if math.isinf(found) or (number and abs(found) < least):
            raise _misfit(letter, content)
        return found

    return convert


def _number(letter: str, content: Any) -> decimal.Decimal:
    if letter != "N":
        raise _misfit(letter, content)
    try:
        number = _EXACT.create_decimal(content)
    except (decimal.InvalidOperation, TypeError, ValueError):
        raise _misfit(letter, content) from None
    if not number.is_finite():
        raise _misfit(letter, content)
    return number


def _whole_number(bits: int) -> Convert:
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1

    def convert(letter: str, content: Any) -> object:
        number = _number(letter, content)
        if not low <= number <= high or number != int(number):
            raise _misfit(letter, content)
        return int(number)

    return convert


def _decimal(precision: int, scale: int) -> Convert:
    step = decimal.Decimal(1).scaleb(-scale)
    end = decimal.Decimal(10) ** (precision - scale)

    def convert(letter: str, content: Any) -> object:
        number = _number(letter, content)
        if number.copy_abs() >= end:
            raise _misfit(letter, content)
        fitted = number.quantize(step, context=_EXACT)
        if fitted != number:
            raise _misfit(letter, content)
        return fitted

    return convert


def _array(element: Convert, *, may_be_null: bool) -> Convert:
    def convert(letter: str, content: Any) -> object:
        kind = _SET_ELEMENTS.get(letter)
        if kind is not None:
            content = [{kind: each} for each in content]
        elif letter != "L":
            raise _misfit(letter, content)
        return [
            _member(each, element, f"[{index}]", may_be_null=may_be_null)
            for index, each in enumerate(content)
        ]

    return convert


def _map(value: Convert, *, may_be_null: bool) -> Convert:
    def convert(letter: str, content: Any) -> object:
        if letter != "M":
            raise _misfit(letter, content)
        return [
            (name, _member(each, value, f".{name}", may_be_null=may_be_null))
            for name, each in content.items()
        ]

    return convert


def _struct(kind: types.StructType, members: Mapping[str, Convert]) -> Convert:
    def convert(letter: str, content: Any) -> object:
        if letter != "M":
            raise _misfit(letter, content)
        return {
            field.name: _member(
                content.get(field.name),
                members[field.name],
                f".{field.name}",
                may_be_null=field.nullable,
            )
            for field in kind.fields
        }

    return convert


_SIMPLE: Final[dict[type[types.DataType], Convert]] = {
    types.StringType: _string,
    types.BinaryType: _binary,
    types.BooleanType: _boolean,
    types.DoubleType: _floating("<d", 2.0**-1022),
    types.FloatType: _floating("<f", 2.0**-126),
}
