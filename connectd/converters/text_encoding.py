"""Encodings of texts, under the names that Java gives them.

Those of Unicode differ between the languages in when they begin with a byte order mark, which of
two marks they understand, and what a lone surrogate becomes: the table has Java's answers. All
others have one byte order and no mark, and are Python's.
"""

from __future__ import annotations

import codecs
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_REPLACEMENT: Final = "\ufffd"
_OF_PYTHON_ALONE: Final = frozenset(
    (
        *("utf-7", "utf7", "u7", "utf-8-sig", "idna", "punycode"),
        *("unicode-escape", "raw-unicode-escape", "undefined"),
    )
)


@dataclass(frozen=True)
class TextEncoding:
    """How texts become bytes, and bytes texts; what one cannot tell is replaced."""

    codec: str
    mark: bytes = b""
    """What every text but the empty one begins with."""
    codec_by_mark: Mapping[bytes, str] = field(default_factory=dict)
    """Marks that are understood where bytes begin with them, and what follows them."""
    is_wide: bool = False
    """What cannot be told becomes U+FFFD instead of a question mark."""

    @property
    def is_utf8(self) -> bool:
        """Whether texts become plain UTF-8."""
        return not self.mark and codecs.lookup(self.codec).name == "utf-8"

    def encode(self, text: str) -> bytes:
        """The bytes of a text."""
        if self.is_wide:
            text = _SURROGATE.sub(_REPLACEMENT, text)
        return self.mark + text.encode(self.codec, errors="replace") if text else b""

    def decode(self, data: bytes) -> str:
        """The text of bytes."""
        for mark, codec in self.codec_by_mark.items():
            if data.startswith(mark):
                return data[len(mark) :].decode(codec, errors="replace")
        return data.decode(self.codec, errors="replace")


def of_name(name: str) -> TextEncoding:
    """The encoding of that name.

    Raises:
        LookupError: there is none.
    """
    plain = name.strip().lower().replace("_", "-")
    known = _UNICODE.get(plain)
    if known is not None:
        return known
    if plain in _OF_PYTHON_ALONE:
        raise LookupError(f"Java has no encoding {name}")
    try:
        "".encode(plain)
    except ValueError as error:
        raise LookupError(f"{name} is no name") from error
    return TextEncoding(plain)


_MARKS_16: Final = {BOM_UTF16_BE: "utf-16-be", BOM_UTF16_LE: "utf-16-le"}
_MARKS_32: Final = {BOM_UTF32_BE: "utf-32-be", BOM_UTF32_LE: "utf-32-le"}
_BIG_32: Final = {BOM_UTF32_BE: "utf-32-be"}
_LITTLE_32: Final = {BOM_UTF32_LE: "utf-32-le"}

_UNICODE: Final = {
    name: encoding
    for names, encoding in (
        (
            "utf-16 utf16 unicode unicodebig",
            TextEncoding("utf-16-be", BOM_UTF16_BE, _MARKS_16, is_wide=True),
        ),
        (
            "x-utf-16le-bom unicodelittle",
            TextEncoding("utf-16-le", BOM_UTF16_LE, _MARKS_16, is_wide=True),
        ),
        (
            "utf-16be x-utf-16be iso-10646-ucs-2 unicodebigunmarked",
            TextEncoding("utf-16-be", is_wide=True),
        ),
        ("utf-16le x-utf-16le unicodelittleunmarked", TextEncoding("utf-16-le", is_wide=True)),
        (
            "utf-32 utf32 iso-10646-ucs-4",
            TextEncoding("utf-32-be", codec_by_mark=_MARKS_32, is_wide=True),
        ),
        ("utf-32be x-utf-32be", TextEncoding("utf-32-be", codec_by_mark=_BIG_32, is_wide=True)),
        (
            "utf-32le x-utf-32le",
            TextEncoding("utf-32-le", codec_by_mark=_LITTLE_32, is_wide=True),
        ),
        (
            "x-utf-32be-bom utf-32be-bom",
            TextEncoding("utf-32-be", BOM_UTF32_BE, _BIG_32, is_wide=True),
        ),
        (
            "x-utf-32le-bom utf-32le-bom",
            TextEncoding("utf-32-le", BOM_UTF32_LE, _LITTLE_32, is_wide=True),
        ),
    )
    for name in names.split()
}
