"""``InsertField``: what is known of the record, or a fixed text, becomes a field (spec F.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final

from connectd.configdef.definition import ConfigDef, ConfigType
from connectd.configdef.parsing import ParsedConfig
from connectd.configdef.values import invalid_value
from connectd.errors import ConfigError, TransformError
from connectd.model import logical
from connectd.model.record import SourceRecord
from connectd.model.schema import INT32, STRING, Field, Schema
from connectd.transforms import declared, derived, expected
from connectd.transforms.side import Side

_PURPOSE: Final = "field insertion"
_SOURCES: Final = ("topic", "partition", "timestamp", "static")
"""In the order in which their fields are appended; offsets are for sinks."""


@dataclass(frozen=True)
class _Insertion:
    """One field to insert: ``source`` says what of."""

    source: str
    name: str
    optional: bool

    @classmethod
    def parse(cls, source: str, text: str) -> _Insertion:
        """A field name, with ``!`` behind it for a required one, ``?`` for an optional one."""
        if text.endswith(("!", "?")):
            return cls(source, text[:-1], optional=text.endswith("?"))
        return cls(source, text, optional=True)

    @property
    def schema(self) -> Schema:
        base = {"partition": INT32, "timestamp": logical.timestamp_schema()}
        return replace(base.get(self.source, STRING), optional=self.optional)


class InsertField:
    """The work of both sides."""

    side: ClassVar[Side]

    def __init__(self, settings: ParsedConfig) -> None:
        named = {source: settings.optional_string(f"{source}.field") for source in _SOURCES}
        self._static_value = settings.optional_string("static.value")
        self._offset_field = settings.optional_string("offset.field")
        if self._offset_field is None and all(name is None for name in named.values()):
            raise ConfigError("No field insertion configured")
        if named["static"] is not None and self._static_value is None:
            raise invalid_value(
                "static.value", None, f"No value specified for static field: {named['static']}"
            )
        self._insertions = tuple(
            _Insertion.parse(source, name) for source, name in named.items() if name is not None
        )
        self._with_default = settings.boolean("replace.null.with.default")
        self._schemas = derived.SchemaCache()

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _CONFIG_DEF

    def apply(self, record: SourceRecord) -> SourceRecord:
        """The record with the fields."""
        schema, value = self.side.of(record)
        if value is None:
            return record
        if schema is None:
            members = dict(expected.map_for(_PURPOSE, value))
            self._require_no_offset()
            for insertion in self._insertions:
                found = self._value(insertion, record)
                if found is not None:
                    members[insertion.name] = found
            return self.side.replaced(record, None, members)
        struct = expected.struct_for(_PURPOSE, value, schema)
        self._require_no_offset()
        wider = self._schemas.get(schema, self._wider_schema)
        members = derived.members_of(struct, with_default=self._with_default)
        for insertion in self._insertions:
            found = self._value(insertion, record)
            if insertion.source == "timestamp" and found is not None:
                found = logical.from_stored(insertion.schema, found)
            members[insertion.name] = found
        return self.side.replaced(record, wider, derived.struct_of(wider, members))

    def _require_no_offset(self) -> None:
        if self._offset_field is not None:
            raise TransformError(
                f"Only SinkRecord supported for [{_PURPOSE}], found: "
                "org.apache.kafka.connect.source.SourceRecord"
            )

    def _value(self, insertion: _Insertion, record: SourceRecord) -> object:
        match insertion.source:
            case "topic":
                return record.topic
            case "partition":
                return record.kafka_partition
            case "timestamp":
                return record.timestamp_ms
            case _:
                return self._static_value

    def _wider_schema(self, schema: Schema) -> Schema:
        added = [Field(each.name, each.schema) for each in self._insertions]
        return derived.struct_like(schema, [*schema.fields, *added])


class InsertFieldKey(InsertField):
    """``InsertField$Key``."""

    ignores_texts = True
    side = Side.KEY


class InsertFieldValue(InsertField):
    """``InsertField$Value``."""

    ignores_texts = True
    side = Side.VALUE


_NAMED: Final = "An exclamation mark behind the name makes it required, a question mark optional."

_CONFIG_DEF: Final = ConfigDef(
    [
        declared.key(name, ConfigType.STRING, doc, declared.MEDIUM, None)
        for name, doc in (
            ("topic.field", f"Field for the topic. {_NAMED}"),
            ("partition.field", f"Field for the record's partition. {_NAMED}"),
            ("offset.field", f"Field for the offset; only sinks have one. {_NAMED}"),
            ("timestamp.field", f"Field for the record's timestamp. {_NAMED}"),
            ("static.field", f"Field for a fixed text. {_NAMED}"),
            ("static.value", "That text."),
        )
    ]
    + [declared.REPLACE_NULL]
)
