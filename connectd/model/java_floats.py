"""Single-precision numbers, which Python lacks: doubles that a float of Java can hold. Pure."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Final

_DROPPED_BITS: Final = 0x1FFF_FFFF
_HALF_WAY: Final = 0x1000_0000
"""Of a double's bits, those that a single drops, and their value half-way between two singles."""


def double(number: float | Decimal) -> float:
    """The nearest double, infinite where the number is out of range."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def single(number: float | Decimal) -> float:
    """The nearest single-precision number, infinite where the number is out of range.

    Rounded once: a number that becomes a double half-way between two singles goes to the one that
    it is nearer to.
    """
    nearest = double(number)
    (bits,) = struct.unpack(">Q", struct.pack(">d", nearest))
    if bits & _DROPPED_BITS == _HALF_WAY and nearest != number:
        nearest = math.nextafter(nearest, math.inf if nearest < number else -math.inf)
    try:
        (rounded,) = struct.unpack(">f", struct.pack(">f", nearest))
    except OverflowError:
        return math.copysign(math.inf, nearest)
    return float(rounded)
