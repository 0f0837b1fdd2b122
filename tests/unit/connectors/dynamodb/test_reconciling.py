"""What two records say the same of, and what they do not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from connectd.connectors.dynamodb import decode, reconciling
from connectd.connectors.dynamodb.envelope import EnvelopeSettings, InitSyncState, SourceInfo
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.connectors.dynamodb.payload import ScanPayload, StreamPayload
from connectd.connectors.dynamodb.plan import JSON_CONVERTER, TablePlan
from connectd.connectors.dynamodb.reconciling import (
    REASON_BYTES_MAX,
    Compared,
    Counts,
    Difference,
    Kind,
    Report,
    StateReader,
    kind_of,
    reason_of,
    unconvertible,
)
from connectd.errors import ConvertError
from connectd.model.record import ConverterSpec
from connectd.model.schema import STRING, Field, Schema, SchemaType, Struct
from tests.kit import items

TOPIC = "dynamodb-orders"
JSON = reconciling.json_decoder(carries_schema=False)
TYPED = StateReader(JSON, "orders", plain_documents=False)
PLAIN = StateReader(JSON, "orders", plain_documents=True)
KEYS = KeySchema((KeyAttribute("id", "S"),))


def envelope(document: str, **members: Any) -> bytes:
    source = {"table_name": "orders", "init_sync": "FINISHED", **members.pop("source", {})}
    value = {"version": "0.1", "document": document, "source": source, "op": "r", "ts_ms": 1}
    return json.dumps({**value, **members}).encode()


def digest(value: bytes | None, reader: StateReader = TYPED) -> bytes | None:
    return reader.read(TOPIC, value).digest


def test_what_differs_by_nature_is_no_difference() -> None:
    scanned = envelope('{"id":{"s":"1"}}', source={"init_sync_start": 1})
    streamed = envelope(
        '{"id":{"s":"1"}}',
        op="u",
        ts_ms=99,
        old_document="{}",
        user_identity={"type": "Service"},
        source={"init_sync": "RUNNING", "init_sync_start": 2, "init_sync_count": 5},
    )
    assert digest(scanned) == digest(streamed) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":{"s":"1"},"b":{"n":"2"}}', '{"b":{"n":"2"},"a":{"s":"1"}}'),
        ('{"a":{"ss":["x","y"]}}', '{"a":{"ss":["y","x"]}}'),
        ('{"a":{"m":{"x":{"l":[{"bs":["AA==","AQ=="]}]}}}}',
         '{"a":{"m":{"x":{"l":[{"bs":["AQ==","AA=="]}]}}}}'),
    ],
)  # fmt: skip
def test_the_order_of_members_and_of_sets_says_nothing(one: str, other: str) -> None:
    assert digest(envelope(one)) == digest(envelope(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":{"l":[{"s":"x"},{"s":"y"}]}}', '{"a":{"l":[{"s":"y"},{"s":"x"}]}}'),
        ('{"a":{"n":"1"}}', '{"a":{"s":"1"}}'),
        ('{"a":{"ss":["1"]}}', '{"a":{"ns":["1"]}}'),
        ('{"a":{"n":"1"}}', '{"a":{"n":"1"},"b":{"n":"1"}}'),
        # An attribute called ss that holds a list is no set.
        ('{"ss":{"l":[{"s":"x"},{"s":"y"}]}}', '{"ss":{"l":[{"s":"y"},{"s":"x"}]}}'),
    ],
)
def test_everything_else_does(one: str, other: str) -> None:
    assert digest(envelope(one)) != digest(envelope(other))


def test_another_version_or_an_own_field_is_a_difference() -> None:
    assert digest(envelope("{}")) != digest(envelope("{}", version="1.0"))
    assert digest(envelope("{}")) != digest(envelope("{}", environment="dev"))


def test_numbers_of_plain_documents_are_compared_digit_for_digit() -> None:
    def plain(number: str) -> bytes | None:
        return digest(envelope(f'{{"n":{number}}}'), PLAIN)

    assert plain("12345678901234567890123456789") != plain("12345678901234567890123456780")
    assert plain("1") != plain('"1"')
    assert plain("1.0") != plain("1.00")


@pytest.mark.parametrize("value", [None, envelope("", op="d"), envelope('{"id":{}}', op="d")])
def test_a_tombstone_and_a_deletion_say_that_there_is_no_item(value: bytes | None) -> None:
    assert digest(value) is None


@pytest.mark.parametrize(
    ("value", "compared", "table"),
    [
        (envelope("{}"), Compared.DOCUMENTS, "orders"),
        (b'{"id":"1"}', Compared.JSON, None),
        (b'{"document":"{}","source":{"table_name":1},"version":"1"}', Compared.JSON, None),
        (b"[1]", Compared.BYTES, None),
        (b"\xff\x00", Compared.BYTES, None),
    ],
)
def test_values_are_compared_as_what_they_are(
    value: bytes, compared: Compared, table: str | None
) -> None:
    state = TYPED.read(TOPIC, value)
    assert (state.compared, state.table) == (compared, table)
    # A blank more is no other JSON, and other bytes.
    assert (digest(value) == digest(value + b" ")) is (compared is not Compared.BYTES)


def test_bytes_that_nobody_can_read_are_compared_as_bytes() -> None:
    def fails(topic: str, data: bytes) -> object:
        raise ConvertError("no Avro")

    assert (
        StateReader(fails, "orders", plain_documents=False).read(TOPIC, b"x").compared
        is Compared.BYTES
    )
    assert (
        StateReader(None, "orders", plain_documents=False).read(TOPIC, b"{}").compared
        is Compared.BYTES
    )


def test_a_schema_around_the_payload_is_looked_through() -> None:
    reader = StateReader(
        reconciling.json_decoder(carries_schema=True), "orders", plain_documents=False
    )
    wrapped = b'{"schema":{},"payload":' + envelope("{}") + b"}"
    assert digest(wrapped, reader) == digest(envelope("{}"), reader)


@items.examples
@given(item=items.items())
@pytest.mark.parametrize("version", ["0.1", "1.0"])
@pytest.mark.parametrize("form", ["typed", "plain"])
def test_a_scan_and_a_stream_say_the_same_of_any_item(
    version: Any, form: Any, item: items.Item
) -> None:
    item = {**item, "id": {"S": "1"}}
    spec = ConverterSpec(JSON_CONVERTER, (("schemas.enable", "false"),))
    plan = TablePlan("orders", TOPIC, KEYS, EnvelopeSettings(version, form))
    scanned = decode.decode_scan_page(items.scan_body([item])).items
    change = {
        "eventName": "MODIFY",
        "dynamodb": {
            "Keys": {"id": {"S": "1"}},
            "SequenceNumber": "1",
            "NewImage": dict(reversed(item.items())),
        },
    }
    streamed = decode.decode_records_page(items.records_body([change])).records
    pages = (
        ScanPayload(plan, SourceInfo("orders", InitSyncState.RUNNING, 1), scanned),
        StreamPayload(plan, SourceInfo("orders", InitSyncState.FINISHED, 1, 2, 3), streamed),
    )
    digests = set()
    for page in pages:
        encode = page.page_encoder(spec, spec)
        assert encode is not None
        ((_, value),) = encode().records
        digests.add(digest(value, PLAIN if form == "plain" else TYPED))
    assert len(digests) == 1


def test_structs_are_read_as_their_members() -> None:
    inner = Schema(SchemaType.STRUCT, fields=(Field("x", STRING),))
    outer = Schema(SchemaType.STRUCT, fields=(Field("in", inner),))
    assert reconciling.plain_data(Struct(outer, (Struct(inner, ("1",)),))) == {"in": {"x": "1"}}
    assert reconciling.plain_data([{1: (b"",)}]) == [{"1": [b""]}]


def test_a_key_is_one_in_its_topic() -> None:
    ids = {
        reconciling.key_id(topic, key)
        for topic, key in (("a", b"b"), ("ab", b""), ("a", None), ("a", b""), ("b", b"b"))
    }
    assert len(ids) == 5


def test_kinds() -> None:
    assert reconciling.kind_of(b"1", b"1") is reconciling.kind_of(None, None) is None
    assert reconciling.kind_of(b"1", None) is Kind.MISSING
    assert reconciling.kind_of(b"1", b"2") is Kind.STALE
    assert reconciling.kind_of(None, b"2") is Kind.EXTRA


def test_a_record_of_another_table_is_known_by_its_owner() -> None:
    ours, theirs = (
        envelope("{}", source={"table_name": table}) for table in ("orders", "invoices")
    )
    assert reconciling.owner_of(TYPED.found(TOPIC, ours).digest) is None
    assert reconciling.owner_of(TYPED.found(TOPIC, theirs).digest) == "invoices"
    assert [TYPED.is_foreign(TYPED.read(TOPIC, each)) for each in (ours, theirs)] == [False, True]
    # Where they say that they have no item, the key is free.
    deleted = envelope("{}", op="d", source={"table_name": "invoices"})
    assert TYPED.found(TOPIC, deleted).digest is None


def test_what_another_table_holds_is_in_conflict_or_none_of_our_business() -> None:
    theirs = TYPED.found(TOPIC, envelope("{}", source={"table_name": "invoices"})).digest
    assert reconciling.kind_of(b"1", theirs) is Kind.CONFLICT
    assert reconciling.kind_of(None, theirs) is None


@pytest.mark.parametrize(
    ("value", "names_it"), [(envelope("{}"), True), (b'{"id":"1"}', False), (b"[1]", False)]
)
def test_only_envelopes_name_their_table(value: bytes, names_it: bool) -> None:
    assert reconciling.names_table(TYPED.found(TOPIC, value).digest) is names_it


def test_why_an_item_cannot_be_converted_is_kept_in_short() -> None:
    assert reason_of(unconvertible("no field ä")) == "no field ä"
    assert reason_of(unconvertible("")) == ""
    assert reason_of(unconvertible("ä" * 999)) == "ä" * (REASON_BYTES_MAX // 2)
    assert reason_of(digest(envelope("{}"))) is None
    assert reason_of(None) is None
    assert kind_of(unconvertible("x"), None) is Kind.UNCONVERTIBLE
    assert kind_of(unconvertible("x"), b"finvoices") is Kind.UNCONVERTIBLE


def test_a_report_keeps_all_its_members() -> None:
    difference = Difference(Kind.STALE, TOPIC, {"id": "1"}, 0, 7)
    report = Report(
        "c", "orders", (TOPIC,), Compared.DOCUMENTS, Counts(items=1, stale=1), (difference,)
    )
    assert report.to_json() == {
        "connector": "c",
        "table": "orders",
        "topics": [TOPIC],
        "equal": False,
        "compared": "documents",
        "counts": {
            "items": 1, "records": 0, "keys": 0, "equal": 0, "missing": 0, "stale": 1, "extra": 0,
            "skipped": 0, "foreign": 0, "unchecked": 0, "conflict": 0, "unconvertible": 0,
        },
        "differences": [
            {
                "kind": "stale", "topic": TOPIC, "key": {"id": "1"}, "partition": 0, "offset": 7,
                "held_by": None, "reason": None,
            }
        ],
        "notes": [],
        "repaired": None,
        "export": None,
    }  # fmt: skip
