"""Keys of records: back to their items, and as people see them."""

from __future__ import annotations

import base64
import json

import pytest

from connectd.connectors.dynamodb import reconciling
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema, KeyType
from connectd.connectors.dynamodb.record_keys import KeyReader, item_shown

TOPIC = "dynamodb-orders"
JSON = reconciling.json_decoder(carries_schema=False)
KEYS = KeySchema((KeyAttribute("id", "S"),))


def test_keys_lead_back_to_items() -> None:
    schema = KeySchema((KeyAttribute("user-id", "S"), KeyAttribute("n", "N")))
    reader = KeyReader(schema, JSON, sanitise=True)
    key = b'{"userid":"a","n":"7"}'
    assert reader.item_key(TOPIC, key) == b'{"user-id":{"S":"a"},"n":{"N":"7"}}'
    assert reader.shown(TOPIC, key) == {"userid": "a", "n": "7"}


@pytest.mark.parametrize("key", [None, b'{"x":"1"}', b'{"id":1}', b'"1"', b"\xff"])
def test_keys_that_are_none_of_ours_do_not(key: bytes | None) -> None:
    assert KeyReader(KEYS, JSON, sanitise=False).item_key(TOPIC, key) is None


def told(key_type: KeyType, text: str, range_text: str = "r") -> bytes | None:
    schema = KeySchema((KeyAttribute("id", key_type), KeyAttribute("r", "S")))
    key = json.dumps({"id": text, "r": range_text}).encode()
    return KeyReader(schema, JSON, sanitise=False).item_key(TOPIC, key)


@pytest.mark.parametrize(
    ("key_type", "text"),
    [
        ("S", "ä" * 1024),
        ("B", base64.b64encode(b"x" * 2048).decode()),
        ("N", "-0"),
        ("N", "1.50"),
        ("N", "1E+2"),
        ("N", ".5"),
        ("N", "9" * 38 + "0" * 88),
        ("N", "-1e-130"),
        ("N", "0." + "0" * 129 + "1"),
    ],
)
def test_a_key_that_an_item_can_have_leads_back(key_type: KeyType, text: str) -> None:
    found = told(key_type, text)
    assert found is not None
    assert json.loads(found)["id"] == {key_type: text}


@pytest.mark.parametrize(
    ("key_type", "text"),
    [
        ("S", ""),
        ("S", "ä" * 1025),
        ("S", "\ud800"),
        ("B", ""),
        ("B", "AAE"),
        ("B", "AA E="),
        ("B", "ÄÄÄÄ"),
        ("B", base64.b64encode(b"x" * 2049).decode()),
        ("N", ""),
        ("N", "abc"),
        ("N", "1_0"),
        ("N", " 1"),
        ("N", "1\n"),
        ("N", "NaN"),
        ("N", "Infinity"),
        ("N", "0x10"),
        ("N", "\u0661"),
        ("N", "."),
        ("N", "1" * 39),
        ("N", "1e126"),
        ("N", "1e-131"),
        ("N", "1e99999999999"),
        ("N", "0" * 100_000),
    ],
)
def test_a_key_that_no_item_can_have_does_not(key_type: KeyType, text: str) -> None:
    assert told(key_type, text) is None


def test_range_keys_are_shorter_than_hash_keys() -> None:
    assert told("S", "a", "x" * 1024) is not None
    assert told("S", "a", "x" * 1025) is None


def test_the_key_of_an_item_is_shown_by_its_values() -> None:
    assert item_shown(b'{"id":{"S":"a"},"n":{"N":"7"}}') == {"id": "a", "n": "7"}


def test_keys_are_shown_as_they_are_where_nobody_reads_them() -> None:
    assert KeyReader(KEYS, None, sanitise=False).shown(TOPIC, b"a\xff") == "a\\xff"
    assert KeyReader(KEYS, JSON, sanitise=False).shown(TOPIC, b'"1"') == "1"
    assert KeyReader(KEYS, JSON, sanitise=False).shown(TOPIC, None) is None


@pytest.mark.parametrize(
    "key",
    ['{"id": 7}', '{"id": {"a": [1.5, -3, null, true]}}', "7", "[1, 2]", '{"id": 1e+25}'],
)
def test_numbers_in_keys_are_shown_as_numbers(key: str) -> None:
    shown = KeyReader(KEYS, JSON, sanitise=False).shown(TOPIC, key.encode())
    assert json.dumps(shown) == key


def test_a_number_that_would_lose_digits_is_shown_as_text() -> None:
    reader = KeyReader(KEYS, JSON, sanitise=False)
    for digits in ("1.50", "0.12345678901234567890123", "9" * 400):
        assert reader.shown(TOPIC, digits.encode()) == digits


def test_what_json_does_not_know_is_shown_as_text() -> None:
    reader = KeyReader(KEYS, lambda _, __: {"b": b"a\xff", "f": float("nan")}, sanitise=False)
    assert reader.shown(TOPIC, b"") == {"b": "a\\xff", "f": "nan"}
