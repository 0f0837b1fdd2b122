"""Records that somebody else has written as Protobuf, and what they are in Connect."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from connectd.converters.protobuf_converter import ProtobufConverter
from connectd.kafka.schema_registry import SchemaText
from connectd.model.schema import Schema
from tests.unit.converters.registry import protoc
from tests.unit.converters.registry.made import converter

FIRST: Final = b"\0"
"""The place of the first message of a file."""

message_class = cache(protoc.message_class)


@cache
def made(*used: tuple[str, str]) -> ProtobufConverter:
    """A converter with these settings."""
    return converter(ProtobufConverter, *used)


@cache
def registered(text: str, kind: Any = "PROTOBUF") -> bytes:
    """What stands in front of records whose schema is that text."""
    registry = converter(ProtobufConverter).registry
    schema_id = registry.register("foreign-value", SchemaText(kind, text), normalize=False)
    return b"\0" + schema_id.to_bytes(4, "big")


def record(text: str, data: bytes, place: bytes = FIRST) -> bytes:
    """A record as anybody writes it whose schema is that text."""
    return registered(text) + place + data


def read(
    text: str, data: bytes, *used: tuple[str, str], place: bytes = FIRST
) -> tuple[Schema, Any]:
    """What such a record is in Connect."""
    schema, value = made(*used).to_connect_data("foreign", record(text, data, place))
    assert schema is not None
    return schema, value


def proto(body: str, imports: str = "") -> str:
    """A file of one message, M, and others."""
    return f'syntax = "proto3"; package a.b; {imports} message M {{ {body} }}'


EVERYTHING: Final = """syntax = "proto3";
package a.b;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message M {
  int32 a = 1; sint64 b = 2; string c = 3; bytes d = 4;
  repeated int32 e = 5; repeated double f = 6; repeated fixed32 g = 7 [packed = false];
  Inner h = 8;
  map<string, sint32> i = 9;
  oneof choice { int32 j = 10; string k = 11; Inner l = 12; }
  Kind m = 13;
  bool n = 14; fixed32 o = 15; float p = 16; sfixed64 q = 17; uint32 r = 18; uint64 s = 19;
  repeated Kind t = 20; repeated string u = 21; repeated Inner v = 22;
  optional int32 w = 23;
  map<int32, Inner> x = 24;
  google.protobuf.Timestamp y = 25;
  google.protobuf.StringValue z = 26;
  message Inner { int32 x = 1; string y = 2; repeated sint32 z = 3; Deep deep = 4; }
  message Deep { fixed64 x = 1; }
  enum Kind { NONE = 0; LOW = -1; HIGH = 1000000; }
}
"""

DECIMAL: Final = proto(
    'confluent.type.Decimal x = 1 [(confluent.field_meta) = {params: {key: "scale", value: "2"}}];',
    'import "confluent/type/decimal.proto"; import "confluent/meta.proto";',
)
