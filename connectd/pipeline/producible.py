"""Records as plugins leave them, held against what Kafka's client takes.

The client is one for many tasks, and a value of another kind would end its thread: so what a
transform, a converter or a source makes of a record is looked at before it gets there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from connectd.errors import FatalTaskError
from connectd.model.record import SourceRecord
from connectd.model.schema import Schema
from connectd.plugins import answers

_PARTITION_MAX: Final = 2**31 - 1
_TIMESTAMP_MAX_MS: Final = 2**63 - 1

_NO_TIMESTAMP_MS: Final = -1
"""Kafka's own mark for a record without a time."""


def bytes_of(class_name: str, method: str, given: object) -> bytes | None:
    """What a converter gave.

    Raises:
        FatalTaskError: it is something else than bytes or None.
    """
    if given is None or isinstance(given, bytes):
        return given
    raise answers.wrong(f"{class_name}: {method}", given, "bytes, or None")


def topic_of(record: SourceRecord, origin: str) -> str:
    """Where a record goes.

    Raises:
        FatalTaskError: its topic is no text.
    """
    topic: object = record.topic
    if isinstance(topic, str):
        return topic
    raise FatalTaskError(f"{origin}: the topic is {topic!r}, expected a text")


def headers_of(record: SourceRecord, origin: str) -> Sequence[tuple[str, Schema | None, object]]:
    """A record's headers.

    Raises:
        FatalTaskError: they are no headers.
    """
    headers: object = record.headers
    if isinstance(headers, list | tuple) and all(map(_is_header, headers)):
        return record.headers
    raise FatalTaskError(
        f"{origin}: the headers are {type(headers).__name__}, expected a list of name, schema and "
        "value; a transform or the source makes them"
    )


def _is_header(header: object) -> bool:
    return isinstance(header, tuple) and len(header) == 3 and isinstance(header[0], str)


def partition_of(record: SourceRecord) -> int | None:
    """The Kafka partition that a record asks for; None: Kafka's choice.

    Raises:
        FatalTaskError: it is no partition's number.
    """
    partition: object = record.kafka_partition
    if partition is None:
        return None
    if type(partition) is int and 0 <= partition <= _PARTITION_MAX:
        return partition
    raise FatalTaskError(
        f"Invalid partition: {partition!r}. Partition number should always be non-negative or null."
    )


def timestamp_of(record: SourceRecord) -> int | None:
    """When a record was made, in milliseconds; None: now.

    Raises:
        FatalTaskError: it is no time that Kafka knows.
    """
    timestamp_ms: object = record.timestamp_ms
    if timestamp_ms is None or timestamp_ms == _NO_TIMESTAMP_MS:
        return None
    if type(timestamp_ms) is int and 0 <= timestamp_ms <= _TIMESTAMP_MAX_MS:
        return timestamp_ms
    raise FatalTaskError(f"Invalid record timestamp {timestamp_ms}")
