"""Keys of records: which item they are of, and how they look to people. Pure."""

from __future__ import annotations

import contextlib
from typing import Final

import orjson

from connectd.connectors.dynamodb import reconciling
from connectd.connectors.dynamodb.keys import KeySchema
from connectd.connectors.dynamodb.reconciling import Decode
from connectd.errors import ConvertError

_DIGITS_MAX: Final = 40
"""More than DynamoDB's numbers have."""


class KeyReader:
    """From the key of a record back to the key of its item, where the connector wrote it so."""

    def __init__(self, schema: KeySchema, decode: Decode | None, *, sanitise: bool) -> None:
        self._attributes = schema.attributes
        self._fields = schema.field_names(sanitise=sanitise)
        self._decode = decode

    def item_key(self, topic: str, key: bytes | None) -> bytes | None:
        """The item's key as DynamoDB's JSON; None: the record's key does not tell."""
        members = self._members(topic, key)
        if not isinstance(members, dict) or set(members) != set(self._fields):
            return None
        if not all(isinstance(value, str) for value in members.values()):
            return None
        return orjson.dumps(
            {
                attribute.name: {attribute.type: members[name]}
                for attribute, name in zip(self._attributes, self._fields, strict=True)
            }
        )

    def shown(self, topic: str, key: bytes | None) -> object:
        """The key for people and programs: its members, or its text."""
        members = self._members(topic, key)
        if members is not None:
            return _shown(members)
        return None if key is None else key.decode(errors="backslashreplace")

    def _members(self, topic: str, key: bytes | None) -> object:
        if self._decode is None or key is None:
            return None
        try:
            return self._decode(topic, key)
        except ConvertError:
            return None


def _shown(value: object) -> object:
    """Connect data, or JSON, as JSON can show it."""
    if isinstance(value, dict):
        digits = reconciling.digits_of(value)
        if digits is not None:
            return _number(digits)
        return {str(name): _shown(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_shown(member) for member in value]
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    return value if isinstance(value, str | int | None) else str(value)


def _number(digits: str) -> object:
    """A number that has the same digits again when it is printed, or the digits as text."""
    if len(digits) < _DIGITS_MAX:
        for kind in (int, float):
            with contextlib.suppress(ValueError):
                number = kind(digits)
                if str(number) == digits:
                    return number
    return digits
