"""Java's bracket expressions, escapes and properties, read as sets of characters.

Java's grammar of brackets, as its parser reads them: what stands on the left of ``&&`` is one
union; on the right come bracketed sets, and at most one bare rest, which reaches to the end with
every further ``&&`` in it. A single ``&`` behind a bracketed right side has a meaning in Java that
nobody expects, and is refused.
"""

from __future__ import annotations

import unicodedata
from typing import Final

from connectd.model import java_regex_characters as characters
from connectd.model.java_regex_scanner import Scanner
from connectd.model.java_regex_sets import CharSet

DEPTH_MAX: Final = 40
"""Sets and groups inside of each other; each takes some frames of Python's stack."""

_CODES: Final = {"a": "\a", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX: Final = "0123456789abcdefABCDEF"
_OCTAL: Final = "01234567"


def bracketed(scanner: Scanner, flags: characters.Flags, depth: int = 0) -> CharSet:
    """A set; the scanner stands before ``[``."""
    if depth > DEPTH_MAX:
        raise scanner.unsupported(
            f"more than {DEPTH_MAX} sets inside of each other", "fewer brackets"
        )
    scanner.take()
    is_negated = scanner.peek() == "^" and scanner.previous == "["
    if is_negated:
        scanner.take()
    inside = _set(scanner, flags, depth)
    scanner.take()
    return ~inside if is_negated else inside


def _set(scanner: Scanner, flags: characters.Flags, depth: int) -> CharSet:
    """All up to the ``]`` that ends it."""
    found: CharSet | None = None
    while (char := scanner.peek()) != "]" or found is None:
        if not char:
            raise scanner.invalid("the end in a set", "']'")
        if char == "[":
            found = _union(found, bracketed(scanner, flags, depth + 1))
        elif char == "&" and _takes_ands(scanner):
            right = _right_side(scanner, flags, depth)
            found = right if found is None else found & right
        else:
            found = _union(found, _member(scanner, flags))
    return found


def _union(found: CharSet | None, more: CharSet) -> CharSet:
    return more if found is None else found | more


def _takes_ands(scanner: Scanner) -> bool:
    if not scanner.follows("&&"):
        return False
    scanner.take()
    scanner.take()
    return True


def _right_side(scanner: Scanner, flags: characters.Flags, depth: int) -> CharSet:
    found: CharSet | None = None
    while (char := scanner.peek()) not in ("]", "&"):
        if not char:
            raise scanner.invalid("the end in a set", "']'")
        if char == "[":
            found = _union(found, bracketed(scanner, flags, depth + 1))
        else:
            found = _union(found, _set(scanner, flags, depth))
    if found is None:
        raise scanner.unsupported("&& with nothing behind it", "a set; write \\& for the sign")
    if scanner.peek() == "&" and not scanner.follows("&&"):
        raise scanner.unsupported("& behind a set behind &&", "]; write \\& inside of the brackets")
    return found


def _member(scanner: Scanner, flags: characters.Flags) -> CharSet:
    """A character, a range, or a set that an escape stands for."""
    char = scanner.take()
    if char == "&":
        scanner.peek_inside()  # blanks before a second one
    if char == "\\":
        letter = scanner.take_escaped()
        found = named_set(scanner, letter, flags)
        if found is not None:
            if letter == "v" and scanner.follows("-"):
                raise scanner.unsupported("\\v before -", "\\x0B, which it means there")
            return found
        char = escaped(scanner, letter)
    if scanner.peek() != "-" or scanner.follows("-[") or scanner.follows("-]"):
        return single(scanner, char, flags)
    scanner.take()
    last = scanner.take_inside()
    if last == "\\":
        last = _range_end(scanner)
    if last < char:
        raise scanner.invalid(
            f"a range from {scanner.shown(char)} to {scanner.shown(last)}", "the lower one first"
        )
    _refuse_halves(scanner, char, last)
    try:
        return characters.span(char, last, flags)
    except characters.UnknownFoldingError:
        raise scanner.unsupported("a range with (?iu)", "a range of ASCII, or no (?u)") from None


def _range_end(scanner: Scanner) -> str:
    letter = scanner.take_escaped()
    if letter == "v":
        return "\x0b"
    if letter in "pP" or letter.lower() in characters.ESCAPES:
        raise scanner.invalid(f"\\{letter} at the end of a range", "a character")
    return escaped(scanner, letter)


def single(scanner: Scanner, char: str, flags: characters.Flags) -> CharSet:
    """What a character stands for."""
    _refuse_halves(scanner, char)
    try:
        return characters.single(char, flags)
    except characters.UnknownFoldingError:
        raise scanner.unsupported(
            f"{scanner.shown(char)} with (?iu)", "its forms in brackets, behind (?-iu)"
        ) from None


def _refuse_halves(scanner: Scanner, *chars: str) -> None:
    if any("\ud800" <= char <= "\udfff" for char in chars):
        raise scanner.unsupported("half of a surrogate pair", "the whole character")


def named_set(scanner: Scanner, letter: str, flags: characters.Flags) -> CharSet | None:
    """The set that a backslash and this letter stand for; None: they stand for none."""
    if letter in ("p", "P"):
        return _property(scanner, flags, is_negated=letter == "P")
    pair = characters.ESCAPES.get(letter.lower())
    if pair is None or not letter:
        return None
    found = pair["U" in flags]
    return found if letter.islower() else ~found


def _property(scanner: Scanner, flags: characters.Flags, *, is_negated: bool) -> CharSet:
    name = scanner.take_inside()
    if name == "{":
        name = scanner.take_until("}", "a property")
    try:
        found = characters.property_named(name, flags) if name else None
    except KeyError:
        raise scanner.unsupported(
            f"the property {name}", "one of the documented ones, or its characters in brackets"
        ) from None
    if found is None:
        raise scanner.invalid(f"the property {name!r}", "one of Java's, like \\p{Alpha} or \\p{L}")
    return ~found if is_negated else found


def escaped(scanner: Scanner, letter: str) -> str:
    """The character that a backslash and this letter stand for."""
    match letter:
        case "":
            raise scanner.invalid("a backslash at the end", "what it escapes; write \\\\ for it")
        case "0":
            return _octal(scanner)
        case "x":
            return _hexadecimal(scanner)
        case "u":
            return _utf16(scanner)
        case "c":
            char = scanner.take_inside()
            if not char:
                raise scanner.invalid("\\c at the end", "the letter of a control character")
            return chr(ord(char) ^ 64)
        case "N":
            return _named(scanner)
        case _ if letter in _CODES:
            return _CODES[letter]
        case _ if letter.isascii() and letter.isalnum():
            raise scanner.invalid(
                f"\\{letter}", "an escape of Java; a letter for itself has no backslash"
            )
        case _:
            return letter


def _octal(scanner: Scanner) -> str:
    digits = ""
    while len(digits) < (2 if digits[:1] > "3" else 3):
        char = scanner.peek_inside()
        if not char or char not in _OCTAL:
            break
        digits += scanner.take_inside()
    if not digits:
        raise scanner.invalid("\\0 without digits", "\\0 and one to three octal digits")
    return chr(int(digits, 8))


def _hexadecimal(scanner: Scanner) -> str:
    if scanner.peek_inside() != "{":
        return chr(_digits(scanner, 2, "\\x"))
    scanner.take_inside()
    digits = scanner.take_until("}", "\\x{")
    if not digits or any(char not in _HEX for char in digits):
        raise scanner.invalid(f"\\x{{{digits}}}", "hexadecimal digits")
    if int(digits, 16) > 0x10FFFF:
        raise scanner.invalid(f"\\x{{{digits}}}", "at most \\x{10FFFF}")
    return chr(int(digits, 16))


def _utf16(scanner: Scanner) -> str:
    code = _digits(scanner, 4, "\\u")
    if 0xD800 <= code <= 0xDBFF and scanner.follows("\\u"):
        scanner.take_inside()
        scanner.take_inside()
        low = _digits(scanner, 4, "\\u")
        if 0xDC00 <= low <= 0xDFFF:
            return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
        raise scanner.unsupported("half of a surrogate pair", "the whole character")
    return chr(code)


def _digits(scanner: Scanner, count: int, what: str) -> int:
    digits = ""
    while len(digits) < count:
        char = scanner.take_inside()
        if not char or char not in _HEX:
            raise scanner.invalid(
                f"{what}{digits} before {scanner.shown(char)}", f"{count} hexadecimal digits"
            )
        digits += char
    return int(digits, 16)


def _named(scanner: Scanner) -> str:
    if scanner.take_inside() != "{":
        raise scanner.invalid("\\N", "\\N{name of a character}")
    name = scanner.take_until("}", "\\N{")
    try:
        char = unicodedata.lookup(name)
    except KeyError:
        raise scanner.unsupported(f"\\N{{{name}}}", "the character itself, or \\x{...}") from None
    if len(char) != 1 or unicodedata.name(char, "") != name.upper():
        raise scanner.unsupported(f"\\N{{{name}}}", "the character itself, or \\x{...}")
    return char
