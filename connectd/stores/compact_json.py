"""JSON bytes as Kafka Connect's internal converter writes them (spec kafka-connect C.1).

Compact, UTF-8, members in the order given, control characters escaped with upper-case digits and
doubles in Java's notation: source partitions are compared as bytes, so a key that we write must be
the key that a Java worker would have written.
"""

from __future__ import annotations

import math
import re

_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}
_SPECIAL = re.compile(r'["\\\x00-\x1f]')


def dumps(value: object) -> bytes:
    """The bytes of a value made of dicts with string keys, lists, strings, numbers, and None.

    Raises:
        ValueError: something else is in it, or a number or text that JSON does not know.
    """
    parts: list[str] = []
    _write(value, parts)
    return "".join(parts).encode()  # raises UnicodeEncodeError, a ValueError, for lone surrogates


def _write(value: object, parts: list[str]) -> None:
    match value:
        case None:
            parts.append("null")
        case bool():
            parts.append("true" if value else "false")
        case str():
            parts.append(_text(value))
        case int():
            parts.append(str(value))
        case float():
            parts.append(_double(value))
        case dict():
            parts.append("{")
            for position, (name, member) in enumerate(value.items()):
                if not isinstance(name, str):
                    raise ValueError(f"name of a member is {name!r}, expected text")
                parts.append(f"{',' if position else ''}{_text(name)}:")
                _write(member, parts)
            parts.append("}")
        case list() | tuple():
            parts.append("[")
            for position, member in enumerate(value):
                if position:
                    parts.append(",")
                _write(member, parts)
            parts.append("]")
        case _:
            raise ValueError(f"{type(value).__name__} cannot be written as JSON")


def _text(value: str) -> str:
    return f'"{_SPECIAL.sub(_escape, value)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _ESCAPES.get(character) or f"\\u{ord(character):04X}"


def _double(value: float) -> str:
    """As Java's ``Double.toString``: plain between 0.001 and ten million, else ``d.dE±n``."""
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be written as JSON")
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = repr(value)
        if "e" not in text:
            return text
    mantissa, _, exponent = f"{value!r}".partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    leading_zeros = len(whole + fraction) - len(digits)
    power = int(exponent or "0") + len(whole) - 1 - leading_zeros
    digits = digits.rstrip("0") or "0"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"
