"""Items that are poured into moulds: the bytes of the long way, and its errors, for any text.

The long way is ``ItemTexts``. ``CONNECTD_EXAMPLES=20000`` looks longer.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from connectd.connectors.dynamodb import document, item_texts
from connectd.connectors.dynamodb.item_texts import (
    DEBT_MAX,
    ITEM_BYTES_MAX,
    MOULDS_MAX,
    ItemTexts,
    MouldedItemTexts,
)
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.errors import ConvertError
from tests.fuzz.damage import damaged
from tests.kit import items
from tests.kit.random_items import ItemMaker

_ID = KeySchema((KeyAttribute("id", "S"),))
_PAIR = KeySchema((KeyAttribute("id", "S"), KeyAttribute("M", "N")))


def _readers(key: KeySchema = _ID, *, sanitise: bool = False) -> tuple[MouldedItemTexts, ItemTexts]:
    """The one that is tried, and the one that is right."""
    write = document.document_writer("typed", sanitise=sanitise)
    return MouldedItemTexts(key, write), ItemTexts(key, write)


def _outcomes(reader: ItemTexts, raw: bytes) -> tuple[object, object]:
    def outcome(read: Any) -> object:
        try:
            return read(raw)
        except ConvertError as error:
            return str(error)

    return outcome(reader.texts), outcome(reader.quoted_texts)


def _restrung(value: Any, texts: st.DataObject) -> Any:
    """The same with other strings in it; names and letters stay."""
    match value:
        case dict():
            return {name: _restrung(member, texts) for name, member in value.items()}
        case list():
            return [_restrung(element, texts) for element in value]
        case str():
            return texts.draw(items.texts)
    return value


def _must_not_be_called(*arguments: object) -> Any:
    raise AssertionError("the long way was taken")


@given(st.data(), items.items((("id", "S"), ("M", "N"))), st.booleans(), st.booleans())
@items.examples
def test_items_that_differ_in_their_strings_are_as_they_would_be_alone(
    data: st.DataObject, item: items.Item, ascii_only: bool, sanitise: bool
) -> None:
    tried, right = _readers(_PAIR, sanitise=sanitise)
    for _ in range(4):
        raw = items.wire(item, ascii_only=ascii_only)
        assert _outcomes(tried, raw) == _outcomes(right, raw)
        item = _restrung(item, data)


@given(st.integers(0, 2**32))
@settings(items.examples, phases=[Phase.generate], max_examples=items.examples.max_examples // 4)
def test_damaged_items_are_as_they_would_be_alone(seed: int) -> None:
    random, maker = Random(seed), ItemMaker(seed)
    tried, right = _readers()
    for _ in range(10):
        item = maker.item((("id", "S"),))
        raw = random.choice((maker.spelled, items.wire))(item)
        for _ in range(14):
            assert _outcomes(tried, raw) == _outcomes(right, raw)
            broken = damaged(raw, random)
            assert _outcomes(tried, broken) == _outcomes(right, broken)


def test_the_third_item_of_a_kind_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    tried, right = _readers()
    first: items.Item = {
        "id": {"S": "1"},
        "M": {"M": {"M": {"S": "a"}, "L": {"L": [{"N": "1"}, {"S": ""}]}}},
        "tags": {"SS": ["new", "gift"]},
        "paid": {"BOOL": True},
    }
    second: items.Item = {
        "id": {"S": 'the "second" \\ 名😀'},
        "M": {"M": {"M": {"S": "\t}]:\x7f"}, "L": {"L": [{"N": "2"}, {"S": '{"S":"'}]}}},
        "tags": {"SS": ['"', "é", "😀"]},
        "paid": {"BOOL": True},
    }
    expected = _outcomes(right, items.wire(second))
    for _ in range(2):
        tried.texts(items.wire(first))
    monkeypatch.setattr(item_texts, "parse_item", _must_not_be_called)
    assert _outcomes(tried, items.wire(second)) == expected


_KNOWN = b'{"id":{"S":"1"},"a":{"S":"x"},"b":{"SS":["y","z"]}}'


@pytest.mark.parametrize(
    "raw",
    [
        _KNOWN.replace(b'"x"', b'"\xff"'),
        _KNOWN.replace(b'"x"', b'"\xed\xa0\x80"'),
        _KNOWN.replace(b'"x"', b'"\xc0\x80"'),
        _KNOWN.replace(b'"x"', b'"\x1f"'),
        _KNOWN.replace(b'"x"', b'"\n"'),
        _KNOWN.replace(b'"x"', rb'"\u001f \u00e9 \/ \ud83d\ude00"'),
        _KNOWN.replace(b'"x"', rb'"\ud83d"'),
        _KNOWN.replace(b'"x"', rb'"\x"'),
        _KNOWN.replace(b'"x"', rb'"\"'),
        _KNOWN.replace(b'"x"', b'"x","N":"1"'),
        _KNOWN.replace(b'"x"', b'["x"]'),
        _KNOWN.replace(b'"x"', b"[]"),
        _KNOWN.replace(b'"x"', b'"x","y"'),
        _KNOWN.replace(b'"x"', b'["x","y"'),
        _KNOWN.replace(b'"x"', b' "x"'),
        _KNOWN.replace(b'["y","z"]', b'"y"'),
        _KNOWN.replace(b'["y","z"]', b'["y"'),
        _KNOWN.replace(b'["y","z"]', b'["y","z",]'),
        _KNOWN.replace(b'["y","z"]', b'["y", "z"]'),
        _KNOWN.replace(b'"1"', b'["1"]'),
        _KNOWN.replace(b'"1"', b'""'),
        _KNOWN.replace(b'"a"', b'"id"'),
        _KNOWN.replace(b'"a"', b'"b"'),
        _KNOWN.replace(b'"a"', b'"a:"'),
        _KNOWN.replace(b'"a":', b'"a" :'),
        _KNOWN.replace(b'"a":{"S"', b'"a":{"L"'),
        _KNOWN.replace(b'{"SS":', b'{"L":'),
        _KNOWN.replace(b'{"SS":', b'{"X":'),
        _KNOWN + b"{}",
        _KNOWN + b" ",
        _KNOWN[:-1],
        b"[" + _KNOWN + b"]",
    ],
)
def test_what_a_mould_is_not_for_does_not_go_into_one(raw: bytes) -> None:
    tried, right = _readers()
    for _ in range(3):  # the third time its skeleton has been tried
        tried.texts(_KNOWN)
        assert _outcomes(tried, raw) == _outcomes(right, raw)


_OF_A_KIND = b'{"id":{"S":"1"},"attribute %d":{"S":"x"}}'


def test_moulds_are_bounded_and_new_ones_take_the_place_of_old_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried, _ = _readers()
    for number in range(3 * MOULDS_MAX + 1):
        for _ in range(30):
            tried.texts(_OF_A_KIND % number)
        assert tried.moulds <= MOULDS_MAX
    monkeypatch.setattr(item_texts, "parse_item", _must_not_be_called)
    assert tried.texts(_OF_A_KIND % number)[0] == ("1",)


def test_for_what_is_met_once_and_for_large_items_there_are_no_moulds() -> None:
    tried, right = _readers()
    large = items.wire({"id": {"S": "1"}, "text": {"S": "x" * ITEM_BYTES_MAX}})
    for number in range(3 * MOULDS_MAX):
        for raw in (large, _OF_A_KIND % number):
            assert tried.texts(raw) == right.texts(raw)
    assert tried.moulds == 0


@pytest.mark.parametrize("meetings", [1, 2, 3])
def test_where_moulds_do_not_pay_they_are_given_up(meetings: int) -> None:
    tried, right = _readers()
    for number in range(DEBT_MAX // 2 // meetings + 1):
        for _ in range(meetings):
            tried.texts(_OF_A_KIND % number)
    known = tried.moulds
    for _ in range(3):
        assert tried.texts(_KNOWN) == right.texts(_KNOWN)
    assert tried.moulds == known


def test_now_and_then_a_stranger_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    tried, _ = _readers()
    for number in range(DEBT_MAX):
        tried.texts(_OF_A_KIND % number)
        for _ in range(3):
            tried.texts(_KNOWN)
    monkeypatch.setattr(item_texts, "parse_item", _must_not_be_called)
    tried.texts(_KNOWN)
