"""``UnwrapDynamoDb``: from the envelope of a change to the plain new state of the item.

What Debezium's ExtractNewRecordState is for its connectors, with its names for what is alike: the
modes of ``delete.tombstone.handling.mode``, ``add.fields``, ``add.headers`` and their prefixes. Of
a change a consumer then sees the item alone, as it is now. Both envelopes are understood, 0.1 and
1.0, with schema and without (spec dynamodb-connector 4.2), and told by their fields and not by the
name of their schema, which people change.

A deletion is a record of operation ``d`` and the tombstone behind it:

| mode | the record ``d`` | the tombstone |
|---|---|---|
| ``drop`` | dropped | dropped |
| ``tombstone`` (default) | dropped | stays |
| ``rewrite`` | the last state and ``__deleted`` | dropped |
| ``rewrite-with-tombstone`` | the last state and ``__deleted`` | stays |
| ``delete-to-tombstone`` | becomes a tombstone | dropped |

The last mode is for connectors with ``tombstones.on.delete=false`` and does no harm with others: no
deletion is told twice (field case T07). The last state is the old image where there is one, else
the document of the deletion, else (envelope 0.1) the fields of the key, which are text.

Pure.
"""

from __future__ import annotations

from typing import Final, NamedTuple, cast

from connectd.configdef import validators
from connectd.configdef.definition import ConfigDef, ConfigType
from connectd.configdef.parsing import ParsedConfig
from connectd.errors import ConfigError, TransformError
from connectd.model import java_types
from connectd.model.record import SourceRecord
from connectd.model.schema import Schema, Struct
from connectd.transforms import declared, unwrap_document, unwrap_schema

DELETED: Final = "__deleted"
_DELETED_MARKS: Final = {False: "false", True: "true"}
"""Texts, as Debezium writes them."""

_REWRITING: Final = ("rewrite", "rewrite-with-tombstone")
_KEEPING_TOMBSTONES: Final = ("tombstone", "rewrite-with-tombstone")
_MODES: Final = (
    "drop",
    "tombstone",
    "rewrite",
    "rewrite-with-tombstone",
    "delete-to-tombstone",
)
_OPERATIONS: Final = ("r", "c", "u", "d")
_OF_ENVELOPE: Final = ("op", "ts_ms", "version", "user_identity")
_OF_SOURCE: Final = (
    "version",
    "table_name",
    "init_sync",
    "init_sync_state",
    "init_sync_start",
    "init_sync_end",
    "init_sync_count",
)

_Addition = tuple[tuple[str, ...], str]
"""Where a fact is in the envelope, and the name that it gets."""


