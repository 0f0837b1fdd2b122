"""Encodings of ``StringConverter``: their names, marks of byte order, and what they cannot tell."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from tests.conformance.vectors.cases import case

Json = Any
STRING_CONVERTER = "org.apache.kafka.connect.storage.StringConverter"

ENCODINGS = (
    *("UTF-8", "utf8", "UTF-16", "UTF_16", "utf16", "unicode", "UnicodeBig", "UnicodeLittle"),
    *("UTF-16BE", "UTF-16LE", "X-UTF-16BE", "x-UTF-16LE-BOM", "UnicodeBigUnmarked"),
    *("UTF-32", "UTF_32", "UTF-32BE", "UTF-32LE", "X-UTF-32BE-BOM", "X-UTF-32LE-BOM"),
    *("ISO-8859-1", "latin1", "ISO8859_1", "ISO-8859-15", "US-ASCII", "ascii", "windows-1252"),
    *("cp1252", "cp437", "KOI8-R", "Shift_JIS", "Big5", " utf-8 ", "utf16 "),
)
UNKNOWN = (
    *("UTF-8-SIG", "UTF-7", "punycode", "idna", "hex", "rot13", "base64", "unicode_escape"),
    *("raw_unicode_escape", "undefined", "mbcs", "nope", "UTF-16-LE", "-", "UTF 8"),
)
TEXTS = ("", "a", "é", "😀", "\ud800", "a\udc00b", "\ufeff", "\ufeffa", "?")
BYTES = (
    *(b"", b"a", b"\x00a", b"a\x00", b"\x00\x00\x00a", b"a\x00\x00\x00", b"\xff", b"\xc3\xa9"),
    *(b"\xfe\xff", b"\xff\xfe", b"\xfe\xff\x00a", b"\xff\xfea\x00", b"\xfe\xff\xfe\xff\x00a"),
    *(b"\x00\x00\xfe\xff", b"\x00\x00\xfe\xff\x00\x00\x00a", b"\xff\xfe\x00\x00a\x00\x00\x00"),
    b"\xef\xbb\xbfa",
)


def encoding_cases() -> Iterator[Json]:
    """Every encoding with every text, and with all bytes; those that there are not with texts."""
    for encoding in (*ENCODINGS, *UNKNOWN):
        config = {"converter.type": "value", "converter.encoding": encoding}
        for text in TEXTS:
            value = {"string": text}
            yield case("write", STRING_CONVERTER, config, isKey=False, schema=None, value=value)
        for data in BYTES if encoding in ENCODINGS else ():
            encoded = base64.b64encode(data).decode()
            yield case("read", STRING_CONVERTER, config, isKey=False, bytes=encoded)
