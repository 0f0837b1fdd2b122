"""What transforms expect of a value, and what they say when they find something else (F.1).

``purpose`` is what the transform was about to do, in its own words: ``field insertion``.
"""

from __future__ import annotations

from connectd.errors import TransformError
from connectd.model import java_types
from connectd.model.schema import Schema, SchemaType, Struct


def struct_for(purpose: str, value: object, schema: Schema | None = None) -> Struct:
    """The value as a struct.

    Raises:
        TransformError: it is none.
    """
    if isinstance(value, Struct):
        return value
    raise TransformError(
        f"Only Struct objects supported for [{purpose}], found: "
        f"{java_types.class_name(value, schema)}"
    )


def map_for(purpose: str, value: object) -> dict[str, object]:
    """The value as a map; only values without schema are asked for one.

    Raises:
        TransformError: it is none.
    """
    if isinstance(value, dict):
        return value
    raise TransformError(
        "Only Map objects supported in absence of schema for "
        f"[{purpose}], found: {java_types.class_name(value)}"
    )


def with_fields(schema: Schema) -> Schema:
    """The schema of a struct.

    Raises:
        TransformError: it is that of something else.
    """
    if schema.type is SchemaType.STRUCT:
        return schema
    raise TransformError("Cannot list fields on non-struct type")


def schema_for(purpose: str, schema: Schema | None) -> Schema:
    """The schema.

    Raises:
        TransformError: there is none.
    """
    if schema is None:
        raise TransformError(f"Schema required for [{purpose}]")
    return schema
