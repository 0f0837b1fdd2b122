"""Protobuf is read with the schemas that a real registry keeps, whoever has registered them."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema as KeptSchema
from confluent_kafka.schema_registry import SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from connectd.converters.protobuf_converter import ProtobufConverter
from connectd.model.schema import Schema, Struct
from tests.conformance.registry.writing import made, written
from tests.harness.schema_registry import SchemaRegistry
from tests.unit.converters.registry import protoc
from tests.unit.converters.registry.cases import all_cases
from tests.unit.converters.registry.made import converter

pytestmark = [pytest.mark.real_registry, pytest.mark.timeout(120)]

NAMES = ("envelope-0.1-all", "envelope-1.0-all", "field-decimal-null", "string", "map-with-default")


@pytest.mark.parametrize("name", NAMES)
def test_a_record_is_read_as_with_a_registry_in_memory(
    name: str, registry: SchemaRegistry, topic: str
) -> None:
    case = all_cases()[name]
    record = written(made(ProtobufConverter, registry.url), topic, case.schema, case.value)
    in_memory = converter(ProtobufConverter)
    plain = written(in_memory, topic, case.schema, case.value)
    found = made(ProtobufConverter, registry.url).to_connect_data(topic, record)
    assert found == in_memory.to_connect_data(topic, plain)


def test_a_schema_that_refers_to_another_subject_is_read(
    registry: SchemaRegistry, client: SchemaRegistryClient, topic: str
) -> None:
    file = f"{topic}/other.proto"
    other = 'syntax = "proto3"; package c; message Other { int32 o = 1; }'
    client.register_schema(file, KeptSchema(other, "PROTOBUF"))
    text = f'syntax = "proto3"; import "{file}"; message M {{ c.Other x = 1; }}'
    schema_id = client.register_schema(
        f"{topic}-value", KeptSchema(text, "PROTOBUF", [SchemaReference(file, file, 1)])
    )
    record = b"\0" + schema_id.to_bytes(4, "big") + b"\0\x0a\x02\x08\x05"
    assert values(made(ProtobufConverter, registry.url), topic, record) == ((5,),)


def test_what_confluents_client_writes_is_read(
    registry: SchemaRegistry, client: SchemaRegistryClient, topic: str
) -> None:
    text = 'syntax = "proto3"; package a.b; message M { message N { string x = 1; } N n = 1; }'
    cls = protoc.message_class(text)
    serializer = ProtobufSerializer(cls, client, {"use.deprecated.format": False})
    record = serializer(cls(n={"x": "y"}), SerializationContext(topic, MessageField.VALUE))
    assert record is not None
    assert values(made(ProtobufConverter, registry.url), topic, record) == (("y",),)


def values(reading: Any, topic: str, record: bytes) -> Any:
    """What a record has in it, without its schema."""
    schema, value = reading.to_connect_data(topic, record)
    assert isinstance(schema, Schema)
    return plain(value)


def plain(value: object) -> Any:
    """A struct as its values."""
    return tuple(map(plain, value.values)) if isinstance(value, Struct) else value
