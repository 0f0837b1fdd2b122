"""Kafka keys: strings in the order of the table's key."""

from __future__ import annotations

from typing import Any

import pytest

from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.errors import ConvertError
from connectd.model.schema import STRING, SchemaType

_COMPOSITE = KeySchema((KeyAttribute("customer", "S"), KeyAttribute("number", "N")))


@pytest.mark.parametrize(
    ("letter", "content"),
    [
        ("S", "名前"),
        ("N", "7"),
        ("N", "12345678901234567890123456789012345678"),
        ("N", "1.5E+2"),
        ("B", "AP8="),
    ],
)
def test_every_key_type_becomes_the_text_that_dynamodb_gave(letter: str, content: str) -> None:
    key = KeySchema((KeyAttribute("id", letter),))  # type: ignore[arg-type]
    assert key.values({"id": {letter: content}, "more": {"S": "x"}}) == (content,)


def test_base64_that_looks_encoded_twice_is_left_alone() -> None:
    # An emulator gives such keys in stream records (field case S23); to decode them once would
    # destroy the key of someone who stores base64 text.
    key = KeySchema((KeyAttribute("id", "B"),))
    assert key.values({"id": {"B": "QVA4PQ=="}}) == ("QVA4PQ==",)


def test_a_composite_key_has_a_field_for_each_part() -> None:
    item = {"number": {"N": "7"}, "customer": {"S": "c1"}}
    assert _COMPOSITE.values(item) == ("c1", "7")
    schema = _COMPOSITE.connect_schema("dynamodb-orders", sanitise=False)
    assert schema.type is SchemaType.STRUCT
    assert schema.name == "dynamodb_orders.Key"
    assert not schema.optional
    assert [(field.name, field.schema) for field in schema.fields] == [
        ("customer", STRING),
        ("number", STRING),
    ]


def test_field_names_are_sanitised_on_request_only() -> None:
    key = KeySchema((KeyAttribute("@id", "S"), KeyAttribute("sort-key", "S")))
    assert key.field_names(sanitise=False) == ("@id", "sort-key")
    assert key.field_names(sanitise=True) == ("id", "sortkey")


def test_key_attributes_that_sanitising_would_make_equal_stay_apart() -> None:
    key = KeySchema((KeyAttribute("a-b", "S"), KeyAttribute("a.b", "S")))
    assert key.field_names(sanitise=True) == ("a-b", "a.b")


@pytest.mark.parametrize(
    "item",
    [
        {},
        {"customer": {"S": "c1"}},
        {"customer": {"S": "c1"}, "number": {"S": "7"}},
        {"customer": {"S": "c1"}, "number": {"N": 7}},
        {"customer": {"S": "c1"}, "number": "7"},
        {"customer": {"S": "c1"}, "number": None},
    ],
)
def test_an_item_without_its_key_is_an_error_that_names_the_attributes(item: Any) -> None:
    with pytest.raises(ConvertError, match=r"expected customer \(S\), number \(N\)") as refused:
        _COMPOSITE.values(item)
    assert "c1" not in str(refused.value)


@pytest.mark.parametrize("attributes", [(), (KeyAttribute("a", "S"),) * 3])
def test_a_key_has_one_or_two_attributes(attributes: tuple[KeyAttribute, ...]) -> None:
    with pytest.raises(ValueError, match="1 or 2 attributes"):
        KeySchema(attributes)


def test_a_key_attribute_is_of_one_of_three_types() -> None:
    with pytest.raises(ValueError, match="key attribute id is of type BOOL, expected S, N or B"):
        KeyAttribute("id", "BOOL")  # type: ignore[arg-type]
