"""Bytes of the offsets topic (spec kafka-connect C.3).

Key: ``["<connector>",{partition}]``; value: ``{offset}``, or nothing to remove one. Compact JSON,
the order of members kept, integers as integers: equality of partitions is equality of key bytes,
and a Java worker must find the same keys.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from connectd.errors import ConfigError
from connectd.model.record import Primitive, SourceOffset, SourcePartition
from connectd.stores import compact_json

OffsetKey = tuple[str, SourcePartition | None]
"""Connector and source partition; Kafka Connect allows a null partition and lists it nowhere."""


def encode_key(connector: str, partition: SourcePartition) -> bytes:
    """The key of a partition's records.

    Raises:
        ConfigError: a member is not a primitive value, or cannot be written as JSON.
    """
    return _dumps([connector, normalised(partition.to_dict(), "partition")])


def encode_value(offset: SourceOffset | None) -> bytes | None:
    """The value of a record; None is a tombstone.

    Raises:
        ConfigError: as ``encode_key``.
    """
    return None if offset is None else _dumps(normalised(offset, "offset"))


def decode_key(key: bytes | None) -> OffsetKey:
    """Connector and partition of a record.

    Raises:
        ValueError: the key is not of this form; the record is not ours to judge and is skipped.
    """
    document = _parse(key, "key")
    if not isinstance(document, list) or len(document) != 2 or not isinstance(document[0], str):
        raise ValueError('offset record key is not of the form ["connector",{partition}]')
    connector, partition = document
    if partition is None:
        return connector, None
    return connector, SourcePartition.of(_flat(partition, "partition"))


def decode_value(value: bytes | None) -> SourceOffset | None:
    """Offset of a record, None for a tombstone.

    Raises:
        ValueError: the value is not a flat JSON object.
    """
    if value is None:
        return None
    document = _parse(value, "value")
    return None if document is None else _flat(document, "offset")


def normalised(members: Mapping[str, object], what: str) -> dict[str, Primitive]:
    """What a user submitted as partition or offset, checked as Kafka Connect checks it.

    Raises:
        ConfigError: with Kafka's text.
    """
    for name, value in members.items():
        if not isinstance(name, str):
            raise ConfigError("Offsets may only use String keys")
        if value is not None and not isinstance(value, str | int | float | bool):
            raise ConfigError(
                "Offsets may only contain primitive types as values, "
                f"but field {name} contains {type(value).__name__}"
            )
    return _flat(dict(members), what)


def _dumps(document: object) -> bytes:
    try:
        return compact_json.dumps(document)
    except ValueError as error:
        raise ConfigError(f"writing an offset: {error}") from error


def _parse(text: bytes | None, what: str) -> object:
    if text is None:
        raise ValueError(f"offset record has no {what}")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"offset record {what} is not JSON: {error}") from error


def _flat(document: object, what: str) -> dict[str, Primitive]:
    if not isinstance(document, dict):
        raise ValueError(f"{what} is {type(document).__name__}, expected a JSON object")
    for name, value in document.items():
        if value is not None and not isinstance(value, str | int | float | bool):
            raise ValueError(f"{what} member {name} is not a primitive value")
    return document
