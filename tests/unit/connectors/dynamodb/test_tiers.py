"""All ways to a record's bytes are one: the general road, and the direct one on every tier."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from connectd.connectors.dynamodb import decode, tiers
from connectd.connectors.dynamodb.envelope import EnvelopeSettings, InitSyncState, SourceInfo
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.connectors.dynamodb.payload import ScanPayload
from connectd.connectors.dynamodb.plan import JSON_CONVERTER, TablePlan
from connectd.connectors.dynamodb.tiers import Tier
from connectd.converters.json_converter import JsonConverter
from connectd.model.record import ConverterSpec, EncodedRecord, SourceRecord
from tests.kit.random_items import ItemMaker

_ITEMS = 20_000
_PAGE_ITEMS = 100
_EXTREMES_EVERY = 20
"""Pages between two with an item of 400 KB, one of full depth and one with thousands of members."""

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


def _pages(key: tuple[tuple[str, Any], ...], seed: int, count: int) -> Iterator[list[bytes]]:
    """Pages of items as JSON text."""
    maker = ItemMaker(seed)
    for number in range(count):
        page = [maker.item(key) for _ in range(_PAGE_ITEMS)]
        if number % _EXTREMES_EVERY == 0:
            extremes = (maker.large_value(), maker.deep_value(), maker.wide_value())
            page[-3:] = [{**item, "x": value} for item, value in zip(page, extremes, strict=False)]
        yield [maker.spelled(item) for item in page]


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
    seed = _KEYS.index(key) * len(_ENVELOPES) + _ENVELOPES.index(envelope)
    cases = len(_KEYS) * len(_ENVELOPES)
    for page in _pages(key, seed, -(-_ITEMS // cases // _PAGE_ITEMS)):
        wanted = _general(_payload(page, plans[0]))
        for plan in plans:
            found = _direct(_payload(page, plan))
            for text, ours, theirs in zip(page, found, wanted, strict=True):
                assert ours == theirs, f"{plan.tier} on {text[:500]!r}"


def test_the_extension_is_there_where_it_can_be_built() -> None:
    """A compiler, and no extension beside its source: the tests would see one tier alone."""
    can_be_built = shutil.which("gcc") is not None
    is_there = tiers.scanner_class() is not None
    assert is_there is can_be_built, "build it: make, or by hand python hatch_build.py ."


def test_the_switch_takes_the_portable_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tiers.SWITCH_ENV, " OFF ")
    assert tiers.active() is Tier.PORTABLE
    assert tiers.why_portable() == "CONNECTD_ACCELERATOR=off"
    schema = KeySchema((KeyAttribute("id", "S"),))
    plan = TablePlan("orders", "orders", schema, EnvelopeSettings())
    assert plan.tier is Tier.PORTABLE
    layout = plan.layout(_SPEC, _SPEC)
    assert layout is not None
    assert layout.scanner() is None


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModuleNotFoundError("no page_scanner"), "no extension is installed"),
        (ImportError("wrong ELF class"), "cannot be loaded: wrong ELF class"),
    ],
)
def test_without_the_extension_a_plan_of_another_machine_is_carried_out_all_the_same(
    monkeypatch: pytest.MonkeyPatch, error: ImportError, reason: str
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
