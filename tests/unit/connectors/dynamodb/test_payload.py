"""Records of both payloads, byte for byte as the specification prints them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from connectd.connectors.dynamodb import decode
from connectd.connectors.dynamodb.envelope import EnvelopeSettings, InitSyncState, SourceInfo
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.connectors.dynamodb.payload import ScanPayload, StreamPayload
from connectd.connectors.dynamodb.plan import JSON_CONVERTER, TablePlan
from connectd.errors import ConvertError
from connectd.model.record import ConverterSpec, EncodedPage, EncodedRecord, SourceRecord
from tests.kit import items

pytestmark = pytest.mark.usefixtures("tier")

_BARE = ConverterSpec(JSON_CONVERTER, (("schemas.enable", "false"),))
_STRINGS = ConverterSpec("org.apache.kafka.connect.storage.StringConverter")

_START_MS = 1557387726273
_RUNNING = SourceInfo("orders", InitSyncState.RUNNING, _START_MS)
_FINISHED = SourceInfo("orders", InitSyncState.FINISHED, _START_MS, 1557387926273, 3)
_KEY: items.Item = {"id": {"S": "5028"}}
_ITEM: items.Item = {"id": {"S": "5028"}, "total": {"N": "7.0"}}
_OLD: items.Item = {"id": {"S": "5028"}, "total": {"N": "6"}}


def _plan(envelope: EnvelopeSettings) -> TablePlan:
    return TablePlan("orders", "dynamodb-orders", KeySchema((KeyAttribute("id", "S"),)), envelope)


def _scan(envelope: EnvelopeSettings, page: Sequence[items.Item], **more: Any) -> ScanPayload:
    raw = decode.decode_scan_page(items.scan_body(page)).items
    return ScanPayload(_plan(envelope), _RUNNING, raw, **more)


def _stream(envelope: EnvelopeSettings, *records: dict[str, Any]) -> StreamPayload:
    page = decode.decode_records_page(items.records_body(records))
    return StreamPayload(_plan(envelope), _FINISHED, page.records)


def _encode(payload: ScanPayload | StreamPayload) -> list[EncodedRecord]:
    encode = payload.page_encoder(_BARE, _BARE)
    assert encode is not None
    page = encode()
    assert page.topic == "dynamodb-orders"
    return page.records


def _values(payload: ScanPayload | StreamPayload) -> list[Any]:
    return [None if value is None else json.loads(value) for _, value in _encode(payload)]


def test_a_scanned_item_in_envelope_1_0_is_the_java_connectors() -> None:
    assert _encode(_scan(EnvelopeSettings("1.0"), [_KEY])) == [
        (
            b'{"id":"5028"}',
            b'{"version":"1.0","document":"{\\"id\\":{\\"s\\":\\"5028\\"}}","source":{"version":"1.0",'
            b'"table_name":"orders","init_sync":true,"init_sync_state":"RUNNING",'
            b'"init_sync_start":1557387726273,"init_sync_end":null,"init_sync_count":null},'
            b'"op":"r","ts_ms":1557387726273}',
        )
    ]


def test_a_scanned_item_in_envelope_0_1_is_the_documented_sample() -> None:
    item: items.Item = {
        "attribute-ns": {"NS": ["3", "1"]},
        "attribute-bool": {"BOOL": True},
        "attribute-ss": {"SS": ["1aa", "2aa"]},
        "attribute-1": {"S": "test185347"},
        "attribute-m": {"M": {"key1": {"S": "MTYPE"}}},
        "id": {"S": "5028"},
        "attribute-null": {"NULL": True},
    }
    ((key, value),) = _encode(_scan(EnvelopeSettings("0.1"), [item]))
    assert key == b'{"id":"5028"}'
    assert value is not None
    assert json.loads(value) == {
        "version": "0.1",
        "document": '{"attribute-ns":{"ns":["3","1"]},"attribute-bool":{"bool":true},'
        '"attribute-ss":{"ss":["1aa","2aa"]},"attribute-1":{"s":"test185347"},'
        '"attribute-m":{"m":{"key1":{"s":"MTYPE"}}},"id":{"s":"5028"},'
        '"attribute-null":{"null":true}}',
        "source": {
            "version": "0.1",
            "table_name": "orders",
            "init_sync": "RUNNING",
            "init_sync_start": 1557387726273,
            "init_sync_end": None,
        },
        "op": "r",
        "ts_ms": 1557387726273,
    }


def test_only_the_last_item_of_a_scan_says_that_it_is_finished() -> None:
    payload = _scan(EnvelopeSettings("1.0"), [_KEY, _ITEM, _KEY], last_info=_FINISHED)
    values = _values(payload)
    assert [value["source"]["init_sync_state"] for value in values] == [
        "RUNNING",
        "RUNNING",
        "FINISHED",
    ]
    assert [value["source"]["init_sync_count"] for value in values] == [None, None, 3]
    assert [value["source"]["init_sync"] for value in values] == [True, True, True]
    assert len({value["ts_ms"] for value in values}) == 1


def test_a_deletion_in_envelope_1_0_holds_the_key_and_is_followed_by_a_tombstone() -> None:
    payload = _stream(EnvelopeSettings("1.0"), items.stream_record("REMOVE", _KEY, old_image=_OLD))
    assert len(payload) == 1
    (deletion, tombstone) = _encode(payload)
    assert deletion == (
        b'{"id":"5028"}',
        b'{"version":"1.0","document":"{\\"id\\":{\\"s\\":\\"5028\\"}}","source":{"version":"1.0",'
        b'"table_name":"orders","init_sync":false,"init_sync_state":"FINISHED",'
        b'"init_sync_start":1557387726273,"init_sync_end":1557387926273,"init_sync_count":3},'
        b'"op":"d","ts_ms":1557387726000}',
    )
    assert tombstone == (b'{"id":"5028"}', None)


def test_a_page_of_a_stream_may_end_behind_each_change_and_not_before_its_tombstone() -> None:
    records = [
        items.stream_record("MODIFY", _KEY, sequence_number="100", created_s=1.0),
        items.stream_record("REMOVE", _KEY, sequence_number="200", created_s=2.0),
    ]
    page = replace(
        _stream(EnvelopeSettings("1.0"), *records),
        offset_after=lambda number, created_s: {"behind": number, "at": created_s},
    )
    offsets = [
        entry.offset_after and entry.offset_after()
        for entry in page.source_records()
        if isinstance(entry, SourceRecord)
    ]
    assert offsets == [{"behind": "100", "at": 1.0}, None, {"behind": "200", "at": 2.0}]


def test_a_deletion_in_envelope_0_1_has_an_empty_document() -> None:
    payload = _stream(EnvelopeSettings("0.1"), items.stream_record("REMOVE", _KEY))
    deletion, tombstone = _values(payload)
    assert (deletion["op"], deletion["document"]) == ("d", "")
    assert tombstone is None


def test_stream_records_show_the_new_image_and_when_it_was_made() -> None:
    payload = _stream(
        EnvelopeSettings(),
        items.stream_record("INSERT", _KEY, new_image=_ITEM, created_s=1557390000),
        items.stream_record("MODIFY", _KEY, new_image=_ITEM, old_image=_OLD, created_s=1557390001),
    )
    values = _values(payload)
    assert [value["op"] for value in values] == ["c", "u"]
    assert [value["ts_ms"] for value in values] == [1557390000000, 1557390001000]
    assert [json.loads(value["document"]) for value in values] == [items.lowered(_ITEM)] * 2
    assert [key for key, _ in _encode(payload)] == [b'{"id":"5028"}'] * 2


def test_fractions_of_a_second_from_emulators_become_milliseconds() -> None:
    record = items.stream_record("INSERT", _KEY, new_image=_ITEM, created_s=1557390000.123)
    assert _values(_stream(EnvelopeSettings(), record))[0]["ts_ms"] == 1557390000123


def test_without_a_new_image_the_document_holds_the_key() -> None:
    record = items.stream_record("MODIFY", _KEY)
    assert _values(_stream(EnvelopeSettings(), record))[0]["document"] == '{"id":{"s":"5028"}}'


@pytest.mark.parametrize("version", ["0.1", "1.0"])
def test_old_images_are_shown_on_request(version: Any) -> None:
    payload = _stream(
        EnvelopeSettings(version, old_image=True),
        items.stream_record("INSERT", _KEY, new_image=_ITEM),
        items.stream_record("MODIFY", _KEY, new_image=_ITEM, old_image=_OLD),
        items.stream_record("REMOVE", _KEY, old_image=_OLD),
    )
    created, updated, deleted, tombstone = _values(payload)
    assert created["old_document"] is None
    assert json.loads(updated["old_document"]) == items.lowered(_OLD)
    assert json.loads(deleted["old_document"]) == items.lowered(_OLD)
    assert tombstone is None
    assert list(updated) == ["version", "document", "old_document", "source", "op", "ts_ms"]


def test_plain_documents_are_an_option() -> None:
    payload = _scan(EnvelopeSettings("1.0", document="plain"), [_ITEM])
    assert _values(payload)[0]["document"] == '{"id":"5028","total":7.0}'


def test_deletions_by_time_to_live_are_marked_on_request() -> None:
    service = {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}
    payload = _stream(
        EnvelopeSettings(user_identity=True),
        items.stream_record("REMOVE", _KEY, user_identity=service),
        items.stream_record("REMOVE", _KEY),
    )
    expired, _, deleted, _ = _values(payload)
    assert expired["user_identity"] == {
        "type": "Service",
        "principal_id": "dynamodb.amazonaws.com",
    }
    assert deleted["user_identity"] is None


def test_an_empty_page_has_no_records() -> None:
    for payload in (
        _scan(EnvelopeSettings(), [], last_info=_FINISHED),
        _stream(EnvelopeSettings()),
    ):
        assert len(payload) == 0
        assert list(payload.source_records()) == []
        assert payload.page_encoder(_BARE, _BARE)() == EncodedPage("dynamodb-orders", [])  # type: ignore[misc]


def test_other_converters_take_the_general_road() -> None:
    assert _scan(EnvelopeSettings(), [_ITEM]).page_encoder(_BARE, _STRINGS) is None
    assert _stream(EnvelopeSettings()).page_encoder(_STRINGS, _BARE) is None


def test_a_source_record_names_its_item_for_messages() -> None:
    (record,) = _scan(EnvelopeSettings(), [_ITEM]).source_records()
    assert isinstance(record, SourceRecord)
    assert record.origin == "table orders, key id=5028"
    assert record.topic == "dynamodb-orders"
    assert (record.kafka_partition, record.timestamp_ms, record.headers) == (None, None, [])


def test_a_tombstone_has_neither_value_nor_schema() -> None:
    records = _stream(EnvelopeSettings(), items.stream_record("REMOVE", _KEY)).source_records()
    deletion, tombstone = records
    assert isinstance(deletion, SourceRecord)
    assert isinstance(tombstone, SourceRecord)
    assert tombstone.key == deletion.key
    assert tombstone.key_schema == deletion.key_schema
    assert tombstone.value is None
    assert tombstone.value_schema is None


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"id": {"S": "7"}, "x": {"X": "?"}}, r"table orders, key id=7: writing a document"),
        ({"total": {"N": "7"}}, r"table orders, record 1 of the page: reading the key"),
    ],
)
def test_a_bad_item_stands_as_its_error_among_its_neighbours(bad: items.Item, message: str) -> None:
    scan = _scan(EnvelopeSettings(), [_ITEM, bad, _ITEM])
    stream = _stream(
        EnvelopeSettings(),
        *(items.stream_record("MODIFY", _KEY, new_image=each) for each in (_ITEM, bad, _ITEM)),
    )
    for payload in (scan, stream):
        before, error, after = payload.source_records()
        assert isinstance(before, SourceRecord)
        assert isinstance(error, ConvertError)
        assert isinstance(after, SourceRecord)
        assert re.match(message, str(error))
        assert isinstance(error.__cause__, ConvertError)
        with pytest.raises(ConvertError):
            _encode(payload)


def test_an_unknown_event_is_an_error_on_both_roads() -> None:
    payload = _stream(EnvelopeSettings(), items.stream_record("TRUNCATE", _KEY))
    (error,) = payload.source_records()
    assert isinstance(error, ConvertError)
    assert re.match("table orders, record 0 of the page.*TRUNCATE", str(error))
    with pytest.raises(ConvertError, match="TRUNCATE"):
        _encode(payload)
