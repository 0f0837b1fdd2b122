"""Protobuf whose schema is the descriptor that protoc makes of a file, and not its text."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2

from connectd.converters import protobuf_descriptor, protobuf_layout, protobuf_text
from connectd.converters.protobuf_layout import ProtobufForm
from connectd.errors import ConvertError
from connectd.model.schema import Schema, Struct
from tests.unit.converters.registry.protobuf_records import (
    DECIMAL,
    EVERYTHING,
    made,
    message_class,
    read,
    registered,
)
from tests.unit.converters.registry.test_protobuf_grammar import EVERYTHING as AS_PEOPLE_WRITE
from tests.unit.converters.registry.test_protobuf_grammar import STRUCTS

TEXTS = {
    "everything": EVERYTHING,
    "as-people-write": AS_PEOPLE_WRITE,
    "decimal": DECIMAL,
    **{
        name: protobuf_text.of(protobuf_layout.file_of(STRUCTS[name], form))
        for name, form in (
            ("envelope-1.0-all", ProtobufForm(marks_optional=True)),
            ("envelope-0.1-all", ProtobufForm(wraps_nullables=True)),
            ("map-with-default", ProtobufForm()),
            ("field-int8-null", ProtobufForm()),
            ("field-timestamp-null", ProtobufForm()),
        )
    },
}


def descriptor_of(text: str) -> str:
    """The descriptor as clients register it."""
    return base64.b64encode(message_class(text).DESCRIPTOR.file.serialized_pb).decode()


def schema_of(text: str, *used: tuple[str, str]) -> Schema:
    """The schema of an empty message, with the version of no registry."""
    return read(text, b"", *used)[0]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("used", [(), (("enhanced.protobuf.schema.support", "true"),)])
def test_a_descriptor_says_what_its_text_says(name: str, used: tuple[tuple[str, str], ...]) -> None:
    from_text = schema_of(TEXTS[name], *used)
    from_descriptor = schema_of(descriptor_of(TEXTS[name]), *used)
    assert from_descriptor.name == from_text.name
    assert from_descriptor.fields == from_text.fields


@pytest.mark.parametrize(
    ("path", "values"), [(("M",), {"a": 5}), (("M", "Inner"), {"x": 5}), (("Last",), {"x": 5})]
)
def test_what_confluents_client_writes_is_read(path: tuple[str, ...], values: Any) -> None:
    text = (
        'syntax = "proto3"; package a.b; message M { int32 a = 1; message Other { }'
        " message Inner { int32 x = 1; } } message Last { int32 x = 1; }"
    )
    found = message_class(text).DESCRIPTOR.file.message_types_by_name[path[0]]
    cls = message_class(text, 0 if path[0] == "M" else 1)
    for name in path[1:]:
        cls, found = getattr(cls, name), found.nested_types_by_name[name]
    with SchemaRegistryClient.new_client({"url": "mock://"}) as theirs:
        serializer = ProtobufSerializer(cls, theirs, {"use.deprecated.format": False})
        record = serializer(cls(**values), SerializationContext("t", MessageField.VALUE))
        schema = theirs.get_latest_version("t-value").schema.schema_str
    assert record is not None
    assert schema is not None
    head = registered(schema)
    known, value = made().to_connect_data("foreign", head + record[len(head) :])
    assert known is not None
    assert known.name == found.name
    assert isinstance(value, Struct)
    assert value.values == (5,)


def _file(**members: Any) -> str:
    made_of = descriptor_pb2.FileDescriptorProto(**members)
    return base64.b64encode(made_of.SerializeToString()).decode()


def _message(**members: Any) -> str:
    return _file(syntax="proto3", message_type=[{"name": "M", **members}])


def _nested(depth: int) -> dict[str, Any]:
    return {"name": "M", "nested_type": [_nested(depth - 1)] if depth else []}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abc", "the schema is neither text nor base64"),
        ("YWJj", "the message ends within|wire type"),
        (_file(name="x"), "the schema is proto2, which is not supported"),
        (_file(syntax="editions"), "the schema is editions, which is not supported"),
        (_message(field=[{"name": "x", "number": 0, "type": 5}]), "has the number 0"),
        (_message(field=[{"name": "x", "number": 1, "type": 10}]), "number 1 and is of type 10"),
        (
            _message(field=[{"name": "x", "number": 1, "type": 5, "oneof_index": 3}]),
            "x is of a choice that its message has not",
        ),
        (_file(syntax="proto3", message_type=[_nested(70)]), "more than 64 messages inside"),
        (_file(syntax="proto3"), "the schema has no message at 0"),
    ],
)
def test_what_is_no_descriptor_of_proto3_is_refused(text: str, message: str) -> None:
    assert protobuf_descriptor.is_descriptor(text)
    with pytest.raises(ConvertError, match=message):
        read(text, b"")


def test_no_text_is_taken_for_a_descriptor() -> None:
    for schema in STRUCTS.values():
        text = protobuf_text.of(protobuf_layout.file_of(schema, ProtobufForm()))
        assert not protobuf_descriptor.is_descriptor(text)
