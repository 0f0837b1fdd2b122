"""Numbers as Java narrows and parses them (spec kafka-connect F.2 Cast, H.2). Pure."""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation
from typing import Final

from connectd.configdef import values
from connectd.model.schema import SchemaType

BITS: Final = {
    SchemaType.INT8: 8,
    SchemaType.INT16: 16,
    SchemaType.INT32: 32,
    SchemaType.INT64: 64,
}
"""Width of the integer types."""

_INTEGER: Final = re.compile(r"[+-]?\d+")
_DECIMAL: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,10})?")
_HEXADECIMAL: Final = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+[fFdD]?", re.ASCII
)
_FLOATING: Final = re.compile(
    r"[+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?)", re.ASCII
)


def narrowed(value: float | Decimal, bits: int) -> int:
    """A number as an integer of so many bits: what does not fit wraps around.

    A fraction is cut off. A floating-point number first stops at the ends of the range of int (of
    long for 64 bits), as Java's conversions do.
    """
    if isinstance(value, float):
        whole = _whole(value, 64 if bits == 64 else 32)
    elif isinstance(value, Decimal) and int(value.as_tuple().exponent) >= 64:
        whole = 0  # its lowest 64 bits, without writing it out
    else:
        whole = 0 if isinstance(value, Decimal) and value.adjusted() < 0 else int(value)
    wrapped = whole & ((1 << bits) - 1)
    return wrapped - (1 << bits) if wrapped >> (bits - 1) else wrapped


def _whole(value: float, bits: int) -> int:
    if math.isnan(value):
        return 0
    end = 1 << (bits - 1)
    if math.isinf(value):
        return end - 1 if value > 0 else -end
    return max(-end, min(end - 1, int(value)))


def parse_integer(text: str, bits: int) -> int:
    """``Long.parseLong`` and its kin: sign and digits, in range, nothing around them.

    Raises:
        ValueError: it is no such number.
    """
    number = int(text) if _INTEGER.fullmatch(text) else None
    if number is None or not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(f"{text} is not a number of {bits} bits")
    return number


def parse_number(text: str) -> Decimal:
    """``new BigDecimal``: the digits as they are; what is no number there is none here.

    Raises:
        ValueError: it is no number.
    """
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"{text} is not a number")
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text} is out of range") from None


def parse_floating(text: str) -> float:
    """``Double.parseDouble``: blanks around it and a type letter behind it are fine.

    Raises:
        ValueError: it is no number.
    """
    trimmed = values.trim(text)
    if _HEXADECIMAL.fullmatch(trimmed):
        try:
            return float.fromhex(trimmed.rstrip("fFdD"))
        except OverflowError:
            return -math.inf if trimmed.startswith("-") else math.inf
    if not _FLOATING.fullmatch(trimmed):
        raise ValueError(f"{text} is not a number")
    if trimmed.endswith(("NaN", "Infinity")):
        return float(trimmed)
    return float(trimmed.rstrip("fFdD"))
