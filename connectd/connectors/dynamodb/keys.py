"""Kafka keys: one string per key attribute, hash key first.

All three key types become text: ``S`` as it is, ``N`` as the decimal text that DynamoDB gives
(its normal form, so ``7`` and never ``007``; field case V17), ``B`` as base64 text as it came
(V07; the Java connector refuses binary keys). The text is never re-encoded: an emulator that
encodes the key of a stream record twice shows up as such (S23).

Pure. Field names follow the envelope: sanitised for 1.0, original for 0.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

from connectd.connectors.dynamodb import naming
from connectd.errors import ConvertError
from connectd.model.schema import STRING, Field, Schema, SchemaType

KeyType = Literal["S", "N", "B"]


@dataclass(frozen=True)
class KeyAttribute:
    """One part of a primary key."""

    name: str
    type: KeyType

    def __post_init__(self) -> None:
        if self.type not in get_args(KeyType):
            raise ValueError(
                f"key attribute {self.name} is of type {self.type}, expected S, N or B"
            )


@dataclass(frozen=True)
class KeySchema:
    """The primary key of a table: its hash key, then its range key if it has one."""

    attributes: tuple[KeyAttribute, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.attributes) <= 2:
            raise ValueError(f"a primary key has 1 or 2 attributes, got {len(self.attributes)}")

    @cached_property
    def _parts(self) -> tuple[tuple[str, str], ...]:
        """Names and type letters, in the form that is cheapest to walk for every item."""
        return tuple((attribute.name, attribute.type) for attribute in self.attributes)

    def field_names(self, *, sanitise: bool) -> tuple[str, ...]:
        """Names of the fields of the Kafka key, in order."""
        names = [attribute.name for attribute in self.attributes]
        renamed = naming.AttributeSanitiser().renamed(names) if sanitise else {}
        return tuple(renamed.get(name, name) for name in names)

    def connect_schema(self, topic: str, *, sanitise: bool) -> Schema:
        """The struct schema of the Kafka key: required strings, named after the topic."""
        names = self.field_names(sanitise=sanitise)
        return Schema(
            SchemaType.STRUCT,
            name=naming.schema_name(f"{topic}.Key"),
            fields=tuple(Field(name, STRING) for name in names),
        )

    def values(self, item: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
        """The key of an item in DynamoDB JSON (type letters in upper case).

        Raises:
            ConvertError: a key attribute is missing or of another type.
        """
        values: list[str] = []
        try:
            for name, letter in self._parts:
                value = item[name][letter]
                if type(value) is not str:
                    raise TypeError(f"a key attribute holds {type(value).__name__}, not text")
                values.append(value)
            return tuple(values)
        except (KeyError, TypeError) as error:
            expected = ", ".join(f"{each.name} ({each.type})" for each in self.attributes)
            found = {each.name: _types_of(item.get(each.name)) for each in self.attributes}
            raise ConvertError(
                f"reading the key: found types {found}, expected {expected} ({error}); "
                "was the table created anew with another key?"
            ) from error


def _types_of(attribute: object) -> Sequence[str] | None:
    """The type letters of an attribute value, for messages; None: it is missing."""
    return list(attribute) if isinstance(attribute, Mapping) else None
