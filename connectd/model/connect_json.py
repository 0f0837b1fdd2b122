"""Connect data as JSON, the way JsonConverter has it: payloads and schemas (spec E.2.1, E.2.2).

What comes out is plain data for ``java_json.dumps``. Pure.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from connectd.errors import ConvertError
from connectd.model import java_json, java_types, logical
from connectd.model.schema import Schema, SchemaType, Struct

_INTEGER_BITS: Final = {
    SchemaType.INT8: 8,
    SchemaType.INT16: 16,
    SchemaType.INT32: 32,
    SchemaType.INT64: 64,
}
_LONG: Final = Schema(SchemaType.INT64)
_TEXT: Final = SchemaType.STRING
_AS_THEY_ARE: Final = frozenset({str, bool, type(None)})
"""Python types whose values are their own JSON."""
_TEXT_ALONE: Final = frozenset({str})


@dataclass(frozen=True)
class JsonForm:
    """JsonConverter's settings about values: ``replace.null.with.default``, ``decimal.format``."""

    replaces_nulls: bool = True
    has_decimals_as_numbers: bool = False

    def payload(self, schema: Schema | None, value: object) -> object:
        """A value in a form whose JSON text is right.

        Raises:
            ConvertError: the value does not fit its schema, with Kafka's own words where it has
                some (spec kafka-connect E.2.3).
        """
        if schema is None:
            return _payload_without_schema(value)
        if value is None:
            if self.replaces_nulls and schema.default is not None:
                value = schema.default
            elif schema.optional:
                return None
            else:
                raise ConvertError(
                    "Conversion error: null value for field that is required and has no default "
                    "value"
                )
        if schema.name is not None:
            if self.has_decimals_as_numbers and schema.name == logical.DECIMAL:
                return _decimal_number(value)
            value = logical.to_stored(schema, value)
        return _PAYLOAD_BY_TYPE[schema.type](self, schema, value)

    def schema(self, schema: Schema | None) -> dict[str, object] | None:
        """A schema, members in JsonConverter's order.

        Raises:
            ConvertError: a default does not fit its schema.
        """
        if schema is None:
            return None
        members: dict[str, object] = {"type": schema.type.value}
        match schema.type:
            case SchemaType.STRUCT:
                members["fields"] = [
                    {**(self.schema(field.schema) or {}), "field": field.name}
                    for field in schema.fields
                ]
            case SchemaType.ARRAY:
                members["items"] = self.schema(schema.value_schema)
            case SchemaType.MAP:
                members["keys"] = self.schema(schema.key_schema)
                members["values"] = self.schema(schema.value_schema)
        members["optional"] = schema.optional
        for name in ("name", "version", "doc"):
            member = getattr(schema, name)
            if member is not None:
                members[name] = member
        if schema.parameters:
            members["parameters"] = dict(schema.parameters)
        if schema.default is not None:
            members["default"] = self.payload(schema, schema.default)
        return members


