"""JsonSchemaConverter: schemas that their values fulfil, and what they say of Connect's."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import jsonschema
import pytest

from connectd.converters.json_converter import JsonConverter
from connectd.converters.json_schema_converter import JsonSchemaConverter
from connectd.errors import ConvertError
from connectd.kafka.schema_registry import SchemaText
from connectd.model import logical
from connectd.model.record import ConverterSpec
from connectd.model.schema import INT32, OPTIONAL_INT32, STRING, Schema, SchemaType, Struct
from tests.unit.converters.registry import cases
from tests.unit.converters.registry.made import converter

CASES = cases.all_cases()
PLAIN_JSON = JsonConverter(ConverterSpec("json", (("schemas.enable", "false"),)))
OTHER_KEYS = {
    name for name in CASES if name.startswith("keys-") or name in ("optional-keys", "named-keys")
} - {"keys-string"}
_PREFIX_BYTES = 5


def written(schema: Schema | None, value: object, *settings: tuple[str, str]) -> tuple[Any, bytes]:
    """The schema that the registry has, and the data."""
    made = converter(JsonSchemaConverter, *settings)
    record = made.from_connect_data("topic", schema, value)
    assert record is not None
    found = made.registry.by_id(int.from_bytes(record[1:_PREFIX_BYTES], "big"), "topic-value")
    assert found.schema.format == "JSON"
    return json.loads(found.schema.text), record[_PREFIX_BYTES:]


@pytest.mark.parametrize("name", CASES)
def test_every_value_fulfils_the_schema_that_is_registered_for_it(name: str) -> None:
    schema, data = written(CASES[name].schema, CASES[name].value)
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.Draft7Validator(schema).validate(json.loads(data))


@pytest.mark.parametrize("name", sorted(CASES.keys() - OTHER_KEYS))
def test_data_is_that_of_json_converter_but_for_maps_with_other_keys(name: str) -> None:
    case = CASES[name]
    _, data = written(case.schema, case.value)
    assert data == PLAIN_JSON.from_connect_data("topic", case.schema, case.value)


def test_a_map_with_other_keys_is_a_list_of_pairs() -> None:
    schema, data = written(cases.map_of(INT32, STRING), {1: "a"})
    assert data == b'[{"key":1,"value":"a"}]'
    assert schema == {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "key": {"type": "integer", "connect.type": "int32", "connect.index": 0},
                "value": {"type": "string", "connect.index": 1},
            },
        },
        "connect.type": "map",
    }


def test_fields_say_their_place_and_optional_ones_are_null_or_their_type() -> None:
    record = replace(cases.struct(("b", STRING), ("a", OPTIONAL_INT32)), version=2, doc="of it")
    schema, data = written(record, Struct(record, ("x", None)))
    assert data == b'{"b":"x","a":null}'
    assert schema == {
        "type": "object",
        "title": "a.b.Outer",
        "description": "of it",
        "connect.version": 2,
        "properties": {
            "b": {"type": "string", "connect.index": 0},
            "a": {
                "oneOf": [{"type": "null"}, {"type": "integer", "connect.type": "int32"}],
                "connect.index": 1,
            },
        },
    }


def test_a_field_that_is_null_and_must_not_be_is_left_out() -> None:
    record = cases.struct(("a", STRING), ("b", STRING))
    _, data = written(record, Struct(record, (None, "x")))
    assert data == b'{"b":"x"}'


def test_decimals_are_numbers_or_the_bytes_of_their_digits() -> None:
    decimal = logical.decimal_schema(2)
    schema, data = written(decimal, Decimal("10.20"), ("decimal.format", "numeric"))
    assert (schema["type"], data) == ("number", b"10.20")
    schema, data = written(decimal, Decimal("10.20"))
    assert schema["type"] == "string"
    assert base64.b64decode(json.loads(data)) == (1020).to_bytes(2, "big")


def test_texts_with_the_parameters_of_an_enum_have_its_symbols() -> None:
    name = "io.confluent.connect.json.Enum"
    colour = replace(STRING, parameters=((name, "Colour"), (f"{name}.RED", "RED")))
    schema, _ = written(colour, "RED")
    assert schema["enum"] == ["RED"]
    jsonschema.Draft7Validator(schema).validate("RED")


def test_a_union_is_one_of_its_fields() -> None:
    union = cases.struct(
        ("a", OPTIONAL_INT32),
        ("b", Schema(SchemaType.STRING, optional=True)),
        name="io.confluent.connect.json.OneOf",
    )
    schema, data = written(union, Struct(union, (None, "x")))
    assert data == b'"x"'
    assert len(schema["oneOf"]) == 2
    with pytest.raises(ConvertError, match="no field that is set"):
        written(union, Struct(union, (None, None)))


def test_objects_may_be_closed_and_list_what_they_need() -> None:
    record = cases.struct(("a", STRING), ("b", OPTIONAL_INT32))
    schema, _ = written(
        record,
        Struct(record, ("x", 1)),
        ("object.additional.properties", "false"),
        ("use.optional.for.nonrequired", "true"),
    )
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["a"]


def test_data_without_schema_may_be_anything() -> None:
    schema, data = written(None, {"a": [1, None, 2.5]})
    assert (schema, data) == ({}, b'{"a":[1,null,2.5]}')


@pytest.mark.parametrize("schema", [None, Schema(SchemaType.STRING, optional=True)])
def test_null_is_a_tombstone(schema: Schema | None) -> None:
    made = converter(JsonSchemaConverter)
    assert made.from_connect_data("topic", schema, None) is None


def test_a_wrong_value_is_told_with_its_topic() -> None:
    with pytest.raises(ConvertError) as caught:
        written(INT32, "x")
    assert str(caught.value) == (
        "Converting Kafka Connect data to byte[] failed due to serialization error of topic "
        "topic: Invalid type for INT32: class java.lang.String"
    )


@pytest.mark.parametrize("name", CASES)
def test_schema_and_value_come_back_as_they_were(name: str) -> None:
    case = CASES[name]
    made = converter(JsonSchemaConverter)
    record = made.from_connect_data(name, case.schema, case.value)
    schema, value = made.to_connect_data(name, record)
    assert schema is not None
    assert case.schema is not None
    # A schema that has no version gets the registry's.
    assert schema == replace(case.schema, version=case.schema.version or 1)
    assert made.from_connect_data(name, case.schema, value) == record


def foreign(schema: object, data: bytes, *settings: tuple[str, str]) -> tuple[Schema | None, Any]:
    """Data that somebody else has written, with a schema of theirs."""
    made = converter(JsonSchemaConverter, *settings)
    text = SchemaText("JSON", json.dumps(schema))
    schema_id = made.registry.register("foreign-value", text, normalize=False)
    return made.to_connect_data("foreign", b"\0" + schema_id.to_bytes(4, "big") + data)


def test_a_schema_of_somebody_else_gives_the_widest_types() -> None:
    schema, value = foreign(
        {
            "title": "R",
            "type": "object",
            "definitions": {"n": {"type": "number"}},
            "properties": {
                "i": {"type": "integer"},
                "n": {"$ref": "#/definitions/n"},
                "o": {"type": ["string", "null"]},
            },
        },
        b'{"i":1,"n":2.5,"more":[]}',
    )
    assert schema is not None
    kinds = [(each.name, each.schema.type, each.schema.optional) for each in schema.fields]
    assert kinds == [
        ("i", SchemaType.INT64, False),
        ("n", SchemaType.FLOAT64, False),
        ("o", SchemaType.STRING, True),
    ]
    assert value.values == (1, 2.5, None)


def test_what_is_not_required_is_optional_on_request() -> None:
    schema, value = foreign(
        {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
            "required": ["b"],
        },
        b'{"b":1}',
        ("use.optional.for.nonrequired", "true"),
    )
    assert schema is not None
    assert [each.schema.optional for each in schema.fields] == [True, False]
    assert value.values == (None, 1)


def test_a_choice_is_the_branch_that_fits() -> None:
    choice = {
        "oneOf": [
            {"type": "integer"},
            {"type": "object", "properties": {"a": {"type": "string"}}},
            {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
        ]
    }
    assert foreign(choice, b"5")[1].values == (5, None, None)
    assert foreign(choice, b'{"a":"x","b":"y"}')[1].values[2].values == ("x", "y")
    with pytest.raises(ConvertError, match="Did not find matching oneof field for data"):
        foreign(choice, b"true")


def test_parts_of_one_object_are_one_struct() -> None:
    parts = [{"properties": {name: {"type": "string"}}} for name in "ab"]
    _, value = foreign({"type": "object", "allOf": parts}, b'{"a":"x","b":"y"}')
    assert value.values == ("x", "y")


@pytest.mark.parametrize(
    ("schema", "data", "message"),
    [
        ({"type": "string"}, b"1", "Invalid type for STRING: int"),
        ({"type": "integer"}, b"true", "Invalid type for INT64: bool"),
        ({"type": "string"}, b"null", "Invalid null value for required STRING field"),
        ({"type": "string"}, b"{", "reading JSON"),
        ({"type": "string", "connect.type": "bytes"}, b'"*"', "no base64"),
        ({"$ref": "#"}, b"1", "inside of itself"),
        ({"$ref": "#/nowhere"}, b"1", "nothing at #/nowhere"),
        ({"type": "other"}, b"1", "Unsupported schema type"),
    ],
)
def test_what_does_not_fit_is_refused(schema: object, data: bytes, message: str) -> None:
    with pytest.raises(ConvertError, match=message) as caught:
        foreign(schema, data)
    assert str(caught.value).startswith("Converting byte[] to Kafka Connect data failed")
