"""Logical types: schemas whose name gives their values a richer type (spec kafka-connect E.1).

| schema name | stored as | Python value |
|---|---|---|
| ``org.apache.kafka.connect.data.Decimal`` | BYTES, big-endian unscaled | ``decimal.Decimal`` |
| ``org.apache.kafka.connect.data.Date`` | INT32, days since 1970 | ``datetime.date`` |
| ``org.apache.kafka.connect.data.Time`` | INT32, ms since midnight | ``datetime.time`` |
| ``org.apache.kafka.connect.data.Timestamp`` | INT64, ms since 1970 | aware ``datetime``, UTC |

Java has one class for the last three; here the type alone tells them apart. Times are kept to the
millisecond, since that is what goes over the wire.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from typing import Final

from connectd.errors import ConvertError
from connectd.model import java_types
from connectd.model.schema import Schema, SchemaType

_PACKAGE: Final = "org.apache.kafka.connect.data."
DECIMAL: Final = f"{_PACKAGE}Decimal"
DATE: Final = f"{_PACKAGE}Date"
TIME: Final = f"{_PACKAGE}Time"
TIMESTAMP: Final = f"{_PACKAGE}Timestamp"

MS_PER_DAY: Final = 86_400_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = date(1970, 1, 1)
_MS: Final = timedelta(milliseconds=1)
_EXACT: Final = Context(prec=1_000_000)

OPTIONAL_TIMESTAMP: Final = Schema(SchemaType.INT64, optional=True, name=TIMESTAMP, version=1)


def decimal_schema(scale: int, *, optional: bool = False) -> Schema:
    """The schema of decimals with so many digits after the point."""
    return Schema(
        SchemaType.BYTES,
        optional,
        DECIMAL,
        version=1,
        parameters=(("scale", str(scale)),),
    )


def date_schema(*, optional: bool = False) -> Schema:
    """The schema of calendar days."""
    return Schema(SchemaType.INT32, optional, DATE, version=1)


def time_schema(*, optional: bool = False) -> Schema:
    """The schema of times of day."""
    return Schema(SchemaType.INT32, optional, TIME, version=1)


def timestamp_schema(*, optional: bool = False) -> Schema:
    """The schema of moments."""
    return Schema(SchemaType.INT64, optional, TIMESTAMP, version=1)


def to_stored(schema: Schema, value: object) -> object:
    """The value in the schema's own type: what a converter writes.

    A value of a schema that is not logical comes back as it is.

    Raises:
        ConvertError: the value is not one of this logical type; in Kafka's words.
    """
    encode = _TO_STORED.get(schema.name or "")
    return value if encode is None or value is None else encode(schema, value)


def from_stored(schema: Schema, value: object) -> object:
    """The logical value of a stored one; the value itself for other schemas.

    Raises:
        ConvertError: the stored value is none of this logical type.
    """
    decode = _FROM_STORED.get(schema.name or "")
    return value if decode is None or value is None else decode(schema, value)


def is_logical(schema: Schema | None) -> bool:
    """Whether the schema's name gives its values another type."""
    return schema is not None and schema.name in _TO_STORED


def epoch_ms(moment: datetime) -> int:
    """Milliseconds since 1970, rounded down."""
    return (moment - _EPOCH) // _MS


def moment_of(ms: int) -> datetime:
    """The moment so many milliseconds after 1970.

    Raises:
        ConvertError: outside of the years 1 to 9999, which Python can tell.
    """
    try:
        return _EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        raise ConvertError(f"the timestamp {ms} is outside of the years 1 to 9999") from None


def ms_of_day(value: time) -> int:
    """Milliseconds since midnight."""
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 1000 + value.microsecond // 1000


def time_of(ms: int) -> time:
    """The time of day so many milliseconds after midnight; ``ms`` is below a day."""
    return (_EPOCH + timedelta(milliseconds=ms)).time()


def scale_of(schema: Schema) -> int:
    """Digits after the point of a decimal schema.

    Raises:
        ConvertError: its parameter is missing or no number.
    """
    text = schema.parameter("scale")
    if text is None:
        raise ConvertError("Invalid Decimal schema: scale parameter not found.")
    try:
        return int(text)
    except ValueError:
        raise ConvertError("Invalid scale parameter found in Decimal schema: ") from None


def _decimal_to_bytes(schema: Schema, value: object) -> bytes:
    if not isinstance(value, Decimal):
        raise ConvertError(f"Invalid type for Decimal, expected BigDecimal but was {_kind(value)}")
    scale, found = scale_of(schema), -int(value.as_tuple().exponent)
    if found != scale:
        raise ConvertError(
            "Decimal value has mismatching scale for given Decimal schema. Schema has scale "
            f"{scale}, value has scale {found}."
        )
    unscaled = int(value.scaleb(scale, _EXACT))
    length = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return unscaled.to_bytes(length, "big", signed=True)


def _decimal_from_bytes(schema: Schema, value: object) -> Decimal:
    if not isinstance(value, bytes):
        raise ConvertError("Invalid bytes for Decimal field")
    unscaled = int.from_bytes(value, "big", signed=True)
    return Decimal(unscaled).scaleb(-scale_of(schema), _EXACT)


def _date_to_days(schema: Schema, value: object) -> int:
    if isinstance(value, datetime) or not isinstance(value, date):
        raise ConvertError(f"Invalid type for Date, expected Date but was {_kind(value)}")
    return (value - _EPOCH_DAY).days


def _time_to_ms(schema: Schema, value: object) -> int:
    if not isinstance(value, time):
        raise ConvertError(f"Invalid type for Time, expected Date but was {_kind(value)}")
    return ms_of_day(value)


def _timestamp_to_ms(schema: Schema, value: object) -> int:
    if not isinstance(value, datetime):
        raise ConvertError(f"Invalid type for Timestamp, expected Date but was {_kind(value)}")
    return epoch_ms(value)


def _days_to_date(schema: Schema, value: object) -> date:
    try:
        return _EPOCH_DAY + timedelta(days=_integer(schema, value))
    except OverflowError:
        raise ConvertError(f"the date {value} is outside of the years 1 to 9999") from None


def _ms_to_time(schema: Schema, value: object) -> time:
    ms = _integer(schema, value)
    if not 0 <= ms < MS_PER_DAY:
        raise ConvertError(
            "Time values must use number of milliseconds greater than 0 and less than 86400000"
        )
    return time_of(ms)


def _ms_to_timestamp(schema: Schema, value: object) -> datetime:
    return moment_of(_integer(schema, value))


def _integer(schema: Schema, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConvertError(f"Invalid type for {schema.type.name}: {_kind(value)}")
    return value


def _kind(value: object) -> str:
    if isinstance(value, date | time):  # Java has one class for them all, which says nothing
        return type(value).__name__
    return f"class {java_types.class_name(value)}"


_TO_STORED: Final[dict[str, Callable[[Schema, object], object]]] = {
    DECIMAL: _decimal_to_bytes,
    DATE: _date_to_days,
    TIME: _time_to_ms,
    TIMESTAMP: _timestamp_to_ms,
}
_FROM_STORED: Final[dict[str, Callable[[Schema, object], object]]] = {
    DECIMAL: _decimal_from_bytes,
    DATE: _days_to_date,
    TIME: _ms_to_time,
    TIMESTAMP: _ms_to_timestamp,
}
