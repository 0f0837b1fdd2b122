"""Protobuf files from text: the part of proto3 that says how data look. Pure.

What does not matter to data is read over: services, extensions, reserved numbers, and all options
but Confluent's ``field_meta`` and ``map_entry``. What would matter and is not known is refused by
its name: proto2, editions, groups.
"""

from __future__ import annotations

from typing import Any, Final

from connectd.converters.protobuf_file import Enum, ProtoField, ProtoFile, ProtoMessage
from connectd.converters.protobuf_tokens import Tokens
from connectd.converters.protobuf_wire import NUMBER_MAX
from connectd.errors import ConvertError

_FIELD_META: Final = "confluent.field_meta"
_CLOSING: Final = {"{": "}", "[": "]", "<": ">"}
_DEPTH_MAX: Final = 64
"""Messages inside of messages, and values inside of options."""


def parsed(text: str) -> ProtoFile:
    """The file of a text.

    Raises:
        ConvertError: it is no proto3; the message names the line, and what was found there.
    """
    return _Parser(Tokens(text)).file()


class _Parser:
    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._depth = 0

    def file(self) -> ProtoFile:
        self._syntax()
        found = ProtoFile()
        while self._tokens.peek():
            match self._tokens.next():
                case "package":
                    found.package = self._tokens.name()
                    self._tokens.expect(";")
                case "import":
                    for word in ("public", "weak", "option"):
                        self._tokens.take(word)
                    found.imports.add(self._tokens.text())
                    self._tokens.expect(";")
                case "message":
                    self._message(found.messages, found.enums)
                case "enum":
                    self._enum(found.messages, found.enums)
                case "option" | "service" | "extend":
                    self._skip_statement()
                case ";":
                    pass
                case other:
                    raise self._tokens.refused(f"a file has no {other!r}")
        return found

    def _syntax(self) -> None:
        what = "proto2"
        if self._tokens.peek() in ("syntax", "edition"):
            word = self._tokens.next()
            self._tokens.expect("=")
            value = self._tokens.text()
            self._tokens.expect(";")
            what = value if word == "syntax" else f"edition {value}"
        if what != "proto3":
            raise ConvertError(f"the schema is {what}, which is not supported; expected proto3")

    def _message(self, messages: dict[str, ProtoMessage], enums: dict[str, Enum]) -> None:
        found = ProtoMessage(self._declared(messages, enums))
        messages[found.name] = found
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise self._tokens.refused(f"more than {_DEPTH_MAX} messages inside of one another")
        self._tokens.expect("{")
        while not self._tokens.take("}"):
            match self._tokens.peek():
                case "message" | "enum" as kind:
                    self._tokens.next()
                    declare = self._message if kind == "message" else self._enum
                    declare(found.messages, found.enums)
                case "oneof":
                    self._tokens.next()
                    self._one_of(found)
                case "option":
                    self._tokens.next()
                    name, value = self._option()
                    self._tokens.expect(";")
                    found.is_map_entry |= name == "map_entry" and value == "true"
                case "reserved" | "extend":
                    self._tokens.next()
                    self._skip_statement()
                case ";":
                    self._tokens.next()
                case _:
                    found.fields.append(self._field(None))
        self._depth -= 1

    def _one_of(self, message: ProtoMessage) -> None:
        name = self._tokens.name()
        self._tokens.expect("{")
        while not self._tokens.take("}"):
            if self._tokens.take("option"):
                self._option()
                self._tokens.expect(";")
            elif not self._tokens.take(";"):
                message.fields.append(self._field(name))

    def _enum(self, messages: dict[str, ProtoMessage], enums: dict[str, Enum]) -> None:
        found: Enum = {}
        enums[self._declared(messages, enums)] = found
        self._tokens.expect("{")
        while not self._tokens.take("}"):
            if self._tokens.take("option"):
                self._option()
                self._tokens.expect(";")
            elif self._tokens.take("reserved"):
                self._skip_statement()
            elif not self._tokens.take(";"):
                name = self._tokens.name()
                self._tokens.expect("=")
                found[name] = self._tokens.integer()
                self._options()
                self._tokens.expect(";")
        if not found:
            raise self._tokens.refused("an enum has no symbols")

    def _declared(self, messages: dict[str, ProtoMessage], enums: dict[str, Enum]) -> str:
        name = self._tokens.name()
        if name in messages or name in enums:
            raise self._tokens.refused(f"{name} is declared twice")
        return name

    def _field(self, one_of: str | None) -> ProtoField:
        label = key = None
        if self._tokens.peek() in ("optional", "repeated", "required"):
            label = self._tokens.next()
        kind = self._tokens.name()
        word = label if label == "required" else kind
        if word in ("required", "group", "extensions"):
            raise self._tokens.refused(f"{word} is of proto2, which is not supported")
        if kind == "map" and self._tokens.take("<"):
            key = self._tokens.name()
            self._tokens.expect(",")
            kind = self._tokens.name()
            self._tokens.expect(">")
        name = self._tokens.name()
        self._tokens.expect("=")
        number = self._tokens.integer()
        if not 0 < number <= NUMBER_MAX:
            raise self._tokens.refused(f"the number of {name} is {number}")
        params = self._options()
        self._tokens.expect(";")
        return ProtoField(name, number, kind, label or "", params, one_of, key)

    def _options(self) -> dict[str, str]:
        """What stands in brackets behind a field: the parameters of Confluent's among it."""
        params: dict[str, str] = {}
        if self._tokens.take("["):
            while not self._tokens.take("]"):
                name, value = self._option()
                if name == _FIELD_META and isinstance(value, dict):
                    params |= _pairs(value.get("params"))
                elif name == f"{_FIELD_META}.params":
                    params |= _pairs(value)
                self._tokens.take(",")
        return params

    def _option(self) -> tuple[str, Any]:
        name = ""
        while self._tokens.peek() != "=":
            if self._tokens.take("("):
                name += self._tokens.name().removeprefix(".")
                self._tokens.expect(")")
            else:
                name += self._tokens.name()
        self._tokens.expect("=")
        return name, self._value()

    def _value(self) -> Any:
        """A text, the word or number that stands there, or a dict or list of such."""
        if self._tokens.is_at_text():
            return self._tokens.text()
        closing = _CLOSING.get(self._tokens.peek())
        if closing is None:
            return self._tokens.word()
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise self._tokens.refused("the values of an option are too deep inside of one another")
        self._tokens.next()
        found = self._list() if closing == "]" else self._members(closing)
        self._depth -= 1
        return found

    def _list(self) -> list[Any]:
        found = []
        while not self._tokens.take("]"):
            found.append(self._value())
            self._tokens.take(",")
        return found

    def _members(self, closing: str) -> dict[str, Any]:
        """Members by name; those of one name are a list."""
        found: dict[str, Any] = {}
        while not self._tokens.take(closing):
            if self._tokens.take("["):  # the name of an extension
                name = self._tokens.name()
                self._tokens.expect("]")
            else:
                name = self._tokens.name()
            self._tokens.take(":")
            value = self._value()
            found[name] = [*_listed(found[name]), *_listed(value)] if name in found else value
            if not self._tokens.take(","):
                self._tokens.take(";")
        return found

    def _skip_statement(self) -> None:
        """To the end of what has begun: a semicolon, or a block in braces."""
        depth = 0
        while self._tokens.peek():
            mark = self._tokens.next()
            depth += (mark == "{") - (mark == "}")
            if depth <= 0 and mark in (";", "}"):
                return
        raise self._tokens.unexpected("the end of a statement")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _pairs(entries: Any) -> dict[str, str]:
    """The entries of a map that an option spells out as messages of key and value."""
    return {
        str(each.get("key", "")): str(each.get("value", ""))
        for each in _listed(entries)
        if isinstance(each, dict)
    }
