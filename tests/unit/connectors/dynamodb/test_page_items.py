"""The items of a compact page are found where they lie, and are a sequence like any other.

That msgspec finds the same in damaged bodies is the business of ``tests/fuzz``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.connectors.dynamodb import decode
from connectd.connectors.dynamodb.page_scanner import PageItems, split_page
from connectd.connectors.dynamodb.tiers import SWITCH_ENV, Tier
from connectd.errors import ConvertError
from tests.kit import items
from tests.kit.random_items import ItemMaker

_TEXTS = [b'{"id":{"S":"%d"}}' % number for number in range(5)]


def _items(texts: Sequence[bytes] = _TEXTS) -> PageItems:
    found = split_page(b'{"Items":[%b]}' % b",".join(texts))
    assert found is not None
    return found[0]


def _bytes(found: Sequence[decode.Raw]) -> list[bytes]:
    return [bytes(each) for each in found]


def test_items_are_a_sequence() -> None:
    found = _items()
    assert isinstance(found, Sequence)
    assert len(found) == 5
    assert all(type(each) is decode.Raw for each in found)
    assert _bytes(found) == _TEXTS
    assert _bytes([found[0], found[-1]]) == [_TEXTS[0], _TEXTS[-1]]
    assert _bytes(list(reversed(found))) == _TEXTS[::-1]
    assert found[3] in found
    assert (found.index(found[3]), found.count(found[3])) == (3, 1)
    assert decode.Raw(b"{}") not in found


@pytest.mark.parametrize("index", [5, -6, 1 << 80])
def test_there_is_nothing_beyond_the_items(index: int) -> None:
    with pytest.raises(IndexError):
        _items()[index]


@given(st.slices(5))
def test_parts_of_items_are_those_of_a_list(part: slice) -> None:
    found = _items()
    assert _bytes(found[part]) == _TEXTS[part]
    assert _bytes(found[part][::-1]) == _TEXTS[part][::-1]


def test_a_part_outlives_its_page() -> None:
    part = _items()[1:3]
    assert _bytes(part) == _TEXTS[1:3]


def test_a_page_of_the_compiled_tier_is_that_of_the_portable_one() -> None:
    body = items.scan_body([items.ALL_TYPES] * 3, last_evaluated_key={"id": {"S": "5028"}})
    whole = decode.decode_scan_page(body, Tier.PORTABLE)
    found = decode.decode_scan_page(body, Tier.COMPILED)
    assert type(whole.items) is list
    assert type(found.items) is PageItems
    assert _bytes(found.items) == _bytes(whole.items)
    assert msgspec.structs.replace(found, items=whole.items) == whole


def test_the_switch_leaves_pages_to_msgspec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH_ENV, "off")
    assert type(decode.decode_scan_page(items.scan_body([items.ALL_TYPES])).items) is list
    monkeypatch.delenv(SWITCH_ENV)
    assert type(decode.decode_scan_page(items.scan_body([items.ALL_TYPES])).items) is PageItems


def test_what_dynamodb_sends_is_not_handed_back() -> None:
    maker = ItemMaker(1)
    values = (maker.deep_value(), maker.wide_value(), maker.large_value())
    page = [{**items.ALL_TYPES, "x": value} for value in values]
    texts = [items.wire(each) for each in page] + [items.wire(page[0], ascii_only=True)]
    assert _bytes(_items(texts)) == texts


@pytest.mark.parametrize(
    "text",
    [
        *(b"{}", b"[]", b'""', b"true", b"false", b"null", b"0", b"-1", b"12.5", b"1e5", b"1.0E-7"),
        *(
            b'{"a":[]}',
            b'[{},[[]],"",{"a":{}}]',
            b'{"a":{"S":"b"},"a":{"S":"b"}}',
            b'{"":{"B":""}}',
        ),
        *(b'"\xc3\xa9\xff\x7f"', b'"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\ude00"'),
        *(b'"' + b"x" * size + b'"' for size in (62, 63, 64, 65, 126, 127, 128, 129)),
        *(b"[" * depth + b"]" * depth for depth in (1, 65, 128)),
    ],
)
def test_an_element_is_any_json_value(text: bytes) -> None:
    assert _bytes(_items([text, b"{}", text])) == [text, b"{}", text]


_HANDED_BACK = [
    *(b"", b"{", b"{}", b"[]", b"null", b'{"Count":0}', b'{"Items":[]}', b'{"Items":{"a":1}}'),
    *(
        b'{"Items":null}',
        b' {"Items":[1]}',
        b'{"Items":[1]} ',
        b'{"Items": [1]}',
        b'{"Items":[1 ]}',
    ),
    *(b'{"Items":[1],"Items":[2]}', b'{"Items":[1],"Item\\u0073":[2]}', b'{"\\u0049tems":[1]}'),
    *(b'{"Items":[1],"Count":"many"}', b'{"Items":[1],"Count":1.5}', b'{"Items":[1],"Count":}'),
    *(b'{"Items":[1]', b'{"Items":[1', b'{"Items":[1,', b'{"Items":[1,]}', b'{"Items":[,1]}'),
    *(b'{"Items":[1],}', b'{"Items":[1]}}', b'{"Items":[1]},', b'{"Items":[1}', b'{"Items":[1]]}'),
    *(b'{"Items":[%b]}' % (b"[" * 129 + b"]" * 129), b'{"Items":[%b]}' % (b"[" * 200)),
]


@pytest.mark.parametrize("body", _HANDED_BACK)
def test_a_body_that_is_not_understood_is_handed_back(body: bytes) -> None:
    outcomes = []
    for tier in Tier:
        try:
            page = decode.decode_scan_page(body, tier)
        except ConvertError as error:
            outcomes.append(str(error))
        else:
            assert type(page.items) is list
            outcomes.append(repr(_bytes(page.items)))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"tru", b"True", b"nul", b"+1", b"01", b"1.", b".5", b"1e", b"-", b"NaN", b"'a'"),
        *(b'"', b'"a', b'"\x1f"', b'"\n"', b'"\\', b'"\\x"', b'"\\u00g0"', b'"\\u12', b'"\\ud83d"'),
        *(
            b'"\\ude00"',
            b'"\\ud83d\\u0041"',
            b"{",
            b"[",
            b"[1",
            b"[1,]",
            b"[,1]",
            b"[1 ]",
            b"{1:2}",
        ),
        *(
            b'{"a"}',
            b'{"a":}',
            b'{"a":1,}',
            b'{,"a":1}',
            b'{"a":1',
            b'{"a" :1}',
            b'{"a":1]',
            b"[1}",
        ),
        *(b'{"S":"a"', b'{"S":"a",}', b'{"S":"a"]', b'{"BOOL":true', b'{"BOOL":true]', b'{"a":1}}'),
    ],
)
def test_an_element_that_is_not_compact_json_is_handed_back(text: bytes) -> None:
    assert split_page(b'{"Items":[{},%b]}' % text) is None
    assert split_page(b'{"Items":[{},%b,{}]}' % text) is None
    assert split_page(b'{"Items":[{},%b' % text) is None


_FLOATS = st.floats(allow_nan=False, allow_infinity=False)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | _FLOATS | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@items.examples
@given(st.lists(_JSON, min_size=1, max_size=3), _JSON, st.booleans())
def test_bodies_of_any_compact_json_are_split(
    elements: list[Any], more: Any, ascii_only: bool
) -> None:
    members = {"More": more, "Items": elements, "Count": 7, "ZMore": more}
    text = json.dumps(members, ensure_ascii=ascii_only, separators=(",", ":"))
    found = split_page(text.encode())
    assert found is not None
    whole = decode.decode_scan_page(text.encode(), Tier.PORTABLE)
    assert _bytes(found[0]) == _bytes(whole.items)
    assert json.loads(found[1]) == {**members, "Items": []}
