"""Sets of characters in Java's patterns, written for the inside of a set of ``regex``.

Tables of what ``\\w``, ``\\p{Alpha}`` and their like stand for (ASCII alone, unless the flag ``U``
is set), and what ``(?i)`` adds to a character or a range. Cases are written out, so that the
library never folds any: Java folds ASCII alone unless ``u`` is set.

Unicode's categories and scripts are those of the library, which knows characters that are newer
than Java's.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Set
from typing import Final

Flags = Set[str]
"""Letters of the flags that are set."""

LINE_END: Final = r"\n\r\x85\u2028\u2029"
VERTICAL: Final = rf"\x0b\x0c{LINE_END}"
HORIZONTAL: Final = r"\t\x20\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000"
ANY: Final = r"\u0000-\U0010ffff"
_PUNCTUATION: Final = r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e"
_GRAPHIC: Final = r"[^\p{Z}\p{Cc}\p{Cs}\p{Cn}]"
_WORD: Final = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d"
_HEX: Final = r"\p{Nd}A-Fa-f\uff21-\uff26\uff41-\uff46"
_SPACE: Final = r"\p{Z}\t-\r\x85"
_CASED: Final = r"\p{Lowercase}\p{Uppercase}\p{Lt}"

ESCAPES: Final[Mapping[str, tuple[str, str]]] = {
    # letter -> the set without the flag U, and with it
    "d": ("0-9", r"\p{Nd}"),
    "h": (HORIZONTAL, HORIZONTAL),
    "s": (r"\t-\r\x20", _SPACE),
    "v": (VERTICAL, VERTICAL),
    "w": ("a-zA-Z0-9_", _WORD),
}

_POSIX: Final[Mapping[str, tuple[str, str]]] = {
    "Alnum": ("a-zA-Z0-9", r"\p{Alphabetic}\p{Nd}"),
    "Alpha": ("a-zA-Z", r"\p{Alphabetic}"),
    "Blank": (r"\x20\t", r"\p{Zs}\t"),
    "Cntrl": (r"\x00-\x1f\x7f", r"\p{Cc}"),
    "Digit": ("0-9", r"\p{Nd}"),
    "Graph": (r"\x21-\x7e", _GRAPHIC),
    "Lower": ("a-z", r"\p{Lowercase}"),
    "Print": (r"\x20-\x7e", rf"{_GRAPHIC}\p{{Zs}}"),
    "Punct": (_PUNCTUATION, r"\p{P}"),
    "Space": (r"\t-\r\x20", _SPACE),
    "Upper": ("A-Z", r"\p{Uppercase}"),
    "XDigit": ("0-9A-Fa-f", _HEX),
}
_UNICODE_POSIX: Final = {name.upper(): wide for name, (_, wide) in _POSIX.items()}
_CATEGORIES: Final = (
    *("Cc", "Cf", "Cn", "Co", "Cs", "Ll", "Lm", "Lo", "Lt", "Lu", "Mc", "Me", "Mn", "Nd", "Nl"),
    *("No", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "Sc", "Sk", "Sm", "So", "Zl", "Zp", "Zs"),
    *("C", "L", "M", "N", "P", "S", "Z"),
)
_OWN: Final[Mapping[str, str]] = {
    **{name: rf"\p{{{name}}}" for name in _CATEGORIES},
    **{name: narrow for name, (narrow, _) in _POSIX.items()},
    "ASCII": r"\x00-\x7f",
    "L1": r"\x00-\xff",
    "LC": r"\p{Lu}\p{Ll}\p{Lt}",
    "LD": r"\p{L}\p{Nd}",
    "all": ANY,
    "javaAlphabetic": r"\p{Alphabetic}",
    "javaDefined": r"[^\p{Cn}]",
    "javaDigit": r"\p{Nd}",
    "javaIdeographic": r"\p{Ideographic}",
    "javaISOControl": r"\x00-\x1f\x7f-\x9f",
    "javaLetter": r"\p{L}",
    "javaLetterOrDigit": r"\p{L}\p{Nd}",
    "javaLowerCase": r"\p{Lowercase}",
    "javaSpaceChar": r"\p{Z}",
    "javaTitleCase": r"\p{Lt}",
    "javaUpperCase": r"\p{Uppercase}",
    "javaWhitespace": r"\t-\r\x1c-\x1f[[\p{Z}]&&[^\xa0\u2007\u202f]]",
}
_UNKNOWN_HERE: Final = frozenset({
    "javaJavaIdentifierStart",
    "javaJavaIdentifierPart",
    "javaUnicodeIdentifierStart",
    "javaUnicodeIdentifierPart",
    "javaIdentifierIgnorable",
    "javaMirrored",
})  # fmt: skip
_BINARY: Final[Mapping[str, str]] = {
    "ALPHABETIC": r"\p{Alphabetic}",
    "ASSIGNED": r"[^\p{Cn}]",
    "CONTROL": r"\p{Cc}",
    "HEXDIGIT": _HEX,
    "HEX_DIGIT": _HEX,
    "IDEOGRAPHIC": r"\p{Ideographic}",
    "JOINCONTROL": r"\u200c\u200d",
    "JOIN_CONTROL": r"\u200c\u200d",
    "LETTER": r"\p{L}",
    "LOWERCASE": r"\p{Lowercase}",
    "PUNCTUATION": r"\p{P}",
    "TITLECASE": r"\p{Lt}",
    "UPPERCASE": r"\p{Uppercase}",
    "WHITESPACE": _SPACE,
    "WHITE_SPACE": _SPACE,
    "WORD": _WORD,
}
_SCRIPTS: Final = frozenset({
    "ARABIC", "ARMENIAN", "BENGALI", "CYRILLIC", "DEVANAGARI", "ETHIOPIC", "GEORGIAN", "GREEK",
    "HAN", "HANGUL", "HEBREW", "HIRAGANA", "KATAKANA", "KHMER", "LAO", "LATIN", "MONGOLIAN",
    "SINHALA", "TAMIL", "TELUGU", "THAI", "TIBETAN",
})  # fmt: skip
_BLOCKS: Final[Mapping[str, str]] = {
    "BASICLATIN": r"\x00-\x7f",
    "LATIN-1SUPPLEMENT": r"\x80-\xff",
    "LATINEXTENDED-A": r"\u0100-\u017f",
    "LATINEXTENDED-B": r"\u0180-\u024f",
    "GREEK": r"\u0370-\u03ff",
    "GREEKANDCOPTIC": r"\u0370-\u03ff",
    "CYRILLIC": r"\u0400-\u04ff",
    "ARMENIAN": r"\u0530-\u058f",
    "HEBREW": r"\u0590-\u05ff",
    "ARABIC": r"\u0600-\u06ff",
    "DEVANAGARI": r"\u0900-\u097f",
    "THAI": r"\u0e00-\u0e7f",
    "HIRAGANA": r"\u3040-\u309f",
    "KATAKANA": r"\u30a0-\u30ff",
    "CJKUNIFIEDIDEOGRAPHS": r"\u4e00-\u9fff",
    "HANGULSYLLABLES": r"\uac00-\ud7af",
}
_ANY_CASE: Final[Mapping[str, str]] = {
    # what a property means with the flag i
    r"\p{Lu}": r"\p{Lu}\p{Ll}\p{Lt}",
    r"\p{Ll}": r"\p{Lu}\p{Ll}\p{Lt}",
    "a-z": "a-zA-Z",
    "A-Z": "a-zA-Z",
    r"\p{Lowercase}": _CASED,
    r"\p{Uppercase}": _CASED,
}

_FOLDED: Final[Mapping[str, str]] = {
    # ASCII's letters, and what else folds onto them, with the flags i and u
    "i": "iI\u0130\u0131",
    "k": "kK\u212a",
    "s": "sS\u017f",
    "\xe5": "\xe5\xc5\u212b",
}
_FOLDS_TO_ASCII: Final = "\u0130\u0131\u017f\u212a"
_UPPER: Final = {"\u0131": "I", "\u017f": "S", "\u212a": "\u212a", "\u0130": "\u0130"}
_LOWER: Final = {"\u0130": "i", "\u212a": "k"}
_LATIN_PAIRS: Final = re.compile("[\xe0-\xf6\xf8-\xfe]")
_CASELESS: Final = re.compile("L[o]|Nd|[PZ].|S[cmk]|C[cf]")


class UnknownFoldingError(ValueError):
    """What else a character matches with ``(?iu)`` is not certain."""


def quoted(char: str) -> str:
    """A character for ``regex``, inside of a set and outside."""
    code = ord(char)
    if char.isascii() and char.isalnum():
        return char
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"


def single(char: str, flags: Flags) -> str:
    """What a character matches.

    Raises:
        UnknownFoldingError: cases of Unicode are to be ignored, and it has odd ones.
    """
    if "i" not in flags:
        return quoted(char)
    if char.isascii() and (not char.isalpha() or "u" not in flags):
        return "".join(map(quoted, sorted({char.lower(), char.upper()})))
    if "u" not in flags:
        return quoted(char)
    return "".join(map(quoted, _folded(char)))


def _folded(char: str) -> str:
    lower = char.lower()
    if lower in _FOLDED:
        return _FOLDED[lower]
    if lower.isascii() or _LATIN_PAIRS.fullmatch(lower):
        return lower + lower.upper()
    if lower == char == char.upper() and _CASELESS.fullmatch(unicodedata.category(char)):
        return char
    raise UnknownFoldingError(char)


def span(first: str, last: str, flags: Flags) -> str:
    """What a range matches; raises as ``single``."""
    written = f"{quoted(first)}-{quoted(last)}"
    if "i" not in flags:
        return written
    if "u" not in flags:
        return written + "".join(
            quoted(char)
            for char in map(chr, range(0x80))
            if char.isalpha() and first <= char.swapcase() <= last
        )
    if not last.isascii():
        raise UnknownFoldingError(last)
    folds = (*map(chr, range(0x80)), *_FOLDS_TO_ASCII)
    return written + "".join(quoted(char) for char in folds if _falls_in(char, first, last))


def _falls_in(char: str, first: str, last: str) -> bool:
    upper = _UPPER.get(char, char.upper())
    lower = _LOWER.get(upper, upper.lower())
    return first <= upper <= last or first <= lower <= last


def property_named(name: str, flags: Flags) -> str | None:
    """The set ``\\p{name}``; None when Java has no such property.

    Raises:
        KeyError: Java has it, or may; not here.
    """
    kind, equals, value = name.partition("=")
    if equals:
        return _of_kind(kind.lower(), value, flags)
    if name.startswith("In"):
        return _BLOCKS[name[2:].upper()]
    if name.startswith("Is"):
        return _is(name[2:], flags)
    if name in _UNKNOWN_HERE:
        raise KeyError(name)
    found = _UNICODE_POSIX.get(name.upper()) if "U" in flags else None
    return _cased(name, found or _OWN.get(name), flags)


def _of_kind(kind: str, value: str, flags: Flags) -> str | None:
    match kind:
        case "sc" | "script":
            return _script(value)
        case "blk" | "block":
            return _BLOCKS[value.upper()]
        case "gc" | "general_category":
            return _cased(value, _OWN.get(value), flags)
        case _:
            return None


def _is(name: str, flags: Flags) -> str:
    found = _BINARY.get(name.upper()) or _UNICODE_POSIX.get(name.upper()) or _OWN.get(name)
    return _cased(name, found, flags) or _script(name)


def _script(name: str) -> str:
    if name.upper() not in _SCRIPTS:
        raise KeyError(name)
    return rf"\p{{Script={name.capitalize()}}}"


def _cased(name: str, found: str | None, flags: Flags) -> str | None:
    if found is None or "i" not in flags:
        return found
    if found == r"\p{Lt}":
        return _ANY_CASE[r"\p{Lu}"] if name == "Lt" else _CASED
    return _ANY_CASE.get(found, found)
