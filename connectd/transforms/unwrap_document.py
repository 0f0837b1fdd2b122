"""The document of a DynamoDB envelope as plain values (spec dynamodb-connector 4.4).

| DynamoDB | value |
|---|---|
| S, BOOL, NULL | text, boolean, null |
| N | what ``numbers`` says |
| B | bytes |
| SS, NS, BS, L | list |
| M | map |

A number stays the text that DynamoDB sent unless the user asks for another form, since no other
form holds all of them: they have 38 digits. Nothing is rounded: what does not fit is refused.

The typed form of a document says of every value what it is. The plain form does not: its binary
values and sets are texts and lists like any other. Pure.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, Literal

import orjson

from connectd.errors import TransformError

NumberForm = Literal["text", "decimal", "number"]
DocumentForm = Literal["typed", "plain"]

ReadDocument = Callable[[str], dict[str, object]]
"""Raises ``TransformError``: the text is no document of the form."""

_INT64_END: Final = 1 << 63
_WRONG_FORM: Final = (KeyError, TypeError, AttributeError, ValueError, RecursionError)
"""What a walk over something else runs into."""


def reader(form: DocumentForm, numbers: NumberForm) -> ReadDocument:
    """The function that reads documents of this form."""
    number = _NUMBERS[numbers]
    return _PlainReader(number) if form == "plain" else _TypedReader(number)


class _TypedReader:
    def __init__(self, number: Callable[[str], object]) -> None:
        self._by_letter: dict[str, Callable[[Any], object]] = {
            "s": _text,
            "n": number,
            "b": _binary,
            "bool": _boolean,
            "null": lambda _: None,
            "ss": lambda texts: [_text(text) for text in _list(texts)],
            "ns": lambda numbers: [number(text) for text in _list(numbers)],
            "bs": lambda texts: [_binary(text) for text in _list(texts)],
            "m": self._members,
            "l": lambda values: [self._value(value) for value in _list(values)],
        }
        self._texts = frozenset("sn" if number is _text else "s")

    def __call__(self, text: str) -> dict[str, object]:
        try:
            return self._members(orjson.loads(text))
        except _WRONG_FORM as error:
            raise _refused(
                error, "a typed document; document.format=plain is for connectors that write plain"
            ) from error

    def _members(self, members: dict[str, Any]) -> dict[str, object]:
        """The values in the place of what was parsed, which is used up: each attribute pays."""
        by_letter, texts = self._by_letter, self._texts
        for name, value in members.items():
            letter, content = value.popitem()
            if value:
                raise ValueError
            is_text = letter in texts and type(content) is str  # as most attributes are
            members[name] = content if is_text else by_letter[letter](content)
        return members

    def _value(self, value: dict[str, Any]) -> object:
        ((letter, content),) = value.items()
        return self._by_letter[letter](content)


class _PlainReader:
    def __init__(self, number: Callable[[str], object]) -> None:
        self._decoder = json.JSONDecoder(parse_int=number, parse_float=number, strict=False)

    def __call__(self, text: str) -> dict[str, object]:
        try:
            found = self._decoder.decode(text)
        except _WRONG_FORM as error:
            raise _refused(error, "a plain document") from error
        if not isinstance(found, dict):
            raise TransformError(f"unwrapping: the document is a {type(found).__name__}, no object")
        return found


def _refused(error: Exception, expected: str) -> TransformError:
    # The class alone: the text of the error may have values of the item.
    return TransformError(
        f"unwrapping: the document is not of the expected form ({type(error).__name__}), "
        f"expected {expected}"
    )


def _text(content: object) -> str:
    if not isinstance(content, str):
        raise TypeError
    return content


def _list(content: Any) -> list[Any]:
    if not isinstance(content, list):
        raise TypeError
    return content


def _boolean(content: object) -> bool:
    if not isinstance(content, bool):
        raise TypeError
    return content


def _binary(content: str) -> bytes:
    return base64.b64decode(content, validate=True)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except ArithmeticError as error:
        raise ValueError from error


def _number(text: str) -> int | float:
    """An integer of 64 bits, or the double whose shortest decimal is this very number."""
    if text.lstrip("-").isdecimal() and -_INT64_END <= (integer := int(text)) < _INT64_END:
        return integer
    double = float(text)
    if Decimal(repr(double)) != _decimal(text):
        raise TransformError(
            f"unwrapping: a number of {len(text)} characters is neither an integer of 64 bits nor "
            "exact as a double; numbers=text and numbers=decimal take every number"
        )
    return double


_NUMBERS: Final[dict[NumberForm, Callable[[str], object]]] = {
    "text": _text,
    "decimal": _decimal,
    "number": _number,
}
