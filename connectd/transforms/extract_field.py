"""``ExtractField``: one field takes the place of the whole key or value (spec F.2)."""

from __future__ import annotations

from typing import ClassVar, Final

from connectd.configdef import validators
from connectd.configdef.definition import ConfigDef, ConfigType
from connectd.configdef.parsing import ParsedConfig
from connectd.errors import TransformError
from connectd.model.record import SourceRecord
from connectd.model.schema import Schema, SchemaType, Struct, or_default
from connectd.transforms import declared, expected
from connectd.transforms.field_path import FieldPath
from connectd.transforms.side import Side

_PURPOSE: Final = "field extraction"
_NESTED_PURPOSE: Final = "nested field access"


class ExtractField:
    """The work of both sides."""

    side: ClassVar[Side]

    def __init__(self, settings: ParsedConfig) -> None:
        self._path = FieldPath.parse(
            settings.string("field"), settings.string("field.syntax.version")
        )
        self._with_default = settings.boolean("replace.null.with.default")

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _CONFIG_DEF

    def apply(self, record: SourceRecord) -> SourceRecord:
        """The record with the field in the place of what it was a field of."""
        schema, value = self.side.of(record)
        if schema is None:
            members = None if value is None else expected.map_for(_PURPOSE, value)
            return self.side.replaced(record, None, self._from_map(members))
        struct = None if value is None else expected.struct_for(_PURPOSE, value, schema)
        return self.side.replaced(record, self._field_schema(schema), self._from_struct(struct))

    def _from_map(self, members: dict[str, object] | None) -> object:
        found: object = members
        for depth, step in enumerate(self._path.steps):
            if found is None:
                return None
            purpose = _PURPOSE if depth == 0 else _NESTED_PURPOSE
            found = expected.map_for(purpose, found).get(step)
        return found

    def _field_schema(self, schema: Schema) -> Schema:
        found: Schema | None = schema
        for step in self._path.steps:
            if found is None:
                break
            if found.type is not SchemaType.STRUCT:
                raise TransformError("Cannot look up fields on non-struct type")
            field = found.field(step)
            found = None if field is None else field.schema
        if found is None:
            raise TransformError(f"Unknown field: {self._path.text}")
        return found

    def _from_struct(self, struct: Struct | None) -> object:
        found: object = struct
        for step in self._path.steps:
            if not isinstance(found, Struct):
                return None
            field = found.schema.field(step)
            if field is None:
                return None
            value = found.get(step, with_default=False)
            found = or_default(field.schema, value) if self._with_default else value
        return found


class ExtractFieldKey(ExtractField):
    """``ExtractField$Key``."""

    ignores_texts = True
    side = Side.KEY


class ExtractFieldValue(ExtractField):
    """``ExtractField$Value``."""

    ignores_texts = True
    side = Side.VALUE


_CONFIG_DEF: Final = ConfigDef(
    [
        declared.key("field", ConfigType.STRING, "The field to take.", declared.MEDIUM),
        declared.REPLACE_NULL,
        declared.key(
            "field.syntax.version",
            ConfigType.STRING,
            "V1: the name of a field at the top; V2: a path whose dots descend, a name that has "
            "dots of its own between backticks.",
            declared.HIGH,
            "V1",
            validators.one_of("V1", "V2", ignore_case=True),
        ),
    ]
)
