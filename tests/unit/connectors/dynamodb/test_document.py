"""Documents: nothing of an item is lost, and the bytes are Jackson's."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.connectors.dynamodb import document
from connectd.errors import ConvertError
from tests.kit import items


def _typed(item: items.Item, *, sanitise: bool = False) -> bytes:
    write = document.document_writer("typed", sanitise=sanitise)
    return write(document.parse_item(items.wire(item)))


def _plain(item: items.Item) -> bytes:
    write = document.document_writer("plain", sanitise=True)
    return write(document.parse_item(items.wire(item)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"S": "text"}, '{"s":"text"}'),
        ({"S": ""}, '{"s":""}'),
        ({"N": "1.5E+2"}, '{"n":"1.5E+2"}'),
        ({"B": "AP8="}, '{"b":"AP8="}'),
        ({"SS": ["a", "b"]}, '{"ss":["a","b"]}'),
        ({"NS": ["1", "2"]}, '{"ns":["1","2"]}'),
        ({"BS": ["AQ==", "AgM="]}, '{"bs":["AQ==","AgM="]}'),
        ({"BOOL": False}, '{"bool":false}'),
        ({"NULL": True}, '{"null":true}'),
        ({"M": {"k-1": {"S": "v"}}}, '{"m":{"k-1":{"s":"v"}}}'),
        ({"M": {}}, '{"m":{}}'),
        ({"L": [{"S": "a"}, {"N": "1"}]}, '{"l":[{"s":"a"},{"n":"1"}]}'),
        ({"L": []}, '{"l":[]}'),
    ],
)
def test_every_type_is_written_with_its_letter_in_lower_case(
    value: items.Value, expected: str
) -> None:
    assert _typed({"id": value}) == f'{{"id":{expected}}}'.encode()


def test_attributes_named_like_type_letters_keep_their_names() -> None:
    item: items.Item = {"M": {"M": {"S": {"M": {"L": {"L": [{"SS": ["M"]}]}}}}}, "S": {"S": "S"}}
    assert _typed(item) == b'{"M":{"m":{"S":{"m":{"L":{"l":[{"ss":["M"]}]}}}}},"S":{"s":"S"}}'


def test_attributes_keep_the_order_in_which_they_came() -> None:
    assert list(json.loads(_typed(items.ALL_TYPES))) == list(items.ALL_TYPES)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("\x00\x0b\x0e\x1a\x1f", r"\u0000\u000B\u000E\u001A\u001F"),
        ("\b\f\n\r\t", r"\b\f\n\r\t"),
        ('"\\/', r"\"\\/"),
        ("\x7f\x80é名😀\u2028\u2029", "\x7f\x80é名😀\u2028\u2029"),
        ("\\u001f and \x1f", r"\\u001f and \u001F"),
        ("\\\x1f\\\\\x1f", r"\\\u001F\\\\\u001F"),
    ],
)
def test_escapes_are_those_of_jackson(text: str, escaped: str) -> None:
    assert _typed({"id": {"S": text}}) == f'{{"id":{{"s":"{escaped}"}}}}'.encode()


def test_escapes_and_white_space_of_the_wire_do_not_reach_the_document() -> None:
    raw = rb'{ "na\u006de" : { "S" : "\u00e9 \ud83d\ude00 \/ \u003c" } }'
    assert document.typed_document(document.parse_item(raw)) == '{"name":{"s":"é 😀 / <"}}'.encode()


@given(items.items(), st.booleans())
@items.examples
def test_a_typed_document_gives_the_item_back(item: items.Item, ascii_only: bool) -> None:
    text = document.typed_document(document.parse_item(items.wire(item, ascii_only=ascii_only)))
    assert json.loads(text) == items.lowered(item)
    assert document.item_of_typed_document(text) == item


@given(items.items())
@items.examples
def test_sanitising_renames_at_the_top_and_loses_nothing(item: items.Item) -> None:
    written = json.loads(_typed(item, sanitise=True))
    assert list(written.values()) == list(items.lowered(item).values())
    assert len(written) == len(item)


def test_sanitising_leaves_nested_names_and_impossible_ones_alone() -> None:
    item: items.Item = {
        "a.b": {"M": {"a.b": {"N": "1"}}},
        "c-d": {"S": "collides"},
        "cd": {"S": "with this"},
        "名前": {"S": "nothing would be left"},
    }
    assert json.loads(_typed(item, sanitise=True)) == {
        "ab": {"m": {"a.b": {"n": "1"}}},
        "c-d": {"s": "collides"},
        "cd": {"s": "with this"},
        "名前": {"s": "nothing would be left"},
    }


def test_thirty_two_levels_are_written() -> None:
    item: items.Item = {"deep": items.nested(32)}
    assert json.loads(_typed(item)) == items.lowered(item)


def test_the_largest_attribute_is_written() -> None:
    item: items.Item = {"id": {"S": '"\\\x1f名' * 66_000}}
    assert json.loads(_typed(item)) == {"id": {"s": item["id"]["S"]}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"S": "text"}, b'"text"'),
        (
            {"N": "12345678901234567890123456789012345678"},
            b"12345678901234567890123456789012345678",
        ),
        ({"N": "1.50E+2"}, b"1.50E+2"),
        ({"N": "-0.5"}, b"-0.5"),
        ({"B": "AP8="}, b'"AP8="'),
        ({"BOOL": True}, b"true"),
        ({"NULL": True}, b"null"),
        ({"SS": ["a"]}, b'["a"]'),
        ({"NS": ["1", "2.0"]}, b"[1,2.0]"),
        ({"BS": ["AQ=="]}, b'["AQ=="]'),
        ({"L": [{"N": "1"}, {"M": {"a-b": {"NULL": True}}}]}, b'[1,{"a-b":null}]'),
    ],
)
def test_a_plain_document_has_no_type_letters(value: items.Value, expected: bytes) -> None:
    assert _plain({"a.b": value}) == b'{"a.b":' + expected + b"}"


@given(items.items())
@items.examples
def test_a_plain_document_keeps_numbers_digit_for_digit(item: items.Item) -> None:
    assert json.loads(_plain(item), parse_int=str, parse_float=str) == {
        name: _plain_reference(value) for name, value in item.items()
    }


def _plain_reference(value: items.Value) -> object:
    ((letter, content),) = value.items()
    if letter == "NULL":
        return None
    if letter == "M":
        return {name: _plain_reference(member) for name, member in content.items()}
    if letter == "L":
        return [_plain_reference(element) for element in content]
    return content


@pytest.mark.parametrize("number", ["007", "+1", ".5", "1.", "NaN", "Infinity", "", "1,5", "0x1F"])
def test_a_number_that_json_cannot_carry_is_refused_in_a_plain_document_only(number: str) -> None:
    with pytest.raises(ConvertError, match="typed document carries numbers as text"):
        _plain({"n": {"N": number}})
    assert json.loads(_typed({"n": {"N": number}})) == {"n": {"n": number}}


@pytest.mark.parametrize("raw", [b"", b"[]", b"null", b'{"id":', b'{"id":{"S":"\xff"}}', b'"x"'])
def test_what_is_not_an_object_is_no_item(raw: bytes) -> None:
    with pytest.raises(ConvertError, match="parsing an item"):
        document.parse_item(raw)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"X": "unknown letter"},
        {"s": "lower case"},
        {"S": "two", "N": "1"},
        "no letter",
        None,
        1,
        {"M": []},
        {"M": {"a": "no letter"}},
        {"M": {"a": {}}},
        {"L": {"S": "no list"}},
        {"L": ["no letter"]},
        {"L": 1},
    ],
)
def test_an_item_of_another_form_is_refused(value: Any) -> None:
    for form in ("typed", "plain"):
        write = document.document_writer(form, sanitise=False)
        with pytest.raises(ConvertError, match="expected attribute values"):
            write(document.parse_item(items.wire({"id": {"S": "1"}, "bad": value})))


def test_a_document_of_absurd_depth_is_refused_rather_than_ending_the_worker() -> None:
    raw = b'{"a":' + b'{"L":[' * 200 + b'{"S":"x"}' + b"]}" * 200 + b"}"
    with pytest.raises(ConvertError, match="writing JSON"):
        document.typed_document(document.parse_item(raw))


@pytest.mark.parametrize("text", [b'{"id":{"S":"upper"}}', b'{"id":"5028"}', b'{"id":{}}', b"5"])
def test_only_typed_documents_are_read_back(text: bytes) -> None:
    with pytest.raises(ConvertError):
        document.item_of_typed_document(text)
