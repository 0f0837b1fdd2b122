"""How the key that a scan continues from is kept in an offset.

On the wire it is DynamoDB's JSON, ``{"id":{"N":"7"}}``; in an offset it is the Java connector's
text with lower-case type letters, ``{"id":{"n":"7"}}`` (spec dynamodb-connector 3.5), so that
either can continue what the other began. Binary is base64 in both; the Java connector's serialiser
wrote byte buffers as objects with their backing array, which is read, never written. Pure.
"""

from __future__ import annotations

import base64
from typing import Any

import orjson

from connectd.errors import ConfigError

_LETTERS = {"s": "S", "n": "N", "b": "B"}


def to_offset(wire_key: bytes) -> str:
    """The text for the offset, of DynamoDB's JSON as it came in ``LastEvaluatedKey``."""
    key: dict[str, dict[str, str]] = orjson.loads(wire_key)
    lowered = {
        name: {letter.lower(): value for letter, value in typed.items()}
        for name, typed in key.items()
    }
    return orjson.dumps(lowered).decode()


def from_offset(text: str) -> bytes:
    """DynamoDB's JSON, of the text in an offset.

    Raises:
        ConfigError: the text is not a primary key of one or two attributes.
    """
    try:
        key = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _unusable(text, "JSON") from error
    if not isinstance(key, dict) or not 1 <= len(key) <= 2:
        raise _unusable(text, "an object with one or two key attributes")
    return orjson.dumps({name: _typed_value(text, typed) for name, typed in key.items()})


def _typed_value(text: str, typed: Any) -> dict[str, str]:
    # Serialisers of Java beans may write the other types as null.
    members = (
        {letter: value for letter, value in typed.items() if value is not None}
        if isinstance(typed, dict)
        else {}
    )
    if len(members) != 1:
        raise _unusable(text, "one typed value per attribute")
    letter, value = next(iter(members.items()))
    wire_letter = _LETTERS.get(str(letter).lower())
    if wire_letter == "B" and isinstance(value, dict):
        return {"B": _from_byte_buffer(text, value)}
    if wire_letter is None or not isinstance(value, str):
        raise _unusable(text, "values of type s, n or b, as text")
    if wire_letter == "B":
        try:
            base64.b64decode(value, validate=True)
        except ValueError as error:  # letters beyond ASCII are not a binascii.Error
            raise _unusable(text, "binary as base64") from error
    return {wire_letter: value}


def _from_byte_buffer(text: str, buffer: dict[str, Any]) -> str:
    """A ``java.nio.HeapByteBuffer``: signed bytes, of which position to limit are the value."""
    array = buffer.get("hb")
    offset, position = buffer.get("offset", 0), buffer.get("position", 0)
    if not isinstance(array, list) or not isinstance(offset, int) or not isinstance(position, int):
        raise _unusable(text, "a byte buffer with its array hb")
    limit = buffer.get("limit", len(array) - offset)
    try:
        value = bytes(each & 0xFF for each in array[offset + position : offset + limit])
    except TypeError as error:
        raise _unusable(text, "a byte buffer of whole numbers") from error
    return base64.b64encode(value).decode()


def _unusable(text: str, expected: str) -> ConfigError:
    # A key may be anybody's name: only its length is shown.
    return ConfigError(
        f"exclusive_start_key has {len(text)} characters that are not {expected}; "
        'expected text like {"id":{"s":"5028"}}'
    )
