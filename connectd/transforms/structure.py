"""``Flatten``, ``HoistField`` and ``ValueToKey``: the shape of keys and values (spec F.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, Final

from connectd.configdef import validators
from connectd.configdef.definition import ConfigDef, ConfigType
from connectd.configdef.parsing import ParsedConfig
from connectd.errors import TransformError
from connectd.model import java_types
from connectd.model.record import SourceRecord
from connectd.model.schema import Field, Schema, SchemaType, Struct, or_default
from connectd.transforms import declared, derived, expected
from connectd.transforms.side import Side

_FLATTENING: Final = "flattening"
_COPYING: Final = "copying fields from value to key"


class Flatten:
    """Nested structs and maps become one level, names joined; the work of both sides."""

    side: ClassVar[Side]

    def __init__(self, settings: ParsedConfig) -> None:
        self._delimiter = settings.string("delimiter")
        self._schemas = derived.SchemaCache()

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _FLATTEN_DEF

    def apply(self, record: SourceRecord) -> SourceRecord:
        """The record with a flat key or value; arrays stay as they are."""
        schema, value = self.side.of(record)
        if value is None:
            return record
        if schema is None:
            members = expected.map_for(_FLATTENING, value)
            return self.side.replaced(record, None, dict(self._map_members("", members)))
        struct = expected.struct_for(_FLATTENING, value, schema)
        flat = self._schemas.get(schema, self._flat_schema)
        members = dict(self._struct_members("", struct))
        return self.side.replaced(record, flat, derived.struct_of(flat, members))

    def _map_members(self, prefix: str, members: dict[str, object]) -> Iterator[tuple[str, object]]:
        for name, member in members.items():
            full = self._joined(prefix, name)
            if isinstance(member, dict):
                yield from self._map_members(full, member)
            elif isinstance(member, bool | int | float | str | bytes | list) or member is None:
                yield full, member
            else:
                raise TransformError(
                    "Flatten transformation was passed a value of type class "
                    f"{java_types.class_name(member)} which is not supported by Connect's data API"
                )

    def _struct_members(self, prefix: str, struct: Struct) -> Iterator[tuple[str, object]]:
        for field, stored in struct.items():
            full = self._joined(prefix, field.name)
            member = or_default(field.schema, stored)
            if isinstance(member, Struct):
                yield from self._struct_members(full, member)
            elif field.schema.type is not SchemaType.STRUCT:
                yield full, member

    def _flat_schema(self, schema: Schema) -> Schema:
        default = schema.default if isinstance(schema.default, Struct) else None
        fields = list(self._flat_fields("", schema, schema.optional, default))
        flat = derived.struct_like(schema, fields)
        if default is None:
            return flat
        members = dict(self._struct_members("", default))
        return replace(flat, default=derived.struct_of(flat, members))

    def _flat_fields(
        self, prefix: str, schema: Schema, optional: bool, default: Struct | None
    ) -> Iterator[Field]:
        for field in schema.fields:
            full = self._joined(prefix, field.name)
            is_optional = optional or field.schema.optional
            inherited = None if default is None else default.get(field.name)
            member_default = field.schema.default if field.schema.default is not None else inherited
            if field.schema.type is SchemaType.STRUCT:
                nested = member_default if isinstance(member_default, Struct) else None
                yield from self._flat_fields(full, field.schema, is_optional, nested)
            elif field.schema.type is SchemaType.MAP:
                raise TransformError(
                    "Flatten transformation does not support MAP for record with schemas (for "
                    f"field {full})."
                )
            else:
                changed = replace(field.schema, optional=is_optional, default=member_default)
                yield Field(full, changed)

    def _joined(self, prefix: str, name: str) -> str:
        return f"{prefix}{self._delimiter}{name}" if prefix else name


class FlattenKey(Flatten):
    """``Flatten$Key``."""

    ignores_texts = True
    side = Side.KEY


class FlattenValue(Flatten):
    """``Flatten$Value``."""

    ignores_texts = True
    side = Side.VALUE


class HoistField:
    """The whole key or value becomes the one field of a struct or map; the work of both sides."""

    side: ClassVar[Side]

    def __init__(self, settings: ParsedConfig) -> None:
        self._field = settings.string("field")
        self._schemas = derived.SchemaCache()

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _HOIST_DEF

    def apply(self, record: SourceRecord) -> SourceRecord:
        """The record with the wrapped key or value."""
        schema, value = self.side.of(record)
        if schema is None:
            return self.side.replaced(record, None, {self._field: value})
        wrapping = self._schemas.get(schema, self._wrapping_schema)
        return self.side.replaced(record, wrapping, Struct(wrapping, (value,)))

    def _wrapping_schema(self, schema: Schema) -> Schema:
        return Schema(SchemaType.STRUCT, fields=(Field(self._field, schema),))


class HoistFieldKey(HoistField):
    """``HoistField$Key``."""

    ignores_texts = True
    side = Side.KEY


class HoistFieldValue(HoistField):
    """``HoistField$Value``."""

    ignores_texts = True
    side = Side.VALUE


class ValueToKey:
    """Fields of the value become the key."""

    ignores_texts = True

    def __init__(self, settings: ParsedConfig) -> None:
        self._fields = tuple(dict.fromkeys(settings.strings("fields")))
        self._with_default = settings.boolean("replace.null.with.default")
        self._schemas = derived.SchemaCache()

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _KEY_DEF

    def apply(self, record: SourceRecord) -> SourceRecord:
        """The record with that key."""
        if record.value_schema is None:
            members = expected.map_for(_COPYING, record.value)
            return Side.KEY.replaced(
                record, None, {name: members.get(name) for name in self._fields}
            )
        struct = expected.struct_for(_COPYING, record.value, record.value_schema)
        schema = self._schemas.get(record.value_schema, self._key_schema)
        members = {name: struct.get(name, with_default=self._with_default) for name in self._fields}
        return Side.KEY.replaced(record, schema, derived.struct_of(schema, members))

    def _key_schema(self, schema: Schema) -> Schema:
        fields = []
        for name in self._fields:
            field = schema.field(name)
            if field is None:
                raise TransformError(f"Field does not exist: {name}")
            fields.append(field)
        return Schema(SchemaType.STRUCT, fields=tuple(fields))


_FLATTEN_DEF: Final = ConfigDef(
    [
        declared.key(
            "delimiter",
            ConfigType.STRING,
            "What stands between the names of a field and of the fields inside of it.",
            declared.MEDIUM,
            ".",
        )
    ]
)
_HOIST_DEF: Final = ConfigDef(
    [declared.key("field", ConfigType.STRING, "Name of the one field.", declared.MEDIUM)]
)
_KEY_DEF: Final = ConfigDef(
    [
        declared.key(
            "fields",
            ConfigType.LIST,
            "Fields of the value that make up the key, in this order.",
            declared.HIGH,
            validator=validators.distinct(is_empty_allowed=False),
        ),
        declared.REPLACE_NULL,
    ]
)
