"""Field cases of converters and data types, by their row ids: what others lose arrives whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from connectd.connectors.dynamodb import decode
from connectd.connectors.dynamodb.document import item_of_typed_document
from connectd.connectors.dynamodb.envelope import EnvelopeSettings, InitSyncState, SourceInfo
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema, KeyType
from connectd.connectors.dynamodb.payload import ScanPayload, StreamPayload
from connectd.connectors.dynamodb.plan import JSON_CONVERTER, TablePlan
from connectd.model.record import ConverterSpec
from tests.kit import items

pytestmark = pytest.mark.usefixtures("tier")

_BARE = ConverterSpec(JSON_CONVERTER, (("schemas.enable", "false"),))
_INFO = SourceInfo("orders", InitSyncState.RUNNING, 1557387726273)
_ENVELOPES = ["0.1", "1.0"]


def _plan(version: Any, *, key: tuple[str, KeyType] = ("id", "S"), **more: Any) -> TablePlan:
    envelope = EnvelopeSettings(version, **more)
    return TablePlan("orders", "dynamodb-orders", KeySchema((KeyAttribute(*key),)), envelope)


def _scanned(plan: TablePlan, item: items.Item) -> tuple[Any, items.Item]:
    """Key and item as a consumer gets them."""
    page = decode.decode_scan_page(items.scan_body([item]))
    encode = ScanPayload(plan, _INFO, page.items).page_encoder(_BARE, _BARE)
    assert encode is not None
    ((key, value),) = encode().records
    assert key is not None
    assert value is not None
    return json.loads(key), item_of_typed_document(json.loads(value)["document"].encode())


@pytest.mark.parametrize("version", _ENVELOPES)
@pytest.mark.parametrize("number", ["1234567895171680000000000000000000000000", "1" + "0" * 100])
def test_v01_numbers_with_trailing_zeros_stay_the_text_that_they_are(
    version: str, number: str
) -> None:
    item: items.Item = {"id": {"S": "a"}, "n": {"N": number}}
    assert _scanned(_plan(version), item)[1] == item


@pytest.mark.parametrize("version", _ENVELOPES)
def test_v04_nulls_are_kept_at_every_depth(version: str) -> None:
    null = {"NULL": True}
    item: items.Item = {"id": {"S": "a"}, "n": null, "l": {"L": [null]}, "m": {"M": {"x": null}}}
    assert _scanned(_plan(version), item)[1] == item


@pytest.mark.parametrize("version", _ENVELOPES)
@pytest.mark.parametrize(
    "names", [("a-b", "ab"), ("名前",), ("-",), ("9", "99"), ("a.b", "a b"), ("M", "S", '"{')]
)
def test_v05_s18_no_attribute_is_lost_whatever_its_name(
    version: str, names: tuple[str, ...]
) -> None:
    item: items.Item = {"id": {"S": "a"}}
    item.update({name: {"N": str(number)} for number, name in enumerate(names)})
    _, found = _scanned(_plan(version), item)
    assert len(found) == len(item)
    values = [json.dumps(value) for value in found.values()]
    assert sorted(values) == sorted(json.dumps(value) for value in item.values())
    if version == "0.1":
        assert found == item


@pytest.mark.parametrize("name", ["@id", "/x", "a.b", "1a"])
def test_v06_key_attributes_keep_their_names_in_json(name: str) -> None:
    key, found = _scanned(_plan("0.1", key=(name, "S")), {name: {"S": "k"}})
    assert key == {name: "k"}
    assert found == {name: {"S": "k"}}


@pytest.mark.parametrize("version", _ENVELOPES)
def test_v07_a_binary_key_is_base64_text(version: str) -> None:
    assert _scanned(_plan(version, key=("id", "B")), {"id": {"B": "AP8="}})[0] == {"id": "AP8="}


@pytest.mark.parametrize("version", _ENVELOPES)
def test_v12_an_item_of_all_types_comes_back_exactly(version: str) -> None:
    item: items.Item = {
        "id": {"S": "a"},
        "n": {"N": "38.0E+10"},
        "b": {"B": "AP8="},
        "bool": {"BOOL": False},
        "null": {"NULL": True},
        "ss": {"SS": ["b", "a"]},
        "ns": {"NS": ["2", "1.50"]},
        "bs": {"BS": ["AQ==", "AgM="]},
        "m": {"M": {"M": {"S": ""}, "l": {"L": []}}},
        "l": {"L": [{"N": "1"}, {"S": "1"}, {"M": {}}]},
    }
    assert _scanned(_plan(version), item)[1] == item


@pytest.mark.parametrize("version", _ENVELOPES)
@pytest.mark.parametrize("number", ["007", "7.0", "-0", "1E+2"])
def test_v17_a_numeric_key_is_the_text_that_dynamodb_gives(version: str, number: str) -> None:
    key, _ = _scanned(_plan(version, key=("id", "N")), {"id": {"N": number}})
    assert key == {"id": number}


def test_s24_a_deletion_can_carry_the_item_as_it_was() -> None:
    old: items.Item = {"id": {"S": "a"}, "total": {"N": "7"}}
    record = items.stream_record("REMOVE", {"id": {"S": "a"}}, old_image=old)
    page = decode.decode_records_page(items.records_body([record]))
    plan = _plan("1.0", old_image=True)
    encode = StreamPayload(plan, _INFO, page.records).page_encoder(_BARE, _BARE)
    assert encode is not None
    (_, value), tombstone = encode().records
    assert value is not None
    envelope = json.loads(value)
    assert envelope["op"] == "d"
    assert item_of_typed_document(envelope["old_document"].encode()) == old
    assert tombstone[1] is None
