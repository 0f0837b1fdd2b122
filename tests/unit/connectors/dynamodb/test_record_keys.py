"""Keys of records: back to their items, and as people see them."""

from __future__ import annotations

import json

import pytest

from connectd.connectors.dynamodb import reconciling
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.connectors.dynamodb.record_keys import KeyReader

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
