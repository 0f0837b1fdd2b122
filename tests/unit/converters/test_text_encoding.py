"""Encodings of texts: marks of byte order, and what cannot be told; the bytes are Java's."""

from __future__ import annotations

import pytest

from connectd.converters import text_encoding


@pytest.mark.parametrize(
    ("name", "text", "data"),
    [
        ("UTF-16", "", ""),
        ("utf_16", "a", "feff0061"),
        ("UTF-16", "\ud800", "fefffffd"),
        ("UTF-16LE", "a", "6100"),
        ("x-UTF-16LE-BOM", "a", "fffe6100"),
        ("UTF-32", "a", "00000061"),
        ("X-UTF-32BE-BOM", "", ""),
        ("UTF-8", "\ud800", "3f"),
        ("latin1", "😀", "3f"),
    ],
)
def test_texts_have_the_bytes_of_java(name: str, text: str, data: str) -> None:
    assert text_encoding.of_name(name).encode(text).hex() == data


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("UTF-16", "feff", ""),
        ("UTF-16", "fffe6100", "a"),
        ("UTF-16", "0061", "a"),
        ("UTF-16BE", "feff0061", "\ufeffa"),
        ("UTF-32BE", "0000feff00000061", "a"),
        ("UTF-16", "61", "\ufffd"),
    ],
)
def test_marks_say_the_order_of_bytes_where_java_minds_them(
    name: str, data: str, text: str
) -> None:
    assert text_encoding.of_name(name).decode(bytes.fromhex(data)) == text


@pytest.mark.parametrize("name", ["nope", "", "-", "UTF-7", "utf_8_sig", "hex", "punycode", "a\0b"])
def test_what_java_has_no_encoding_for_is_refused(name: str) -> None:
    with pytest.raises(LookupError):
        text_encoding.of_name(name)
