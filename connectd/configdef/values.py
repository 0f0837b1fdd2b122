"""Typed values of keys, and how they look in text.

Texts that clients may compare follow Java's rendering (spec kafka-connect H.2): ``null``,
``true``, ``[a, b]``. A ``Secret`` renders as ``[hidden]`` wherever it meets text; only ``reveal``
gives it away.
"""

from __future__ import annotations

import math
from typing import Final, final

from connectd.configdef.definition import ConfigType
from connectd.errors import ConfigError
from connectd.observe.redaction import HIDDEN

_JAVA_TRIMMED: Final = "".join(map(chr, range(0x21)))
_PLAIN_MIN: Final = 1e-3
_PLAIN_END: Final = 1e7


@final
class Secret:
    """A string that does not appear by accident."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The secret itself, for the one call that needs it."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return HIDDEN

    __str__ = __repr__

    def __format__(self, format_spec: str) -> str:
        return HIDDEN

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a secret is not pickled; pass the reference to it instead")


Value = bool | int | float | str | tuple[str, ...] | Secret | None
"""A parsed value; None stands for "not set, and no default"."""


def trim(text: str) -> str:
    """Java's ``String.trim``: without the characters up to U+0020 at both ends."""
    return text.strip(_JAVA_TRIMMED)


def java_text(value: object) -> str:
    """A value inside a message, as Java concatenates it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _java_double(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(java_text(element) for element in value)}]"
    return str(value)


def value_text(value: object, value_type: ConfigType | None = None) -> str | None:
    """A value as the REST API shows it (spec kafka-connect A.8): None stays None, lists are
    joined with commas, passwords are hidden."""
    if value is None:
        return None
    if value_type is ConfigType.PASSWORD:
        return HIDDEN
    if isinstance(value, tuple | list):
        return ",".join(java_text(element) for element in value)
    return java_text(value)


def invalid_value(name: str, value: object, detail: str | None = None) -> ConfigError:
    """The error of a value that its key does not take, in Kafka's words."""
    text = f"Invalid value {java_text(value)} for configuration {name}"
    return ConfigError(f"{text}: {detail}" if detail else text)


def _java_double(number: float) -> str:
    """``Double.toString``: always a fraction, and an exponent outside of 10^-3 .. 10^7."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0 or _PLAIN_MIN <= abs(number) < _PLAIN_END:
        plain = repr(number)
        return plain if "." in plain else f"{plain}.0"
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = f"{abs(number)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading = len(whole) - 1 if whole != "0" else -(len(fraction) - len(fraction.lstrip("0")) + 1)
    power = leading + int(exponent or "0")
    kept = digits[1:].rstrip("0") or "0"
    return f"{sign}{digits[0]}.{kept}E{power}"
