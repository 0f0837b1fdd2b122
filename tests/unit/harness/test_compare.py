"""The oracle itself: it must see every kind of difference, and nothing where there is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.harness.compare import Comparison, compare_items_with_records
from tests.harness.processes import HarnessError
from tests.harness.topics import TopicRecord

ITEM = {
    "id": {"S": "a"},
    "n": {"N": "12345678901234567890123456789012345678"},
    "bin": {"B": b"\x00\xff"},
    "set": {"SS": ["x", "y"]},
    "deep": {"M": {"M": {"L": [{"NULL": True}, {"BOOL": False}]}}},
}
DOCUMENT = {
    "id": {"s": "a"},
    "n": {"n": "12345678901234567890123456789012345678"},
    "bin": {"b": "AP8="},
    "set": {"ss": ["y", "x"]},
    "deep": {"m": {"M": {"l": [{"null": True}, {"bool": False}]}}},
}


def record(key: dict[str, str], document: dict[str, Any] | str | None) -> TopicRecord:
    """``document`` None makes a tombstone, text is put into the envelope as it is."""
    text = document if isinstance(document, str) else json.dumps(document)
    value = None if document is None else json.dumps({"document": text, "op": "c"}).encode()
    return TopicRecord("t", 0, 0, json.dumps(key).encode(), value)


def compare(items: list[dict[str, Any]], *records: TopicRecord) -> Comparison:
    return compare_items_with_records(items, records, "t")


def test_an_item_equals_its_document_whatever_the_order_of_a_set() -> None:
    assert compare([ITEM], record({"id": "a"}, DOCUMENT)).equal


def test_only_the_last_record_of_a_key_counts() -> None:
    old = {**DOCUMENT, "n": {"n": "1"}}
    assert compare([ITEM], record({"id": "a"}, old), record({"id": "a"}, DOCUMENT)).equal
    stale = compare([ITEM], record({"id": "a"}, DOCUMENT), record({"id": "a"}, old))
    assert (stale.missing, stale.stale, stale.extra) == ([], ["{id=a}"], [])


def test_a_key_whose_last_record_is_a_tombstone_is_gone() -> None:
    gone = (record({"id": "a"}, DOCUMENT), record({"id": "a"}, None))
    assert compare([], *gone).equal
    assert compare([ITEM], *gone).missing == ["{id=a}"]


def test_a_delete_without_its_tombstone_is_an_extra_record() -> None:
    delete = record({"id": "a"}, "")
    assert compare([], delete).extra == ["{id=a}"]
    assert compare([ITEM], delete).stale == ["{id=a}"]


def test_a_topic_without_records_equals_an_empty_table_only() -> None:
    assert compare([]).equal
    assert len(compare([ITEM]).missing) == 1


def test_a_number_is_its_text() -> None:
    item = {"id": {"S": "a"}, "n": {"N": "1.0"}}
    assert compare([item], record({"id": "a"}, {"id": {"s": "a"}, "n": {"n": "1"}})).stale


def test_binary_and_composite_keys_are_matched_by_their_text() -> None:
    item = {"h": {"B": b"\x00\xff"}, "r": {"N": "7"}, "v": {"S": "x"}}
    document = {"h": {"b": "AP8="}, "r": {"n": "7"}, "v": {"s": "x"}}
    assert compare([item], record({"h": "AP8=", "r": "7"}, document)).equal


def test_the_verdict_names_some_keys_and_counts_all() -> None:
    items = [{"id": {"S": f"k{number}"}} for number in range(9)]
    verdict = str(compare(items, record({"id": "z"}, {"id": {"s": "z"}})))
    assert "DIFFERS (9 items, 1 records): 9 missing ({id=k0}, " in verdict
    assert "…), " not in verdict
    assert verdict.endswith("; 1 extra ({id=z})")


def test_keys_that_are_no_objects_of_strings_are_refused() -> None:
    with pytest.raises(HarnessError, match="expected a JSON object of strings"):
        compare([], TopicRecord("t", 0, 3, b'{"id":5}', b"{}"))
