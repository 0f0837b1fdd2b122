"""The unwrap of DynamoDB envelopes, on envelopes that the connector itself makes."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectd.connectors.dynamodb import decode
from connectd.connectors.dynamodb.envelope import (
    EnvelopeSettings,
    InitSyncState,
    Operation,
    RecordFacts,
    SourceInfo,
)
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.connectors.dynamodb.payload import StreamPayload
from connectd.connectors.dynamodb.plan import TablePlan
from connectd.converters.json_converter import JsonConverter
from connectd.converters.simple_header_converter import SimpleHeaderConverter
from connectd.errors import ConfigError, TransformError
from connectd.model import connect_json
from connectd.model.record import ConverterSpec, RoutedPage, SourceRecord
from connectd.model.schema import STRING, Field, Schema, SchemaType, Struct
from connectd.pipeline.encoding import Converters, PageEncoding
from connectd.pipeline.tolerance import ErrorPolicy
from connectd.plugins.chaining import Step, TransformChain
from connectd.transforms.unwrap import UnwrapDynamoDb
from tests.kit import items
from tests.unit.transforms.given import made

INFO = SourceInfo("orders", InitSyncState.FINISHED, 10, 20, 3)
ITEM = {
    "id": {"s": "k1"},
    "n": {"n": "1.50"},
    "b": {"b": "AQI="},
    "yes": {"bool": True},
    "no": {"null": True},
    "ss": {"ss": ["a", "b"]},
    "ns": {"ns": ["1", "2.5"]},
    "bs": {"bs": ["AQ=="]},
    "m": {"m": {"s": {"s": "inner"}, "m": {"m": {}}}},
    "l": {"l": [{"n": "1"}, {"n": "-2"}]},
}
PLAIN = {
    "id": "k1",
    "n": "1.50",
    "b": b"\x01\x02",
    "yes": True,
    "no": None,
    "ss": ["a", "b"],
    "ns": ["1", "2.5"],
    "bs": [b"\x01"],
    "m": {"s": "inner", "m": {}},
    "l": ["1", "-2"],
}
KEY_SCHEMA = Schema(SchemaType.STRUCT, name="orders.Key", fields=(Field("id", STRING),))
V01, V10 = EnvelopeSettings("0.1"), EnvelopeSettings("1.0")
BOTH = pytest.mark.parametrize("envelope", [V01, V10], ids=["0.1", "1.0"])
WITHOUT_SCHEMA = pytest.mark.parametrize("is_schemaless", [False, True])


def change(
    envelope: EnvelopeSettings,
    operation: Operation = Operation.UPDATE,
    document: str | None = None,
    old: str | None = None,
    *,
    is_schemaless: bool = False,
) -> SourceRecord:
    """A record as the connector makes it; without schema, as JSON gives it back."""
    text = json.dumps(ITEM) if document is None else document
    facts = RecordFacts(operation, 99)
    value: Any = envelope.value(INFO, facts, text, old)
    schema: Schema | None = envelope.value_schema
    if is_schemaless:
        value, schema = connect_json.JsonForm().payload(schema, value), None
    key = Struct(KEY_SCHEMA, ("k1",))
    return SourceRecord("t", KEY_SCHEMA, key, schema, value, origin="orders k1")


def deletion(envelope: EnvelopeSettings, **others: Any) -> SourceRecord:
    """The first of the two records of a deletion."""
    document = "" if envelope.version == "0.1" else '{"id":{"s":"k1"}}'
    return change(envelope, Operation.DELETE, document, **others)


TOMBSTONE = SourceRecord("t", KEY_SCHEMA, Struct(KEY_SCHEMA, ("k1",)), None, None)


@BOTH
@WITHOUT_SCHEMA
def test_the_item_takes_the_place_of_the_envelope(
    envelope: EnvelopeSettings, is_schemaless: bool
) -> None:
    record = change(envelope, is_schemaless=is_schemaless)
    unwrapped = made(UnwrapDynamoDb).apply(record)
    assert (unwrapped.value_schema, unwrapped.value) == (None, PLAIN)
    assert (unwrapped.topic, unwrapped.key, unwrapped.origin) == ("t", record.key, "orders k1")


@BOTH
@pytest.mark.parametrize("operation", [Operation.READ, Operation.CREATE, Operation.UPDATE])
def test_every_operation_but_a_deletion_gives_the_item(
    envelope: EnvelopeSettings, operation: Operation
) -> None:
    assert made(UnwrapDynamoDb).apply(change(envelope, operation)).value == PLAIN


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("7", 7),
        ("-9223372036854775808", -(1 << 63)),
        ("1.5", 1.5),
        ("1.50", 1.5),
        ("1000000000000000000000000000000", 1e30),
        ("1E+125", 1e125),
    ],
)
def test_numbers_become_json_numbers_when_asked(text: str, wanted: float) -> None:
    record = change(V10, document=json.dumps({"n": {"n": text}}))
    found = made(UnwrapDynamoDb, numbers="number").apply(record).value["n"]
    assert (type(found), found) == (type(wanted), wanted)


@pytest.mark.parametrize("text", ["9223372036854775809", "0.12345678901234567890", "x"])
def test_a_number_that_would_be_rounded_is_refused(text: str) -> None:
    record = change(V10, document=json.dumps({"n": {"n": text}}))
    assert made(UnwrapDynamoDb).apply(record).value == {"n": text}
    with pytest.raises(TransformError):
        made(UnwrapDynamoDb, numbers="number").apply(record)


def test_decimals_and_a_schema_give_plain_json_digit_for_digit() -> None:
    document = {"n": {"n": "12345678901234567890.123450"}, "l": {"ns": ["1", "2.50"]}}
    record = change(V10, document=json.dumps(document))
    unwrapped = made(UnwrapDynamoDb, numbers="decimal", schema="struct").apply(record)
    converter = JsonConverter(
        ConverterSpec("JsonConverter", (("decimal.format", "NUMERIC"), ("schemas.enable", "false")))
    )
    written = converter.from_connect_data("t", unwrapped.value_schema, unwrapped.value)
    assert written == b'{"l":[1.00,2.50],"n":12345678901234567890.123450}'


def test_decimals_without_schema_are_refused_at_the_start() -> None:
    with pytest.raises(ConfigError, match="needs schema=struct"):
        made(UnwrapDynamoDb, numbers="decimal")


def test_a_struct_has_a_schema_of_the_attributes_whatever_their_order() -> None:
    transform = made(UnwrapDynamoDb, schema="struct")
    backwards = dict(reversed(list(ITEM.items())))
    one = transform.apply(change(V10))
    other = transform.apply(change(V10, document=json.dumps(backwards)))
    assert (one.value_schema, one.value) == (other.value_schema, other.value)
    types = {field.name: field.schema.type.value for field in one.value_schema.fields}
    assert types["b"] == "bytes"
    assert types["m"] == "struct"
    assert types["ns"] == "array"
    assert all(field.schema.optional for field in one.value_schema.fields)
    assert connect_json.JsonForm().payload(one.value_schema, one.value)


@pytest.mark.parametrize(
    ("elements", "wanted"),
    [
        ([{"null": True}, {"n": "1"}, {"null": True}], [None, 1, None]),
        (
            [{"m": {"a": {"n": "1"}}}, {"m": {"b": {"s": "x"}}}],
            [{"a": 1, "b": None}, {"a": None, "b": "x"}],
        ),
        ([{"m": {"a": {"null": True}}}, {"m": {"a": {"n": "1"}}}], [{"a": None}, {"a": 1}]),
        ([{"l": []}, {"l": [{"n": "1"}]}], [[], [1]]),
        ([], []),
    ],
)
def test_a_list_gets_one_schema_for_its_elements(elements: list[Any], wanted: list[Any]) -> None:
    record = change(V10, document=json.dumps({"l": {"l": elements}}))
    unwrapped = made(UnwrapDynamoDb, schema="struct", numbers="number").apply(record)
    found = connect_json.JsonForm().payload(unwrapped.value_schema, unwrapped.value)
    assert found == {"l": wanted}


def test_a_list_of_several_types_has_no_schema() -> None:
    record = change(V10, document='{"l":{"l":[{"n":"1"},{"bool":true}]}}')
    assert made(UnwrapDynamoDb).apply(record).value == {"l": ["1", True]}
    with pytest.raises(TransformError, match="the list l has elements of several types"):
        made(UnwrapDynamoDb, schema="struct").apply(record)


MODES = {
    "drop": (None, None),
    "tombstone": (None, "tombstone"),
    "rewrite": ("rewritten", None),
    "rewrite-with-tombstone": ("rewritten", "tombstone"),
    "delete-to-tombstone": ("tombstone", None),
}


@BOTH
@WITHOUT_SCHEMA
@pytest.mark.parametrize("mode", MODES)
def test_a_deletion_is_told_as_the_mode_says(
    envelope: EnvelopeSettings, is_schemaless: bool, mode: str
) -> None:
    transform = made(UnwrapDynamoDb, delete__tombstone__handling__mode=mode)
    wanted, wanted_behind = MODES[mode]
    found = transform.apply(deletion(envelope, is_schemaless=is_schemaless))
    expected = {None: "dropped", "tombstone": None, "rewritten": {"id": "k1", "__deleted": "true"}}
    assert ("dropped" if found is None else found.value) == expected[wanted]
    behind = transform.apply(TOMBSTONE)
    assert behind is (None if wanted_behind is None else TOMBSTONE)


def test_other_records_say_that_they_are_no_deletions() -> None:
    transform = made(UnwrapDynamoDb, delete__tombstone__handling__mode="rewrite")
    assert transform.apply(change(V10)).value == {**PLAIN, "__deleted": "false"}


@BOTH
def test_a_rewritten_deletion_has_the_old_image_where_there_is_one(
    envelope: EnvelopeSettings,
) -> None:
    transform = made(UnwrapDynamoDb, delete__tombstone__handling__mode="rewrite")
    with_old = replace(envelope, old_image=True)
    old = '{"id":{"s":"k1"},"n":{"n":"7"}}'
    found = transform.apply(deletion(with_old, old=old)).value
    assert found == {"id": "k1", "n": "7", "__deleted": "true"}
    assert transform.apply(deletion(with_old)).value == {"id": "k1", "__deleted": "true"}


@BOTH
@WITHOUT_SCHEMA
def test_facts_of_the_envelope_become_fields_and_headers(
    envelope: EnvelopeSettings, is_schemaless: bool
) -> None:
    facts = "op, table, source.table_name, ts_ms:at, init_sync_state, init_sync_count"
    transform = made(UnwrapDynamoDb, add__fields=facts, add__headers=facts, schema="struct")
    unwrapped = transform.apply(
        change(envelope, document='{"id":{"s":"k1"}}', is_schemaless=is_schemaless)
    )
    wanted = {
        "__op": "u",
        "__table": "orders",
        "__source_table_name": "orders",
        "__at": 99,
        "__init_sync_state": "FINISHED",
        "__init_sync_count": 3 if envelope.version == "1.0" else None,
    }
    members = {field.name: value for field, value in unwrapped.value.items()}
    assert members == {"id": "k1", **wanted}
    headers = connect_json.JsonForm()
    assert {name: headers.payload(*rest) for name, *rest in unwrapped.headers} == wanted


def test_prefixes_can_be_changed_and_headers_are_added_behind_others() -> None:
    transform = made(
        UnwrapDynamoDb,
        add__fields="op",
        add__fields__prefix="",
        add__headers="op",
        add__headers__prefix="cdc.",
    )
    record = replace(change(V10), headers=[("first", None, 1)])
    unwrapped = transform.apply(record)
    assert unwrapped.value == {**PLAIN, "op": "u"}
    assert [name for name, _, _ in unwrapped.headers] == ["first", "cdc.op"]
    assert [name for name, _, _ in record.headers] == ["first"]


def test_an_attribute_is_never_overwritten_by_a_fact() -> None:
    record = change(V10, document='{"__op":{"s":"mine"}}')
    with pytest.raises(TransformError, match=r"attribute __op of its own.*add\.fields\.prefix"):
        made(UnwrapDynamoDb, add__fields="op").apply(record)


def test_a_fact_that_no_envelope_has_is_refused_at_the_start() -> None:
    with pytest.raises(ConfigError, match=r"add\.headers has lsn, .*known are op, ts_ms"):
        made(UnwrapDynamoDb, add__headers="lsn")


@pytest.mark.parametrize(
    "value",
    ["text", 7, {}, {"document": "{}"}, {"document": "{}", "op": "x", "source": {}}, ["document"]],
)
def test_what_is_no_envelope_fails_or_passes_as_asked(value: object) -> None:
    record = SourceRecord("t", None, None, None, value, origin="orders k1")
    with pytest.raises(TransformError, match=r"no DynamoDB envelope .*orders k1.*other\.records"):
        made(UnwrapDynamoDb).apply(record)
    assert made(UnwrapDynamoDb, other__records="pass").apply(record) is record


@pytest.mark.parametrize(
    "document",
    ["", "[]", "{", '{"id":"k1"}', '{"id":{"x":1}}', '{"id":{"s":1}}', '{"id":{}}',
     '{"id":{"b":"?"}}', '{"id":{"s":"a","n":"1"}}', '{"l":{"l":{}}}', '{"l":{"ss":"ab"}}',
     '{"id":{"ns":[1]}}'],
)  # fmt: skip
def test_a_document_of_another_form_is_refused_without_its_content(document: str) -> None:
    with pytest.raises(TransformError, match="not of the expected form") as failure:
        made(UnwrapDynamoDb).apply(change(V10, document=document))
    assert "k1" not in str(failure.value)


def test_a_plain_document_is_read_when_the_connector_writes_such() -> None:
    document = '{"id":"k1","n":1.50,"i":12345678901234567890123,"l":[1],"m":{"a":null}}'
    wanted = {"id": "k1", "n": "1.50", "i": "12345678901234567890123", "l": ["1"], "m": {"a": None}}
    transform = made(UnwrapDynamoDb, document__format="plain")
    assert transform.apply(change(V10, document=document)).value == wanted
    with pytest.raises(TransformError, match="the document is a list"):
        transform.apply(change(V10, document="[]"))
    with pytest.raises(TransformError, match="a plain document"):
        transform.apply(change(V10, document="{"))


NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, places=5).map(str)
VALUES = st.recursive(
    st.text().map(lambda text: {"s": text})
    | NUMBERS.map(lambda text: {"n": text})
    | st.booleans().map(lambda fact: {"bool": fact})
    | st.binary().map(lambda _: {"b": "AQ=="}),
    lambda values: (
        st.dictionaries(st.text(), values).map(lambda members: {"m": members})
        | st.lists(values).map(lambda members: {"l": members})
    ),
    max_leaves=8,
)


def stripped(value: dict[str, Any]) -> object:
    """The value as the table in the module's plaque has it."""
    ((letter, content),) = value.items()
    match letter:
        case "m":
            return {name: stripped(member) for name, member in content.items()}
        case "l":
            return [stripped(member) for member in content]
        case "b":
            return b"\x01"
    return content


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_any_item_comes_out_as_it_was(item: dict[str, Any]) -> None:
    record = change(V01, document=json.dumps(item))
    assert made(UnwrapDynamoDb).apply(record).value == {
        name: stripped(value) for name, value in item.items()
    }


