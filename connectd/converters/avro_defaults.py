"""Defaults of schemas as Avro's JSON has them: bytes as text of Latin letters (Avro 1.11). Pure."""

from __future__ import annotations

from typing import Any, Protocol

from connectd.errors import ConvertError
from connectd.model import java_json, logical
from connectd.model.schema import Schema, SchemaType, Struct


class MapForm(Protocol):
    """Which maps have texts for keys."""

    def is_string_map(self, schema: Schema) -> bool:
        """Whether this one has."""
        ...


def of(schema: Schema, value: object, form: MapForm) -> Any:
    """A value of the schema, for JSON.

    Raises:
        ConvertError: it is no value of the schema.
    """
    if value is None:
        return None
    match logical.to_stored(schema, value), schema.type:
        case bytes(stored), SchemaType.BYTES:
            return stored.decode("latin-1")
        case float(stored), SchemaType.FLOAT32:
            return java_json.single(stored)
        case float(stored), SchemaType.FLOAT64:
            return java_json.double(stored)
        case list(stored), SchemaType.ARRAY if schema.value_schema is not None:
            return [of(schema.value_schema, each, form) for each in stored]
        case dict(stored), SchemaType.MAP:
            return _map(schema, stored, form)
        case Struct() as stored, SchemaType.STRUCT:
            return {field.name: of(field.schema, each, form) for field, each in stored.items()}
        case (bool() | int() | str()) as stored, _:
            return stored
    raise ConvertError(f"the default of a {schema.type.name} is a {type(value).__name__}")


def _map(schema: Schema, value: dict[object, object], form: MapForm) -> Any:
    keys, values = schema.key_schema, schema.value_schema
    if keys is None or values is None:
        raise ConvertError("the schema of a map has none for its keys, or its values")
    pairs = [(of(keys, key, form), of(values, each, form)) for key, each in value.items()]
    return dict(pairs) if form.is_string_map(schema) else [list(pair) for pair in pairs]
