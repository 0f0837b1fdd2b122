"""The messages that stand for Connect's logical types: decimals, days, times, moments. Pure.

Each is written and read here; their numbers are those of ``confluent/type/decimal.proto``,
``google/type`` and ``google/protobuf/timestamp.proto``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, time
from decimal import Context, Decimal
from typing import Any, Final

from connectd.converters import protobuf_layout as layout
from connectd.converters import protobuf_wire as wire
from connectd.errors import ConvertError
from connectd.model import logical
from connectd.model.schema import Schema, SchemaType

_MS: Final = 1000
_NANOS_PER_MS: Final = 1_000_000
_SCALE_MAX: Final = 100_000
"""Digits after the point that are believed: a message of few bytes may name two billion."""

_EXACT: Final = Context(prec=1_000_000)
_STORED: Final = {
    logical.DATE: SchemaType.INT32,
    logical.TIME: SchemaType.INT32,
    logical.TIMESTAMP: SchemaType.INT64,
}

TYPES: Final = {message: name for name, (message, _) in layout.LOGICAL.items()}
"""Names of the schemas by those of the messages."""


def write(schema: Schema) -> Callable[[Any], bytes]:
    """The function for values of a logical schema: the content of their message."""
    return _WRITING[schema.name or ""]


def read(schema: Schema) -> Callable[[bytes], object]:
    """The function for messages of a logical schema; it raises ``ConvertError`` for others."""
    decode = _READING[schema.name or ""]
    return lambda content: decode(schema, content)


def schema_of(name: str, params: Mapping[str, str]) -> Schema:
    """The schema of that name, with what ``field_meta`` says of a decimal.

    Raises:
        ConvertError: the scale is no number.
    """
    if name != logical.DECIMAL:
        return Schema(_STORED[name], name=name, version=1)
    parameters = {"scale": params.get("scale", "0")}
    if "precision" in params:
        parameters[layout.PRECISION] = params["precision"]
    found = Schema(SchemaType.BYTES, name=name, version=1, parameters=tuple(parameters.items()))
    if abs(logical.scale_of(found)) > _SCALE_MAX:
        raise ConvertError(f"the scale of a decimal is {params['scale']}")
    return found


def _write_decimal(value: Decimal) -> bytes:
    exponent = int(value.as_tuple().exponent)
    unscaled = logical.to_stored(logical.decimal_schema(-exponent), value)
    if not isinstance(unscaled, bytes):
        raise ConvertError(f"{value} is no decimal number")
    precision = len(value.as_tuple().digits)
    return _written((1, wire.delimited(unscaled)), (2, precision), (3, -exponent))


def _read_decimal(schema: Schema, content: bytes) -> Decimal:
    """A message says its own scale; it becomes the schema's, where no digit is lost by it."""
    found = _found(content)
    unscaled = int.from_bytes(found.get((1, wire.LENGTH), b""), "big", signed=True)
    scale, own_scale = logical.scale_of(schema), _integer(found, 3)
    if abs(own_scale) > _SCALE_MAX:
        raise ConvertError(f"the scale of a decimal is {own_scale}")
    if scale >= own_scale:
        unscaled *= 10 ** (scale - own_scale)
    else:
        unscaled, rest = divmod(unscaled, 10 ** (own_scale - scale))
        if rest:
            raise ConvertError(
                f"a decimal has {own_scale} digits after the point, and its schema {scale}"
            )
    return Decimal(unscaled).scaleb(-scale, _EXACT)


def _write_date(value: date) -> bytes:
    return _written((1, value.year), (2, value.month), (3, value.day))


def _read_date(schema: Schema, content: bytes) -> date:
    found = _found(content)
    year, month, day = (_integer(found, number) for number in (1, 2, 3))
    try:
        return date(year, month, day)
    except ValueError as error:
        raise ConvertError(f"{year}-{month}-{day} is no date: {error}") from error


def _write_time(value: time) -> bytes:
    nanos = value.microsecond // _MS * _NANOS_PER_MS
    return _written((1, value.hour), (2, value.minute), (3, value.second), (4, nanos))


def _read_time(schema: Schema, content: bytes) -> object:
    found = _found(content)
    hours, minutes, seconds, nanos = (_integer(found, number) for number in (1, 2, 3, 4))
    ms = ((hours * 60 + minutes) * 60 + seconds) * _MS + nanos // _NANOS_PER_MS
    return logical.from_stored(schema, ms)


def _write_timestamp(value: Any) -> bytes:
    seconds, ms = divmod(logical.epoch_ms(value), _MS)
    return _written((1, seconds), (2, ms * _NANOS_PER_MS))


def _read_timestamp(schema: Schema, content: bytes) -> object:
    found = _found(content)
    seconds, nanos = _integer(found, 1, "int64"), _integer(found, 2)
    return logical.moment_of(seconds * _MS + nanos // _NANOS_PER_MS)


def _written(*fields: tuple[int, int | bytes]) -> bytes:
    """A message of integers, and of bytes that have their length already."""
    found = b""
    for number, value in fields:
        if isinstance(value, bytes):
            found += wire.tag(number, wire.LENGTH) + value
        elif value:
            found += wire.tag(number, wire.VARINT) + wire.varint(value)
    return found


def _found(content: bytes) -> dict[tuple[int, int], Any]:
    """What a message has in it, by number and wire type; the last one counts."""
    return {(number, wire_type): raw for number, wire_type, raw in wire.fields(content)}


def _integer(found: dict[tuple[int, int], Any], number: int, kind: str = "int32") -> int:
    value: int = wire.READING[kind].read(found.get((number, wire.VARINT), 0))
    return value


_WRITING: Final[dict[str, Callable[[Any], bytes]]] = {
    logical.DECIMAL: _write_decimal,
    logical.DATE: _write_date,
    logical.TIME: _write_time,
    logical.TIMESTAMP: _write_timestamp,
}
_READING: Final[dict[str, Callable[[Schema, bytes], object]]] = {
    logical.DECIMAL: _read_decimal,
    logical.DATE: _read_date,
    logical.TIME: _read_time,
    logical.TIMESTAMP: _read_timestamp,
}
