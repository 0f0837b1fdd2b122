"""Protobuf files from their descriptors, which some registries keep instead of the text. Pure.

A descriptor is a message of ``google/protobuf/descriptor.proto`` in base64, which a compiler makes
of a file. Clients that have compiled classes alone register it, and a registry may keep it as it
is. Numbers below are that file's.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, Final

from connectd.converters import protobuf_wire as wire
from connectd.converters.protobuf_file import Enum, ProtoField, ProtoFile, ProtoMessage
from connectd.errors import ConvertError

_BASE64: Final = re.compile(r"[A-Za-z0-9+/\s]+[=\s]*", re.ASCII)
_TYPES: Final = {
    1: "double",
    2: "float",
    3: "int64",
    4: "uint64",
    5: "int32",
    6: "fixed64",
    7: "fixed32",
    8: "bool",
    9: "string",
    12: "bytes",
    13: "uint32",
    15: "sfixed32",
    16: "sfixed64",
    17: "sint32",
    18: "sint64",
}
_NAMED_TYPES: Final = (11, 14)  # messages and enums
_REPEATED: Final = 3
_FIELD_META: Final = 1088
_DEPTH_MAX: Final = 64
"""Messages inside of messages."""


def is_descriptor(text: str) -> bool:
    """Whether a schema is one, and not the text of a file, which has quotes and semicolons."""
    return _BASE64.fullmatch(text) is not None


def parsed(text: str) -> ProtoFile:
    """The file of a descriptor.

    Raises:
        ConvertError: it is none, or none of proto3.
    """
    try:
        file = _Parts(base64.b64decode(text))
    except binascii.Error as error:
        raise ConvertError(f"the schema is neither text nor base64: {error}") from error
    syntax = file.text(12) or "proto2"
    if syntax != "proto3":
        raise ConvertError(f"the schema is {syntax}, which is not supported; expected proto3")
    found = ProtoFile(file.text(2), imports=set(file.texts(3)))
    for each in file.parts(4):
        _add_message(found.messages, each, 1)
    for each in file.parts(5):
        _add_enum(found.enums, each)
    return found


class _Parts:
    """The fields of a message by their numbers and wire types."""

    def __init__(self, data: bytes) -> None:
        self._found: dict[tuple[int, int], list[Any]] = {}
        for number, wire_type, raw in wire.fields(data):
            self._found.setdefault((number, wire_type), []).append(raw)

    def parts(self, number: int) -> list[_Parts]:
        """The messages under a number."""
        return [_Parts(raw) for raw in self._found.get((number, wire.LENGTH), ())]

    def texts(self, number: int) -> list[str]:
        """The texts under a number."""
        read = wire.READING["string"].read
        return [read(raw) for raw in self._found.get((number, wire.LENGTH), ())]

    def text(self, number: int) -> str:
        """The last text under a number."""
        return (self.texts(number) or [""])[-1]

    def integer(self, number: int) -> int | None:
        """The last number under a number."""
        raws = self._found.get((number, wire.VARINT))
        if raws is None:
            return None
        found: int = wire.READING["int32"].read(raws[-1])
        return found


def _add_message(messages: dict[str, ProtoMessage], parts: _Parts, depth: int) -> None:
    if depth > _DEPTH_MAX:
        raise ConvertError(f"the schema has more than {_DEPTH_MAX} messages inside of one another")
    one_ofs = [each.text(1) for each in parts.parts(8)]
    found = ProtoMessage(parts.text(1), [_field(each, one_ofs) for each in parts.parts(2)])
    for each in parts.parts(3):
        _add_message(found.messages, each, depth + 1)
    for each in parts.parts(4):
        _add_enum(found.enums, each)
    found.is_map_entry = any(options.integer(7) for options in parts.parts(7))
    messages[found.name] = found


def _field(parts: _Parts, one_ofs: list[str]) -> ProtoField:
    name, number = parts.text(1), parts.integer(3) or 0
    kind = parts.integer(5) or 0
    if not 0 < number <= wire.NUMBER_MAX or (kind not in _TYPES and kind not in _NAMED_TYPES):
        raise ConvertError(f"the field {name} has the number {number} and is of type {kind}")
    is_marked = bool(parts.integer(17))
    position = None if is_marked else parts.integer(9)
    if position is not None and not 0 <= position < len(one_ofs):
        raise ConvertError(f"the field {name} is of a choice that its message has not")
    label = "repeated" if parts.integer(4) == _REPEATED else "optional" if is_marked else ""
    return ProtoField(
        name,
        number,
        _TYPES.get(kind) or parts.text(6),
        label,
        {
            pair.text(1): pair.text(2)
            for options in parts.parts(8)
            for meta in options.parts(_FIELD_META)
            for pair in meta.parts(2)
        },
        None if position is None else one_ofs[position],
    )


def _add_enum(enums: dict[str, Enum], parts: _Parts) -> None:
    enums[parts.text(1)] = {each.text(1): each.integer(2) or 0 for each in parts.parts(2)}
