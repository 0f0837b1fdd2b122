"""ProtobufConverter reads what it and others have written: protoc's code judges the data."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings

from connectd.converters import protobuf_wire as wire
from connectd.errors import ConvertError
from connectd.kafka.schema_registry import SchemaText
from connectd.model import logical
from connectd.model.schema import Schema, SchemaType, Struct
from tests.unit.converters.registry import cases, protobuf_shapes
from tests.unit.converters.registry.protobuf_records import (
    DECIMAL,
    EVERYTHING,
    FIRST,
    made,
    message_class,
    proto,
    read,
)

_PACKAGE: Final = "io.confluent.connect.protobuf."
_OPTIONAL: Final = ("optional.for.nullables", "true")
_WRAPPED: Final = ("wrapper.for.nullables", "true")


def types(schema: Schema) -> list[tuple[str, SchemaType, bool]]:
    """The fields of a struct: name, type, and whether null is allowed."""
    return [(each.name, each.schema.type, each.schema.optional) for each in schema.fields]


def of_field(schema: Schema, name: str) -> Schema:
    """The schema of a field."""
    found = schema.field(name)
    assert found is not None
    return found.schema


@pytest.mark.parametrize("setting", ["", "optional.for.nullables", "wrapper.for.nullables"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=protobuf_shapes.records())
def test_whatever_was_written_is_read_and_written_again_as_it_was(
    value: Struct, setting: str
) -> None:
    protobuf = made(*([(setting, "true")] if setting else []))
    data = protobuf.from_connect_data("any", value.schema, value)
    schema, found = protobuf.to_connect_data("any", data)
    assert data is not None
    assert schema is not None
    expected = protobuf_shapes.plain(value.schema, value, setting)
    assert protobuf_shapes.plain(schema, found, setting) == expected
    again = protobuf.from_connect_data("any", schema, found)
    assert again is not None
    assert again[5:] == data[5:]


WRITABLE = {
    name: case
    for name, case in cases.all_cases().items()
    if case.schema is not None
    and name != "nested"  # two types of one name, which Protobuf has not
    and (case.schema.type is SchemaType.STRUCT or "." not in (case.schema.name or "."))
}


@pytest.mark.parametrize("name", WRITABLE)
def test_every_case_is_written_again_as_it_was(name: str) -> None:
    data = made().from_connect_data(name, WRITABLE[name].schema, WRITABLE[name].value)
    schema, value = made().to_connect_data(name, data)
    again = made().from_connect_data(name, schema, value)
    assert data is not None
    assert again is not None
    assert again[5:] == data[5:]


@pytest.mark.parametrize("name", [name for name, (schema, _) in cases.PLAIN.items()])
def test_a_value_alone_comes_back_as_it_was(name: str) -> None:
    schema, value = cases.PLAIN[name]
    if logical.is_logical(schema):
        return
    data = made().from_connect_data(name, schema, value)
    found, again = made().to_connect_data(name, data)
    narrow = schema.type in (SchemaType.INT8, SchemaType.INT16)
    expected = Schema(SchemaType.INT32) if narrow else schema
    assert (found, again) == (replace(expected, version=1), value)


def test_a_wrapper_may_be_left_as_the_message_that_it_is() -> None:
    protobuf = made(("wrapper.for.raw.primitives", "false"))
    data = protobuf.from_connect_data("raw", Schema(SchemaType.INT64), 7)
    schema, value = protobuf.to_connect_data("raw", data)
    assert schema is not None
    assert (schema.name, types(schema)) == ("Int64Value", [("value", SchemaType.INT64, True)])
    assert isinstance(value, Struct)
    assert value.values == (7,)


def test_a_message_says_of_its_fields_what_protobuf_says() -> None:
    schema, value = read(EVERYTHING, b"")
    assert isinstance(value, Struct)
    assert (schema.name, schema.optional) == ("M", False)
    assert schema.names[:4] == ("choice_0", "a", "b", "c")
    assert all(each.schema.optional for each in schema.fields)
    assert of_field(schema, "a") == Schema(
        SchemaType.INT32, optional=True, parameters=((f"{_PACKAGE}Tag", "1"),)
    )
    assert of_field(schema, "b").parameters == (
        (f"{_PACKAGE}Type", "sint64"),
        (f"{_PACKAGE}Tag", "2"),
    )
    assert of_field(schema, "e") == Schema(
        SchemaType.ARRAY,
        optional=True,
        parameters=((f"{_PACKAGE}Tag", "5"),),
        value_schema=Schema(SchemaType.INT32, optional=True),
    )
    assert of_field(schema, "i") == Schema(
        SchemaType.MAP,
        optional=True,
        name="i",
        parameters=((f"{_PACKAGE}Tag", "9"),),
        key_schema=Schema(SchemaType.STRING, optional=True, parameters=((f"{_PACKAGE}Tag", "1"),)),
        value_schema=Schema(
            SchemaType.INT32,
            optional=True,
            parameters=((f"{_PACKAGE}Type", "sint32"), (f"{_PACKAGE}Tag", "2")),
        ),
    )
    assert of_field(schema, "m") == Schema(
        SchemaType.STRING,
        optional=True,
        name="Kind",
        parameters=(
            (f"{_PACKAGE}Enum", "Kind"),
            (f"{_PACKAGE}Enum.NONE", "0"),
            (f"{_PACKAGE}Enum.LOW", "-1"),
            (f"{_PACKAGE}Enum.HIGH", "1000000"),
            (f"{_PACKAGE}Tag", "13"),
        ),
    )
    assert of_field(schema, "h").name == "Inner"
    assert of_field(schema, "choice_0").name == f"{_PACKAGE}Union.choice"
    assert of_field(schema, "y").name == logical.TIMESTAMP
    nulls = [each.name for each, found in value.items() if found is None]
    assert nulls == ["choice_0", "h", "w", "y", "z"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("int32", SchemaType.INT32),
        ("sint32", SchemaType.INT32),
        ("sfixed32", SchemaType.INT32),
        ("int64", SchemaType.INT64),
        ("uint32", SchemaType.INT64),
        ("fixed32", SchemaType.INT64),
        ("uint64", SchemaType.INT64),
        ("fixed64", SchemaType.INT64),
        ("sint64", SchemaType.INT64),
        ("sfixed64", SchemaType.INT64),
    ],
)
def test_every_integer_has_a_type_that_holds_it(kind: str, expected: SchemaType) -> None:
    text = proto(f"{kind} x = 1;")
    unsigned = kind.startswith(("u", "f"))
    bits = 64 if kind.endswith("64") else 32
    least, most = (0, (1 << bits) - 1) if unsigned else (-(1 << bits - 1), (1 << bits - 1) - 1)
    for number in (least, most):
        schema, value = read(text, message_class(text)(x=number).SerializeToString())
        assert of_field(schema, "x").type is expected
        as_java = number - (1 << 64) if number >= 1 << 63 else number
        assert value.values == (as_java,)


def test_with_marks_what_has_none_is_required() -> None:
    text = proto(
        "int32 a = 1; optional int32 b = 2; repeated int32 c = 3; map<int32, int32> d = 4;"
    )
    schema, value = read(text, b"", _OPTIONAL)
    assert types(schema) == [
        ("a", SchemaType.INT32, False),
        ("b", SchemaType.INT32, True),
        ("c", SchemaType.ARRAY, True),
        ("d", SchemaType.MAP, True),
    ]
    member = of_field(schema, "d").value_schema
    assert member is not None
    assert not member.optional
    assert value.values == (0, None, [], {})


def test_wrappers_are_messages_or_values_that_may_be_null() -> None:
    text = proto(
        "int32 a = 1; google.protobuf.UInt32Value b = 2; google.protobuf.StringValue c = 3;"
        "repeated google.protobuf.BoolValue d = 4;",
        'import "google/protobuf/wrappers.proto";',
    )
    message = message_class(text)(a=1, b={"value": (1 << 32) - 1})
    message.d.add(value=True)
    message.d.add()
    data = message.SerializeToString()
    schema, value = read(text, data)
    assert of_field(schema, "b").name == "UInt32Value"
    assert value.values[1].values == ((1 << 32) - 1,)
    assert value.values[2] is None
    schema, value = read(text, data, _WRAPPED)
    assert types(schema)[:3] == [
        ("a", SchemaType.INT32, False),
        ("b", SchemaType.INT64, True),
        ("c", SchemaType.STRING, True),
    ]
    assert of_field(schema, "b").parameters == ((f"{_PACKAGE}Tag", "2"),)
    assert value.values == (1, (1 << 32) - 1, None, [True, False])


def test_a_choice_is_a_struct_whose_other_members_are_null() -> None:
    text = proto("int32 x = 1; oneof one { int32 a = 2; string b = 3; } oneof two { M2 c = 4; }")
    text += "message M2 { int32 x = 1; }"
    schema, value = read(text, message_class(text)(a=0).SerializeToString())
    assert schema.names == ("one_0", "two_1", "x")
    assert value.values[0].values == (0, None)
    assert value.values[1:] == (None, 0)
    schema, _ = read(text, b"", ("generate.index.for.unions", "false"))
    assert schema.names == ("one", "two", "x")


def test_names_have_their_package_on_request() -> None:
    text = proto(
        "Inner a = 1; enum Kind { NONE = 0; } Kind b = 2; map<string, Inner> some_map = 3;"
        "oneof c { int32 d = 4; } message Inner { int32 x = 1; }"
    )
    schema, _ = read(text, b"", ("enhanced.protobuf.schema.support", "true"))
    assert [schema.name, *(each.schema.name for each in schema.fields)] == [
        "a.b.M",
        f"{_PACKAGE}Union.a.b.M.c",
        "a.b.M.Inner",
        "a.b.M.Kind",
        "a.b.M.some_map",
    ]
    assert of_field(schema, "b").parameter(f"{_PACKAGE}Enum") == "a.b.M.Kind"


def test_a_map_may_be_spelled_out() -> None:
    text = proto(
        "repeated ConnectDefault2Entry pairs = 1; message ConnectDefault2Entry {"
        "option map_entry = true; string key = 1; int32 value = 2; }"
    )
    entry = wire.tag(1, wire.LENGTH) + wire.text("k") + wire.tag(2, wire.VARINT) + wire.varint(5)
    schema, value = read(text, wire.tag(1, wire.LENGTH) + wire.delimited(entry))
    assert of_field(schema, "pairs").type is SchemaType.MAP
    assert of_field(schema, "pairs").name == "connect_default2"
    assert value.values == ({"k": 5},)


def test_logical_types_are_those_of_their_messages() -> None:
    text = proto(
        'confluent.type.Decimal a = 1 [(confluent.field_meta) = {params: [{key: "precision", value:'
        '"8"}, {key: "scale", value: "3"}]}]; google.type.Date b = 2; google.type.TimeOfDay c = 3;'
        "google.protobuf.Timestamp d = 4; repeated google.type.Date e = 5;"
        'int32 f = 6 [(confluent.field_meta) = {params: [{key: "connect.type", value: "int8"}]}];'
        'int32 g = 7 [(confluent.field_meta) = {params: [{key: "connect.type", value: "int16"}]}];',
        "".join(
            f'import "{each}.proto";'
            for each in (
                "confluent/type/decimal",
                "confluent/meta",
                "google/type/date",
                "google/type/timeofday",
                "google/protobuf/timestamp",
            )
        ),
    )
    message = message_class(text)(
        a={"value": (12345678).to_bytes(4, "big"), "precision": 8, "scale": 3},
        b={"year": 2017, "month": 12, "day": 31},
        c={"hours": 11, "minutes": 12, "seconds": 13, "nanos": 14_000_000},
        d={"seconds": -1, "nanos": 999_000_000},
        e=[{"year": 1, "month": 1, "day": 1}],
        f=-128,
        g=32767,
    )
    schema, value = read(text, message.SerializeToString())
    assert of_field(schema, "a") == Schema(
        SchemaType.BYTES,
        optional=True,
        name=logical.DECIMAL,
        version=1,
        parameters=(
            ("scale", "3"),
            ("connect.decimal.precision", "8"),
            (f"{_PACKAGE}Tag", "1"),
        ),
    )
    names = [of_field(schema, name).name for name in "bcd"]
    assert names == [logical.DATE, logical.TIME, logical.TIMESTAMP]
    assert [of_field(schema, name).type for name in "fg"] == [SchemaType.INT8, SchemaType.INT16]
    assert value.values == (
        Decimal("12345.678"),
        date(2017, 12, 31),
        time(11, 12, 13, 14_000),
        datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC),
        [date(1, 1, 1)],
        -128,
        32767,
    )


@pytest.mark.parametrize(("scale", "expected"), [(0, "5000.00"), (1, "500.00"), (3, "5.00")])
def test_a_decimal_of_another_scale_gets_that_of_its_schema(scale: int, expected: str) -> None:
    number = {"value": (5000).to_bytes(2, "big"), "scale": scale}
    data = message_class(DECIMAL)(x=number).SerializeToString()
    (found,) = read(DECIMAL, data)[1].values
    assert str(found) == expected


_ON_DATES: Final = proto("google.type.Date x = 1;", 'import "google/type/date.proto";')
_ON_TIMES: Final = proto("google.type.TimeOfDay x = 1;", 'import "google/type/timeofday.proto";')
_NARROW: Final = proto(
    'int32 x = 1 [(confluent.field_meta) = {params: [{key: "connect.type", value: "int8"}]}];',
    'import "confluent/meta.proto";',
)


@pytest.mark.parametrize(
    ("text", "value", "message"),
    [
        (
            DECIMAL,
            {"value": b"\x01", "scale": 3},
            "has 3 digits after the point, and its schema 2",
        ),
        (DECIMAL, {"value": b"\x01", "scale": -(1 << 31)}, "the scale of a decimal is -2147"),
        (_ON_DATES, {"year": 2026, "month": 2, "day": 30}, "2026-2-30 is no date"),
        (_ON_DATES, {"year": 2026}, "2026-0-0 is no date"),
        (_ON_TIMES, {"hours": 24}, "milliseconds greater than 0"),
        (_NARROW, 128, "128 is too large for INT8"),
    ],
)
def test_values_that_are_none_of_their_type_are_refused(
    text: str, value: Any, message: str
) -> None:
    data = message_class(text)(x=value).SerializeToString()
    with pytest.raises(ConvertError, match=message):
        read(text, data)


def test_types_are_found_from_the_message_outwards() -> None:
    text = (
        'syntax = "proto3"; package a.b; message M { T t = 1; .a.b.T u = 2; b.T v = 3; N.T w = 4;'
        " message T { int32 inner = 1; } message N { message T { int32 deep = 1; } } }"
        " message T { int32 outer = 1; }"
    )
    schema, _ = read(text, b"")
    names = [field.schema.fields[0].name for field in schema.fields]
    assert names == ["inner", "outer", "outer", "deep"]
    assert message_class(text).DESCRIPTOR.fields_by_name["w"].message_type.full_name == "a.b.M.N.T"


def test_files_that_everybody_has_may_be_imported_and_others_for_options() -> None:
    text = proto(
        "google.protobuf.Duration a = 1; google.protobuf.Any b = 2; google.protobuf.Empty c = 3;"
        "google.protobuf.FieldMask d = 4; int32 e = 5 [(validate.rules).int32.gt = 0];",
        "".join(
            f'import "{each}.proto";'
            for each in (
                "google/protobuf/duration",
                "google/protobuf/any",
                "google/protobuf/empty",
                "google/protobuf/field_mask",
                "validate/validate",
            )
        ),
    )
    schema, _ = read(text, b"")
    names = [field.schema.name for field in schema.fields]
    assert names == ["Duration", "Any", "Empty", "FieldMask", None]


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (b"\x00", "A"),
        (b"\x02\x00", "A"),
        (b"\x02\x02", "B"),
        (b"\x04\x02\x00", "C"),
        (b"\x06\x02\x02\x00", "E"),
    ],
)
def test_a_record_says_which_message_of_its_file_it_is(place: bytes, name: str) -> None:
    text = (
        'syntax = "proto3"; message A { int32 a = 1; } message B { map<int32, int32> x = 1;'
        " message C { int32 c = 1; } message D { message E { int32 e = 1; } } }"
    )
    schema, value = read(text, b"\x08\x07", place=place)
    assert schema.name == name
    if name != "B":
        assert value.values == (7,)


@pytest.mark.parametrize("name", ["RecordNameStrategy", "TopicRecordNameStrategy"])
def test_subjects_are_named_for_the_message(name: str) -> None:
    protobuf = made(("value.subject.name.strategy", name))
    for schema, value in (
        cases.PLAIN["string"],
        (cases.struct(("x", Schema(SchemaType.STRING))), None),
    ):
        of_struct = Struct(schema, ("x",)) if value is None else value
        data = protobuf.from_connect_data("by-name", schema, of_struct)
        _, found = protobuf.to_connect_data("by-name", data)
        assert found == value or (isinstance(found, Struct) and found.values == ("x",))


def test_a_schema_has_the_version_that_the_registry_has_given_it() -> None:
    first, second = proto("int32 x = 1;"), proto("int32 x = 1; int32 y = 2;")
    for version, text in enumerate((first, second), start=1):
        schema_id = made().registry.register(
            "versions-value", SchemaText("PROTOBUF", text), normalize=False
        )
        data = b"\0" + schema_id.to_bytes(4, "big") + FIRST
        schema, _ = made().to_connect_data("versions", data)
        assert schema is not None
        assert schema.version == version


def test_null_is_null() -> None:
    assert made().to_connect_data("topic", None) == (None, None)
