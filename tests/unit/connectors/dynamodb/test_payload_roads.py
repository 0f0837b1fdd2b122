"""The promise behind the direct road: it gives the bytes of the general one, always.

Everything that the two roads could disagree on is drawn: items of every type and with names that
look like syntax, both envelopes with all their options, schemas carried or not on either side,
composite keys, and how much the wire escapes. ``CONNECTD_EXAMPLES=20000`` looks longer.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.connectors.dynamodb import decode
from connectd.connectors.dynamodb.envelope import EnvelopeSettings, InitSyncState, SourceInfo
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.connectors.dynamodb.payload import ScanPayload, StreamPayload
from connectd.connectors.dynamodb.plan import JSON_CONVERTER, TablePlan
from connectd.converters.json_converter import JsonConverter
from connectd.model.record import ConverterSpec, EncodedRecord, SourceRecord
from tests.kit import items

pytestmark = pytest.mark.usefixtures("tier")

_KEYS: tuple[tuple[tuple[str, Any], ...], ...] = (
    (("id", "S"),),
    (("@id", "N"),),
    (("M", "B"), ("S", "S")),
    (("a-b", "S"), ("ab", "N")),
    (('q"uote', "S"), ("名前", "B")),
)

_envelopes = st.builds(
    EnvelopeSettings,
    version=st.sampled_from(["0.1", "1.0"]),
    document=st.sampled_from(["typed", "plain"]),
    old_image=st.booleans(),
    user_identity=st.booleans(),
)

_infos = st.builds(
    SourceInfo,
    table_name=st.just("orders.of-today"),
    init_sync_state=st.sampled_from(InitSyncState),
    init_sync_start_ms=st.integers(0, 2**53),
    init_sync_end_ms=st.none() | st.integers(0, 2**53),
    init_sync_count=st.none() | st.integers(0, 2**40),
)

_converters = st.sampled_from(
    [ConverterSpec(JSON_CONVERTER, (("schemas.enable", text),)) for text in ("true", "false")]
)

_identities = st.none() | st.fixed_dictionaries({"Type": items.texts, "PrincipalId": items.texts})


def _general_road(
    payload: ScanPayload | StreamPayload, key: ConverterSpec, value: ConverterSpec
) -> list[EncodedRecord]:
    key_converter, value_converter = JsonConverter(key), JsonConverter(value)
    records: list[EncodedRecord] = []
    for record in payload.source_records():
        assert isinstance(record, SourceRecord)
        topic = record.topic
        key_bytes = key_converter.from_connect_data(topic, record.key_schema, record.key)
        value_bytes = value_converter.from_connect_data(topic, record.value_schema, record.value)
        records.append((key_bytes, value_bytes))
    return records


def _direct_road(
    payload: ScanPayload | StreamPayload, key: ConverterSpec, value: ConverterSpec
) -> list[EncodedRecord]:
    encode = payload.page_encoder(key, value)
    assert encode is not None
    return encode().records


def _direct_roads(
    payload: ScanPayload | StreamPayload, key: ConverterSpec, value: ConverterSpec
) -> list[EncodedRecord]:
    """Three times: the portable tier has moulds for what it has met twice."""
    first, _, moulded = (_direct_road(payload, key, value) for _ in range(3))
    assert first == moulded
    return moulded


def _plan(key: tuple[tuple[str, Any], ...], envelope: EnvelopeSettings) -> TablePlan:
    schema = KeySchema(tuple(KeyAttribute(name, letter) for name, letter in key))
    return TablePlan("orders.of-today", "cdc-orders.of-today", schema, envelope)


@given(
    st.data(), st.sampled_from(_KEYS), _envelopes, _infos, st.none() | _infos, _converters,
    _converters, st.booleans(),
)  # fmt: skip
@items.examples
def test_pages_of_a_scan_are_the_same_on_both_roads(
    data: st.DataObject,
    key: tuple[tuple[str, Any], ...],
    envelope: EnvelopeSettings,
    info: SourceInfo,
    last_info: SourceInfo | None,
    key_converter: ConverterSpec,
    value_converter: ConverterSpec,
    ascii_only: bool,
) -> None:
    page = data.draw(st.lists(items.items(key), max_size=3))
    raw = decode.decode_scan_page(items.scan_body(page, ascii_only=ascii_only)).items
    payload = ScanPayload(_plan(key, envelope), info, raw, last_info)
    records = _direct_roads(payload, key_converter, value_converter)
    assert records == _general_road(payload, key_converter, value_converter)
    assert len(records) == len(payload) == len(page)


@st.composite
def _stream_records(draw: st.DrawFn, key: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    event_name = draw(st.sampled_from(["INSERT", "MODIFY", "REMOVE"]))
    keys = draw(items.keys(key))
    image = items.items(key)
    return items.stream_record(
        event_name,
        keys,
        new_image=None if event_name == "REMOVE" else draw(st.none() | image),
        old_image=None if event_name == "INSERT" else draw(st.none() | image),
        user_identity=draw(_identities),
        created_s=draw(st.integers(0, 2**32) | st.floats(0, 2**32)),
    )


@given(
    st.data(), st.sampled_from(_KEYS), _envelopes, _infos, _converters, _converters, st.booleans()
)  # fmt: skip
@items.examples
def test_pages_of_a_stream_are_the_same_on_both_roads(
    data: st.DataObject,
    key: tuple[tuple[str, Any], ...],
    envelope: EnvelopeSettings,
    info: SourceInfo,
    key_converter: ConverterSpec,
    value_converter: ConverterSpec,
    ascii_only: bool,
) -> None:
    page = data.draw(st.lists(_stream_records(key), max_size=3))
    body = items.records_body(page, ascii_only=ascii_only)
    payload = StreamPayload(_plan(key, envelope), info, decode.decode_records_page(body).records)
    records = _direct_roads(payload, key_converter, value_converter)
    assert records == _general_road(payload, key_converter, value_converter)
    deletions = sum(record["eventName"] == "REMOVE" for record in page)
    assert sum(value is None for _, value in records) == deletions
    assert len(payload) == len(page) == len(records) - deletions


def test_the_samples_that_broke_others_are_the_same_on_both_roads() -> None:
    samples: list[items.Item] = [
        items.ALL_TYPES,
        {"id": {"S": "deep"}, "nested": items.nested(32)},
        {"id": {"S": '"\\\x1f\0名😀' * 40_000}},
        {"id": {"S": "name"}} | {name: {"S": name} for name in items.AWKWARD_NAMES},
    ]
    raw = decode.decode_scan_page(items.scan_body(samples)).items
    for version in ("0.1", "1.0"):
        plan = _plan((("id", "S"),), EnvelopeSettings(version))
        payload = ScanPayload(plan, SourceInfo("orders", InitSyncState.RUNNING, 0), raw)
        for text in ("true", "false"):
            spec = ConverterSpec(JSON_CONVERTER, (("schemas.enable", text),))
            assert _direct_road(payload, spec, spec) == _general_road(payload, spec, spec)


@given(st.lists(items.items(), min_size=1, max_size=3))
@items.examples
def test_the_item_comes_back_from_a_kafka_record_unchanged(page: list[items.Item]) -> None:
    plan = _plan((("id", "S"),), EnvelopeSettings("0.1"))
    raw = decode.decode_scan_page(items.scan_body(page)).items
    payload = ScanPayload(plan, SourceInfo("orders", InitSyncState.RUNNING, 0), raw)
    spec = ConverterSpec(JSON_CONVERTER, (("schemas.enable", "false"),))
    for item, (key, value) in zip(page, _direct_road(payload, spec, spec), strict=True):
        assert key is not None
        assert value is not None
        assert json.loads(key) == {"id": item["id"]["S"]}
        assert json.loads(json.loads(value)["document"]) == items.lowered(item)
