"""Protobuf that is none, or that Connect has nothing like, is refused in words that help."""

from __future__ import annotations

from typing import Final

import pytest

from connectd.errors import ConvertError
from tests.unit.converters.registry.protobuf_records import (
    DECIMAL,
    FIRST,
    made,
    proto,
    read,
    record,
    registered,
)

_SMALL: Final = proto("string x = 1; fixed64 y = 2; Inner z = 3; message Inner { int32 a = 1; }")


def _map_of(pair: str) -> str:
    return proto(f"repeated Pair x = 1; message Pair {{ option map_entry = true; {pair} }}")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "Unknown magic byte!"),
        (b"plain", "Unknown magic byte!"),
        (b"\0\0\0", "Unknown magic byte!"),
        (b"\0\x7f\xff\xff\xff\0", "Schema Not Found"),
        (record(_SMALL, b"", place=b""), "ends within what begins at its byte 0"),
        (record(_SMALL, b"", place=b"\x04\x02"), "ends within what begins at its byte 2"),
        (record(_SMALL, b"", place=b"\x80" * 11), "the number at byte 0 of a message has no end"),
        (record(_SMALL, b"", place=b"\x01"), "names a message by -1 positions"),
        (record(_SMALL, b"", place=b"\xd2\x09"), "names a message by 617 positions"),
        (record(_SMALL, b"", place=b"\x02\x02"), "no message at 1; the record was written with"),
        (record(_SMALL, b"", place=b"\x02\x01"), "no message at -1"),
        (record(_SMALL, b"", place=b"\x06\x00\x00\x02"), "no message at 0.0.1"),
        (record(_SMALL, b"\x0a\x02x"), "ends within what begins at its byte 0"),
        (record(_SMALL, b"\x0a\x01x\x11\x00\x00"), "ends within what begins at its byte 3"),
        (record(_SMALL, b"\x0a"), "ends within what begins at its byte 1"),
        (record(_SMALL, b"\x1a\x01\x08"), "ends within what begins at its byte 1"),
        (record(_SMALL, b"\x00\x00"), "byte 0 of a message begins a field with number 0"),
        (record(_SMALL, b"\x0b\x0c"), "wire type 3; groups are not supported"),
        (record(_SMALL, b"\x0a\x01\xff"), "a text of a message is no UTF-8"),
    ],
)
def test_what_is_no_record_is_refused_with_its_topic(data: bytes, message: str) -> None:
    with pytest.raises(ConvertError, match=message) as caught:
        made().to_connect_data("foreign", data)
    assert str(caught.value).startswith(
        "Failed to deserialize data for topic foreign to Protobuf: "
    )


def test_a_schema_of_another_format_is_named() -> None:
    data = registered('"string"', "AVRO") + FIRST
    with pytest.raises(ConvertError, match=r"schema \d+ is AVRO, and not Protobuf"):
        made().to_connect_data("foreign", data)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('syntax = "proto2"; message M { }', "proto2, which is not supported"),
        (proto("M x = 1;"), r"a\.b\.M is inside of itself, which is not supported"),
        (proto("map<string, M> x = 1;"), r"a\.b\.M is inside of itself"),
        (proto("Other x = 1;"), "the schema has no type Other$"),
        (
            proto("c.Other x = 1;", 'import "c/other.proto";'),
            "no type c.Other, nor have those that it refers to; imported are c/other.proto",
        ),
        (proto("int32 x = 1; int32 y = 1;"), r"two fields of a\.b\.M have the number 1"),
        (proto("map<bytes, int32> x = 1;"), "x is a map whose pairs are none that Protobuf has"),
        (_map_of("string key = 1;"), "x is a map whose pairs are none"),
        (_map_of("repeated string key = 1; int32 value = 2;"), "x is a map whose pairs are none"),
        (_map_of("string key = 1; repeated int32 value = 2;"), "x is a map whose pairs are none"),
        (_map_of("string key = 1; oneof a { int32 value = 2; }"), "x is a map whose pairs are"),
        (proto("", 'import "google/type/date.proto"; } message M {'), "declared|file has no"),
        (
            "".join(
                [
                    'syntax = "proto3";',
                    *(f"message M{each} {{ M{each + 1} x = 1; }}" for each in range(70)),
                    "message M70 { }",
                ]
            ),
            "more than 64 messages are inside of one another",
        ),
        (DECIMAL.replace('"2"', '"two"'), "Invalid scale parameter"),
        (DECIMAL.replace('"2"', '"2000000000"'), "the scale of a decimal is 2000000000"),
    ],
)
def test_what_a_schema_has_and_connect_has_not_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConvertError, match=message):
        read(text, b"")
