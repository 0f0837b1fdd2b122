"""JSON as Jackson writes it: which characters it escapes, as bytes and as text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.model import java_json

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("/tmp/😀.txt", rb'"/tmp/\uD83D\uDE00.txt"'),  # a worker of 4.3.1 wrote this key
        ("\uffff\U00010000\U0010ffff", b'"\xef\xbf\xbf' + rb'\uD800\uDC00\uDBFF\uDFFF"'),
        ("\x1f é☃\u2028\x7f", b'"\\u001F ' + "é☃\u2028\x7f".encode() + b'"'),
        ("\\u001f", rb'"\\u001f"'),
        ("\\😀", rb'"\\\uD83D\uDE00"'),
    ],
)
def test_pairs_and_controls_are_escapes_and_nothing_else_is(text: str, written: bytes) -> None:
    assert java_json.dumps(text) == written
    assert java_json.dumps([{text: text}]) == b"[{" + written + b":" + written + b"}]"


@given(_TEXTS)
def test_every_text_can_be_read_back(text: str) -> None:
    written = java_json.dumps(text)
    assert json.loads(written) == text
    assert not any(byte >= 0xF0 for byte in written)


@given(_TEXTS)
def test_as_text_only_pairs_are_written_otherwise(text: str) -> None:
    as_text = java_json.dumps_text({text: text}).decode()
    escaped = "".join(
        java_json.dumps(char)[1:-1].decode() if char > "\uffff" else char for char in as_text
    )
    assert java_json.dumps({text: text}).decode() == escaped


@given(_TEXTS.map(lambda text: "".join(char for char in text if char >= " ")))
def test_text_without_control_characters_may_take_the_short_way(text: str) -> None:
    assert java_json.quoted(text.encode()) == java_json.dumps(text)
