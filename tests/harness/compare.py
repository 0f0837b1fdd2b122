"""The oracle of every crash test and of the demo: does a topic, compacted, equal its table?

Written without any code of the product, from the message format alone (spec dynamodb-connector 4):
the record's key is a JSON object of the key attributes as strings, binary as base64; its value
carries the item in ``document``, JSON text with type letters in lower case. A key whose last record
is a tombstone is gone.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.harness.processes import HarnessError
from tests.harness.topics import TopicRecord, read_topic

Item: TypeAlias = Mapping[str, Any]
"""DynamoDB JSON as boto3 gives it: type letters in upper case, binary as bytes or base64 text."""

Key: TypeAlias = tuple[tuple[str, str], ...]
"""Names and texts of the key attributes, sorted by name."""

SHOWN_MAX = 5


@dataclass(frozen=True)
class Comparison:
    """What differs between a table and the last record of each key in its topic."""

    topic: str
    items: int
    records: int
    missing: list[str]
    """Items without a living record."""
    stale: list[str]
    """Items whose last record has another document."""
    extra: list[str]
    """Keys with a living record and no item."""

    @property
    def equal(self) -> bool:
        """Whether the compacted topic is the table."""
        return not (self.missing or self.stale or self.extra)

    def __str__(self) -> str:
        if self.equal:
            return f"{self.topic}: equal ({self.items} items, {self.records} records)"
        found = {"missing": self.missing, "stale": self.stale, "extra": self.extra}
        parts = [f"{len(keys)} {what} ({_some(keys)})" for what, keys in found.items() if keys]
        counts = f"{self.items} items, {self.records} records"
        return f"{self.topic}: DIFFERS ({counts}): {'; '.join(parts)}"


def compare_table_with_topic(items: Iterable[Item], bootstrap: str, topic: str) -> Comparison:
    """Read the topic to its end and compare it with the items of a table that is at rest."""
    return compare_items_with_records(items, read_topic(bootstrap, topic), topic)


def compare_items_with_records(
    items: Iterable[Item], records: Iterable[TopicRecord], topic: str
) -> Comparison:
    """Compare items with records in the order of their partitions."""
    last: dict[Key, bytes | None] = {}
    count = 0
    for record in records:
        count += 1
        last[_key_of_record(record)] = record.value
    living = {key: value for key, value in last.items() if value is not None}
    names = _key_names(last)
    items_seen = 0
    missing, stale = [], []
    for item in items:
        items_seen += 1
        key = _key_of_item(item, names)
        value = living.pop(key, None)
        if value is None:
            missing.append(_shown(key))
        elif _document_of(value) != _comparable(item):
            stale.append(_shown(key))
    return Comparison(topic, items_seen, count, missing, stale, [_shown(key) for key in living])


def _key_of_record(record: TopicRecord) -> Key:
    key = record.key_json
    if not isinstance(key, dict) or not all(isinstance(each, str) for each in key.values()):
        raise HarnessError(
            f"{record.topic}-{record.partition}@{record.offset} has the key {record.key!r}, "
            "expected a JSON object of strings"
        )
    return tuple(sorted(key.items()))


def _key_names(keys: Iterable[Key]) -> tuple[str, ...] | None:
    """The names that all keys of the topic share; None when it has no record."""
    found = {tuple(name for name, _ in key) for key in keys}
    if len(found) > 1:
        raise HarnessError(f"the topic has keys of different attributes: {sorted(found)}")
    return next(iter(found), None)


def _key_of_item(item: Item, names: tuple[str, ...] | None) -> Key:
    if names is None:
        # Nothing can match; the whole item says which one is missing.
        names = tuple(sorted(item))
    lacking = [name for name in names if name not in item]
    if lacking:
        raise HarnessError(f"the topic's keys have {lacking}, which an item of the table lacks")
    return tuple((name, _text(item[name])) for name in names)


def _text(attribute: Mapping[str, Any]) -> str:
    (content,) = attribute.values()
    return base64.b64encode(content).decode() if isinstance(content, bytes) else str(content)


def _document_of(value: bytes) -> object:
    """The document of a record as ``_comparable`` writes items; a delete's is no item at all."""
    envelope = json.loads(value)
    document = envelope["document"]
    return _comparable(json.loads(document)) if document else None


def _comparable(item: Item) -> dict[str, Any]:
    return {name: _comparable_value(attribute) for name, attribute in item.items()}


def _comparable_value(attribute: Mapping[str, Any]) -> tuple[str, Any]:
    """Type letter in lower case and content; sets have no order, numbers stay text."""
    ((letter, content),) = attribute.items()
    letter = letter.lower()
    match letter:
        case "m":
            return letter, _comparable(content)
        case "l":
            return letter, [_comparable_value(each) for each in content]
        case "ss" | "ns" | "bs":
            return letter, sorted(_scalar(each) for each in content)
        case _:
            return letter, _scalar(content)


def _scalar(content: Any) -> Any:
    return base64.b64encode(content).decode() if isinstance(content, bytes) else content


def _some(keys: list[str]) -> str:
    return ", ".join(keys[:SHOWN_MAX]) + (", …" if len(keys) > SHOWN_MAX else "")


def _shown(key: Key) -> str:
    return "{" + ", ".join(f"{name}={text[:40]}" for name, text in key) + "}"
