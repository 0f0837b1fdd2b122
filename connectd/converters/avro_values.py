"""Connect values as the plain data that fastavro writes: one function per schema, made once.

A struct becomes a dict by the names of its Avro fields, so it can also be written with another
version of its schema (``use.latest.version``). Everything is checked here against the Connect
schema: what fastavro gets is right, or the record has failed with a sentence. Pure.
"""

from __future__ import annotations

from connectd.converters import avro_schemas
from connectd.converters import registry_checks as checking
from connectd.converters.avro_schemas import AvroForm
from connectd.errors import ConvertError
from connectd.model import java_types
from connectd.model.schema import Schema, SchemaType


def writer(schema: Schema | None, form: AvroForm) -> checking.Write:
    """The function for values of a schema.

    It raises ``ConvertError`` for a value that is none of the schema.
    """
    if schema is None:
        return anything
    return checking.nullable(
        schema,
        _required(schema, form),
        ignores_default=form.ignores_default_for_nullables,
    )


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


def _required(schema: Schema, form: AvroForm) -> checking.Write:
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
    return checking.scalar(schema)


def _array(schema: Schema, form: AvroForm) -> checking.Write:
    return checking.array(schema, writer(schema.value_schema, form))


def _map(schema: Schema, form: AvroForm) -> checking.Write:
    key, member = writer(schema.key_schema, form), writer(schema.value_schema, form)
    return checking.mapping(schema, key, member, by_name=form.is_string_map(schema))


def _struct(schema: Schema, form: AvroForm) -> checking.Write:
    fields = [(form.simple_name(each.name), writer(each.schema, form)) for each in schema.fields]

    def write(value: object) -> object:
        members = checking.members(schema, value)
        found = {}
        for (name, write_field), each in zip(fields, members, strict=True):
            found[name] = write_field(each)
        return found

    return write


def _union(schema: Schema, form: AvroForm) -> checking.Write:
    """A struct of which one field is set: the value of that field."""
    fields = [_required(each.schema, form) for each in schema.fields]
    branches = [_branch(each.schema, form) for each in schema.fields]

    def write(value: object) -> object:
        members = checking.members(schema, value)
        for write_field, branch, each in zip(fields, branches, members, strict=True):
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
