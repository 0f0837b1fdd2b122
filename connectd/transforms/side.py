"""The side of a record that a transform works on: its key or its value.

A base class does the work, and two subclasses say on which side; that is all they say.
"""

from __future__ import annotations

from dataclasses import replace
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
            return replace(record, key_schema=schema, key=value)
        return replace(record, value_schema=schema, value=value)
