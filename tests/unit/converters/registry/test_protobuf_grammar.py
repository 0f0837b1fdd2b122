"""Protobuf files from text: what protoc takes is read, and what is written is read back."""

from __future__ import annotations

import random

import pytest

from connectd.converters import protobuf_grammar, protobuf_layout, protobuf_text
from connectd.converters.protobuf_file import ProtoField, ProtoFile, ProtoMessage
from connectd.converters.protobuf_layout import ProtobufForm
from connectd.errors import ConvertError
from connectd.model.schema import SchemaType
from tests.unit.converters.registry import cases, protoc

STRUCTS = {
    name: case.schema
    for name, case in cases.all_cases().items()
    if case.schema is not None and case.schema.type is SchemaType.STRUCT
    if name != "nested"  # two types of one name, which Protobuf has not
}

EVERYTHING = r"""
// A comment before the syntax; it's of no account: "here neither
syntax = 'proto3';
package a.b;
import public "google/protobuf/timestamp.proto";
import 'confluent/meta.proto';
option java_package = "com." "example";
option (confluent.file_meta).doc = "of the file; with } and // in it";
option optimize_for = SPEED;

message Row {
  option deprecated = false;
  reserved 2, 14, 9 to 11, 40 to max;
  reserved "old", "older";
  /* Three
     lines; one of them { is open. */
  optional int32 message = 0x10 [json_name = "m", deprecated = true];
  repeated .a.b.Kind kinds = 017 [packed = false];
  map < string , .google.protobuf.Timestamp > at = 3;
  oneof choice {
    string text = 4 [(confluent.field_meta) = {doc: "a \"quoted\" \x41\102\n", tags: ["PII"]}];
    Inner inner = 5;
  }
  enum Kind { option allow_alias = true; NONE = 0; LOW = -1; NO = 0 [deprecated = true]; ; }
  message Inner { message Deep { bytes option = 1; } Deep deep = 1; ; };
  int32 small = 6 [(confluent.field_meta) = {
    params: [ { key: "connect.type", value: "int8" } ]
  }];
  int32 smaller = 7 [(confluent.field_meta).params = {key: "connect.type", value: 'int16'}];
  bytes number = 8 [(confluent.field_meta) = {
    params { key: "precision" value: "9" } params < key: "scale"; value: "2" >
  }, deprecated = true];
}
enum Kind { ZERO = 0; }
service Rows {
  rpc Get (Row) returns (stream Row) { option deprecated = true; }
  rpc Put (Row) returns (Row);
}
"""


def test_what_people_write_is_read() -> None:
    found = protobuf_grammar.parsed(EVERYTHING)
    assert protoc.message_class(EVERYTHING).DESCRIPTOR.full_name == "a.b.Row"
    deep = ProtoMessage("Deep", [ProtoField("option", 1, "bytes")])
    inner = ProtoMessage("Inner", [ProtoField("deep", 1, "Deep")], messages={"Deep": deep})
    row = ProtoMessage(
        "Row",
        [
            ProtoField("message", 16, "int32", "optional"),
            ProtoField("kinds", 15, ".a.b.Kind", "repeated"),
            ProtoField("at", 3, ".google.protobuf.Timestamp", key="string"),
            ProtoField("text", 4, "string", one_of="choice"),
            ProtoField("inner", 5, "Inner", one_of="choice"),
            ProtoField("small", 6, "int32", params={"connect.type": "int8"}),
            ProtoField("smaller", 7, "int32", params={"connect.type": "int16"}),
            ProtoField("number", 8, "bytes", params={"precision": "9", "scale": "2"}),
        ],
        messages={"Inner": inner},
        enums={"Kind": {"NONE": 0, "LOW": -1, "NO": 0}},
    )
    imports = {"google/protobuf/timestamp.proto", "confluent/meta.proto"}
    assert found == ProtoFile("a.b", {"Row": row}, {"Kind": {"ZERO": 0}}, imports)


@pytest.mark.parametrize("name", STRUCTS)
@pytest.mark.parametrize("marks_optional", [False, True])
def test_what_is_written_is_read_back(name: str, marks_optional: bool) -> None:
    form = ProtobufForm(marks_optional=marks_optional, wraps_nullables=not marks_optional)
    file = protobuf_layout.file_of(STRUCTS[name], form)
    assert protobuf_grammar.parsed(protobuf_text.of(file)) == file


def test_a_map_may_be_spelled_out() -> None:
    text = """syntax = "proto3"; message M {
        repeated E pairs = 1;
        message E { option map_entry = true; string key = 1; int32 value = 2; }
    }"""
    message = protobuf_grammar.parsed(text).messages["M"]
    assert message.messages["E"].is_map_entry
    assert not message.is_map_entry


_HEAD = 'syntax = "proto3";\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the schema is proto2"),
        ("message M { }", "the schema is proto2"),
        ('syntax = "proto2"; message M { }', "the schema is proto2"),
        ('edition = "2023"; message M { }', "the schema is edition 2023"),
        (_HEAD + "message M { required int32 a = 1; }", "line 2 .* required is of proto2"),
        (_HEAD + "message M { repeated group G = 1 { } }", "group is of proto2"),
        (_HEAD + "message M { extensions 100 to 199; }", "extensions is of proto2"),
        (_HEAD + "message M { int32 a = 0; }", "the number of a is 0"),
        (_HEAD + "message M { int32 a = 536870912; }", "the number of a is 536870912"),
        (_HEAD + "message M { int32 a; }", "line 2 .*: expected '=', found ';'"),
        (_HEAD + "message M {\n\n int32 a = x; }", "line 4 .*: expected a whole number"),
        (_HEAD + "message M { int32 a = 08; }", "expected a whole number, found '08'"),
        (_HEAD + "message M { int32 a = 1", "expected ';', found the end"),
        (_HEAD + "message M { oneof a {", "expected a name, found the end"),
        (_HEAD + "message M { option a = [", "expected a value, found the end"),
        (_HEAD + "message M { int32 a = 1 [b = {c:", "expected a value, found the end"),
        (_HEAD + "message M { } message M { }", "M is declared twice"),
        (_HEAD + "enum E { }", "an enum has no symbols"),
        (_HEAD + "service S { rpc", "expected the end of a statement"),
        (_HEAD + "import x;", "expected a text, found 'x'"),
        (_HEAD + "public class Row", "a file has no 'public'"),
        (_HEAD + "message M { int32 ä = 1; }", "line 2 of the Protobuf schema has 'ä' in it"),
        (_HEAD + 'import "x\n";', "line 2 of the Protobuf schema has '\"' in it"),
        (_HEAD + "message M {" * 65, "more than 64 messages inside of one another"),
        (_HEAD + "option a = " + "{b " * 65, "too deep|expected"),
        (_HEAD + "message M { option a = " + "[" * 65, "too deep inside of one another"),
    ],
)
def test_what_is_no_proto3_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ConvertError, match=message):
        protobuf_grammar.parsed(text)


def test_a_text_that_is_cut_or_mixed_up_is_refused_or_read_and_nothing_else() -> None:
    chosen = random.Random(7)
    for _ in range(1500):
        begin, end = sorted(chosen.sample(range(len(EVERYTHING)), 2))
        text = EVERYTHING[:begin] + chosen.choice(["", "{", "}", ";", "[", "="]) + EVERYTHING[end:]
        try:
            protobuf_grammar.parsed(text)
        except ConvertError:
            continue
