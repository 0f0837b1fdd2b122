"""What confluent-kafka's own serializers write and read, on one real registry with ours."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from connectd.converters.avro_converter import AvroConverter
from connectd.converters.json_schema_converter import JsonSchemaConverter
from connectd.converters.protobuf_converter import ProtobufConverter
from connectd.model.schema import Struct
from tests.conformance.registry.writing import (
    PREFIX_BYTES,
    envelope_of,
    id_of,
    made,
    written,
)
from tests.harness.schema_registry import SchemaRegistry
from tests.unit.converters.registry import protoc

pytestmark = [pytest.mark.real_registry, pytest.mark.timeout(120)]

ENVELOPES = [
    envelope_of("0.1"),
    envelope_of("1.0", old_image=True, user_identity=True),
]


def plain(value: object) -> Any:
    """A struct as the dictionary that others know it as."""
    if not isinstance(value, Struct):
        return value
    names = [field.name for field in value.schema.fields]
    return {name: plain(member) for name, member in zip(names, value.values, strict=True)}


@pytest.fixture
def place(topic: str) -> SerializationContext:
    """A value of the topic."""
    return SerializationContext(topic, MessageField.VALUE)


@pytest.mark.parametrize("value", ENVELOPES)
def test_avro_is_byte_for_byte_what_confluents_serializer_writes(
    value: Struct, registry: SchemaRegistry, client: SchemaRegistryClient, place: Any
) -> None:
    record = written(made(AvroConverter, registry.url), place.topic, value.schema, value)
    text = client.get_schema(id_of(record)).schema_str
    assert AvroSerializer(client, text)(plain(value), place) == record
    assert AvroDeserializer(client)(record, place) == plain(value)


@pytest.mark.parametrize("value", ENVELOPES)
def test_json_has_the_id_and_members_of_confluents_serializer(
    value: Struct, registry: SchemaRegistry, client: SchemaRegistryClient, place: Any
) -> None:
    record = written(made(JsonSchemaConverter, registry.url), place.topic, value.schema, value)
    text = client.get_schema(id_of(record)).schema_str
    theirs = JSONSerializer(text, client)(plain(value), place)
    assert theirs is not None
    assert theirs[:PREFIX_BYTES] == record[:PREFIX_BYTES]
    assert json.loads(theirs[PREFIX_BYTES:]) == json.loads(record[PREFIX_BYTES:])
    reader = JSONDeserializer(None, schema_registry_client=client)  # validates too
    assert reader(record, place) == plain(value)


@pytest.mark.parametrize("value", ENVELOPES)
def test_protobuf_has_after_its_id_what_confluents_serializer_writes(
    value: Struct, registry: SchemaRegistry, client: SchemaRegistryClient, place: Any
) -> None:
    """Theirs has a registry in memory: it asks for schemas in a form of which Apicurio Registry
    3.3.3 sends broken text."""
    record = written(made(ProtobufConverter, registry.url), place.topic, value.schema, value)
    text = client.get_schema(id_of(record)).schema_str
    assert text is not None
    message_class = protoc.message_class(text)
    message = message_class.FromString(record[PREFIX_BYTES + 1 :])
    assert message.source.table_name == "table"
    with SchemaRegistryClient.new_client({"url": "mock://"}) as in_memory:
        serializer = ProtobufSerializer(message_class, in_memory, {"use.deprecated.format": False})
        theirs = serializer(message, place)
    assert theirs is not None
    assert theirs[PREFIX_BYTES:] == record[PREFIX_BYTES:]
