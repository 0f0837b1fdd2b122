"""The ``document`` of a record: one item as JSON text.

Two forms. *Typed* is DynamoDB JSON with its type letters in lower case, every value untouched:
numbers stay the text that DynamoDB sent (38 digits and more), binary stays base64, sets stay apart
from lists, so the item can be had back exactly. *Plain* is what most programs would write by hand:
numbers as JSON numbers digit for digit, sets as arrays, binary as base64 text.

The letters are lowered by walking the structure, never by replacing text: ``{"M":{"S":...}}`` may
be a map, or an attribute called M. Attributes keep the order in which DynamoDB sent them (the Java
connector's order is that of a HashMap and carries no meaning). The bytes are Jackson's: compact,
UTF-8, non-ASCII as it is, control characters with upper-case hex (spec dynamodb-connector 4.4).

Pure. ``Item`` objects are parsed for one use: writers may change them, so read keys first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

import orjson

from connectd.connectors.dynamodb import naming
from connectd.connectors.dynamodb.decode import Raw
from connectd.errors import ConvertError
from connectd.model import java_json

Item: TypeAlias = dict[str, dict[str, Any]]
"""An item in DynamoDB JSON, parsed."""

DocumentForm = Literal["typed", "plain"]

DocumentWriter: TypeAlias = Callable[[Item], bytes]
"""Writes an item and uses it up. Raises ``ConvertError`` when it is not DynamoDB JSON."""

_Renaming: TypeAlias = dict[str, tuple[str, Callable[[Any], Iterable[dict[str, Any]]] | None]]
"""From type letter to the new letter and, for types that hold values, the way to those."""

_LETTERS = ("S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "M", "L")

_MEMBERS: dict[str, Callable[[Any], Iterable[dict[str, Any]]]] = {"M": dict.values, "L": iter}
_LOWER: _Renaming = {letter: (letter.lower(), _MEMBERS.get(letter)) for letter in _LETTERS}
_UPPER: _Renaming = {letter.lower(): (letter, _MEMBERS.get(letter)) for letter in _LETTERS}

_NOT_DYNAMODB_JSON = (KeyError, TypeError, AttributeError, ValueError, RecursionError)
"""What a walk over something else runs into."""

_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def parse_item(raw: Raw | bytes) -> Item:
    """Parse one item.

    Raises:
        ConvertError: it is not a JSON object.
    """
    try:
        item = orjson.loads(memoryview(raw))
    except ValueError as error:
        raise ConvertError(f"parsing an item of {len(bytes(raw))} bytes: {error}") from error
    if type(item) is not dict:
        raise ConvertError(f"parsing an item: found {type(item).__name__}, expected a JSON object")
    return item


def json_bytes(value: object) -> bytes:
    """JSON as Jackson writes it.

    Raises:
        ConvertError: it cannot be written (nested far deeper than DynamoDB allows).
    """
    try:
        return java_json.dumps(value)
    except TypeError as error:
        raise _not_writable(error) from error


def _document(value: object) -> bytes:
    try:
        return java_json.dumps_text(value)
    except TypeError as error:
        raise _not_writable(error) from error


def _not_writable(error: TypeError) -> ConvertError:
    return ConvertError(f"writing JSON: {error}")


def typed_document(item: Item) -> bytes:
    """Write an item as typed JSON; uses the item up.

    Raises:
        ConvertError: it is not DynamoDB JSON.
    """
    try:
        _rename_letters(item.values(), _LOWER)
    except _NOT_DYNAMODB_JSON as error:
        raise _not_dynamodb_json(error) from error
    return _document(item)


def item_of_typed_document(text: bytes) -> Item:
    """The item that a typed document was written from (but for sanitised names), parsed.

    Raises:
        ConvertError: it is not a typed document.
    """
    item = parse_item(text)
    try:
        _rename_letters(item.values(), _UPPER)
    except _NOT_DYNAMODB_JSON as error:
        raise _not_dynamodb_json(error) from error
    return item


def _rename_letters(values: Iterable[dict[str, Any]], renaming: _Renaming) -> None:
    """Replace the type letters of attribute values at every depth.

    In place: these are the most travelled lines of the product, and a new dict for each value
    would double their cost.
    """
    for value in values:
        letter, content = value.popitem()
        if value:
            raise ValueError(f"type letters {[*value, letter]} in one value")
        new_letter, members = renaming[letter]
        if members:
            _rename_letters(members(content), renaming)
        value[new_letter] = content


def _not_dynamodb_json(error: Exception) -> ConvertError:
    return ConvertError(
        f"writing a document: found {error!r}, expected attribute values with one of the type "
        f"letters {', '.join(_LETTERS)}"
    )


def plain_document(item: Item) -> bytes:
    """Write an item as plain JSON.

    Raises:
        ConvertError: it is not DynamoDB JSON, or a number is not written as JSON writes numbers.
    """
    return _document({name: plain_value(value) for name, value in item.items()})


def plain_value(value: dict[str, Any]) -> object:
    """An attribute value without its type letters, ready to be written as JSON.

    Raises:
        ConvertError: as ``plain_document``.
    """
    try:
        ((letter, content),) = value.items()
        return _PLAIN[letter](content)
    except _NOT_DYNAMODB_JSON as error:
        raise _not_dynamodb_json(error) from error


def _plain_number(text: str) -> orjson.Fragment:
    if not _JSON_NUMBER.fullmatch(text):
        raise ConvertError(
            f"writing a plain document: found a number of {len(text)} characters that JSON does "
            "not know as one; the typed document carries numbers as text of any form"
        )
    return orjson.Fragment(text)


_PLAIN: dict[str, Callable[[Any], object]] = {
    "S": lambda text: text,
    "N": _plain_number,
    "B": lambda base64_text: base64_text,
    "BOOL": lambda fact: fact,
    "NULL": lambda _: None,
    "SS": lambda texts: texts,
    "NS": lambda numbers: [_plain_number(number) for number in numbers],
    "BS": lambda base64_texts: base64_texts,
    "M": lambda members: {name: plain_value(value) for name, value in members.items()},
    "L": lambda values: [plain_value(value) for value in values],
}


def document_writer(form: DocumentForm, *, sanitise: bool) -> DocumentWriter:
    """The writer for a form; ``sanitise`` applies to top-level names of typed documents alone.

    Plain documents keep their names, as in the forks that write them (spec dynamodb-connector 6.3).
    """
    if form == "plain":
        return plain_document
    return SanitisingWriter() if sanitise else typed_document


class SanitisingWriter:
    """Writes typed documents with sanitised top-level names; a class so that plans pickle."""

    def __init__(self) -> None:
        self._sanitiser = naming.AttributeSanitiser()

    def __call__(self, item: Item) -> bytes:
        """See ``DocumentWriter``."""
        renamed = self._sanitiser.renamed(item)
        if renamed:
            item = {renamed.get(name, name): value for name, value in item.items()}
        return typed_document(item)