class UnwrapDynamoDb:
    """The document takes the place of the envelope around it."""

    def __init__(self, settings: ParsedConfig) -> None:
        mode = settings.string("delete.tombstone.handling.mode")
        numbers = cast("unwrap_document.NumberForm", settings.string("numbers"))
        self._has_schema = settings.string("schema") == "struct"
        if numbers == "decimal" and not self._has_schema:
            raise ConfigError(
                "numbers is decimal, which needs schema=struct: no converter writes decimals "
                "without a schema; with JsonConverter, schemas.enable=false and "
                "decimal.format=NUMERIC write them as plain JSON numbers, digit for digit"
            )
        self._read = unwrap_document.reader(
            cast("unwrap_document.DocumentForm", settings.string("document.format")), numbers
        )
        self._rewrites = mode in _REWRITING
        self._keeps_tombstones = mode in _KEEPING_TOMBSTONES
        self._makes_tombstones = mode == "delete-to-tombstone"
        self._passes_others = settings.string("other.records") == "pass"
        self._fields = _additions(settings, "add.fields")
        self._headers = _additions(settings, "add.headers")

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _CONFIG_DEF

    def apply(self, record: SourceRecord) -> SourceRecord | None:
        """The record with the item as its value; a deletion as the mode says."""
        if record.value is None:
            return record if self._keeps_tombstones else None
        envelope = _Envelope.of(record.value)
        if envelope is None:
            if self._passes_others:
                return record
            raise TransformError(
                "unwrapping: the value is no DynamoDB envelope (document, source and op), found "
                f"{java_types.class_name(record.value)} ({record.origin or record.topic}); put "
                "this transform before those that change the value, or set other.records=pass"
            )
        if not envelope.is_deletion:
            return self._unwrapped(record, envelope, self._read(envelope.document))
        if self._rewrites:
            return self._unwrapped(record, envelope, self._last_state(record, envelope))
        return self._replaced(record, envelope, None, None) if self._makes_tombstones else None

    def _last_state(self, record: SourceRecord, envelope: _Envelope) -> dict[str, object]:
        if envelope.old_document:
            return self._read(envelope.old_document)
        if envelope.document:
            return self._read(envelope.document)
        return dict(_members(record.key) or {})

    def _unwrapped(
        self, record: SourceRecord, envelope: _Envelope, item: dict[str, object]
    ) -> SourceRecord:
        for path, name in self._fields:
            _put(item, name, envelope.fact(path))
        if self._rewrites:
            _put(item, DELETED, _DELETED_MARKS[envelope.is_deletion])
        if not self._has_schema:
            return self._replaced(record, envelope, None, item)
        schema = unwrap_schema.struct_schema(item)
        return self._replaced(record, envelope, schema, unwrap_schema.shaped(schema, item))

    def _replaced(
        self, record: SourceRecord, envelope: _Envelope, schema: Schema | None, value: object
    ) -> SourceRecord:
        headers = record.headers
        if self._headers:
            headers = [*headers, *(self._header(envelope, *each) for each in self._headers)]
        return SourceRecord(
            record.topic,
            record.key_schema,
            record.key,
            schema,
            value,
            record.kafka_partition,
            record.timestamp_ms,
            headers,
            record.origin,
        )

    def _header(
        self, envelope: _Envelope, path: tuple[str, ...], name: str
    ) -> tuple[str, Schema, object]:
        fact = envelope.fact(path)
        schema = unwrap_schema.schema_of(fact, name)
        return name, schema, unwrap_schema.shaped(schema, fact)


class _Envelope(NamedTuple):
    """What is read of one; ``value`` and ``source`` are structs or maps."""

    value: object
    source: object
    document: str
    old_document: str | None
    is_deletion: bool

    @classmethod
    def of(cls, value: object) -> _Envelope | None:
        """The envelope that a value is, or None."""
        if isinstance(value, Struct):
            members = dict(zip(value.schema.names, value.values, strict=True))
        elif isinstance(value, dict):
            members = value
        else:
            return None
        document, operation = members.get("document"), members.get("op")
        source, old = members.get("source"), members.get("old_document")
        if (
            not isinstance(document, str)
            or operation not in _OPERATIONS
            or not isinstance(source, Struct | dict)
        ):
            return None
        return cls(value, source, document, old if isinstance(old, str) else None, operation == "d")

    def fact(self, path: tuple[str, ...]) -> object:
        """What the envelope says there; null where it says nothing."""
        *of_source, name = path
        if of_source:
            found = _member(self.source, name)
            if name == "init_sync_state" and found is None:  # 0.1 has one field for both
                found = _member(self.source, "init_sync")
            return found
        found = _member(self.value, name)
        return _members(found) if isinstance(found, Struct) else found


def _member(value: object, name: str) -> object:
    """A field of a struct or map; null where there is none."""
    if isinstance(value, Struct):
        position = value.schema.positions.get(name)
        return None if position is None else value.values[position]
    return value.get(name) if isinstance(value, dict) else None


def _members(value: object) -> dict[str, object] | None:
    """The values of a struct or map by name."""
    if isinstance(value, Struct):
        return {field.name: member for field, member in value.items()}
    return value if isinstance(value, dict) else None


