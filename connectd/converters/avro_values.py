"""Connect values as the plain data that fastavro writes: one function per schema, made once.

A struct becomes a dict by the names of its Avro fields, so it can also be written with another
version of its schema (``use.latest.version``). Everything is checked here against the Connect
schema: what fastavro gets is right, or the record has failed with a sentence. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from connectd.converters import avro_schemas
from connectd.converters.avro_schemas import AvroForm
from connectd.errors import ConvertError
from connectd.model import java_types, logical
from connectd.model.schema import Schema, SchemaType, Struct

Write = Callable[[Any], Any]
"""A Connect value to Avro data."""

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


def writer(schema: Schema | None, form: AvroForm) -> Write:
    """The function for values of a schema.

    It raises ``ConvertError`` for a value that is none of the schema.
    """
    if schema is None:
        return anything
    write = _required(schema, form)
    default = schema.default
    ignores_default = schema.optional and form.ignores_default_for_nullables
    if default is not None and not ignores_default:
        return lambda value: write(default if value is None else value)
    if schema.optional:
        return lambda value: None if value is None else write(value)

    def required(value: object) -> object:
        if value is None:
            raise ConvertError("Found null value for non-optional schema")
        return write(value)

    return required


def anything(value: object) -> object:
    """A value without schema: the field of its type, in a record of all types."""
    match value:
        case None:
            return {}
        case bool():
            return {"boolean": value}
        case int() if -(1 << 63) <= value < 1 << 63:
            return {"long": value}
        case float():
            return {"double": value}
        case str():
            return {"string": value}
        case bytes():
            return {"bytes": value}
        case list():
            return {"array": [anything(each) for each in value]}
        case dict():
            return {
                "map": [
                    {"key": anything(key), "value": anything(each)} for key, each in value.items()
                ]
            }
    raise ConvertError(
        f"Java class {java_types.class_name(value)} does not have corresponding schema type."
    )


def _required(schema: Schema, form: AvroForm) -> Write:
    """The function for values that are not null."""
    match schema.type:
        case SchemaType.STRUCT if avro_schemas.is_union(schema):
            return _union(schema, form)
        case SchemaType.STRUCT:
            return _struct(schema, form)
        case SchemaType.ARRAY:
            return _array(schema, form)
        case SchemaType.MAP:
            return _map(schema, form)
    plain = _integer(schema) if schema.type in _INTEGER_BITS else _plain(schema)
    if not logical.is_logical(schema):
        return plain
    return lambda value: plain(logical.to_stored(schema, value))


def _integer(schema: Schema) -> Write:
    end = 1 << _INTEGER_BITS[schema.type] - 1

    def write(value: object) -> object:
        if type(value) is not int or not -end <= value < end:
            raise _invalid(schema, value)
        return value

    return write


def _plain(schema: Schema) -> Write:
    expected, is_single = _PYTHON_TYPES[schema.type], schema.type is SchemaType.FLOAT32

    def write(value: object) -> object:
        if type(value) is not expected:
            raise _invalid(schema, value)
        if is_single and isinstance(value, float) and _FLOAT32_MAX <= abs(value) < float("inf"):
            raise _invalid(schema, value)
        return value

    return write


def _array(schema: Schema, form: AvroForm) -> Write:
    element = writer(schema.value_schema, form)

    def write(value: object) -> object:
        if not isinstance(value, list | tuple):
            raise _invalid(schema, value)
        return [element(each) for each in value]

    return write


def _map(schema: Schema, form: AvroForm) -> Write:
    key, member = writer(schema.key_schema, form), writer(schema.value_schema, form)
    is_string_map = form.is_string_map(schema)

    def write(value: object) -> object:
        if not isinstance(value, dict):
            raise _invalid(schema, value)
        if is_string_map:
            return {key(name): member(each) for name, each in value.items()}
        return [{"key": key(name), "value": member(each)} for name, each in value.items()]

    return write


def _struct(schema: Schema, form: AvroForm) -> Write:
    fields = [
        (form.simple_name(each.name), each.name, writer(each.schema, form))
        for each in schema.fields
    ]

    def write(value: object) -> object:
        if not isinstance(value, Struct):
            raise _invalid(schema, value)
        _require_schema(schema, value)
        found = {}
        for (name, original, write_field), each in zip(fields, value.values, strict=True):
            try:
                found[name] = write_field(each)
            except ConvertError as error:
                if each is None and not error.args[0].startswith("Invalid"):
                    raise ConvertError(
                        f'Invalid value: null used for required field: "{original}"'
                    ) from error
                raise
        return found

    return write


def _union(schema: Schema, form: AvroForm) -> Write:
    """A struct of which one field is set: the value of that field."""
    fields = [_required(each.schema, form) for each in schema.fields]
    branches = [_branch(each.schema, form) for each in schema.fields]

    def write(value: object) -> object:
        if not isinstance(value, Struct):
            raise _invalid(schema, value)
        _require_schema(schema, value)
        for write_field, branch, each in zip(fields, branches, value.values, strict=True):
            if each is not None:
                return (branch, write_field(each))
        if schema.optional:
            return None
        raise ConvertError("a union struct has no field that is set; expected one")

    return write


def _branch(schema: Schema, form: AvroForm) -> str:
    """The name of a type inside of a union, for fastavro."""
    match schema.type:
        case SchemaType.STRUCT:
            return form.full_name(schema.name or f"{avro_schemas.NAMESPACE}.ConnectDefault")
        case SchemaType.ARRAY:
            return "array"
        case SchemaType.MAP:
            return "map" if form.is_string_map(schema) else "array"
        case SchemaType.STRING if form.is_enum(schema):
            return form.full_name(schema.parameter(avro_schemas.ENUM) or "")
    return avro_schemas.PRIMITIVES[schema.type]


def _require_schema(schema: Schema, value: Struct) -> None:
    if value.schema is not schema and value.schema != schema:
        # An optional struct holds values of the schema that says so, or of the one that does not.
        fields = value.schema.fields
        if fields is not schema.fields and fields != schema.fields:
            raise ConvertError("Mismatching struct schema")


def _invalid(schema: Schema, value: object) -> ConvertError:
    found = java_types.class_name(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ConvertError(f"Invalid type for {schema.type.name}: {value} is none, or too large")
    return ConvertError(f"Invalid type for {schema.type.name}: class {found}")
