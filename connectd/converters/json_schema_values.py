"""Connect values as the JSON of ``JsonSchemaConverter`` (spec E.7): one function per schema. Pure.

As JsonConverter's payload, with two differences: a map whose keys are no texts is a list of objects
with ``key`` and ``value``, and the field of a struct that is null and must not be is left out.
"""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any, Final, Protocol

from connectd.converters import registry_checks as checking
from connectd.errors import ConvertError
from connectd.model import connect_json, java_json, logical
from connectd.model.schema import Schema, SchemaType

_ONE_OF: Final = "io.confluent.connect.json.OneOf"
_PLAIN: Final = connect_json.JsonForm()


class ValueForm(Protocol):
    """The settings that matter to values."""

    @property
    def has_decimals_as_numbers(self) -> bool:
        """Whether decimals are JSON numbers, not the bytes of their digits as text."""
        ...

    @property
    def ignores_default_for_nullables(self) -> bool:
        """Whether null stays null where it is allowed."""
        ...


def writer(schema: Schema | None, form: ValueForm) -> checking.Write:
    """The function for values of a schema; what it returns is for ``java_json.dumps``.

    It raises ``ConvertError`` for a value that is none of the schema.
    """
    if schema is None:
        return lambda value: _PLAIN.payload(None, value)
    return checking.nullable(
        schema, _required(schema, form), ignores_default=form.ignores_default_for_nullables
    )


def is_string_map(schema: Schema) -> bool:
    """Whether a map is a JSON object."""
    key = schema.key_schema
    return key is not None and key.type is SchemaType.STRING and not key.optional


def _required(schema: Schema, form: ValueForm) -> checking.Write:
    match schema.type:
        case SchemaType.STRUCT if schema.name == _ONE_OF:
            return _union(schema, form)
        case SchemaType.STRUCT:
            return _struct(schema, form)
        case SchemaType.ARRAY:
            return _array(schema, form)
        case SchemaType.MAP:
            return _map(schema, form)
    if schema.name == logical.DECIMAL and form.has_decimals_as_numbers:
        return lambda value: _number(schema, value)
    scalar = checking.scalar(schema)
    match schema.type:
        case SchemaType.BYTES:
            return lambda value: base64.b64encode(scalar(value)).decode("ascii")
        case SchemaType.FLOAT32:
            return lambda value: java_json.single(scalar(value))
        case SchemaType.FLOAT64:
            return lambda value: java_json.double(scalar(value))
    return scalar


def _number(schema: Schema, value: object) -> object:
    logical.to_stored(schema, value)  # refuses what is no decimal, or of another scale
    if not isinstance(value, Decimal):
        raise checking.invalid(schema, value)
    return java_json.number(value)


def _array(schema: Schema, form: ValueForm) -> checking.Write:
    return checking.array(schema, writer(schema.value_schema, form))


def _map(schema: Schema, form: ValueForm) -> checking.Write:
    key, member = writer(schema.key_schema, form), writer(schema.value_schema, form)
    return checking.mapping(schema, key, member, by_name=is_string_map(schema))


def _struct(schema: Schema, form: ValueForm) -> checking.Write:
    fields = [
        (
            each.name,
            writer(each.schema, form),
            not each.schema.optional and each.schema.default is None,
        )
        for each in schema.fields
    ]

    def write(value: object) -> object:
        found: dict[str, Any] = {}
        members = checking.members(schema, value)
        for (name, write_field, is_left_out), each in zip(fields, members, strict=True):
            if each is not None or not is_left_out:
                found[name] = write_field(each)
        return found

    return write


def _union(schema: Schema, form: ValueForm) -> checking.Write:
    fields = [_required(each.schema, form) for each in schema.fields]

    def write(value: object) -> object:
        for write_field, each in zip(fields, checking.members(schema, value), strict=True):
            if each is not None:
                return write_field(each)
        if schema.optional:
            return None
        raise ConvertError("a union struct has no field that is set; expected one")

    return write