def _put(item: dict[str, object], name: str, value: object) -> None:
    if name in item:
        raise TransformError(
            f"unwrapping: the item has an attribute {name} of its own; choose another "
            "add.fields.prefix, or another name behind the colon in add.fields"
        )
    item[name] = value


def _additions(settings: ParsedConfig, key: str) -> tuple[_Addition, ...]:
    prefix = settings.string(f"{key}.prefix")
    return tuple(_addition(key, prefix, text) for text in settings.strings(key))


def _addition(key: str, prefix: str, text: str) -> _Addition:
    """``op``, ``source.table_name`` or ``table:name``; raises ConfigError for what no envelope
    has."""
    where, _, new_name = text.partition(":")
    name = where.removeprefix("source.")
    if name == where and name in _OF_ENVELOPE:
        path: tuple[str, ...] = (name,)
    elif name in _OF_SOURCE:
        path = ("source", name)
    elif name == "table":
        path = ("source", "table_name")
    else:
        known = ", ".join([*_OF_ENVELOPE, "table", *(f"source.{each}" for each in _OF_SOURCE)])
        raise ConfigError(f"{key} has {text}, which no envelope has; known are {known}")
    return path, f"{prefix}{new_name or where.replace('.', '_')}"


_ADDED: Final = (
    "Facts of the envelope: op, ts_ms, version, user_identity, and with or without source. before "
    "them table (or table_name), init_sync, init_sync_state, init_sync_start, init_sync_end, "
    "init_sync_count. A colon and another name may follow each. A fact that an envelope lacks is "
    "null."
)
_CONFIG_DEF: Final = ConfigDef(
    [
        declared.key(
            "delete.tombstone.handling.mode",
            ConfigType.STRING,
            "What becomes of a deletion, which is a record and a tombstone behind it. drop: both "
            "go. tombstone: the tombstone alone. rewrite: the record alone, with the last "
            "known state and __deleted (text true; false on all other records). "
            "rewrite-with-tombstone: both. delete-to-tombstone: the record becomes the tombstone, "
            "and those that come are dropped; for tombstones.on.delete=false.",
            declared.HIGH,
            "tombstone",
            validators.one_of(*_MODES),
        ),
        declared.key(
            "numbers",
            ConfigType.STRING,
            "Form of numbers. text: as DynamoDB sends them. decimal: exact, needs schema=struct. "
            "number: an integer of 64 bits or a double; a number that neither holds exactly is "
            "refused.",
            declared.HIGH,
            "text",
            validators.one_of("text", "decimal", "number"),
        ),
        declared.key(
            "schema",
            ConfigType.STRING,
            "none: the item is a map without schema. struct: a struct whose schema is made of the "
            "item's own attributes, all optional, in the order of their names.",
            declared.MEDIUM,
            "none",
            validators.one_of("none", "struct"),
        ),
        declared.key(
            "document.format",
            ConfigType.STRING,
            "Form of the document in the envelope: the connector's document.format.",
            declared.MEDIUM,
            "typed",
            validators.one_of("typed", "plain"),
        ),
        declared.key(
            "other.records",
            ConfigType.STRING,
            "A value that is no envelope: fail (errors.tolerance decides), or pass as it is.",
            declared.MEDIUM,
            "fail",
            validators.one_of("fail", "pass"),
        ),
        declared.key(
            "add.fields",
            ConfigType.LIST,
            f"Fields to add to the item. {_ADDED}",
            declared.LOW,
            (),
            validators.distinct(),
        ),
        declared.key(
            "add.fields.prefix",
            ConfigType.STRING,
            "What their names begin with.",
            declared.LOW,
            "__",
        ),
        declared.key(
            "add.headers",
            ConfigType.LIST,
            f"Headers to add to the record. {_ADDED}",
            declared.LOW,
            (),
            validators.distinct(),
        ),
        declared.key(
            "add.headers.prefix",
            ConfigType.STRING,
            "What their names begin with.",
            declared.LOW,
            "__",
        ),
    ]
)
