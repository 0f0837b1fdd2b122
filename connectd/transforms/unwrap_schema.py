"""Schemas for values that have none: a struct for each map, from what its values are.

Everything is optional, fields stand in the order of their names, and so equal sets of attributes
give equal schemas in whatever order they came. A null is an optional string. A list needs one
schema for all of its elements: decimals take the largest scale, and maps all fields of each; other
mixtures are refused. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import reduce
from typing import Final

from connectd.errors import TransformError
from connectd.model import logical
from connectd.model.schema import OPTIONAL_INT64, OPTIONAL_STRING, Field, Schema, SchemaType, Struct

_BOOLEAN: Final = Schema(SchemaType.BOOLEAN, optional=True)
_BYTES: Final = Schema(SchemaType.BYTES, optional=True)
_DOUBLE: Final = Schema(SchemaType.FLOAT64, optional=True)

_OF_NULL: Final = Schema(SchemaType.STRING, optional=True)
"""Equal to every optional string; by its identity, what another element of a list may decide."""


def schema_of(value: object, name: str) -> Schema:
    """The optional schema of a value; ``name`` is the attribute, for messages.

    Raises:
        TransformError: a list's elements are too different for one schema.
    """
    match value:
        case None:
            return _OF_NULL
        case str():
            return OPTIONAL_STRING
        case bool():
            return _BOOLEAN
        case int():
            return OPTIONAL_INT64
        case float():
            return _DOUBLE
        case bytes():
            return _BYTES
        case Decimal():
            return logical.decimal_schema(-int(value.as_tuple().exponent), optional=True)
        case Struct():
            return value.schema
        case list():
            element = _of_all(value, name)
            return Schema(SchemaType.ARRAY, optional=True, value_schema=element)
        case dict():
            return struct_schema(value)
    raise TransformError(f"{name} is a {type(value).__name__}, which has no schema")


def struct_schema(members: dict[str, object]) -> Schema:
    """The optional struct schema of a map with names as keys; raises as ``schema_of``."""
    fields = tuple(Field(name, schema_of(members[name], name)) for name in sorted(members))
    return Schema(SchemaType.STRUCT, optional=True, fields=fields)


def shaped(schema: Schema, value: object) -> object:
    """The value in the form that its schema, from here, wants: maps become structs."""
    match value:
        case dict():
            return Struct(
                schema,
                tuple(shaped(field.schema, value.get(field.name)) for field in schema.fields),
            )
        case list() if schema.value_schema is not None:
            return [shaped(schema.value_schema, element) for element in value]
        case Decimal():
            wanted = logical.scale_of(schema)
            given = -int(value.as_tuple().exponent)
            return value if given == wanted else _rescaled(value, wanted)
    return value


def _of_all(elements: Sequence[object], name: str) -> Schema:
    schemas = (schema_of(element, name) for element in elements)
    return reduce(lambda one, other: _merged(one, other, name), schemas, _OF_NULL)


def _merged(one: Schema, other: Schema, name: str) -> Schema:
    if one is _OF_NULL or one == other:
        return other
    if other is _OF_NULL:
        return one
    if one.name == other.name == logical.DECIMAL:
        return max(one, other, key=logical.scale_of)
    if one.type is other.type is SchemaType.STRUCT:
        schemas = {field.name: field.schema for field in one.fields}
        for field in other.fields:
            known = schemas.get(field.name)
            merged = field.schema if known is None else _merged(known, field.schema, name)
            schemas[field.name] = merged
        return replace(one, fields=tuple(Field(each, schemas[each]) for each in sorted(schemas)))
    if one.type is other.type is SchemaType.ARRAY and one.value_schema and other.value_schema:
        return replace(one, value_schema=_merged(one.value_schema, other.value_schema, name))
    raise TransformError(
        f"unwrapping: the list {name} has elements of several types ({one.type.value}, "
        f"{other.type.value}), and a schema allows one; schema=none takes every list"
    )


def _rescaled(value: Decimal, scale: int) -> Decimal:
    """The same number with more digits after the point: zeros."""
    sign, digits, exponent = value.as_tuple()
    return Decimal((sign, (*digits, *(0,) * (int(exponent) + scale)), -scale))
