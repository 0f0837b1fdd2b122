"""``DropHeaders``, ``HeaderFrom`` and ``InsertHeader`` (spec F.2)."""

from __future__ import annotations

from typing import ClassVar, Final

from connectd.configdef import validators
from connectd.configdef.definition import ConfigDef, ConfigType
from connectd.configdef.parsing import ParsedConfig
from connectd.errors import ConfigError, TransformError
from connectd.model import literals
from connectd.model.record import SourceRecord
from connectd.model.schema import Schema, Struct, or_default
from connectd.transforms import declared, derived, expected
from connectd.transforms.side import Side, with_headers

Header = tuple[str, Schema | None, object]


class DropHeaders:
    """Takes headers of certain names away, all of each."""

    ignores_texts = True

    def __init__(self, settings: ParsedConfig) -> None:
        self._names = frozenset(settings.strings("headers"))

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _DROP_DEF

    def apply(self, record: SourceRecord) -> SourceRecord:
        """The record without them."""
        kept = [header for header in record.headers if header[0] not in self._names]
        return with_headers(record, kept)


class InsertHeader:
    """Appends one header with a fixed value, whose type is read from its text (spec E.4)."""

    ignores_texts = True

    def __init__(self, settings: ParsedConfig) -> None:
        schema, value = literals.parse(settings.string("value.literal"))
        self._header: Header = (settings.string("header"), schema, value)

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _INSERT_DEF

    def apply(self, record: SourceRecord) -> SourceRecord:
        """The record with it."""
        return with_headers(record, [*record.headers, self._header])


class HeaderFrom:
    """Copies or moves fields of the key or value into headers; the work of both sides."""

    side: ClassVar[Side]

    def __init__(self, settings: ParsedConfig) -> None:
        self._fields = settings.strings("fields")
        headers = settings.strings("headers")
        if len(self._fields) != len(headers):
            raise ConfigError(
                "'fields' config must have the same number of elements as 'headers' config."
            )
        self._pairs = tuple(zip(self._fields, headers, strict=True))
        self._moves = settings.string("operation") == "move"
        self._with_default = settings.boolean("replace.null.with.default")
        self._schemas = derived.SchemaCache()

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _FROM_DEF

    def apply(self, record: SourceRecord) -> SourceRecord:
        """The record with the headers, and without the fields if they are moved."""
        schema, value = self.side.of(record)
        purpose = "header move" if self._moves else "header copy"
        if schema is None:
            members = expected.map_for(purpose, value)
            added: list[Header] = [
                (header, None, members.get(field)) for field, header in self._pairs
            ]
            kept: object = {
                name: member for name, member in members.items() if name not in self._fields
            }
        else:
            struct = expected.struct_for(purpose, value, schema)
            added = [(header, *self._member(struct, field)) for field, header in self._pairs]
            kept = self._without_fields(struct) if self._moves else None
        moved = record
        if self._moves:
            kept_schema = kept.schema if isinstance(kept, Struct) else None
            moved = self.side.replaced(record, kept_schema, kept)
        return with_headers(moved, [*record.headers, *added])

    def _member(self, struct: Struct, name: str) -> tuple[Schema, object]:
        field = struct.schema.field(name)
        if field is None:
            raise TransformError(f"Unknown field: {name}")
        value = struct.get(name, with_default=False)
        return field.schema, or_default(field.schema, value) if self._with_default else value

    def _without_fields(self, struct: Struct) -> Struct:
        schema = self._schemas.get(struct.schema, self._without_field_schemas)
        members = {field.name: value for field, value in struct.items()}
        return derived.struct_of(schema, members)

    def _without_field_schemas(self, schema: Schema) -> Schema:
        kept = [field for field in schema.fields if field.name not in self._fields]
        return derived.struct_like(schema, kept)


class HeaderFromKey(HeaderFrom):
    """``HeaderFrom$Key``."""

    ignores_texts = True
    side = Side.KEY


class HeaderFromValue(HeaderFrom):
    """``HeaderFrom$Value``."""

    ignores_texts = True
    side = Side.VALUE


_DROP_DEF: Final = ConfigDef(
    [
        declared.key(
            "headers",
            ConfigType.LIST,
            "Names of the headers to take away.",
            declared.HIGH,
            validator=validators.distinct(is_empty_allowed=False),
        )
    ]
)
_INSERT_DEF: Final = ConfigDef(
    [
        declared.key(
            "header",
            ConfigType.STRING,
            "Name of the header.",
            declared.HIGH,
            validator=validators.non_null,
        ),
        declared.key(
            "value.literal",
            ConfigType.STRING,
            "Its value on every record; numbers, dates, [lists] and {maps} are recognised.",
            declared.HIGH,
            validator=validators.non_null,
        ),
    ]
)
_FROM_DEF: Final = ConfigDef(
    [
        declared.key(
            "fields",
            ConfigType.LIST,
            "Fields whose values become headers.",
            declared.HIGH,
            validator=declared.filled,
        ),
        declared.key(
            "headers",
            ConfigType.LIST,
            "Names of those headers, in the order of fields.",
            declared.HIGH,
            validator=declared.filled,
        ),
        declared.key(
            "operation",
            ConfigType.STRING,
            "move takes the fields away, copy leaves them.",
            declared.HIGH,
            validator=validators.one_of("move", "copy"),
        ),
        declared.REPLACE_NULL,
    ]
)
