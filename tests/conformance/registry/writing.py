"""Converters on a registry's address, the records that they write, and the DynamoDB envelopes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from connectd.connectors.dynamodb import envelope
from connectd.converters.avro_converter import AvroConverter
from connectd.converters.json_schema_converter import JsonSchemaConverter
from connectd.converters.protobuf_converter import ProtobufConverter
from connectd.kafka.schema_registry import RegistryClient
from connectd.model.record import ConverterSpec
from connectd.model.schema import Schema, Struct

Made = AvroConverter | JsonSchemaConverter | ProtobufConverter
CLASSES: Final[list[Callable[[ConverterSpec], Made]]] = [
    AvroConverter,
    JsonSchemaConverter,
    ProtobufConverter,
]
PREFIX_BYTES: Final = 5

_INFO: Final = envelope.SourceInfo("table", envelope.InitSyncState.FINISHED, 1, 2, 3)
_FACTS: Final = envelope.RecordFacts(envelope.Operation.UPDATE, 4)


def made(
    cls: Any,
    url: str,
    settings: Mapping[str, str] | None = None,
    client: RegistryClient | None = None,
) -> Made:
    """A converter of values; ``client`` spares it one of its own, with its caches."""
    merged = {"schema.registry.url": url, "converter.type": "value", **(settings or {})}
    spec = ConverterSpec(cls.class_name, tuple(sorted(merged.items())))
    converter: Made = cls(spec, client)
    return converter


def written(converter: Made, topic: str, schema: Schema | None, value: object) -> bytes:
    """The record of a value that is not null."""
    record = converter.from_connect_data(topic, schema, value)
    assert record is not None
    assert record[:1] == b"\x00"
    return record


def id_of(record: bytes) -> int:
    """The schema that a record names."""
    return int.from_bytes(record[1:PREFIX_BYTES], "big")


def envelope_of(version: envelope.EnvelopeVersion, **options: bool) -> Struct:
    """An update of an item, in the envelope of these options."""
    settings = envelope.EnvelopeSettings(version, **options)  # type: ignore[arg-type]
    return settings.value(_INFO, _FACTS, '{"a":1}', '{"a":0}')
