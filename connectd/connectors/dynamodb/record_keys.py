"""Keys of records: which item they are of, and how they look to people. Pure."""

from __future__ import annotations

import base64
import binascii
import contextlib
import re
from decimal import Decimal
from typing import Final

import orjson

from connectd.connectors.dynamodb import reconciling
from connectd.connectors.dynamodb.keys import KeySchema, KeyType
from connectd.connectors.dynamodb.reconciling import Decode
from connectd.errors import ConvertError

_DIGITS_MAX: Final = 40
"""More than DynamoDB's numbers have."""

_BYTES_MAX: Final = (2048, 1024)
"""Of a hash key and of a range key (quotas of DynamoDB, "Partition keys and sort keys")."""

_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
_NUMBER_CHARACTERS_MAX: Final = 400
_PRECISION_MAX: Final = 38
_EXPONENTS: Final = range(-130, 126)
"""Of the first digit: numbers from 1E-130 to 9.99…E+125 ("Data types", Number)."""


class KeyReader:
    """From the key of a record back to the key of its item, where the connector wrote it so."""

    def __init__(self, schema: KeySchema, decode: Decode | None, *, sanitise: bool) -> None:
        self._attributes = schema.attributes
        self._fields = schema.field_names(sanitise=sanitise)
        self._decode = decode

    def item_key(self, topic: str, key: bytes | None) -> bytes | None:
        """The item's key as DynamoDB's JSON; None: the record's key does not tell.

        It does not either where no item of the table could have such a key, and DynamoDB would
        refuse to be asked for it: no number, an empty text, one that is too long.
        """
        members = self._members(topic, key)
        if not isinstance(members, dict) or set(members) != set(self._fields):
            return None
        parts: dict[str, dict[str, str]] = {}
        for attribute, name, bytes_max in zip(
            self._attributes, self._fields, _BYTES_MAX, strict=False
        ):
            value = members[name]
            if not isinstance(value, str) or not _can_be(attribute.type, value, bytes_max):
                return None
            parts[attribute.name] = {attribute.type: value}
        return orjson.dumps(parts)

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


def item_shown(item_key: bytes) -> object:
    """The key of an item, which is DynamoDB's JSON, for people and programs: its values."""
    typed: dict[str, dict[str, str]] = orjson.loads(item_key)
    return {name: value for name, each in typed.items() for value in each.values()}


def _can_be(type_: KeyType, text: str, bytes_max: int) -> bool:
    """Whether a key attribute of this type can hold what the text says."""
    if type_ == "N":
        return _is_number(text)
    try:
        content = text.encode() if type_ == "S" else base64.b64decode(text, validate=True)
    except (UnicodeEncodeError, binascii.Error, ValueError):
        return False  # half a character; or no base64
    return 0 < len(content) <= bytes_max


def _is_number(text: str) -> bool:
    if len(text) > _NUMBER_CHARACTERS_MAX or not _NUMBER.fullmatch(text):
        return False
    number = Decimal(text)
    digits = "".join(map(str, number.as_tuple().digits)).strip("0")
    return not digits or (len(digits) <= _PRECISION_MAX and number.adjusted() in _EXPONENTS)


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
