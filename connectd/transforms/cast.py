"""``Cast``: fields, or the whole key or value, become another primitive type (spec F.2)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, ClassVar, Final

from connectd.configdef import values
from connectd.configdef.definition import ConfigDef, ConfigType
from connectd.configdef.parsing import ParsedConfig
from connectd.errors import ConfigError, TransformError
from connectd.model import java_floats, java_text, java_types, logical, text_marks
from connectd.model.record import SourceRecord
from connectd.model.schema import Field, Schema, SchemaType, Struct
from connectd.transforms import declared, derived, expected, java_numbers
from connectd.transforms.side import Side

_PURPOSE: Final = "cast types"
_OUTPUTS: Final = (
    SchemaType.INT8,
    SchemaType.INT16,
    SchemaType.INT32,
    SchemaType.INT64,
    SchemaType.FLOAT32,
    SchemaType.FLOAT64,
    SchemaType.BOOLEAN,
    SchemaType.STRING,
)
_INPUTS: Final = (*_OUTPUTS, SchemaType.BYTES)
_TYPE_OF: Final[tuple[tuple[type, SchemaType], ...]] = (
    (bool, SchemaType.BOOLEAN),
    (int, SchemaType.INT64),
    (float, SchemaType.FLOAT64),
    (str, SchemaType.STRING),
    (bytes, SchemaType.BYTES),
    (list, SchemaType.ARRAY),
    (dict, SchemaType.MAP),
    (Struct, SchemaType.STRUCT),
)


def parse_spec(mappings: Sequence[str] | None) -> tuple[dict[str, SchemaType], SchemaType | None]:
    """The type of each field, and that of the whole value; one of the two is empty.

    Raises:
        ConfigError: in Kafka's words, the odd ones included.
    """
    if not mappings:
        raise ConfigError("Must specify at least one field to cast.")
    by_field: dict[str, SchemaType] = {}
    whole: SchemaType | None = None
    for mapping in mappings:
        name, *others = mapping.split(":")
        if len(others) > 1:
            raise values.invalid_value(
                "renames", list(mappings), f"Invalid rename mapping: {mapping}"
            )
        if others:
            by_field[values.trim(name)] = _output_type(others[0])
        else:
            whole = _output_type(name)
    if whole is not None and len(mappings) > 1:
        raise ConfigError(
            "Cast transformations that specify a type to cast the entire value to may only "
            "specify a single cast in their spec"
        )
    return by_field, whole


def _output_type(text: str) -> SchemaType:
    name = values.trim(text).upper()
    found = SchemaType.__members__.get(name)
    if found is None:
        raise values.invalid_value(
            f"Invalid type found in casting spec: {values.trim(text)}",
            "java.lang.IllegalArgumentException: No enum constant "
            f"org.apache.kafka.connect.data.Schema.Type.{name}",
        )
    if found not in _OUTPUTS:
        raise ConfigError(
            f"Cast transformation does not support casting to {found.name}; supported types are "
            f"{_listed(_OUTPUTS)}"
        )
    return found


def _check_spec(_name: str, value: object) -> None:
    parse_spec(value if isinstance(value, tuple) else None)


class Cast:
    """The work of both sides."""

    side: ClassVar[Side]

    def __init__(self, settings: ParsedConfig) -> None:
        self._by_field, self._whole = parse_spec(settings.strings("spec"))
        self._with_default = settings.boolean("replace.null.with.default")
        self._schemas = derived.SchemaCache()

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _CONFIG_DEF

    def apply(self, record: SourceRecord) -> SourceRecord:
        """The record with other types."""
        schema, value = self.side.of(record)
        if value is None:
            return record
        if self._whole is not None:
            cast_schema = None if schema is None else self._schemas.get(schema, self._whole_schema)
            return self.side.replaced(record, cast_schema, cast(value, self._whole, schema))
        if schema is None:
            members = expected.map_for(_PURPOSE, value)
            changed = {name: cast(members.get(name), kind) for name, kind in self._by_field.items()}
            return self.side.replaced(record, None, {**members, **changed})
        cast_schema = self._schemas.get(expected.with_fields(schema), self._struct_schema)
        struct = expected.struct_for(_PURPOSE, value, schema)
        members = derived.members_of(struct, with_default=self._with_default)
        for field in struct.schema.fields:
            kind = self._by_field.get(field.name)
            if kind is not None:
                members[field.name] = cast(members[field.name], kind, field.schema)
        return self.side.replaced(record, cast_schema, derived.struct_of(cast_schema, members))

    def _whole_schema(self, schema: Schema) -> Schema:
        if self._whole is None:
            return schema
        return replace(schema, **vars(_cast_schema(schema, self._whole)) | _basics(schema))

    def _struct_schema(self, schema: Schema) -> Schema:
        fields = [
            Field(field.name, _cast_schema(field.schema, self._by_field[field.name]))
            if field.name in self._by_field
            else field
            for field in schema.fields
        ]
        return replace(schema, fields=tuple(fields))


class CastKey(Cast):
    """``Cast$Key``."""

    ignores_texts = True
    side = Side.KEY


class CastValue(Cast):
    """``Cast$Value``."""

    ignores_texts = True
    side = Side.VALUE


def _basics(schema: Schema) -> dict[str, Any]:
    """What the schema of a whole key or value keeps: even the name of a logical type."""
    return {name: getattr(schema, name) for name in ("name", "version", "doc", "parameters")}


def _cast_schema(schema: Schema, kind: SchemaType) -> Schema:
    default = None if schema.default is None else cast(schema.default, kind, schema)
    return Schema(kind, optional=schema.optional, default=default)


def cast(value: object, kind: SchemaType, schema: Schema | None = None) -> object:
    """One value as another type; null stays null.

    Raises:
        TransformError: this value cannot become that; in Kafka's words.
    """
    if value is None:
        return None
    found = schema.type if schema is not None else _type_of(value)
    if found not in _INPUTS:
        raise TransformError(
            f"Cast transformation does not support casting from {found.name}; supported types are "
            f"{_listed(_INPUTS)}"
        )
    if isinstance(value, str) and kind is not SchemaType.STRING:
        text_marks.read(value)
    if schema is not None and kind is not SchemaType.STRING and not isinstance(value, Decimal):
        value = logical.to_stored(schema, value)
    try:
        return _CASTS[kind](value, kind, schema)
    except ValueError:
        raise TransformError(f"Value ({value}) was out of range for requested data type") from None


def _type_of(value: object) -> SchemaType:
    for kind, schema_type in _TYPE_OF:
        if isinstance(value, kind):
            return schema_type
    raise TransformError(
        f"Cast transformation was passed a value of type class {java_types.class_name(value)} "
        "which is not supported by Connect's data API"
    )


def _to_integer(value: object, kind: SchemaType, schema: Schema | None) -> int:
    bits = java_numbers.BITS[kind]
    match value:
        case bool():
            return int(value)
        case int() | float() | Decimal():
            return java_numbers.narrowed(value, bits)
        case str():
            return java_numbers.parse_integer(value, bits)
        case _:
            raise _unexpected(value, schema)


def _to_floating(value: object, kind: SchemaType, schema: Schema | None) -> float:
    match value:
        case bool() | int() | float() | Decimal():
            number = float(value)
        case str():
            number = java_numbers.parse_floating(value)
        case _:
            raise _unexpected(value, schema)
    return java_floats.single(number) if kind is SchemaType.FLOAT32 else number


def _to_boolean(value: object, kind: SchemaType, schema: Schema | None) -> bool:
    match value:
        case bool():
            return value
        case int() | float() | Decimal():
            return java_numbers.narrowed(value, 64) != 0
        case str():
            return value.lower() == "true"
        case _:
            raise _unexpected(value, schema)


def _to_string(value: object, kind: SchemaType, schema: Schema | None) -> str:
    match value:
        case datetime():
            return _iso_moment(logical.epoch_ms(value))
        case date():
            return value.isoformat()
        case time():
            return f"{value.isoformat('milliseconds')}Z"
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case _:
            return java_text.of(schema, value)


def _iso_moment(ms: int) -> str:
    """Java has one class for days, times and moments and guesses by the value (spec E.4)."""
    moment = logical.moment_of(ms)
    if ms < logical.MS_PER_DAY:
        return f"{moment.time().isoformat('milliseconds')}Z"
    if ms % logical.MS_PER_DAY == 0:
        return moment.date().isoformat()
    return f"{moment.replace(tzinfo=None).isoformat('T', 'milliseconds')}Z"


def _unexpected(value: object, schema: Schema | None) -> TransformError:
    name = java_types.class_name(value, schema)
    return TransformError(f"Unexpected type in Cast transformation: class {name}")


def _listed(kinds: Sequence[SchemaType]) -> str:
    return f"[{', '.join(kind.name for kind in kinds)}]"


_CASTS: Final[dict[SchemaType, Callable[[object, SchemaType, Schema | None], object]]] = {
    **dict.fromkeys(java_numbers.BITS, _to_integer),
    SchemaType.FLOAT32: _to_floating,
    SchemaType.FLOAT64: _to_floating,
    SchemaType.BOOLEAN: _to_boolean,
    SchemaType.STRING: _to_string,
}

_CONFIG_DEF: Final = ConfigDef(
    [
        declared.key(
            "spec",
            ConfigType.LIST,
            "Fields and their new types as field1:type,field2:type, or one type for the whole key "
            "or value: int8, int16, int32, int64, float32, float64, boolean, string. Bytes become "
            "only strings.",
            declared.HIGH,
            validator=_check_spec,
        ),
        declared.REPLACE_NULL,
    ]
)
