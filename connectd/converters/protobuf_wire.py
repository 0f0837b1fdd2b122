"""Protobuf's wire format: how numbers and lengths are written, and nothing about schemas. Pure."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

VARINT: Final = 0
EIGHT_BYTES: Final = 1
LENGTH: Final = 2
FOUR_BYTES: Final = 5

_MASK: Final = (1 << 64) - 1


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
