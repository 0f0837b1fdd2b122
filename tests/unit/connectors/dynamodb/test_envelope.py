"""Both envelopes: their schemas and values."""

from __future__ import annotations

from typing import Any

import pytest

from connectd.connectors.dynamodb.envelope import (
    EnvelopeSettings,
    InitSyncState,
    Operation,
    RecordFacts,
    SourceInfo,
    operation_of,
)
from connectd.errors import ConvertError
from connectd.model.schema import Schema, Struct

_START_MS = 1557387726273
_END_MS = 1557387926273
_RUNNING = SourceInfo("orders", InitSyncState.RUNNING, _START_MS)
_FINISHED = SourceInfo("orders", InitSyncState.FINISHED, _START_MS, _END_MS, 5321)
_READ = RecordFacts(Operation.READ, _START_MS)
_UPDATE = RecordFacts(Operation.UPDATE, 1557390000000)


def _shape(schema: Schema) -> list[tuple[str, str, bool]]:
    return [(each.name, each.schema.type.value, each.schema.optional) for each in schema.fields]


def _members(value: Any) -> Any:
    if not isinstance(value, Struct):
        return value
    pairs = zip(value.schema.fields, value.values, strict=True)
    return {field.name: _members(member) for field, member in pairs}


def test_the_schema_of_1_0_requires_everything() -> None:
    settings = EnvelopeSettings("1.0")
    assert settings.value_schema.name == "com.trustpilot.connector.dynamodb.envelope"
    assert settings.value_schema.version is None
    assert _shape(settings.value_schema) == [
        ("version", "string", False),
        ("document", "string", False),
        ("source", "struct", False),
        ("op", "string", False),
        ("ts_ms", "int64", False),
    ]
    document = settings.value_schema.field("document")
    assert document is not None
    assert document.schema.name == "com.trustpilot.connector.dynamodb.json"
    assert document.schema.version == 1
    assert settings.source_schema.name == "com.trustpilot.connector.dynamodb.source"
    assert _shape(settings.source_schema) == [
        ("version", "string", False),
        ("table_name", "string", False),
        ("init_sync", "boolean", False),
        ("init_sync_state", "string", False),
        ("init_sync_start", "int64", False),
        ("init_sync_end", "int64", True),
        ("init_sync_count", "int64", True),
    ]


def test_the_schema_of_0_1_makes_optional_what_the_documented_sample_wraps() -> None:
    settings = EnvelopeSettings("0.1")
    assert _shape(settings.value_schema) == [
        ("version", "string", False),
        ("document", "string", False),
        ("source", "struct", False),
        ("op", "string", True),
        ("ts_ms", "int64", True),
    ]
    assert _shape(settings.source_schema) == [
        ("version", "string", True),
        ("table_name", "string", False),
        ("init_sync", "string", False),
        ("init_sync_start", "int64", False),
        ("init_sync_end", "int64", True),
    ]


def test_a_value_of_1_0_while_the_scan_runs() -> None:
    assert _members(EnvelopeSettings("1.0").value(_RUNNING, _READ, "{}")) == {
        "version": "1.0",
        "document": "{}",
        "source": {
            "version": "1.0",
            "table_name": "orders",
            "init_sync": True,
            "init_sync_state": "RUNNING",
            "init_sync_start": _START_MS,
            "init_sync_end": None,
            "init_sync_count": None,
        },
        "op": "r",
        "ts_ms": _START_MS,
    }


def test_a_value_of_1_0_from_the_stream() -> None:
    value = _members(EnvelopeSettings("1.0").value(_FINISHED, _UPDATE, "{}"))
    assert value["source"]["init_sync"] is False
    assert value["source"]["init_sync_state"] == "FINISHED"
    assert value["source"]["init_sync_end"] == _END_MS
    assert value["source"]["init_sync_count"] == 5321
    assert (value["op"], value["ts_ms"]) == ("u", 1557390000000)


def test_the_count_of_1_0_is_shown_only_once_the_scan_has_ended() -> None:
    running = SourceInfo("orders", InitSyncState.RUNNING, _START_MS, None, 17)
    assert EnvelopeSettings("1.0").source(running, is_read=True).get("init_sync_count") is None


@pytest.mark.parametrize("state", list(InitSyncState))
def test_0_1_shows_the_state_as_text(state: InitSyncState) -> None:
    info = SourceInfo("orders", state, _START_MS)
    assert _members(EnvelopeSettings("0.1").value(info, _READ, "")) == {
        "version": "0.1",
        "document": "",
        "source": {
            "version": "0.1",
            "table_name": "orders",
            "init_sync": state.value,
            "init_sync_start": _START_MS,
            "init_sync_end": None,
        },
        "op": "r",
        "ts_ms": _START_MS,
    }


@pytest.mark.parametrize("version", ["0.1", "1.0"])
def test_options_add_fields_and_change_no_other(version: Any) -> None:
    bare = EnvelopeSettings(version)
    full = EnvelopeSettings(version, old_image=True, user_identity=True)
    names = [field.name for field in full.value_schema.fields]
    assert names == [
        "version",
        "document",
        "old_document",
        "source",
        "op",
        "ts_ms",
        "user_identity",
    ]
    assert [
        field
        for field in full.value_schema.fields
        if field.name not in ("old_document", "user_identity")
    ] == list(bare.value_schema.fields)
    assert all(
        field.schema.optional
        for field in full.value_schema.fields
        if field.name in ("old_document", "user_identity")
    )


@pytest.mark.parametrize(
    "identity",
    [
        b'{"PrincipalId":"dynamodb.amazonaws.com","Type":"Service"}',
        b'{"principalId":"dynamodb.amazonaws.com","type":"Service"}',
    ],
)
def test_deletions_by_time_to_live_can_be_told_apart(identity: bytes) -> None:
    settings = EnvelopeSettings(user_identity=True)
    facts = RecordFacts(Operation.DELETE, 0, identity)
    assert _members(settings.value(_FINISHED, facts, ""))["user_identity"] == {
        "type": "Service",
        "principal_id": "dynamodb.amazonaws.com",
    }
    people = RecordFacts(Operation.DELETE, 0, None)
    assert settings.value(_FINISHED, people, "").get("user_identity") is None


@pytest.mark.parametrize("identity", [b"[]", b'"Service"', b"{", b'{"Type":1}'])
def test_a_user_identity_of_another_form_is_refused(identity: bytes) -> None:
    with pytest.raises(ConvertError, match="userIdentity"):
        EnvelopeSettings(user_identity=True).value(
            _FINISHED, RecordFacts(Operation.DELETE, 0, identity), ""
        )


def test_events_have_letters_and_an_unknown_one_is_refused() -> None:
    events = ("INSERT", "MODIFY", "REMOVE")
    assert [operation_of(event).value for event in events] == ["c", "u", "d"]
    with pytest.raises(ConvertError, match="'TRUNCATE', expected one of INSERT, MODIFY, REMOVE"):
        operation_of("TRUNCATE")
