"""Sets of characters in Java's patterns: escapes, properties, and what ``(?i)`` adds.

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

from connectd.model.java_regex_sets import LAST, CharSet, having, of

Flags = Set[str]
"""Letters of the flags that are set."""

ANY: Final = CharSet(((0, LAST),))
LINE_END: Final = of("\n", "\r", "\x85", "\u2028-\u2029")
_VERTICAL: Final = LINE_END | of("\x0b-\x0c")
_HORIZONTAL: Final = of(
    "\t", " ", "\xa0", "\u1680", "\u180e", "\u2000-\u200a", "\u202f", "\u205f", "\u3000"
)
_PUNCTUATION: Final = of("!-/", ":-@", "[-`", "{-~")
_GRAPHIC: Final = having("L", "M", "N", "P", "S", "Cf", "Co")
_WORD: Final = having("Alphabetic", "M", "Nd", "Pc") | of("\u200c-\u200d")
_HEX: Final = having("Nd") | of("A-F", "a-f", "\uff21-\uff26", "\uff41-\uff46")
_ASCII_SPACE: Final = of("\t-\r", " ")
_SPACE: Final = having("Z") | of("\t-\r", "\x85")
_DIGIT: Final = (of("0-9"), having("Nd"))
_LETTER: Final = of("a-z", "A-Z")
_LETTER_WITH_CASE: Final = having("Lu", "Ll", "Lt")
_CASED: Final = having("Lowercase", "Uppercase", "Lt")
_ASSIGNED: Final = having("L", "M", "N", "P", "S", "Z", "Cc", "Cf", "Co", "Cs")

ESCAPES: Final[Mapping[str, tuple[CharSet, CharSet]]] = {
    # letter -> the set without the flag U, and with it
    "d": _DIGIT,
    "h": (_HORIZONTAL, _HORIZONTAL),
    "s": (_ASCII_SPACE, _SPACE),
    "v": (_VERTICAL, _VERTICAL),
    "w": (_LETTER | of("0-9", "_"), _WORD),
}

_POSIX: Final[Mapping[str, tuple[CharSet, CharSet]]] = {
    "Alnum": (_LETTER | of("0-9"), having("Alphabetic", "Nd")),
    "Alpha": (_LETTER, having("Alphabetic")),
    "Blank": (of(" ", "\t"), having("Zs") | of("\t")),
    "Cntrl": (of("\x00-\x1f", "\x7f"), having("Cc")),
    "Digit": _DIGIT,
    "Graph": (of("!-~"), _GRAPHIC),
    "Lower": (of("a-z"), having("Lowercase")),
    "Print": (of(" -~"), _GRAPHIC | having("Zs")),
    "Punct": (_PUNCTUATION, having("P")),
    "Space": (_ASCII_SPACE, _SPACE),
    "Upper": (of("A-Z"), having("Uppercase")),
    "XDigit": (of("0-9", "A-F", "a-f"), _HEX),
}
_UNICODE_POSIX: Final = {name.upper(): wide for name, (_, wide) in _POSIX.items()}
_CATEGORIES: Final = (
    *("Cc", "Cf", "Cn", "Co", "Cs", "Ll", "Lm", "Lo", "Lt", "Lu", "Mc", "Me", "Mn", "Nd", "Nl"),
    *("No", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "Sc", "Sk", "Sm", "So", "Zl", "Zp", "Zs"),
    *("C", "L", "M", "N", "P", "S", "Z"),
)
_OWN: Final[Mapping[str, CharSet]] = {
    **{name: having(name) for name in _CATEGORIES},
    **{name: narrow for name, (narrow, _) in _POSIX.items()},
    "ASCII": of("\x00-\x7f"),
    "L1": of("\x00-\xff"),
    "LC": _LETTER_WITH_CASE,
    "LD": having("L", "Nd"),
    "all": ANY,
    "javaAlphabetic": having("Alphabetic"),
    "javaDefined": _ASSIGNED,
    "javaDigit": having("Nd"),
    "javaIdeographic": having("Ideographic"),
    "javaISOControl": of("\x00-\x1f", "\x7f-\x9f"),
    "javaLetter": having("L"),
    "javaLetterOrDigit": having("L", "Nd"),
    "javaLowerCase": having("Lowercase"),
    "javaSpaceChar": having("Z"),
    "javaTitleCase": having("Lt"),
    "javaUpperCase": having("Uppercase"),
    "javaWhitespace": having("Zl", "Zp")
    | of("\t-\r", "\x1c-\x20", "\u1680", "\u2000-\u2006", "\u2008-\u200a", "\u205f", "\u3000"),
}
_UNKNOWN_HERE: Final = frozenset({
    "javaJavaIdentifierStart",
    "javaJavaIdentifierPart",
    "javaUnicodeIdentifierStart",
    "javaUnicodeIdentifierPart",
    "javaIdentifierIgnorable",
    "javaMirrored",
})  # fmt: skip
_BINARY: Final[Mapping[str, CharSet]] = {
    "ALPHABETIC": having("Alphabetic"),
    "ASSIGNED": _ASSIGNED,
    "CONTROL": having("Cc"),
    "HEXDIGIT": _HEX,
    "HEX_DIGIT": _HEX,
    "IDEOGRAPHIC": having("Ideographic"),
    "JOINCONTROL": of("\u200c-\u200d"),
    "JOIN_CONTROL": of("\u200c-\u200d"),
    "LETTER": having("L"),
    "LOWERCASE": having("Lowercase"),
    "PUNCTUATION": having("P"),
    "TITLECASE": having("Lt"),
    "UPPERCASE": having("Uppercase"),
    "WHITESPACE": _SPACE,
    "WHITE_SPACE": _SPACE,
    "WORD": _WORD,
}
_SCRIPTS: Final = frozenset({
    "ARABIC", "ARMENIAN", "BENGALI", "CYRILLIC", "DEVANAGARI", "ETHIOPIC", "GEORGIAN", "GREEK",
    "HAN", "HANGUL", "HEBREW", "HIRAGANA", "KATAKANA", "KHMER", "LAO", "LATIN", "MONGOLIAN",
    "SINHALA", "TAMIL", "TELUGU", "THAI", "TIBETAN",
})  # fmt: skip
_BLOCKS: Final[Mapping[str, CharSet]] = {
    "BASICLATIN": of("\x00-\x7f"),
    "LATIN-1SUPPLEMENT": of("\x80-\xff"),
    "LATINEXTENDED-A": of("\u0100-\u017f"),
    "LATINEXTENDED-B": of("\u0180-\u024f"),
    "GREEK": of("\u0370-\u03ff"),
    "GREEKANDCOPTIC": of("\u0370-\u03ff"),
    "CYRILLIC": of("\u0400-\u04ff"),
    "ARMENIAN": of("\u0530-\u058f"),
    "HEBREW": of("\u0590-\u05ff"),
    "ARABIC": of("\u0600-\u06ff"),
    "DEVANAGARI": of("\u0900-\u097f"),
    "THAI": of("\u0e00-\u0e7f"),
    "HIRAGANA": of("\u3040-\u309f"),
    "KATAKANA": of("\u30a0-\u30ff"),
    "CJKUNIFIEDIDEOGRAPHS": of("\u4e00-\u9fff"),
    "HANGULSYLLABLES": of("\uac00-\ud7af"),
}
_ANY_CASE: Final[Mapping[CharSet, CharSet]] = {
    # what a property means with the flag i
    having("Lu"): _LETTER_WITH_CASE,
    having("Ll"): _LETTER_WITH_CASE,
    of("a-z"): _LETTER,
    of("A-Z"): _LETTER,
    having("Lowercase"): _CASED,
    having("Uppercase"): _CASED,
}

_FOLDED: Final[Mapping[str, str]] = {
    # letters, and what else folds onto them, with the flags i and u
    "i": "iI\u0130\u0131",
    "k": "kK\u212a",
    "s": "sS\u017f",
    "\xe5": "\xe5\xc5\u212b",
}
_FOLDS_TO_ASCII: Final = "\u0130\u0131\u017f\u212a"
_UPPER: Final = {"\u0131": "I", "\u017f": "S", "\u212a": "\u212a", "\u0130": "\u0130"}
_LOWER: Final = {"\u0130": "i", "\u212a": "k"}
_LATIN_PAIRS: Final = re.compile("[\xe0-\xf6\xf8-\xfe]")
_CASELESS: Final = re.compile("Lo|Nd|[PZ].|S[cmk]|C[cf]")


class UnknownFoldingError(ValueError):
    """What else a character matches with ``(?iu)`` is not certain."""


def single(char: str, flags: Flags) -> CharSet:
    """What a character matches.

    Raises:
        UnknownFoldingError: cases of Unicode are to be ignored, and it has odd ones.
    """
    if "i" in flags and "u" in flags:
        return of(*_folded(char))
    if "i" in flags and char.isascii():
        return of(char.lower(), char.upper())
    return of(char)


def _folded(char: str) -> str:
    lower = char.lower()
    if lower in _FOLDED:
        return _FOLDED[lower]
    if lower.isascii() or _LATIN_PAIRS.fullmatch(lower):
        return lower + lower.upper()
    if lower == char == char.upper() and _CASELESS.fullmatch(unicodedata.category(char)):
        return char
    raise UnknownFoldingError(char)


def span(first: str, last: str, flags: Flags) -> CharSet:
    """What a range matches; raises as ``single``."""
    plain = CharSet(((ord(first), ord(last)),))
    if "i" not in flags:
        return plain
    if "u" in flags and not last.isascii():
        raise UnknownFoldingError(last)
    folds = (*map(chr, range(0x80)), *(_FOLDS_TO_ASCII if "u" in flags else ""))
    return plain | of(*(char for char in folds if _falls_in(char, first, last)))


def _falls_in(char: str, first: str, last: str) -> bool:
    upper = _UPPER.get(char, char.upper())
    lower = _LOWER.get(upper, upper.lower())
    return first <= upper <= last or first <= lower <= last


def property_named(name: str, flags: Flags) -> CharSet | None:
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


def _of_kind(kind: str, value: str, flags: Flags) -> CharSet | None:
    match kind:
        case "sc" | "script":
            return _script(value)
        case "blk" | "block":
            return _BLOCKS[value.upper()]
        case "gc" | "general_category":
            return _cased(value, _OWN.get(value), flags)
        case _:
            return None


def _is(name: str, flags: Flags) -> CharSet:
    found = _BINARY.get(name.upper()) or _UNICODE_POSIX.get(name.upper()) or _OWN.get(name)
    return _cased(name, found, flags) or _script(name)


def _script(name: str) -> CharSet:
    if name.upper() not in _SCRIPTS:
        raise KeyError(name)
    return having(f"Script={name.capitalize()}")


def _cased(name: str, found: CharSet | None, flags: Flags) -> CharSet | None:
    if found is None or "i" not in flags:
        return found
    if found == having("Lt"):
        return _LETTER_WITH_CASE if name == "Lt" else _CASED
    return _ANY_CASE.get(found, found)
