"""Protobuf's wire format: how numbers and lengths are written, and nothing about schemas. Pure.

What was written with another schema is read by wire types alone: whoever reads leaves out the
fields that it does not know.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from connectd.errors import ConvertError

VARINT: Final = 0
EIGHT_BYTES: Final = 1
LENGTH: Final = 2
FOUR_BYTES: Final = 5

NUMBER_MAX: Final = (1 << 29) - 1
"""Of a field."""

_MASK: Final = (1 << 64) - 1
_VARINT_BYTES_MAX: Final = 10
_FIXED_BYTES: Final = {EIGHT_BYTES: 8, FOUR_BYTES: 4}


def varint(number: int) -> bytes:
    """Seven bits to a byte, the lowest first; negative numbers have ten bytes."""
    rest = number & _MASK
    if rest < 0x80:
        return bytes((rest,))
    found = bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    found.append(rest)
    return bytes(found)


def zigzag(number: int) -> bytes:
    """A varint in which negative numbers near zero are short."""
    return varint((number << 1) ^ (number >> 63))


def tag(number: int, wire_type: int) -> bytes:
    """What stands in front of a field."""
    return varint(number << 3 | wire_type)


def delimited(content: bytes) -> bytes:
    """With its length in front."""
    return varint(len(content)) + content


def text(value: str) -> bytes:
    """UTF-8 with its length."""
    return delimited(value.encode("utf-8"))


def _packed(layout: str) -> Callable[[Any], bytes]:
    return struct.Struct(layout).pack


SCALARS: Final[dict[str, tuple[int, Callable[[Any], bytes]]]] = {
    "int32": (VARINT, varint),
    "int64": (VARINT, varint),
    "uint32": (VARINT, varint),
    "uint64": (VARINT, varint),
    "sint32": (VARINT, zigzag),
    "sint64": (VARINT, zigzag),
    "bool": (VARINT, varint),
    "fixed32": (FOUR_BYTES, lambda number: (number & 0xFFFFFFFF).to_bytes(4, "little")),
    "sfixed32": (FOUR_BYTES, _packed("<i")),
    "float": (FOUR_BYTES, _packed("<f")),
    "fixed64": (EIGHT_BYTES, lambda number: (number & _MASK).to_bytes(8, "little")),
    "sfixed64": (EIGHT_BYTES, _packed("<q")),
    "double": (EIGHT_BYTES, _packed("<d")),
    "string": (LENGTH, text),
    "bytes": (LENGTH, delimited),
}
"""Wire type and encoding of each scalar."""


def read_varint(data: bytes, at: int = 0) -> tuple[int, int]:
    """The number that stands there, without sign, and where the next thing stands.

    Raises:
        ConvertError: the data end within it, or it is longer than any number.
    """
    if at < len(data) and data[at] < 0x80:  # as most are
        return data[at], at + 1
    found = 0
    for place, byte in enumerate(data[at : at + _VARINT_BYTES_MAX]):
        found |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return found & _MASK, at + place + 1
    if len(data) - at < _VARINT_BYTES_MAX:
        raise _ends_early(at)
    raise ConvertError(f"the number at byte {at} of a message has no end")


def read_zigzag(data: bytes, at: int = 0) -> tuple[int, int]:
    """As ``read_varint``, of what ``zigzag`` writes."""
    found, end = read_varint(data, at)
    return _unzigzag(found), end


def fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """The number, wire type and raw value of each field, in their order.

    A raw value is an ``int`` without sign for ``VARINT``, and bytes for everything else.

    Raises:
        ConvertError: the data are no message: they end early, or have what no message has.
    """
    at = 0
    while at < len(data):
        begin = at
        head, at = read_varint(data, at)
        number, wire_type = head >> 3, head & 7
        if not 0 < number <= NUMBER_MAX:
            raise ConvertError(f"byte {begin} of a message begins a field with number {number}")
        if wire_type == VARINT:
            raw, at = read_varint(data, at)
            yield number, wire_type, raw
            continue
        if wire_type == LENGTH:
            size, at = read_varint(data, at)
        elif wire_type in _FIXED_BYTES:
            size = _FIXED_BYTES[wire_type]
        else:
            raise ConvertError(
                f"byte {begin} of a message begins a field of wire type {wire_type}; groups are "
                "not supported"
            )
        end = at + size
        if end > len(data):
            raise _ends_early(begin)
        yield number, wire_type, data[at:end]
        at = end


def unpacked(wire_type: int, data: bytes) -> Iterator[Any]:
    """The raw values of a list of scalars that stand one after another in one field.

    Raises:
        ConvertError: the data end within one of them.
    """
    at = 0
    while at < len(data):
        if wire_type == VARINT:
            raw, at = read_varint(data, at)
            yield raw
            continue
        end = at + _FIXED_BYTES[wire_type]
        if end > len(data):
            raise _ends_early(at)
        yield data[at:end]
        at = end


class Scalar(NamedTuple):
    """How a scalar is read: its wire type, its raw value's meaning, and what it is when absent."""

    wire_type: int
    read: Callable[[Any], Any]
    zero: Any


def _ends_early(begin: int) -> ConvertError:
    return ConvertError(f"the message ends within what begins at its byte {begin}")


def _signed(bits: int) -> Callable[[int], int]:
    sign, mask = 1 << bits - 1, (1 << bits) - 1
    return lambda raw: ((raw & mask) ^ sign) - sign


def _unzigzag(raw: int) -> int:
    return (raw >> 1) ^ -(raw & 1)


def _fixed(layout: str) -> Callable[[bytes], Any]:
    unpack = struct.Struct(layout).unpack
    return lambda raw: unpack(raw)[0]


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConvertError(f"a text of a message is no UTF-8: {error.reason}") from error


READING: Final = {
    "int32": Scalar(VARINT, _signed(32), 0),
    "int64": Scalar(VARINT, _signed(64), 0),
    "uint32": Scalar(VARINT, lambda raw: raw & 0xFFFFFFFF, 0),
    "uint64": Scalar(VARINT, _signed(64), 0),
    "sint32": Scalar(VARINT, lambda raw: _unzigzag(raw & 0xFFFFFFFF), 0),
    "sint64": Scalar(VARINT, _unzigzag, 0),
    "bool": Scalar(VARINT, bool, False),
    "fixed32": Scalar(FOUR_BYTES, _fixed("<I"), 0),
    "sfixed32": Scalar(FOUR_BYTES, _fixed("<i"), 0),
    "float": Scalar(FOUR_BYTES, _fixed("<f"), 0.0),
    "fixed64": Scalar(EIGHT_BYTES, _fixed("<q"), 0),
    "sfixed64": Scalar(EIGHT_BYTES, _fixed("<q"), 0),
    "double": Scalar(EIGHT_BYTES, _fixed("<d"), 0.0),
    "string": Scalar(LENGTH, _text, ""),
    "bytes": Scalar(LENGTH, bytes, b""),
}
"""Each scalar as Java has it: 64 bits without sign are taken for a number that has one."""
