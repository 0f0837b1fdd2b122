"""All ways to a record's bytes are one: the general road, and the direct one on every tier.

And it is the right one: what the general road writes is read back by others (``item_oracle``).
"""

from __future__ import annotations

import importlib
import json
import shutil
import types
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from connectd.connectors.dynamodb import decode, tiers
from connectd.connectors.dynamodb.document import DocumentForm
from connectd.connectors.dynamodb.envelope import EnvelopeSettings, InitSyncState, SourceInfo
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.connectors.dynamodb.payload import ScanPayload
from connectd.connectors.dynamodb.plan import JSON_CONVERTER, TablePlan
from connectd.connectors.dynamodb.tiers import Tier
from connectd.converters.json_converter import JsonConverter
from connectd.model.record import ConverterSpec, EncodedRecord, SourceRecord
from tests.kit import item_census, item_oracle
from tests.kit.items import Item
from tests.kit.random_items import ItemMaker

_ITEMS = 20_000
_PAGE_ITEMS = 100
_OFTEN = 10
"""Items of each case that have one kind of difficulty (``item_census``), at least."""

_SPEC = ConverterSpec(JSON_CONVERTER, (("schemas.enable", "false"),))
_INFO = SourceInfo("orders", InitSyncState.RUNNING, 1557387726273)
_KEYS: tuple[tuple[tuple[str, Any], ...], ...] = (
    (("id", "S"),),
    (("M", "S"), ("S", "N")),
    (('q"uote', "B"), ("名前", "S")),
    (("a-b", "N"), ("ab", "B")),
)
_ENVELOPES = tuple(
    EnvelopeSettings(version, document)
    for version in ("0.1", "1.0")
    for document in ("typed", "plain")
)
_CASES = len(_KEYS) * len(_ENVELOPES)
_CASE_PAGES = -(-_ITEMS // _CASES // _PAGE_ITEMS)


def _pages(maker: ItemMaker, key: tuple[tuple[str, Any], ...], count: int) -> Iterator[list[Item]]:
    """Pages of items; the first has one of 400 KB, one of full depth, one of many members."""
    extremes = [maker.large_value(), maker.deep_value(), maker.wide_value()]
    for _ in range(count):
        page = [maker.item(key) for _ in range(_PAGE_ITEMS)]
        for item, value in zip(page, extremes, strict=False):
            item["x"] = value
        extremes.clear()
        yield page


def _general(payload: ScanPayload) -> list[EncodedRecord]:
    converter = JsonConverter(_SPEC)
    records: list[EncodedRecord] = []
    for each in payload.source_records():
        assert isinstance(each, SourceRecord), each
        key = converter.from_connect_data(each.topic, each.key_schema, each.key)
        value = converter.from_connect_data(each.topic, each.value_schema, each.value)
        records.append((key, value))
    return records


def _direct(payload: ScanPayload) -> list[EncodedRecord]:
    encode = payload.page_encoder(_SPEC, _SPEC)
    assert encode is not None
    return encode().records


def _payload(page: Sequence[bytes], plan: TablePlan) -> ScanPayload:
    body = b'{"Items":[%b]}' % b",".join(page)
    return ScanPayload(plan, _INFO, decode.decode_scan_page(body).items)


@pytest.mark.parametrize("key", _KEYS, ids=lambda key: key[0][0])
@pytest.mark.parametrize("envelope", _ENVELOPES, ids=lambda each: f"{each.version} {each.document}")
def test_twenty_thousand_items_are_the_same_on_all_roads(
    key: tuple[tuple[str, Any], ...], envelope: EnvelopeSettings
) -> None:
    schema = KeySchema(tuple(KeyAttribute(name, letter) for name, letter in key))
    plans = [TablePlan("orders", "orders", schema, envelope, tier) for tier in Tier]
    maker = ItemMaker(_KEYS.index(key) * len(_ENVELOPES) + _ENVELOPES.index(envelope))
    compared, kinds = 0, Counter[str]()
    for page in _pages(maker, key, _CASE_PAGES):
        texts = [maker.spelled(item) for item in page]
        wanted = _general(_payload(texts, plans[0]))
        for item, text, record in zip(page, texts, wanted, strict=True):
            assert _is_right(item, record, key, envelope), f"the general road on {text[:500]!r}"
            kinds.update(item_census.kinds(item))
        for plan in plans:
            found = _direct(_payload(texts, plan))
            for text, ours, theirs in zip(texts, found, wanted, strict=True):
                assert ours == theirs, f"{plan.tier} on {text[:500]!r}"
        compared += len(wanted)
    assert compared * _CASES >= _ITEMS
    least = dict.fromkeys(item_census.ALL_KINDS, _OFTEN) | dict.fromkeys(item_census.EXTREMES, 1)
    assert [kind for kind, count in least.items() if kinds[kind] < count] == []


def _is_right(
    item: Item,
    record: EncodedRecord,
    key: tuple[tuple[str, Any], ...],
    envelope: EnvelopeSettings,
) -> bool:
    """Whether others read the item out of its record."""
    key_bytes, value_bytes = record
    assert key_bytes is not None
    assert value_bytes is not None
    sanitised, names = envelope.version == "1.0", [name for name, _ in key]
    document = json.loads(value_bytes)["document"]
    return item_oracle.is_key(
        key_bytes, item, names, sanitised=sanitised
    ) and item_oracle.is_document(document, item, envelope.document, sanitised=sanitised)


_SMALL: Item = {
    "id": {"S": "1"},
    "a-b": {"N": "12345678901234567890123456789012345678"},
    "m": {"M": {"B": {"B": "AP8="}, "NS": {"NS": ["1", "2"]}, "L": {"L": [{"BOOL": True}]}}},
}
_TYPED = (
    '{"id":{"s":"1"},"a-b":{"n":"12345678901234567890123456789012345678"},'
    '"m":{"m":{"B":{"b":"AP8="},"NS":{"ns":["1","2"]},"L":{"l":[{"bool":true}]}}}}'
)
_PLAIN = (
    '{"id":"1","a-b":12345678901234567890123456789012345678,"m":{"B":"AP8=","NS":[1,2],"L":[true]}}'
)


def test_others_read_the_item_out_of_the_right_document_alone() -> None:
    def is_read(form: DocumentForm, text: str, sanitised: bool = False) -> bool:
        return item_oracle.is_document(text, _SMALL, form, sanitised=sanitised)

    assert is_read("typed", _TYPED)
    assert is_read("typed", _TYPED.replace("a-b", "ab"), sanitised=True)
    assert is_read("plain", _PLAIN)
    assert not is_read("typed", _TYPED.replace("a-b", "ab"))
    assert not is_read("typed", _TYPED, sanitised=True)
    for right, wrong in (
        ("5678", "5679"), ('"AP8="', '"AP4="'), ("1", "2"), ("true", "1"),
        ('"1","2"', '"2","1"'), ("[1,2]", '["1","2"]'), ("[1,2]", "[1]"), ('"L"', '"l"'),
        ('"id":', '"z":1,"id":'), ('"ns"', '"ss"'), ("[true]", "[true,true]"),
    ):  # fmt: skip
        assert right in _TYPED + _PLAIN
        assert right not in _TYPED or not is_read("typed", _TYPED.replace(right, wrong))
        assert right not in _PLAIN or not is_read("plain", _PLAIN.replace(right, wrong))


def test_the_extension_is_there_where_it_can_be_built() -> None:
    """A compiler, and no extension beside its source: the tests would see one tier alone."""
    can_be_built = shutil.which("gcc") is not None
    is_there = tiers.scanner_class() is not None
    assert is_there is can_be_built, "build it: make, or by hand python hatch_build.py ."


@pytest.mark.parametrize("word", ["on", " ON ", "1", "true", "yes", "compiled", ""])
def test_the_switch_may_say_what_is_so_anyway(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv(tiers.SWITCH_ENV, word)
    assert tiers.why_portable() == tiers._load()[1]


@pytest.mark.parametrize("word", ["off", " OFF ", "0", "false", "no", "disabled", "portable"])
def test_the_switch_takes_the_portable_tier(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv(tiers.SWITCH_ENV, word)
    assert tiers.active() is Tier.PORTABLE
    assert tiers.why_portable() == f"CONNECTD_ACCELERATOR={word.strip()}"
    schema = KeySchema((KeyAttribute("id", "S"),))
    plan = TablePlan("orders", "orders", schema, EnvelopeSettings())
    assert plan.tier is Tier.PORTABLE
    layout = plan.layout(_SPEC, _SPEC)
    assert layout is not None
    assert layout.scanner() is None


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            ModuleNotFoundError("no page_scanner", name=tiers._EXTENSION),
            "no extension is installed",
        ),
        (
            ModuleNotFoundError("no msgspec", name="msgspec"),
            "cannot be loaded: ModuleNotFoundError",
        ),
        (ImportError("wrong ELF class"), "cannot be loaded: ImportError: wrong ELF class"),
        (RuntimeError("of another Python"), "cannot be loaded: RuntimeError: of another Python"),
    ],
)
def test_without_the_extension_a_plan_of_another_machine_is_carried_out_all_the_same(
    monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    monkeypatch.delenv(tiers.SWITCH_ENV, raising=False)
    schema = KeySchema((KeyAttribute("id", "S"),))
    plan = TablePlan("orders", "orders", schema, EnvelopeSettings(), Tier.COMPILED)
    expected = _direct(_payload([b'{"id":{"S":"1"}}'], plan))

    def fail(name: str) -> None:
        raise error

    monkeypatch.setattr(importlib, "import_module", fail)
    tiers._load.cache_clear()
    try:
        assert tiers.active() is Tier.PORTABLE
        assert reason in tiers.why_portable()
        assert _direct(_payload([b'{"id":{"S":"1"}}'], plan)) == expected
    finally:
        tiers._load.cache_clear()


def test_an_extension_of_another_version_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(tiers.SWITCH_ENV, raising=False)
    monkeypatch.setattr(importlib, "import_module", lambda name: types.ModuleType(name))
    tiers._load.cache_clear()
    try:
        assert "cannot be loaded: AttributeError: " in tiers.why_portable()
        assert (tiers.scanner_class(), tiers.page_splitter()) == (None, None)
    finally:
        tiers._load.cache_clear()
