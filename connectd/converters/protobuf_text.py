"""Protobuf files as text, which is what a registry keeps. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator

from connectd.converters.protobuf_file import ProtoField, ProtoFile, ProtoMessage

_INDENT = "  "


def of(file: ProtoFile) -> str:
    """The text of a file, in proto3."""
    return "\n".join(_file(file)) + "\n"


def _file(file: ProtoFile) -> Iterator[str]:
    yield 'syntax = "proto3";'
    if file.package:
        yield f"package {file.package};"
    yield ""
    for name in sorted(file.imports):
        yield f'import "{name}";'
    if file.imports:
        yield ""
    for position, message in enumerate(file.messages.values()):
        if position:
            yield ""
        yield from _message(message)


def _message(message: ProtoMessage) -> Iterator[str]:
    yield f"message {message.name} {{"
    one_ofs: set[str] = set()
    for each in message.fields:
        if each.one_of is None:
            yield f"{_INDENT}{_field(each)}"
        elif each.one_of not in one_ofs:
            one_ofs.add(each.one_of)
            yield f"{_INDENT}oneof {each.one_of} {{"
            for choice in message.fields:
                if choice.one_of == each.one_of:
                    yield f"{_INDENT * 2}{_field(choice)}"
            yield f"{_INDENT}}}"
    for nested in message.messages.values():
        yield ""
        yield from (f"{_INDENT}{line}" if line else "" for line in _message(nested))
    for name, numbers in message.enums.items():
        yield ""
        yield f"{_INDENT}enum {name} {{"
        yield from (f"{_INDENT * 2}{symbol} = {number};" for symbol, number in numbers.items())
        yield f"{_INDENT}}}"
    yield "}"


def _field(line: ProtoField) -> str:
    label = f"{line.label} " if line.label else ""
    kind = line.type if line.key is None else f"map<{line.key}, {line.type}>"
    options = ""
    if line.params:
        params = ", ".join(
            f"{{key: {json.dumps(key)}, value: {json.dumps(text)}}}"
            for key, text in line.params.items()
        )
        options = f" [(confluent.field_meta) = {{params: [{params}]}}]"
    return f"{label}{kind} {line.name} = {line.number}{options};"
