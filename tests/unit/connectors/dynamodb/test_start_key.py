"""The key that a scan continues from survives a restart exactly (field case I10)."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.connectors.dynamodb import start_key
from connectd.errors import ConfigError
from tests.kit.items import Item, examples, key_values, names, wire

_values = st.sampled_from("SNB").flatmap(
    lambda letter: st.fixed_dictionaries({letter: key_values[letter]})
)
_keys = st.dictionaries(names, _values, min_size=1, max_size=2)


@given(_keys, st.booleans())
@examples
def test_every_key_comes_back_exactly(key: Item, ascii_only: bool) -> None:
    """Field case I10: S, N, B, one attribute or two, any name, in the order of the table."""
    text = start_key.to_offset(wire(key, ascii_only=ascii_only))
    assert start_key.from_offset(text) == wire(key)


@given(_keys)
@examples
def test_what_comes_back_gives_the_same_text_again(key: Item) -> None:
    text = start_key.to_offset(wire(key))
    assert start_key.to_offset(start_key.from_offset(text)) == text


def test_the_text_is_that_of_the_java_connector() -> None:
    assert start_key.to_offset(b'{"id":{"S":"5028"}}') == '{"id":{"s":"5028"}}'
    assert (
        start_key.to_offset(b'{"customer":{"S":"a"},"at":{"N":"7"}}')
        == '{"customer":{"s":"a"},"at":{"n":"7"}}'
    )


def test_its_escapes_for_web_pages_are_read() -> None:
    text = r'{"id":{"s":"\u003ca href\u003d\u0027x\u0027\u003e \u0026 co"}}'
    assert start_key.from_offset(text) == b"""{"id":{"S":"<a href='x'> & co"}}"""


def test_types_that_a_bean_serialiser_wrote_as_null_are_overlooked() -> None:
    text = '{"id":{"s":"a","n":null,"b":null,"ss":null,"m":null,"null":null}}'
    assert start_key.from_offset(text) == b'{"id":{"S":"a"}}'


def test_wire_letters_are_read_as_well() -> None:
    assert start_key.from_offset('{"id":{"N":"7"}}') == b'{"id":{"N":"7"}}'


def _byte_buffer(content: bytes, **members: int) -> str:
    signed = [each - 256 if each > 127 else each for each in content]
    buffer: dict[str, Any] = {"hb": signed, "offset": 0, "isReadOnly": False, "mark": -1}
    buffer |= {"position": 0, "limit": len(content), "capacity": len(content), "address": 0}
    return json.dumps({"id": {"b": buffer | members}})


@given(st.binary(min_size=1, max_size=40))
@examples
def test_a_java_byte_buffer_is_read_as_its_bytes(content: bytes) -> None:
    """Field case I10: the Java serialiser's form of a binary key."""
    found = json.loads(start_key.from_offset(_byte_buffer(content)))
    assert base64.b64decode(found["id"]["B"]) == content


def test_only_what_lies_between_position_and_limit_is_the_value() -> None:
    text = _byte_buffer(b"\x00\x01\x02\xff\x04", offset=1, position=1, limit=3)
    assert json.loads(start_key.from_offset(text)) == {"id": {"B": "Av8="}}


def test_a_byte_buffer_with_nothing_but_its_array_is_read() -> None:
    assert json.loads(start_key.from_offset('{"id":{"b":{"hb":[-1,0]}}}')) == {"id": {"B": "/wA="}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "JSON"),
        ("{", "JSON"),
        ("null", "an object with one or two key attributes"),
        ("[]", "an object with one or two key attributes"),
        ("{}", "an object with one or two key attributes"),
        (
            '{"a":{"s":"1"},"b":{"s":"1"},"c":{"s":"1"}}',
            "an object with one or two key attributes",
        ),
        ('{"id":"5028"}', "one typed value per attribute"),
        ('{"id":{}}', "one typed value per attribute"),
        ('{"id":{"s":null}}', "one typed value per attribute"),
        ('{"id":{"s":"a","n":"1"}}', "one typed value per attribute"),
        ('{"id":{"bool":true}}', "values of type s, n or b, as text"),
        ('{"id":{"n":7}}', "values of type s, n or b, as text"),
        ('{"id":{"s":{"hb":[1]}}}', "values of type s, n or b, as text"),
        ('{"id":{"b":"no base64!"}}', "binary as base64"),
        ('{"id":{"b":"AP8"}}', "binary as base64"),
        ('{"id":{"b":"名前"}}', "binary as base64"),
        ('{"id":{"b":{}}}', "a byte buffer with its array hb"),
        ('{"id":{"b":{"hb":"AP8="}}}', "a byte buffer with its array hb"),
        ('{"id":{"b":{"hb":[1],"position":"0"}}}', "a byte buffer with its array hb"),
        ('{"id":{"b":{"hb":[1.5]}}}', "a byte buffer of whole numbers"),
        ('{"id":{"b":{"hb":["1"]}}}', "a byte buffer of whole numbers"),
        ('{"id":{"b":{"hb":[1],"limit":"1"}}}', "a byte buffer of whole numbers"),
    ],
)
def test_what_is_no_key_is_refused_with_the_reason(text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        start_key.from_offset(text)
    message = str(caught.value)
    assert message.startswith(f"exclusive_start_key has {len(text)} characters")
    assert f"that are not {expected};" in message


def test_a_refusal_does_not_show_the_key() -> None:
    with pytest.raises(ConfigError) as caught:
        start_key.from_offset('{"email":{"x":"somebody@example.org"}}')
    assert "somebody" not in str(caught.value)
