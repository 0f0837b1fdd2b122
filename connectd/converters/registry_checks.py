"""What all converters with a registry ask of values before they write them. Pure.

A value is checked against its Connect schema here, so that what a format's library gets is right,
or the record fails with a sentence that names types and not the library's insides.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote_plus

from connectd.errors import ConvertError
from connectd.model import java_types, logical
from connectd.model.schema import Schema, SchemaType, Struct

Write = Callable[[Any], Any]
"""A Connect value to what a format's library takes."""

_INTEGER_BITS: Final = {
    SchemaType.INT8: 8,
    SchemaType.INT16: 16,
    SchemaType.INT32: 32,
    SchemaType.INT64: 64,
}
_PYTHON_TYPES: Final[dict[SchemaType, type]] = {
    SchemaType.FLOAT32: float,
    SchemaType.FLOAT64: float,
    SchemaType.BOOLEAN: bool,
    SchemaType.STRING: str,
    SchemaType.BYTES: bytes,
}
_FLOAT32_MAX: Final = 3.4028235677973366e38
"""What lies at or beyond rounds to no single-precision number."""


def nullable(schema: Schema, write: Write, *, ignores_default: bool) -> Write:
    """The function of a schema, from that for values that are not null.

    The default takes the place of null; ``ignores_default`` keeps nulls where they are allowed.
    """
    default = schema.default
    if default is not None and not (schema.optional and ignores_default):
        return lambda value: write(default if value is None else value)
    if schema.optional:
        return lambda value: None if value is None else write(value)

    def required(value: object) -> object:
        if value is None:
            raise ConvertError("Found null value for non-optional schema")
        return write(value)

    return required


def scalar(schema: Schema) -> Write:
    """The function for values of a schema without parts: in the schema's own type, checked."""
    plain = _integer(schema) if schema.type in _INTEGER_BITS else _plain(schema)
    if not logical.is_logical(schema):
        return plain
    return lambda value: plain(logical.to_stored(schema, value))


def array(schema: Schema, element: Write) -> Write:
    """The function for lists, from that for their elements."""

    def write(value: object) -> object:
        if not isinstance(value, list | tuple):
            raise invalid(schema, value)
        return [element(each) for each in value]

    return write


def mapping(schema: Schema, key: Write, member: Write, *, by_name: bool) -> Write:
    """The function for maps: members by name, or a list of pairs of ``key`` and ``value``."""

    def write(value: object) -> object:
        if not isinstance(value, dict):
            raise invalid(schema, value)
        if by_name:
            return {key(name): member(each) for name, each in value.items()}
        return [{"key": key(name), "value": member(each)} for name, each in value.items()]

    return write


def members(schema: Schema, value: object) -> tuple[object, ...]:
    """The values of a struct of that schema, optional or not.

    Raises:
        ConvertError: it is none, or of another schema.
    """
    if not isinstance(value, Struct):
        raise invalid(schema, value)
    if value.schema is not schema:
        found, expected = value.schema.fields, schema.fields
        if found is not expected and found != expected:
            raise ConvertError("Mismatching struct schema")
    return value.values


def invalid(schema: Schema, value: object) -> ConvertError:
    """The error for a value that is none of its schema."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ConvertError(f"Invalid type for {schema.type.name}: {value} is none, or too large")
    return ConvertError(
        f"Invalid type for {schema.type.name}: class {java_types.class_name(value)}"
    )


def _integer(schema: Schema) -> Write:
    end = 1 << _INTEGER_BITS[schema.type] - 1

    def write(value: object) -> object:
        if type(value) is not int or not -end <= value < end:
            raise invalid(schema, value)
        return value

    return write


def _plain(schema: Schema) -> Write:
    expected, is_single = _PYTHON_TYPES[schema.type], schema.type is SchemaType.FLOAT32

    def write(value: object) -> object:
        if type(value) is not expected:
            raise invalid(schema, value)
        if is_single and isinstance(value, float) and _FLOAT32_MAX <= abs(value) < float("inf"):
            raise invalid(schema, value)
        return value

    return write


def scrubbed(name: str) -> str:
    """A name that formats allow, by Java's rule (spec E.6.1): URL-encoded, then ``_``."""
    encoded = re.sub(r"\W", "_", quote_plus(name, safe="*"), flags=re.ASCII)
    return f"x{encoded}" if encoded[:1].isdigit() else encoded
