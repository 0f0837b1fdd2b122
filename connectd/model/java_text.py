"""What Java's ``toString`` makes of Connect data (spec kafka-connect E.3, H.2). Pure.

Floating-point numbers follow Java 19 and later, which writes the fewest digits that tell a number
apart; for a few numbers older ones write more.
"""

from __future__ import annotations

import math
import struct
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Final

from connectd.errors import ConvertError
from connectd.model import logical
from connectd.model.schema import Schema, SchemaType, Struct

_PLAIN_NOTATION_MIN: Final = 1e-3
_PLAIN_NOTATION_END: Final = 1e7
"""Java writes floating-point numbers outside of these with an exponent."""

_SINGLE_DIGITS_MAX: Final = 9
"""So many decimal digits tell any two single-precision numbers apart (IEEE 754)."""


def double(value: float) -> str:
    """``Double.toString``."""
    if _PLAIN_NOTATION_MIN <= abs(value) < _PLAIN_NOTATION_END:
        return repr(value)  # most numbers are here, where both languages write the same
    return _floating(value, repr(value))


def single(value: float) -> str:
    """``Float.toString`` of the nearest single-precision number.

    Raises:
        ConvertError: it is out of their range.
    """
    if not math.isfinite(value):
        return _floating(value, "")
    stored = _stored_single(value)
    if stored is None:
        raise ConvertError(f"Invalid value for FLOAT32: {value} is out of range")
    (nearest,) = struct.unpack(">f", stored)
    texts = (f"{nearest:.{digits}g}" for digits in range(1, _SINGLE_DIGITS_MAX + 1))
    shortest = next(text for text in texts if _stored_single(float(text)) == stored)
    return _floating(nearest, shortest)


def _stored_single(value: float) -> bytes | None:
    try:
        return struct.pack(">f", value)
    except OverflowError:
        return None


def _floating(value: float, shortest: str) -> str:
    """A number from the shortest decimal that rounds to it.

    Java asks for two digits at least, and of those with two takes the nearest (4.9E-324 where
    Python says 5e-324).
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    number = Decimal(shortest).normalize()
    if len(number.as_tuple().digits) == 1:
        number = Decimal(f"{value:.1e}").normalize()
    if value == 0 or _PLAIN_NOTATION_MIN <= abs(value) < _PLAIN_NOTATION_END:
        text = f"{number:f}"
        return text if "." in text else f"{text}.0"
    sign, digits, _ = number.as_tuple()
    first, *others = map(str, digits)
    mantissa = f"{first}.{''.join(others) or '0'}"
    return f"{'-' if sign else ''}{mantissa}E{number.adjusted()}"


def of(schema: Schema | None, value: object) -> str:
    """``String.valueOf``: lists ``[a, b]``, maps ``{k=v}``, structs ``Struct{a=1,b=x}``.

    Raises:
        ConvertError: Java's text would be the address of an object in memory.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case float():
            is_single = schema is not None and schema.type is SchemaType.FLOAT32
            return single(value) if is_single else double(value)
        case int() | Decimal():
            return str(value)
        case list() | tuple():
            element = None if schema is None else schema.value_schema
            return f"[{', '.join(of(element, each) for each in value)}]"
        case dict():
            return f"{{{', '.join(_members(schema, value))}}}"
        case Struct():
            fields = ((field, each) for field, each in value.items() if each is not None)
            return f"Struct{{{','.join(f'{f.name}={of(f.schema, each)}' for f, each in fields)}}}"
        case date() | time():
            return moment(value).strftime("%a %b %d %H:%M:%S UTC %Y")
    raise ConvertError(
        f"{type(value).__name__} has no text form; use a converter for this type of value"
    )


def _members(schema: Schema | None, value: dict[object, object]) -> list[str]:
    keys = None if schema is None else schema.key_schema
    values = None if schema is None else schema.value_schema
    return [f"{of(keys, key)}={of(values, member)}" for key, member in value.items()]


def moment(value: date | time) -> datetime:
    """What the value is in Java, which has one class for days, times and moments: a moment."""
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return logical.moment_of(logical.ms_of_day(value))
