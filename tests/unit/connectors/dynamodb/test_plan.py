"""A plan is compiled once per table, a layout once per pair of converters."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from connectd.connectors.dynamodb.document import parse_item
from connectd.connectors.dynamodb.envelope import (
    EnvelopeSettings,
    InitSyncState,
    Operation,
    RecordFacts,
    SourceInfo,
)
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.connectors.dynamodb.plan import JSON_CONVERTER, TablePlan
from connectd.converters.json_converter import JsonConverter
from connectd.model.record import ConverterSpec

_BARE = ConverterSpec(JSON_CONVERTER, (("schemas.enable", "false"),))
_WITH_SCHEMA = ConverterSpec(JSON_CONVERTER)
_OTHER = ConverterSpec("org.apache.kafka.connect.storage.StringConverter")
_INFO = SourceInfo("orders", InitSyncState.RUNNING, 7)
_READ = RecordFacts(Operation.READ, 7)


def _plan(envelope: EnvelopeSettings | None = None) -> TablePlan:
    key = KeySchema((KeyAttribute("@id", "S"), KeyAttribute("at", "N")))
    return TablePlan("orders", "dynamodb-orders", key, envelope or EnvelopeSettings())


def test_the_layout_is_made_for_the_converter_of_this_product() -> None:
    assert JsonConverter.class_name == JSON_CONVERTER


@pytest.mark.parametrize(("key", "value"), [(_OTHER, _BARE), (_BARE, _OTHER), (_OTHER, _OTHER)])
def test_other_converters_have_no_direct_road(key: ConverterSpec, value: ConverterSpec) -> None:
    assert _plan().layout(key, value) is None


def test_a_layout_is_compiled_once() -> None:
    plan = _plan()
    assert plan.layout(_BARE, _WITH_SCHEMA) is plan.layout(_BARE, _WITH_SCHEMA)
    assert plan.layout(_BARE, _WITH_SCHEMA) is not plan.layout(_WITH_SCHEMA, _BARE)


@pytest.mark.parametrize("text", ["FALSE", " false ", "no", ""])
def test_schemas_are_carried_only_when_the_setting_says_true(text: str) -> None:
    spec = ConverterSpec(JSON_CONVERTER, (("schemas.enable", text),))
    layout = _plan().layout(spec, spec)
    assert layout is not None
    assert layout.key(("a", "1")) == b'{"@id":"a","at":"1"}'


@pytest.mark.parametrize("version", ["0.1", "1.0"])
def test_a_plan_in_use_can_be_sent_to_another_process(version: Any) -> None:
    plan = _plan(EnvelopeSettings(version))
    item = b'{"a.b":{"N":"1"}}'
    written = plan.write_document(parse_item(item))
    assert plan.layout(_BARE, _BARE) is not None
    twin = pickle.loads(pickle.dumps(plan))
    assert twin == plan
    assert twin.write_document(parse_item(item)) == written


def test_key_fields_follow_the_envelope() -> None:
    sanitising = _plan(EnvelopeSettings("1.0")).layout(_BARE, _BARE)
    assert sanitising is not None
    assert sanitising.key(("a", "1")) == b'{"id":"a","at":"1"}'


def test_a_key_with_schema_says_what_it_is() -> None:
    layout = _plan().layout(_WITH_SCHEMA, _BARE)
    assert layout is not None
    assert layout.key(('"\x1f', "1")) == (
        b'{"schema":{"type":"struct","fields":['
        b'{"type":"string","optional":false,"field":"@id"},'
        b'{"type":"string","optional":false,"field":"at"}],'
        b'"optional":false,"name":"dynamodb_orders.Key"},'
        b'"payload":{"@id":"\\"\\u001F","at":"1"}}'
    )


def test_a_frame_stands_around_the_document() -> None:
    layout = _plan().layout(_BARE, _BARE)
    assert layout is not None
    frame = layout.frame(_INFO, _READ)
    assert frame.head == b'{"version":"0.1","document":'
    assert frame.tail == (
        b',"source":{"version":"0.1","table_name":"orders","init_sync":"RUNNING",'
        b'"init_sync_start":7,"init_sync_end":null},"op":"r","ts_ms":7}'
    )


def test_with_old_images_a_frame_has_a_place_for_them() -> None:
    layout = _plan(EnvelopeSettings(old_image=True)).layout(_BARE, _BARE)
    assert layout is not None
    frame = layout.frame(_INFO, _READ)
    assert frame.tail.startswith(b',"old_document":null,"source":{')
    assert frame.tail_after(b'"{}"').startswith(b',"old_document":"{}","source":{')
