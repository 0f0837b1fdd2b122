"""Primary keys: their schema, their order in a scan, and the partition that they belong to.

A ``Position`` is where an item stands: the 64-bit hash of its partition key first, as in
DynamoDB, then the partition key, then the sort key in its own order. Segments of a scan and
partitions of a table are both ranges of that hash.

A string key that starts with ``~`` and 16 hex digits *names* its own hash. Tests use it to aim a
write at a shard, bulk data uses it to be in scan order by construction.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from tests.fakes.attributes import AttributeValue, Item, canonical_value, decode_binary
from tests.fakes.wire import validation

HASH_SPACE = 1 << 64
_PLACED = re.compile(rb"~([0-9a-f]{16})")


class Position(NamedTuple):
    """Where an item stands in its table; positions of one table compare with each other."""

    hash: int
    hash_value: bytes
    range_value: Any  # bytes for S and B, Decimal for N, b"" without a sort key


class HashRange(NamedTuple):
    """A half-open range of hashes: a partition, or a segment of a scan."""

    low: int
    high: int

    def halves(self) -> tuple[HashRange, HashRange]:
        """The two ranges that a split leaves."""
        middle = (self.low + self.high) // 2
        return HashRange(self.low, middle), HashRange(middle, self.high)


def even_ranges(count: int) -> list[HashRange]:
    """The hash space in ``count`` equal parts."""
    bounds = [HASH_SPACE * n // count for n in range(count + 1)]
    return [HashRange(low, high) for low, high in itertools.pairwise(bounds)]


def key_at(place: int) -> str:
    """A key text that names its own hash."""
    return f"~{place:016x}"


@dataclass(frozen=True, slots=True)
class KeySchema:
    """The names and types of a table's key attributes."""

    hash_name: str
    hash_type: str
    range_name: str | None = None
    range_type: str = "S"

    @property
    def names(self) -> tuple[str, ...]:
        """The key attributes' names, hash key first."""
        if self.range_name is None:
            return (self.hash_name,)
        return (self.hash_name, self.range_name)

    def _type_of(self, name: str) -> str:
        return self.hash_type if name == self.hash_name else self.range_type

    def key_of_item(self, item: Item) -> Item:
        """The key attributes of a canonical item.

        Raises:
            AwsError: ValidationException for a key that is missing, empty or of another type.
        """
        key: Item = {}
        for name in self.names:
            if name not in item:
                raise validation(
                    f"One or more parameter values were invalid: Missing the key {name} in the item"
                )
            key[name] = self._checked(name, item[name])
        return key

    def canonical_key(self, key: object) -> Item:
        """A key given by itself, as GetItem, DeleteItem and ExclusiveStartKey take it."""
        if not isinstance(key, dict) or set(key) != set(self.names):
            raise validation("The provided key element does not match the schema")
        canonical = {}
        for name in self.names:
            value, _ = canonical_value(key[name])
            if self._type_of(name) not in value:
                raise validation("The provided key element does not match the schema")
            canonical[name] = self._checked(name, value)
        return canonical

    def _checked(self, name: str, value: AttributeValue) -> AttributeValue:
        expected = self._type_of(name)
        ((actual, content),) = value.items()
        if actual != expected:
            raise validation(
                "One or more parameter values were invalid: Type mismatch for key "
                f"{name} expected: {expected} actual: {actual}"
            )
        if content == "":
            raise validation(
                "One or more parameter values are not valid. The AttributeValue for a key "
                f"attribute cannot contain an empty string value. Key: {name}"
            )
        return value

    def position(self, key: Item) -> Position:
        """Where a canonical key stands."""
        hash_value = _key_bytes(self.hash_type, key[self.hash_name][self.hash_type])
        range_value: Any = b""
        if self.range_name is not None:
            text = key[self.range_name][self.range_type]
            is_number = self.range_type == "N"
            range_value = Decimal(text) if is_number else _key_bytes(self.range_type, text)
        return Position(_hash_of(hash_value), hash_value, range_value)

    def key_at(self, position: Position) -> Item:
        """The key that stands at a position; the inverse of ``position``."""
        key = {self.hash_name: _key_value(self.hash_type, position.hash_value)}
        if self.range_name is not None:
            value = position.range_value
            raw = format(value, "f").encode() if isinstance(value, Decimal) else value
            key[self.range_name] = _key_value(self.range_type, raw)
        return key


def _key_bytes(key_type: str, text: str) -> bytes:
    return decode_binary(text) if key_type == "B" else text.encode()


def _key_value(key_type: str, raw: bytes) -> AttributeValue:
    return {key_type: base64.b64encode(raw).decode() if key_type == "B" else raw.decode()}


def _hash_of(hash_value: bytes) -> int:
    placed = _PLACED.match(hash_value)
    if placed:
        return int(placed[1], 16)
    return int.from_bytes(hashlib.blake2b(hash_value, digest_size=8).digest())
