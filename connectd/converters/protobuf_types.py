"""What the type names of Protobuf files stand for. Pure.

A schema is the text of one file, or its descriptor. The files that it imports come with it, or are
among those that everybody has (``_KNOWN``). An import that is neither, or cannot be read, is missed
only if a field has a type of it: many are there for options alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from connectd.converters import protobuf_descriptor, protobuf_file, protobuf_grammar
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
    """The types of a schema and of all that it imports; the first of one name counts.

    ``unread`` are what was wrong with files that are not among the others.
    """

    def __init__(self, main: ProtoFile, others: Iterable[ProtoFile], unread: Iterable[str]) -> None:
        self._main = main
        self._unread = [*unread]
        self._found: dict[str, MessageType | EnumType] = {}
        files = [main, *others]
        imports = set().union(*(file.imports for file in files))
        for file in (*files, *(_known(name) for name in imports & _FILES)):
            for found in _declared(file.package, file.messages, file.enums):
                self._found.setdefault(found.full_name, found)
        self._strange = sorted(imports - _FILES)

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
        for full_name in _candidates(name, scope):
            if full_name in self._found:
                return self._found[full_name]
        what = f"the schema has no type {name}"
        if self._strange:
            what += f", nor have those that it refers to; imported are {', '.join(self._strange)}"
        raise ConvertError("; ".join([what, *self._unread]))


def types(text: str, others: Iterable[str] = ()) -> Types:
    """The types of a schema, and of the ``others`` that it refers to.

    One of them that cannot be read is missed with its types: it may be there for options alone.

    Raises:
        ConvertError: the schema is no proto3.
    """
    main = _parsed(text)
    files, unread = [], []
    for each in others:
        try:
            files.append(_parsed(each))
        except ConvertError as error:
            unread.append(f"one of them cannot be read: {error}")
    return Types(main, files, unread)


def _parsed(text: str) -> ProtoFile:
    is_descriptor = protobuf_descriptor.is_descriptor(text)
    return protobuf_descriptor.parsed(text) if is_descriptor else protobuf_grammar.parsed(text)


def _candidates(name: str, scope: str) -> Iterator[str]:
    """What a name may stand for, from the message that uses it outwards."""
    if name.startswith("."):
        yield name[1:]
        return
    while scope:
        yield f"{scope}.{name}"
        scope = scope.rpartition(".")[0]
    yield name


def _declared(
    scope: str, messages: Mapping[str, ProtoMessage], enums: Mapping[str, Enum]
) -> Iterator[MessageType | EnumType]:
    for name, message in messages.items():
        full_name = _inside(scope, name)
        yield MessageType(full_name, message)
        yield from _declared(full_name, message.messages, message.enums)
    for name, symbols in enums.items():
        yield EnumType(_inside(scope, name), symbols)


@cache
def _known(name: str) -> ProtoFile:
    if name == WRAPPERS_FILE:
        return protobuf_file.wrappers()
    return protobuf_grammar.parsed(f'syntax = "proto3"; {_KNOWN[name]}')


def _inside(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope else name
