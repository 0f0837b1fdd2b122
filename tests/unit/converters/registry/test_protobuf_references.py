"""Protobuf schemas that import what stands under another subject of the registry."""

from __future__ import annotations

from typing import Any, Final

import pytest

from connectd.errors import ConvertError
from connectd.kafka.schema_registry import Reference, SchemaText
from connectd.model import logical
from connectd.model.schema import Schema, Struct
from tests.unit.converters.registry.protobuf_records import FIRST, made, proto

_DEEP: Final = 'syntax = "proto3"; package d; message Deep { int32 deep = 1; }'
_OTHER: Final = (
    'syntax = "proto3"; package c; import "d/deep.proto"; import "google/protobuf/timestamp.proto";'
    " message Other { d.Deep deep = 1; google.protobuf.Timestamp at = 2; Kind kind = 3; }"
    " enum Kind { NONE = 0; SOME = 1; }"
)
_OPTIONS: Final = (
    'syntax = "proto2"; package v; import "google/protobuf/descriptor.proto";'
    " extend google.protobuf.FieldOptions { optional int32 rule = 50000; }"
)


def registered(subject: str, text: str, *names: str) -> bytes:
    """What stands in front of records of that schema, which refers to those of these names."""
    references = tuple(Reference(name, name, 1) for name in names)
    schema = SchemaText("PROTOBUF", text, references)
    schema_id = made().registry.register(subject, schema, normalize=False)
    return b"\0" + schema_id.to_bytes(4, "big") + FIRST


@pytest.fixture(autouse=True)
def others() -> None:
    """The registry has the files that others import."""
    registered("d/deep.proto", _DEEP)
    registered("c/other.proto", _OTHER, "d/deep.proto")
    registered("v/rules.proto", _OPTIONS)


def read(record: bytes) -> tuple[Schema, Any]:
    """What a record is in Connect."""
    schema, value = made().to_connect_data("refer", record)
    assert schema is not None
    return schema, value


def test_types_of_other_subjects_are_found_also_by_way_of_others() -> None:
    text = proto("c.Other x = 1; c.Kind y = 2;", 'import "c/other.proto";')
    record = registered("refer-value", text, "c/other.proto")
    schema, value = read(record + b"\x0a\x06\x0a\x02\x08\x07\x18\x01\x10\x01")
    other = schema.fields[0].schema
    assert [field.schema.name for field in other.fields] == ["Deep", logical.TIMESTAMP, "Kind"]
    deep = other.fields[0].schema
    assert value.values == (Struct(other, (Struct(deep, (7,)), None, "SOME")), "SOME")


def test_a_file_that_everybody_has_may_be_under_a_subject_too() -> None:
    name = "google/protobuf/timestamp.proto"
    registered(name, 'syntax = "proto3"; package google.protobuf; message Timestamp { }')
    text = proto("google.protobuf.Timestamp x = 1;", f'import "{name}";')
    schema, _ = read(registered("refer-value", text, name))
    assert schema.fields[0].schema.name == logical.TIMESTAMP


def test_a_file_that_cannot_be_read_is_missed_with_its_types_alone() -> None:
    imported = 'import "v/rules.proto";'
    text = proto("int32 x = 1 [(v.rule) = 5];", imported)
    assert read(registered("refer-value", text, "v/rules.proto"))[1].values == (0,)
    text = proto("v.Missing x = 1;", imported)
    with pytest.raises(ConvertError, match=r"no type v\.Missing.*rules\.proto; one of .* proto2"):
        read(registered("refer-value", text, "v/rules.proto"))


def test_a_file_that_is_not_there_is_named() -> None:
    record = registered("refer-value", proto("int32 x = 1;", 'import "gone.proto";'), "gone.proto")
    with pytest.raises(ConvertError, match=r"reading version 1 of gone\.proto"):
        read(record)
