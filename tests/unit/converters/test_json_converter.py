"""JsonConverter writes what Kafka Connect's converter of that name writes."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.configdef.definition import REQUIRED
from connectd.converters.json_converter import JsonConverter
from connectd.errors import ConvertError
from connectd.model.record import ConverterSpec
from connectd.model.schema import (
    BOOLEAN,
    INT64,
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    STRING,
    Field,
    Schema,
    SchemaType,
    Struct,
)
from tests.kit import items

_REC = Schema(
    SchemaType.STRUCT,
    name="rec",
    fields=(Field("id", Schema(SchemaType.INT32)), Field("n", OPTIONAL_STRING)),
)


def _converter(**settings: str) -> JsonConverter:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return JsonConverter(ConverterSpec(JsonConverter.class_name, tuple(sorted(named.items()))))


_BARE = _converter(schemas_enable="false")
_WITH_SCHEMA = _converter()


def _bare(schema: Schema | None, value: object) -> bytes | None:
    return _BARE.from_connect_data("orders", schema, value)


def test_no_schema_and_no_value_is_a_tombstone_in_both_layouts() -> None:
    assert _BARE.from_connect_data("orders", None, None) is None
    assert _WITH_SCHEMA.from_connect_data("orders", None, None) is None


def test_a_null_with_a_schema_is_written() -> None:
    assert _bare(OPTIONAL_STRING, None) == b"null"
    assert _WITH_SCHEMA.from_connect_data("orders", OPTIONAL_STRING, None) == (
        b'{"schema":{"type":"string","optional":true},"payload":null}'
    )


def test_schemas_are_carried_unless_switched_off() -> None:
    value = Struct(_REC, (7, None))
    assert _bare(_REC, value) == b'{"id":7,"n":null}'
    assert _WITH_SCHEMA.from_connect_data("orders", _REC, value) == (
        b'{"schema":{"type":"struct","fields":['
        b'{"type":"int32","optional":false,"field":"id"},'
        b'{"type":"string","optional":true,"field":"n"}],'
        b'"optional":false,"name":"rec"},"payload":{"id":7,"n":null}}'
    )


def test_a_value_without_schema_has_a_null_one() -> None:
    assert _WITH_SCHEMA.from_connect_data("orders", None, {"a": 1}) == (
        b'{"schema":null,"payload":{"a":1}}'
    )


def test_the_members_of_a_schema_come_in_kafkas_order() -> None:
    schema = Schema(SchemaType.STRING, True, name="x.y", version=2, doc="why")
    text = _WITH_SCHEMA.from_connect_data("orders", schema, "v")
    assert text == (
        b'{"schema":{"type":"string","optional":true,"name":"x.y","version":2,"doc":"why"},'
        b'"payload":"v"}'
    )


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (SchemaType.INT8, -128, b"-128"),
        (SchemaType.INT16, 32767, b"32767"),
        (SchemaType.INT32, -(2**31), b"-2147483648"),
        (SchemaType.INT64, 2**63 - 1, b"9223372036854775807"),
        (SchemaType.BOOLEAN, True, b"true"),
        (SchemaType.STRING, "é\x1f\u2028", '"é\\u001F\u2028"'.encode()),
        (SchemaType.BYTES, b"\x00\xff", b'"AP8="'),
        (SchemaType.BYTES, memoryview(b""), b'""'),
    ],
)
def test_primitives(kind: SchemaType, value: object, text: bytes) -> None:
    assert _bare(Schema(kind), value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, b"0.0"),
        (-0.0, b"-0.0"),
        (1.0, b"1.0"),
        (0.1, b"0.1"),
        (123456.75, b"123456.75"),
        (9999999.0, b"9999999.0"),
        (1e7, b"1.0E7"),
        (-12345678.5, b"-1.23456785E7"),
        (0.001, b"0.001"),
        (0.00099, b"9.9E-4"),
        (1e10, b"1.0E10"),
        (1.7976931348623157e308, b"1.7976931348623157E308"),
        (5e-324, b"4.9E-324"),
        (float("nan"), b'"NaN"'),
        (float("inf"), b'"Infinity"'),
        (float("-inf"), b'"-Infinity"'),
    ],
)
def test_double_precision_numbers_look_like_javas(value: float, text: bytes) -> None:
    assert _bare(Schema(SchemaType.FLOAT64), value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, b"0.1"),
        (16777216.0, b"1.6777216E7"),
        (3.4028234663852886e38, b"3.4028235E38"),
        (1.0, b"1.0"),
        (float("inf"), b'"Infinity"'),
        (float("nan"), b'"NaN"'),
        (1e-50, b"0.0"),
    ],
)
def test_single_precision_numbers_are_rounded_first(value: float, text: bytes) -> None:
    assert _bare(Schema(SchemaType.FLOAT32), value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
@items.examples
def test_a_double_precision_number_is_read_back_exactly(value: float) -> None:
    text = _bare(Schema(SchemaType.FLOAT64), value)
    assert text is not None
    assert struct.pack(">d", json.loads(text)) == struct.pack(">d", value)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
@items.examples
def test_a_single_precision_number_is_read_back_exactly(value: float) -> None:
    text = _bare(Schema(SchemaType.FLOAT32), value)
    assert text is not None
    assert struct.pack(">f", json.loads(text)) == struct.pack(">f", value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", b'"text"'),
        (True, b"true"),
        (7, b"7"),
        (1e10, b"1.0E10"),
        (b"\x00\xff", b'"AP8="'),
        ([1, None, ["a"]], b'[1,null,["a"]]'),
        ((1, 2), b"[1,2]"),
        ({"b": {"a": None}}, b'{"b":{"a":null}}'),
        ({}, b"{}"),
        ({1: "a", "b": 2}, b'[[1,"a"],["b",2]]'),
    ],
)
def test_values_without_schema_say_themselves_what_they_are(value: object, text: bytes) -> None:
    assert _bare(None, value) == text


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (
            STRING,
            None,
            "Conversion error: null value for field that is required and has no default",
        ),
        (STRING, 1, "Invalid type for STRING: class java.lang.Long"),
        (STRING, b"x", "Invalid type for STRING: class \\[B"),
        (INT64, "1", "Invalid type for INT64: class java.lang.String"),
        (INT64, True, "Invalid type for INT64: class java.lang.Boolean"),
        (INT64, 2**63, "Invalid value for INT64: 9223372036854775808 has more than 64 bits"),
        (Schema(SchemaType.INT8), -129, "Invalid value for INT8"),
        (BOOLEAN, 1, "Invalid type for BOOLEAN: class java.lang.Long"),
        (Schema(SchemaType.BYTES), "x", "Invalid type for BYTES: class java.lang.String"),
        (Schema(SchemaType.FLOAT64), 1, "Invalid type for FLOAT64: class java.lang.Long"),
        (Schema(SchemaType.FLOAT32), "1", "Invalid type for FLOAT32: class java.lang.String"),
        (Schema(SchemaType.FLOAT32), 1e39, "Invalid value for FLOAT32"),
        (_REC, {"id": 1}, "Invalid type for STRUCT: class java.util.HashMap"),
        (None, object(), "Java class class object does not have corresponding schema type"),
        (None, 2**63, "Invalid value for INT64"),
        (None, Struct(_REC, (1, None)), "Struct does not have corresponding schema type"),
        (STRING, "\ud800", "writing JSON"),
    ],
)
def test_what_does_not_fit_is_refused(schema: Schema | None, value: object, message: str) -> None:
    with pytest.raises(ConvertError, match=message):
        _bare(schema, value)


def test_a_struct_of_another_schema_is_refused() -> None:
    other = Schema(SchemaType.STRUCT, name="other", fields=_REC.fields)
    with pytest.raises(ConvertError, match=r"Mismatching schema\. Found a struct of rec"):
        _bare(other, Struct(_REC, (1, None)))


def test_an_equal_schema_is_as_good_as_the_same() -> None:
    twin = Schema(SchemaType.STRUCT, name="rec", fields=_REC.fields)
    assert _bare(twin, Struct(_REC, (1, "x"))) == b'{"id":1,"n":"x"}'


def test_a_message_says_which_field_is_wrong() -> None:
    outer = Schema(SchemaType.STRUCT, name="outer", fields=(Field("inner", _REC),))
    value: Any = Struct(outer, (Struct(_REC, ("seven", None)),))
    with pytest.raises(
        ConvertError,
        match=r"field inner of outer: field id of rec: Invalid type for INT32: class java.lang.Str",
    ):
        _bare(outer, value)


def test_nested_structs_and_null_structs_are_written() -> None:
    optional = Schema(SchemaType.STRUCT, True, name="inner", fields=(Field("n", OPTIONAL_INT64),))
    outer = Schema(
        SchemaType.STRUCT, name="outer", fields=(Field("a", optional), Field("b", optional))
    )
    assert _bare(outer, Struct(outer, (Struct(optional, (None,)), None))) == (
        b'{"a":{"n":null},"b":null}'
    )


def test_the_cache_of_schemas_has_a_bound_and_does_not_show() -> None:
    converter = _converter(schemas_cache_size="2")
    schemas = [Schema(SchemaType.STRING, name=f"s{number}") for number in range(5)]
    for schema in schemas + schemas:
        text = converter.from_connect_data("orders", schema, "v")
        assert text is not None
        assert json.loads(text)["schema"]["name"] == schema.name
    assert converter.cached_schemas <= 2


def test_every_setting_is_declared_with_kafkas_default() -> None:
    assert {key.name: key.default for key in JsonConverter.config_def()} == {
        "converter.type": REQUIRED,
        "schemas.enable": True,
        "schemas.cache.size": 1000,
        "schema.content": None,
        "decimal.format": "BASE64",
        "replace.null.with.default": True,
    }
    assert all(key.doc for key in JsonConverter.config_def())
