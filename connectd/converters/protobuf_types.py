"""What the type names of Protobuf files stand for. Pure.

A schema is the text of one file, and may import files that everybody has (``_KNOWN``). Another
import is missed only if a field has a type of it: many are there for options alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from connectd.converters import protobuf_file, protobuf_grammar
from connectd.converters.protobuf_file import WRAPPERS_FILE, Enum, ProtoFile, ProtoMessage
from connectd.errors import ConvertError

_KNOWN: Final = {
    "confluent/type/decimal.proto": (
        "package confluent.type;"
        "message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }"
    ),
    "google/protobuf/any.proto": (
        "package google.protobuf; message Any { string type_url = 1; bytes value = 2; }"
    ),
    "google/protobuf/duration.proto": (
        "package google.protobuf; message Duration { int64 seconds = 1; int32 nanos = 2; }"
    ),
    "google/protobuf/empty.proto": "package google.protobuf; message Empty {}",
    "google/protobuf/field_mask.proto": (
        "package google.protobuf; message FieldMask { repeated string paths = 1; }"
    ),
    "google/protobuf/timestamp.proto": (
        "package google.protobuf; message Timestamp { int64 seconds = 1; int32 nanos = 2; }"
    ),
    "google/type/date.proto": (
        "package google.type; message Date { int32 year = 1; int32 month = 2; int32 day = 3; }"
    ),
    "google/type/timeofday.proto": (
        "package google.type; message TimeOfDay {"
        "int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }"
    ),
}
_FILES: Final = {*_KNOWN, WRAPPERS_FILE}


@dataclass(frozen=True)
class MessageType:
    """A message with its full name, which begins with its package."""

    full_name: str
    message: ProtoMessage


@dataclass(frozen=True)
class EnumType:
    """An enum with its full name."""

    full_name: str
    symbols: Enum


class Types:
    """The types of a schema and of all that it imports; does not change."""

    def __init__(
        self, main: ProtoFile, imported: Mapping[str, ProtoFile], missing: set[str]
    ) -> None:
        self._main = main
        self._missing = sorted(missing)
        self._found: dict[str, MessageType | EnumType] = {}
        for file in (main, *imported.values()):
            self._declare(file.package, file.messages, file.enums)

    def at(self, place: tuple[int, ...]) -> MessageType:
        """The message at a place: its position in the file, or in the message that it is in, ...

        Raises:
            ConvertError: there is none.
        """
        name, messages = self._main.package, self._main.messages
        found = None
        for position in place:
            if not 0 <= position < len(messages):
                raise ConvertError(
                    f"the schema has no message at {'.'.join(map(str, place))}; the record was "
                    "written with another schema, or is none"
                )
            found = list(messages.values())[position]
            name, messages = _inside(name, found.name), found.messages
        if found is None:
            raise ConvertError("the record does not say which message of the schema it is")
        return MessageType(name, found)

    def named(self, name: str, scope: str) -> MessageType | EnumType:
        """What a name stands for in a message, whose full name is ``scope``.

        Raises:
            ConvertError: nothing.
        """
        if name.startswith("."):
            found = self._found.get(name[1:])
            if found is not None:
                return found
        else:
            while True:
                found = self._found.get(_inside(scope, name))
                if found is not None:
                    return found
                if not scope:
                    break
                scope = scope.rpartition(".")[0]
        why = ""
        if self._missing:
            why = f"; it may be in {', '.join(self._missing)}, which this converter does not read"
        raise ConvertError(f"the schema has no type {name}{why}")

    def _declare(
        self, scope: str, messages: Mapping[str, ProtoMessage], enums: Mapping[str, Enum]
    ) -> None:
        for name, message in messages.items():
            self._add(MessageType(_inside(scope, name), message))
            self._declare(_inside(scope, name), message.messages, message.enums)
        for name, symbols in enums.items():
            self._add(EnumType(_inside(scope, name), symbols))

    def _add(self, found: MessageType | EnumType) -> None:
        if found.full_name in self._found:
            raise ConvertError(f"{found.full_name} is declared in two files")
        self._found[found.full_name] = found


def types(text: str) -> Types:
    """The types of a schema.

    Raises:
        ConvertError: it is no proto3.
    """
    main = protobuf_grammar.parsed(text)
    files = {name: _known(name) for name in sorted(main.imports & _FILES)}
    return Types(main, files, main.imports - _FILES)


@cache
def _known(name: str) -> ProtoFile:
    if name == WRAPPERS_FILE:
        return protobuf_file.wrappers()
    return protobuf_grammar.parsed(f'syntax = "proto3"; {_KNOWN[name]}')


def _inside(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope else name
