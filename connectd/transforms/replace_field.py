"""``ReplaceField``: fields are left out, kept or renamed (spec F.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from connectd.configdef import validators
from connectd.configdef.definition import ConfigDef, ConfigType
from connectd.configdef.parsing import ParsedConfig
from connectd.configdef.values import invalid_value
from connectd.model.record import SourceRecord
from connectd.model.schema import Field, Schema
from connectd.transforms import declared, derived, expected
from connectd.transforms.side import Side

_PURPOSE: Final = "field replacement"
_PAIR: Final = 2


def parse_renames(mappings: Sequence[str]) -> dict[str, str]:
    """New names by old ones.

    Raises:
        ConfigError: an entry is not of the form ``old:new``.
    """
    renames = {}
    for mapping in mappings:
        parts = mapping.split(":")
        if len(parts) != _PAIR:
            raise invalid_value("renames", list(mappings), f"Invalid rename mapping: {mapping}")
        renames[parts[0]] = parts[1]
    return renames


def _check_renames(name: str, value: object) -> None:
    validators.non_null(name, value)
    parse_renames(value if isinstance(value, tuple) else ())


class ReplaceField:
    """The work of both sides. ``exclude`` and ``include`` know fields by their old names."""

    side: ClassVar[Side]

    def __init__(self, settings: ParsedConfig) -> None:
        self._excluded = frozenset(settings.strings("exclude"))
        self._included = frozenset(settings.strings("include"))
        self._renames = parse_renames(settings.strings("renames"))
        self._with_default = settings.boolean("replace.null.with.default")
        self._schemas = derived.SchemaCache()

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _CONFIG_DEF

    def apply(self, record: SourceRecord) -> SourceRecord:
        """The record with the other fields."""
        schema, value = self.side.of(record)
        if value is None:
            return record
        if schema is None:
            members = expected.map_for(_PURPOSE, value)
            kept = {
                self._renamed(name): member for name, member in members.items() if self._keeps(name)
            }
            return self.side.replaced(record, None, kept)
        struct = expected.struct_for(_PURPOSE, value, schema)
        other = self._schemas.get(schema, self._other_schema)
        members = derived.members_of(struct, with_default=self._with_default)
        kept = {self._renamed(name): members[name] for name in members if self._keeps(name)}
        return self.side.replaced(record, other, derived.struct_of(other, kept))

    def _keeps(self, name: str) -> bool:
        return name not in self._excluded and (not self._included or name in self._included)

    def _renamed(self, name: str) -> str:
        return self._renames.get(name, name)

    def _other_schema(self, schema: Schema) -> Schema:
        fields = [
            Field(self._renamed(field.name), field.schema)
            for field in schema.fields
            if self._keeps(field.name)
        ]
        return derived.struct_like(schema, fields)


class ReplaceFieldKey(ReplaceField):
    """``ReplaceField$Key``."""

    ignores_texts = True
    side = Side.KEY


class ReplaceFieldValue(ReplaceField):
    """``ReplaceField$Value``."""

    ignores_texts = True
    side = Side.VALUE


_CONFIG_DEF: Final = ConfigDef(
    [
        declared.key(
            "exclude",
            ConfigType.LIST,
            "Fields to leave out, even if they are included.",
            declared.MEDIUM,
            (),
            validators.distinct(),
        ),
        declared.key(
            "include",
            ConfigType.LIST,
            "The only fields to keep; empty: all.",
            declared.MEDIUM,
            (),
            validators.distinct(),
        ),
        declared.key(
            "renames",
            ConfigType.LIST,
            "New names of fields, as old:new.",
            declared.MEDIUM,
            (),
            _check_renames,
        ),
        declared.REPLACE_NULL,
    ]
)