@settings(max_examples=60, deadline=None)
@given(NUMBERS)
def test_decimals_keep_their_value_and_scale(text: str) -> None:
    record = change(V01, document=json.dumps({"n": {"n": text}}))
    found = made(UnwrapDynamoDb, numbers="decimal", schema="struct").apply(record)
    assert str(found.value.get("n")) == str(Decimal(text))


def _stream_page(envelope: EnvelopeSettings) -> StreamPayload:
    """An insert and a deletion, as DynamoDB tells of them."""
    key: items.Item = {"id": {"S": "k1"}}
    item: items.Item = {**key, "n": {"N": "7"}}
    events = [
        items.stream_record("INSERT", key, new_image=item),
        items.stream_record("REMOVE", key, old_image=item),
    ]
    plan = TablePlan("orders", "orders", KeySchema((KeyAttribute("id", "S"),)), envelope)
    return StreamPayload(plan, INFO, decode.decode_records_page(items.records_body(events)).records)


@BOTH
def test_a_page_of_the_connector_passes_transform_and_converter(envelope: EnvelopeSettings) -> None:
    bare = ConverterSpec(JsonConverter.class_name, (("schemas.enable", "false"),))
    transform = made(UnwrapDynamoDb, numbers="number", add__fields="op")
    chain = TransformChain((Step("unwrap", transform),))
    converters = Converters(
        JsonConverter(bare), JsonConverter(bare), SimpleHeaderConverter(bare), chain
    )
    page = PageEncoding(_stream_page(envelope), converters, ErrorPolicy())()
    assert isinstance(page, RoutedPage)
    assert [(record.key, record.value) for record in page.records] == [
        (b'{"id":"k1"}', b'{"id":"k1","n":7,"__op":"c"}'),
        (b'{"id":"k1"}', None),
    ]
