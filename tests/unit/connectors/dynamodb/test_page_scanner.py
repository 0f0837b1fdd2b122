"""The compiled tier writes what DynamoDB sends, and leaves the rest to the portable one.

That both give the same bytes is the business of ``test_tiers`` and ``tests/fuzz``.
"""

from __future__ import annotations

from typing import Any

import pytest

from connectd.connectors.dynamodb import decode
from connectd.connectors.dynamodb.envelope import EnvelopeSettings
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.connectors.dynamodb.page_scanner import PageScanner
from connectd.connectors.dynamodb.plan import JSON_CONVERTER, TablePlan
from connectd.connectors.dynamodb.tiers import Tier
from connectd.model.record import ConverterSpec, EncodedRecord
from tests.kit import items
from tests.kit.random_items import ItemMaker

_SPEC = ConverterSpec(JSON_CONVERTER, (("schemas.enable", "false"),))


def _scanner(version: Any = "0.1", document: Any = "typed") -> PageScanner:
    schema = KeySchema((KeyAttribute("id", "S"),))
    plan = TablePlan("orders", "orders", schema, EnvelopeSettings(version, document), Tier.COMPILED)
    layout = plan.layout(_SPEC, _SPEC)
    assert layout is not None
    scanner = layout.scanner()
    assert scanner is not None
    return scanner


def _handed_back(scanner: PageScanner, *texts: bytes) -> list[bytes]:
    """The items that a scanner leaves to the portable tier."""
    back: list[bytes] = []

    def portable(raw: decode.Raw) -> EncodedRecord:
        back.append(bytes(raw))
        return None, None

    scanner.items([decode.Raw(text) for text in texts], b"", b"", portable)
    return back


@pytest.mark.parametrize("version", ["0.1", "1.0"])
@pytest.mark.parametrize("document", ["typed", "plain"])
def test_what_dynamodb_sends_is_not_handed_back(version: str, document: str) -> None:
    maker = ItemMaker(1)
    odd = {name: value for name, value in items.ALL_TYPES.items() if name != "empty"}
    texts = [items.wire(each) for each in (items.ALL_TYPES, odd)]
    texts += [items.wire({"id": {"S": "1"}, "deep": maker.deep_value()})]
    texts += [items.wire({"id": {"S": "1"}, "wide": maker.wide_value(1_000)})]
    texts += [items.wire({"id": {"S": "1"}, "large": maker.large_value()})]
    assert _handed_back(_scanner(version=version, document=document), *texts) == []


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"[]",
        b'{"id":{"S":"1"}} ',
        b'{ "id":{"S":"1"}}',
        b'{"id":{"S": "1"}}',
        b'{"id":{"S":"1"},"id":{"S":"2"}}',
        b'{"id":{"S":"1"},"i\\u0064":{"S":"2"}}',
        b'{"id":{"S":"1"},"m":{"M":{"a":{"S":""},"a":{"S":""}}}}',
        b'{"id":{"S":"1","N":"1"}}',
        b'{"id":{"N":"1"}}',
        b'{"id":{"S":1}}',
        b'{"id":{"s":"1"}}',
        b'{"id":{"S":"1"},"x":{"X":"1"}}',
        b'{"id":{"S":"1"},"x":{"BOOL":null}}',
        b'{"id":{"S":"1"},"x":{"L":""}}',
        b'{"id":{"S":"1"},"x":{"SS":["a",]}}',
        b'{"id":{"S":"1"},"x":{"M":{},}}',
        b'{"id":{"S":"\\ud83d"}}',
        b'{"id":{"S":"\\ude00\\ud83d"}}',
        b'{"id":{"S":"\\x"}}',
        b'{"id":{"S":"\\u00g0"}}',
        b'{"id":{"S":"\x1f"}}',
        b'{"id":{"S":"\xc0\x80"}}',
        b'{"id":{"S":"\xed\xa0\x80"}}',
        b'{"id":{"S":"\xf4\x90\x80\x80"}}',
        b'{"id":{"S":"\xe2\x82"}}',
        b'{"id":{"S":"1"},"x":' + b'{"L":[' * 64 + b"]}" * 64 + b"}",
    ],
)
def test_what_is_not_understood_is_handed_back(text: bytes) -> None:
    assert _handed_back(_scanner(), text) == [text]


@pytest.mark.parametrize("number", [b"", b"01", b"1.", b".5", b"+1", b"1e", b"0x1", b"NaN"])
def test_what_is_no_number_is_handed_back_by_plain_documents(number: bytes) -> None:
    text = b'{"id":{"S":"1"},"n":{"N":"%b"}}' % number
    assert _handed_back(_scanner(document="plain"), text) == [text]
    assert _handed_back(_scanner(document="typed"), text) == []


def test_a_scanner_wants_a_key() -> None:
    with pytest.raises(ValueError, match="a key of 0 parts"):
        type(_scanner())((), "", (), b"", is_plain=False, sanitises=False)
