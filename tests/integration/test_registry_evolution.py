"""The DynamoDB envelopes under a registry: registered, and grown without breaking their readers."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import fastavro
import pytest

from connectd.connectors.dynamodb import envelope
from connectd.converters.avro_converter import AvroConverter
from connectd.kafka.schema_registry import RegistryClient
from connectd.model.record import ConverterSpec

_PREFIX_BYTES = 5
_INFO = envelope.SourceInfo("table", envelope.InitSyncState.FINISHED, 1, 2, 3)
_FACTS = envelope.RecordFacts(envelope.Operation.UPDATE, 4)
VERSIONS: list[envelope.EnvelopeVersion] = ["0.1", "1.0"]
OPTIONS: list[dict[str, bool]] = [
    {"old_image": True},
    {"user_identity": True},
    {"old_image": True, "user_identity": True},
]


def converter() -> AvroConverter:
    """One with a registry of its own."""
    spec = ConverterSpec("avro", (("schema.registry.url", "mock://"),))
    return AvroConverter(spec, RegistryClient({"url": "mock://"}))


def write(avro: AvroConverter, settings: envelope.EnvelopeSettings) -> tuple[bytes, Any]:
    """The data of an envelope, and the schema that it is registered with."""
    value = settings.value(_INFO, _FACTS, '{"a":1}', '{"a":0}')
    record = avro.from_connect_data("topic", settings.value_schema, value)
    assert record is not None
    registered = avro.registry.by_id(int.from_bytes(record[1:_PREFIX_BYTES], "big"))
    return record[_PREFIX_BYTES:], fastavro.parse_schema(json.loads(registered.schema.text))


def read(data: bytes, written_with: Any, read_with: Any) -> Any:
    """As a reader does who expects another version than was written."""
    return fastavro.schemaless_reader(io.BytesIO(data), written_with, read_with)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("options", OPTIONS)
def test_an_option_that_is_turned_on_breaks_no_reader_old_or_new(
    version: envelope.EnvelopeVersion, options: dict[str, bool]
) -> None:
    """FULL compatibility: what the options add is optional, and its default is null."""
    avro = converter()
    plain = envelope.EnvelopeSettings(version)
    old_data, old_schema = write(avro, plain)
    new_data, new_schema = write(avro, replace(plain, **options))  # type: ignore[arg-type]
    grown = read(old_data, old_schema, new_schema)
    assert grown["document"] == '{"a":1}'
    for field, name in (("old_document", "old_image"), ("user_identity", "user_identity")):
        assert (field in grown) is options.get(name, False)
        assert grown.get(field) is None
    assert read(new_data, new_schema, old_schema) == read(old_data, old_schema, old_schema)


@pytest.mark.parametrize("version", VERSIONS)
def test_one_id_serves_every_record_of_a_table(version: envelope.EnvelopeVersion) -> None:
    """Schemas are equal where settings are: a restart registers nothing new."""
    avro = converter()
    records = [
        avro.from_connect_data(
            "topic",
            settings.value_schema,
            settings.value(_INFO, _FACTS, str(number), None),
        )
        for number in range(3)
        for settings in (envelope.EnvelopeSettings(version, old_image=True),)
    ]
    assert len({record[:_PREFIX_BYTES] for record in records if record is not None}) == 1


def test_the_two_envelopes_are_not_versions_of_one_another() -> None:
    """They share a name and differ in ``init_sync``: each wants a topic of its own."""
    avro = converter()
    data, schema = write(avro, envelope.EnvelopeSettings("0.1"))
    _, other = write(avro, envelope.EnvelopeSettings("1.0"))
    with pytest.raises(Exception, match="boolean"):
        read(data, schema, other)