def _integer(form: JsonForm, schema: Schema, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _invalid_type(schema, value)
    bits = _INTEGER_BITS[schema.type]
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ConvertError(
            f"Invalid value for {schema.type.name}: {value} has more than {bits} bits"
        )
    return value


def _float64(form: JsonForm, schema: Schema, value: object) -> object:
    if not isinstance(value, float):
        raise _invalid_type(schema, value)
    return java_json.double(value)


def _float32(form: JsonForm, schema: Schema, value: object) -> object:
    if not isinstance(value, float):
        raise _invalid_type(schema, value)
    return java_json.single(value)


def _boolean(form: JsonForm, schema: Schema, value: object) -> bool:
    if not isinstance(value, bool):
        raise _invalid_type(schema, value)
    return value


def _string(form: JsonForm, schema: Schema, value: object) -> str:
    if not isinstance(value, str):
        raise _invalid_type(schema, value)
    return value


def _bytes(form: JsonForm, schema: Schema, value: object) -> str:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise _invalid_type(schema, value)
    return base64.b64encode(value).decode("ascii")


def _array(form: JsonForm, schema: Schema, value: object) -> list[object]:
    if not isinstance(value, list | tuple):
        raise _invalid_type(schema, value)
    return [form.payload(schema.value_schema, element) for element in value]


def _map(form: JsonForm, schema: Schema, value: object) -> object:
    if not isinstance(value, dict):
        raise _invalid_type(schema, value)
    members = [
        (form.payload(schema.key_schema, key), form.payload(schema.value_schema, member))
        for key, member in value.items()
    ]
    if schema.key_schema is not None and schema.key_schema.type is SchemaType.STRING:
        return dict(members)
    return members


def _struct(form: JsonForm, schema: Schema, value: object) -> dict[str, object]:
    if not isinstance(value, Struct):
        raise _invalid_type(schema, value)
    if value.schema is not schema and value.schema != schema:
        raise ConvertError(
            f"Mismatching schema. Found a struct of {value.schema.name}, expected {schema.name}"
        )
    members: dict[str, object] = {}
    for field, member in value.items():
        if type(member) is str and field.schema.type is _TEXT and field.schema.name is None:
            members[field.name] = member  # most members are plain texts, which need no look
            continue
        try:
            members[field.name] = form.payload(field.schema, member)
        except ConvertError as error:
            raise ConvertError(f"field {field.name} of {schema.name}: {error}") from error
    return members


_PAYLOAD_BY_TYPE: Final[dict[SchemaType, Callable[[JsonForm, Schema, object], object]]] = {
    SchemaType.INT8: _integer,
    SchemaType.INT16: _integer,
    SchemaType.INT32: _integer,
    SchemaType.INT64: _integer,
    SchemaType.FLOAT32: _float32,
    SchemaType.FLOAT64: _float64,
    SchemaType.BOOLEAN: _boolean,
    SchemaType.STRING: _string,
    SchemaType.BYTES: _bytes,
    SchemaType.ARRAY: _array,
    SchemaType.MAP: _map,
    SchemaType.STRUCT: _struct,
}


def _decimal_number(value: object) -> object:
    """Digits as they are, trailing zeros too; the scale of the schema is not asked."""
    if not isinstance(value, Decimal):
        raise ConvertError(
            "Invalid type for Decimal, expected BigDecimal but was class "
            f"{java_types.class_name(value)}"
        )
    return java_json.number(value)


def _payload_without_schema(value: object) -> object:
    """What a value says about itself when no schema does: its own type, at every depth."""
    if type(value) in _AS_THEY_ARE:
        return value
    if type(value) is dict and _TEXT_ALONE.issuperset(map(type, value)):
        # Most maps are texts and a few maps or lists of texts: looked through without a loop.
        if _AS_THEY_ARE.issuperset(map(type, value.values())):
            return value
        return {
            name: member if type(member) in _AS_THEY_ARE else _payload_without_schema(member)
            for name, member in value.items()
        }
    if type(value) is list and _AS_THEY_ARE.issuperset(map(type, value)):
        return value
    match value:
        case None | bool() | str():
            return value
        case int():
            return _integer(JsonForm(), _LONG, value)
        case float():
            return java_json.double(value)
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode("ascii")
        case list() | tuple():
            return [_payload_without_schema(element) for element in value]
        case dict() if all(isinstance(name, str) for name in value):
            return {
                name: member if type(member) in _AS_THEY_ARE else _payload_without_schema(member)
                for name, member in value.items()
            }
        case dict():
            return [
                [_payload_without_schema(name), _payload_without_schema(member)]
                for name, member in value.items()
            ]
        case _:
            raise ConvertError(
                f"Java class class {java_types.class_name(value)} does not have corresponding "
                "schema type."
            )


def _invalid_type(schema: Schema, value: object) -> ConvertError:
    found = java_types.class_name(value)
    return ConvertError(f"Invalid type for {schema.type.name}: class {found}")
