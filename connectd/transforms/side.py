"""Records made from others, and the side of one that a transform works on: its key or its value.

A base class does the work, and two subclasses say on which side; that is all they say. Records are
written out member by member here, because ``dataclasses.replace`` takes five times as long, once
for every record and transform.
"""

from __future__ import annotations

from enum import Enum

from connectd.model.record import SourceRecord
from connectd.model.schema import Schema


class Side(Enum):
    """One of the two; knows how to read it and how to put another in its place."""

    KEY = "key"
    VALUE = "value"

    def of(self, record: SourceRecord) -> tuple[Schema | None, object]:
        """Schema and value of this side."""
        if self is Side.KEY:
            return record.key_schema, record.key
        return record.value_schema, record.value

    def replaced(self, record: SourceRecord, schema: Schema | None, value: object) -> SourceRecord:
        """The record with another schema and value on this side; the given one is not changed."""
        if self is Side.KEY:
            return SourceRecord(
                record.topic, schema, value, record.value_schema, record.value,
                record.kafka_partition, record.timestamp_ms, record.headers, record.origin,
            )  # fmt: skip
        return with_value(record, schema, value)


def with_value(record: SourceRecord, schema: Schema | None, value: object) -> SourceRecord:
    """The record with another value."""
    return SourceRecord(
        record.topic, record.key_schema, record.key, schema, value,
        record.kafka_partition, record.timestamp_ms, record.headers, record.origin,
    )  # fmt: skip


def with_topic(record: SourceRecord, topic: str) -> SourceRecord:
    """The record for another topic."""
    return SourceRecord(
        topic, record.key_schema, record.key, record.value_schema, record.value,
        record.kafka_partition, record.timestamp_ms, record.headers, record.origin,
    )  # fmt: skip


def with_headers(
    record: SourceRecord, headers: list[tuple[str, Schema | None, object]]
) -> SourceRecord:
    """The record with other headers."""
    return SourceRecord(
        record.topic, record.key_schema, record.key, record.value_schema, record.value,
        record.kafka_partition, record.timestamp_ms, headers, record.origin,
    )  # fmt: skip
