"""``SetSchemaMetadata``: another name or version for the schema (spec F.2)."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Final

from connectd.configdef.definition import ConfigDef, ConfigType
from connectd.configdef.parsing import ParsedConfig
from connectd.errors import ConfigError
from connectd.model.record import SourceRecord
from connectd.model.schema import Schema, Struct
from connectd.transforms import declared, derived, expected
from connectd.transforms.side import Side


class SetSchemaMetadata:
    """The work of both sides."""

    side: ClassVar[Side]

    def __init__(self, settings: ParsedConfig) -> None:
        self._name = settings.optional_string("schema.name")
        self._version = settings.optional_integer("schema.version")
        self._with_default = settings.boolean("replace.null.with.default")
        if self._name is None and self._version is None:
            raise ConfigError("Neither schema name nor version configured")
        self._schemas = derived.SchemaCache()

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _CONFIG_DEF

    def apply(self, record: SourceRecord) -> SourceRecord:
        """The record with the other schema; a tombstone has none and stays."""
        schema, value = self.side.of(record)
        if schema is None and value is None:
            return record
        found = expected.schema_for("updating schema metadata", schema)
        named = self._schemas.get(expected.with_fields(found), self._named_schema)
        if isinstance(value, Struct):
            members = derived.members_of(value, with_default=self._with_default)
            value = derived.struct_of(named, members)
        return self.side.replaced(record, named, value)

    def _named_schema(self, schema: Schema) -> Schema:
        name = schema.name if self._name is None else self._name
        version = schema.version if self._version is None else self._version
        return replace(schema, name=name, version=version)


class SetSchemaMetadataKey(SetSchemaMetadata):
    """``SetSchemaMetadata$Key``."""

    ignores_texts = True
    side = Side.KEY


class SetSchemaMetadataValue(SetSchemaMetadata):
    """``SetSchemaMetadata$Value``."""

    ignores_texts = True
    side = Side.VALUE


_CONFIG_DEF: Final = ConfigDef(
    [
        declared.key("schema.name", ConfigType.STRING, "Name of the schema.", declared.HIGH, None),
        declared.key(
            "schema.version", ConfigType.INT, "Version of the schema.", declared.HIGH, None
        ),
        declared.REPLACE_NULL,
    ]
)
