"""Connect schemas as JSON Schema, as spec kafka-connect E.7 describes the Java converter's. Pure.

What JSON Schema does not know stands beside it under ``connect.`` names. The order of members means
nothing there and is ours: set ``normalize.schemas`` where subjects are taken over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from connectd.converters import json_schema_values
from connectd.errors import ConvertError
from connectd.model import java_json, logical
from connectd.model.schema import Field, Schema, SchemaType

_PACKAGE: Final = "io.confluent.connect.json."
ONE_OF: Final = f"{_PACKAGE}OneOf"
ENUM: Final = f"{_PACKAGE}Enum"

_TYPES: Final[Mapping[SchemaType, tuple[str, str | None]]] = {
    SchemaType.INT8: ("integer", "int8"),
    SchemaType.INT16: ("integer", "int16"),
    SchemaType.INT32: ("integer", "int32"),
    SchemaType.INT64: ("integer", "int64"),
    SchemaType.FLOAT32: ("number", "float32"),
    SchemaType.FLOAT64: ("number", "float64"),
    SchemaType.BOOLEAN: ("boolean", None),
    SchemaType.STRING: ("string", None),
    SchemaType.BYTES: ("string", "bytes"),
}


@dataclass(frozen=True)
class JsonSchemaForm:
    """What settings change about schemas and values."""

    has_decimals_as_numbers: bool = False
    allows_additional_properties: bool = True
    lists_required: bool = False
    ignores_default_for_nullables: bool = False

    def text(self, schema: Schema | None) -> str:
        """The schema as text, as registered; data without schema may be anything.

        Raises:
            ConvertError: it has a default that is no value of it.
        """
        found = {} if schema is None else self._of(schema)
        try:
            return java_json.dumps_text(found).decode()
        except TypeError as error:
            raise ConvertError(f"writing a JSON schema: {error}") from error

    def _of(self, schema: Schema, index: int | None = None) -> dict[str, Any]:
        """The schema of a value, which is a struct's field if there is an index."""
        place = {} if index is None else {"connect.index": index}
        if not schema.optional:
            return self._required(schema) | place
        if is_union(schema):
            branches = [self._required(each.schema) for each in schema.fields]
            return {"oneOf": [{"type": "null"}, *branches], **_facts(schema), **place}
        found = self._required(schema)
        default = {"default": found.pop("default")} if "default" in found else {}
        return {"oneOf": [{"type": "null"}, found], **default, **place}

    def _required(self, schema: Schema) -> dict[str, Any]:
        match schema.type:
            case SchemaType.STRUCT if is_union(schema):
                found: dict[str, Any] = {
                    "oneOf": [
                        self._of(each.schema, position)
                        for position, each in enumerate(schema.fields)
                    ]
                }
            case SchemaType.STRUCT:
                found = self._object(schema)
            case SchemaType.ARRAY:
                found = {"type": "array", "items": self._element(schema.value_schema)}
            case SchemaType.MAP:
                found = self._map(schema)
            case _:
                found = self._scalar(schema)
        found |= _facts(schema)
        if schema.default is not None:
            found["default"] = json_schema_values.writer(schema, self)(schema.default)
        return found

    def _scalar(self, schema: Schema) -> dict[str, Any]:
        kind, connect_type = _TYPES[schema.type]
        if schema.name == logical.DECIMAL and self.has_decimals_as_numbers:
            kind = "number"
        found: dict[str, Any] = {"type": kind}
        if schema.type is SchemaType.STRING and schema.parameter(ENUM) is not None:
            begin = f"{ENUM}."
            symbols = [
                key.removeprefix(begin) for key, _ in schema.parameters if key.startswith(begin)
            ]
            found = {"enum": symbols}
        return found if connect_type is None else found | {"connect.type": connect_type}

    def _object(self, schema: Schema) -> dict[str, Any]:
        found: dict[str, Any] = {
            "type": "object",
            "properties": {
                each.name: self._of(each.schema, position)
                for position, each in enumerate(schema.fields)
            },
        }
        required = [each.name for each in schema.fields if not each.schema.optional]
        if self.lists_required and required:
            found["required"] = required
        if not self.allows_additional_properties:
            found["additionalProperties"] = False
        return found

    def _map(self, schema: Schema) -> dict[str, Any]:
        if is_string_map(schema):
            members = self._element(schema.value_schema)
            return {"type": "object", "additionalProperties": members, "connect.type": "map"}
        key, value = schema.key_schema, schema.value_schema
        pair = Schema(
            SchemaType.STRUCT,
            fields=tuple(
                Field(name, part)
                for name, part in (("key", key), ("value", value))
                if part is not None
            ),
        )
        return {"type": "array", "items": self._object(pair), "connect.type": "map"}

    def _element(self, schema: Schema | None) -> dict[str, Any]:
        return {} if schema is None else self._of(schema)


def is_union(schema: Schema) -> bool:
    """Whether a struct stands for one of several types."""
    return schema.type is SchemaType.STRUCT and schema.name == ONE_OF


def is_string_map(schema: Schema) -> bool:
    """Whether a map is a JSON object."""
    return json_schema_values.is_string_map(schema)


def _facts(schema: Schema) -> dict[str, Any]:
    """What is known of a schema beside its type."""
    found: dict[str, Any] = {}
    if schema.name is not None:
        found["title"] = schema.name
    if schema.doc is not None:
        found["description"] = schema.doc
    if schema.version is not None:
        found["connect.version"] = schema.version
    if schema.parameters:
        found["connect.parameters"] = dict(schema.parameters)
    return found
