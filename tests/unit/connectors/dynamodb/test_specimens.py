"""The promise behind specimens: a page encoded by them has the bytes of the general road, always.

Drawn are chains of all transforms that say that they never look into texts, all converters that
have one form for texts, items of every type, both envelopes with all their options, and deletions.
What one road refuses, the other refuses with the same words. ``CONNECTD_EXAMPLES=20000`` looks
longer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.app import bundled
from connectd.configdef.catalogue import PluginKind
from connectd.connectors.dynamodb import decode, specimens
from connectd.connectors.dynamodb.envelope import EnvelopeSettings, InitSyncState, SourceInfo
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.connectors.dynamodb.payload import ScanPayload, StreamPayload
from connectd.connectors.dynamodb.plan import JSON_CONVERTER, TablePlan
from connectd.connectors.dynamodb.tombstones import WithoutTombstones
from connectd.converters.avro_converter import AvroConverter
from connectd.converters.json_converter import JsonConverter
from connectd.converters.json_schema_converter import JsonSchemaConverter
from connectd.converters.string_converter import StringConverter
from connectd.model.record import (
    BatchPayload,
    ConverterSpec,
    EncodedPage,
    RoutedPage,
    RoutedRecord,
    SourceRecord,
)
from connectd.pipeline.encoding import Converters, PageEncoding
from connectd.pipeline.tolerance import ErrorPolicy
from connectd.plugins import chaining
from connectd.plugins.chaining import TransformChain
from connectd.transforms.routers import RegexRouter
from tests.kit import items
from tests.unit.converters.registry.made import converter

pytestmark = pytest.mark.usefixtures("tier")

_KEYS: tuple[tuple[tuple[str, Any], ...], ...] = (
    (("id", "S"),),
    (("id", "N"), ("at", "S")),
    (("M", "B"), ("a-b", "S")),
)
_INFO = SourceInfo("orders", InitSyncState.RUNNING, 1557387726273)
_PAGE_MIN = 4  # records from which on specimens are asked

_PACKAGE = "org.apache.kafka.connect.transforms."
_TRANSFORMS: Mapping[str, Mapping[str, str]] = {
    "RegexRouter": {"regex": "(.*)-(.*)", "replacement": "$2"},
    "TimestampRouter": {},
    "Filter": {"predicate": "tombstone"},
    "InsertField$Value": {"static.field": "region!", "static.value": "eu", "topic.field": "topic"},
    "InsertField$Key": {"static.field": "region", "static.value": '"'},
    "InsertHeader": {"header": "one", "value.literal": "1"},
    "DropHeaders": {"headers": "one"},
    "ReplaceField$Value": {"exclude": "ts_ms,old_document", "renames": "document:item"},
    "ReplaceField$Key": {"renames": "id:key"},
    "MaskField$Value": {"fields": "document,op"},
    "MaskField$Key": {"fields": "id", "replacement": "?"},
    "ExtractField$Value": {"field": "document"},
    "ExtractField$Key": {"field": "id"},
    "HoistField$Value": {"field": "change"},
    "HoistField$Key": {"field": "key"},
    "Flatten$Value": {"delimiter": "_"},
    "Flatten$Key": {},
    "SetSchemaMetadata$Value": {"schema.name": "shop.Order", "schema.version": "2"},
    "SetSchemaMetadata$Key": {"schema.name": "shop.Key"},
    "ValueToKey": {"fields": "op,document"},
    "HeaderFrom$Value": {"fields": "op", "headers": "op", "operation": "copy"},
    "HeaderFrom$Key": {"fields": "id", "headers": "id", "operation": "copy"},
    "Cast$Value": {"spec": "ts_ms:string,op:string"},
    "Cast$Key": {"spec": "id:int64"},
    "TimestampConverter$Value": {"field": "ts_ms", "target.type": "string", "format": "yyyy"},
    "TimestampConverter$Key": {"field": "id", "target.type": "unix", "format": "'k'"},
    "connectd.transforms.ContentRouter": {"field": "op", "topic.format": "orders-${field}"},
}
_ROUTER = "connectd.transforms.ContentRouter"
_PREDICATES: Mapping[str, Mapping[str, str]] = {
    "tombstone": {"type": "RecordIsTombstone"},
    "topic": {"type": "TopicNameMatches", "pattern": "orders.*"},
    "header": {"type": "HasHeaderKey", "name": "one"},
    "operation": {"type": "FieldValueMatches", "field": "op", "pattern": "r|c|d"},
    "document": {"type": "FieldValueMatches", "field": "document.id.s", "pattern": ".*[a-f].*"},
    "key": {"type": "FieldValueMatches", "field": "id", "field.of": "key", "pattern": ".*[1-5].*"},
}


@cache
def _converter(name: str, is_key: bool) -> Any:
    of_side = ("converter.type", "key" if is_key else "value")
    scrubs = ("scrub.invalid.names", "true")
    match name:
        case "json":
            return JsonConverter(ConverterSpec(JSON_CONVERTER, (("schemas.enable", "false"),)))
        case "json with schema":
            return JsonConverter(ConverterSpec(JSON_CONVERTER, (("schemas.enable", "true"),)))
        case "avro":
            return converter(AvroConverter, of_side, scrubs)
        case "json schema":
            return converter(JsonSchemaConverter, of_side)
        case "utf-16":
            encoding = (("converter.encoding", "UTF-16"),)
            return StringConverter(ConverterSpec(StringConverter.class_name, encoding))
    return StringConverter(ConverterSpec(StringConverter.class_name))


_CONVERTERS = ("json", "json with schema", "avro", "json schema", "string", "utf-16")


def _chain(*names: str, predicates: Sequence[str | None] = ()) -> TransformChain:
    config = {"transforms": ",".join(f"t{at}" for at in range(len(names)))}
    for at, name in enumerate(names):
        given_predicate = predicates[at] if at < len(predicates) else None
        settings = {"type": name if "." in name else f"{_PACKAGE}{name}", **_TRANSFORMS[name]}
        if given_predicate:
            settings["predicate"] = given_predicate
        config |= {f"transforms.t{at}.{key}": text for key, text in settings.items()}
    config["predicates"] = ",".join(_PREDICATES)
    for alias, declared in _PREDICATES.items():
        config |= {f"predicates.{alias}.{key}": text for key, text in declared.items()}
    return chaining.make_chain(_registry(), config)


@cache
def _registry() -> Any:
    return bundled.plugin_registry()


@st.composite
def _tasks(draw: st.DrawFn) -> Converters:
    names = draw(st.lists(st.sampled_from(sorted(_TRANSFORMS)), max_size=3))
    predicates = [draw(st.sampled_from([None, None, *_PREDICATES])) for _ in names]
    kinds = st.sampled_from(_CONVERTERS)
    return Converters(
        _converter(draw(kinds), is_key=True),
        _converter(draw(kinds), is_key=False),
        _converter(draw(st.sampled_from(["json", "utf-16"])), is_key=False),
        _chain(*names, predicates=predicates),
    )


_envelopes = st.builds(
    EnvelopeSettings,
    version=st.sampled_from(["0.1", "1.0"]),
    document=st.sampled_from(["typed", "plain"]),
    old_image=st.booleans(),
    user_identity=st.booleans(),
)


@dataclass
class _GeneralAlone:
    """A page that has no other road."""

    page: BatchPayload

    def __len__(self) -> int:
        return len(self.page)

    def source_records(self) -> Any:
        return self.page.source_records()

    def page_encoder(self, key: ConverterSpec, value: ConverterSpec) -> None:
        return None


def _outcome(payload: BatchPayload, converters: Converters) -> tuple[object, ...]:
    """Records, failures and end of a page."""
    encoding = PageEncoding(payload, converters, ErrorPolicy(tolerates_all=True))
    page = encoding()
    if isinstance(page, EncodedPage):
        records = [RoutedRecord(page.topic, key, value, headers=[]) for key, value in page.records]
    else:
        records = page.records
    failures = [(each.stage, each.origin, str(each.error)) for each in encoding.failures]
    return records, failures, str(encoding.ended_by)


def _plan(key: tuple[tuple[str, Any], ...], envelope: EnvelopeSettings) -> TablePlan:
    schema = KeySchema(tuple(KeyAttribute(name, letter) for name, letter in key))
    return TablePlan("orders.of-today", "cdc-orders", schema, envelope)


@given(st.data(), st.sampled_from(_KEYS), _envelopes, _tasks(), st.booleans())
@items.examples
def test_pages_of_a_scan_are_the_same_by_specimens(
    data: st.DataObject,
    key: tuple[tuple[str, Any], ...],
    envelope: EnvelopeSettings,
    converters: Converters,
    is_last: bool,
) -> None:
    page = data.draw(st.lists(items.items(key), min_size=2, max_size=2)) * (_PAGE_MIN // 2 + 1)
    raw = decode.decode_scan_page(items.scan_body(page)).items
    last = replace(_INFO, init_sync_state=InitSyncState.FINISHED) if is_last else None
    payload = ScanPayload(_plan(key, envelope), _INFO, raw, last)
    assert _outcome(payload, converters) == _outcome(_GeneralAlone(payload), converters)


@st.composite
def _changes(draw: st.DrawFn, key: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    event_name = draw(st.sampled_from(["INSERT", "MODIFY", "REMOVE"]))
    image = items.items(key)
    return items.stream_record(
        event_name,
        draw(items.keys(key)),
        new_image=None if event_name == "REMOVE" else draw(st.none() | image),
        old_image=None if event_name == "INSERT" else draw(st.none() | image),
        user_identity=draw(st.none() | st.just({"Type": "Service", "PrincipalId": "ttl"})),
        created_s=draw(st.sampled_from([1557387726, 1557387727])),
    )


@given(st.data(), st.sampled_from(_KEYS), _envelopes, _tasks(), st.booleans())
@items.examples
def test_pages_of_a_stream_are_the_same_by_specimens(
    data: st.DataObject,
    key: tuple[tuple[str, Any], ...],
    envelope: EnvelopeSettings,
    converters: Converters,
    has_tombstones: bool,
) -> None:
    page = data.draw(st.lists(_changes(key), min_size=2, max_size=3)) * (_PAGE_MIN // 2 + 1)
    records = decode.decode_records_page(items.records_body(page)).records
    payload: BatchPayload = StreamPayload(_plan(key, envelope), _INFO, records)
    if not has_tombstones:
        payload = WithoutTombstones(payload)
    assert _outcome(payload, converters) == _outcome(_GeneralAlone(payload), converters)


def _orders(count: int = _PAGE_MIN) -> ScanPayload:
    page: list[items.Item] = [{"id": {"S": f"k{number}"}} for number in range(count)]
    raw = decode.decode_scan_page(items.scan_body(page)).items
    return ScanPayload(_plan((("id", "S"),), EnvelopeSettings()), _INFO, raw)


class _Counting:
    """A converter that counts its records."""

    text_form = JsonConverter.text_form

    def __init__(self) -> None:
        self.records = 0
        self._inner = _converter("json", is_key=False)
        self.spec = replace(self._inner.spec, class_name="counting")

    def from_connect_data(self, topic: str, schema: Any, value: object) -> bytes | None:
        self.records += 1
        made: bytes | None = self._inner.from_connect_data(topic, schema, value)
        return made


class _Silent(_Counting):
    """A subclass may look where its parent does not: it says nothing."""


def _passed(chain: TransformChain, counting: Any, payload: BatchPayload | None = None) -> int:
    """How many records of a page of four passed the converter."""
    json = _converter("json", is_key=True)
    page = _orders() if payload is None else payload
    encoded = PageEncoding(page, Converters(json, counting, json, chain), ErrorPolicy())()
    assert len(encoded.records) == len(page)
    passed: int = counting.records
    return passed


def test_one_record_passes_converters_and_transforms_for_all() -> None:
    assert _passed(_chain("RegexRouter", "InsertField$Value", "MaskField$Value"), _Counting()) == 1
    assert _passed(_chain(), _Counting()) == 1


def test_few_records_pass_them_alone() -> None:
    assert _passed(_chain(), _Counting(), _orders(_PAGE_MIN - 1)) == _PAGE_MIN - 1


def test_a_converter_that_says_nothing_sees_every_record() -> None:
    assert _passed(_chain(), _Silent()) == _PAGE_MIN


class _Looking:
    """A transform that may look into texts."""

    def apply(self, record: SourceRecord) -> SourceRecord:
        return record


class _Inheriting(RegexRouter):
    """Its parent does not look; it says nothing itself."""


@pytest.mark.parametrize("cls", [_Looking, _Inheriting])
def test_a_transform_that_says_nothing_may_look(cls: type[Any]) -> None:
    chain = TransformChain((chaining.Step("looking", object.__new__(cls)),))
    assert not chain.ignores_texts


def test_a_transform_that_may_look_sees_every_record() -> None:
    looking: Any = _Looking()
    chain = TransformChain((chaining.Step("looking", looking),))
    assert _passed(chain, _Counting()) == _PAGE_MIN


def test_a_text_in_a_header_is_seen_by_every_record() -> None:
    assert _passed(_chain("HeaderFrom$Key"), _Counting()) == _PAGE_MIN


def test_a_text_in_a_header_is_found_whatever_its_converter_makes_of_it() -> None:
    json, hiding = _converter("json", is_key=True), _converter("utf-16", is_key=False)
    encoded = PageEncoding(
        _orders(), Converters(json, json, hiding, _chain("HeaderFrom$Key")), ErrorPolicy()
    )()
    assert isinstance(encoded, RoutedPage)
    assert len({str(each.headers) for each in encoded.records}) == _PAGE_MIN


def test_a_text_that_becomes_a_topic_is_seen_by_every_record() -> None:
    class _Moving:
        ignores_texts = True

        def apply(self, record: SourceRecord) -> SourceRecord:
            return replace(record, topic=record.key.values[0])  # type: ignore[attr-defined]

    moving: Any = _Moving()
    json = _converter("json", is_key=True)
    chain = TransformChain((chaining.Step("moving", moving),))
    encoded = PageEncoding(_orders(), Converters(json, json, json, chain), ErrorPolicy())()
    assert encoded.topics == ("k0", "k1", "k2", "k3")


def test_who_looks_into_texts_is_known() -> None:
    looking = {
        name.rpartition(".")[2].partition("$")[0]
        for kind in (PluginKind.TRANSFORMATION, PluginKind.PREDICATE)
        for name in _registry().class_names(kind)
        if "ignores_texts" not in vars(_registry().find(kind, name).cls)
    }
    assert looking == {"UnwrapDynamoDb"}


@pytest.mark.parametrize(
    ("field", "passed"),
    [("op", 1), ("source.init_sync", 1), ("document.id.s", _PAGE_MIN), ("document", _PAGE_MIN)],
)
def test_who_looks_into_what_is_the_same_for_all_needs_one_record(field: str, passed: int) -> None:
    settings = {"field": field, "topic.by.value": "r:other", "type": _ROUTER}
    config = {"transforms": "t", **{f"transforms.t.{key}": settings[key] for key in settings}}
    assert _passed(chaining.make_chain(_registry(), config), _Counting()) == passed


def test_a_page_of_one_topic_needs_no_more_for_each_record() -> None:
    json = _converter("json", is_key=True)
    plain = PageEncoding(
        _orders(), Converters(json, json, json, _chain("RegexRouter")), ErrorPolicy()
    )()
    assert isinstance(plain, EncodedPage)
    assert plain.topic == "orders"
    with_header = PageEncoding(
        _orders(), Converters(json, json, json, _chain("InsertHeader")), ErrorPolicy()
    )()
    assert isinstance(with_header, RoutedPage)
    assert {str(each.headers) for each in with_header.records} == {"[('one', b'1')]"}


def test_marks_are_no_text_that_anybody_sends() -> None:
    assert len({*specimens.KEY_MARKS, specimens.DOCUMENT_MARK, specimens.OLD_DOCUMENT_MARK}) == 4
    assert all(len(mark) == 80 for mark in specimens.KEY_MARKS)
