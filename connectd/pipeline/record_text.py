"""A source record as Java's ``toString`` shows it, for ``errors.log.include.messages``.

That is the content of the record, which may be confidential: nobody else may write it anywhere.
"""

from __future__ import annotations

from typing import Final

from connectd.errors import ConvertError
from connectd.model import java_text
from connectd.model.record import SourceOffset, SourcePartition, SourceRecord
from connectd.model.schema import Schema

CHARS_MAX: Final = 16_384
"""Of a record in a line. An item may have 400 KB; the beginning tells which one it is."""


def of(partition: SourcePartition, offset: SourceOffset | None, record: SourceRecord) -> str:
    """``SourceRecord.toString``, up to ``CHARS_MAX``. ``offset`` is the one behind it."""
    timestamp = "null" if record.timestamp_ms is None else str(record.timestamp_ms)
    kafka_partition = "null" if record.kafka_partition is None else str(record.kafka_partition)
    headers = ", ".join(
        f"ConnectHeader(key={name}, value={_text(schema, value)}, schema={_schema_text(schema)})"
        for name, schema, value in record.headers
    )
    text = (
        f"SourceRecord{{sourcePartition={_text(None, partition.to_dict())}, "
        f"sourceOffset={_text(None, None if offset is None else dict(offset))}}} "
        f"ConnectRecord{{topic='{record.topic}', kafkaPartition={kafka_partition}, "
        f"key={_text(record.key_schema, record.key)}, "
        f"keySchema={_schema_text(record.key_schema)}, "
        f"value={_text(record.value_schema, record.value)}, "
        f"valueSchema={_schema_text(record.value_schema)}, timestamp={timestamp}, "
        f"headers=ConnectHeaders(headers={f'[{headers}]' if headers else ''})}}"
    )
    if len(text) <= CHARS_MAX:
        return text
    return f"{text[:CHARS_MAX]}... ({len(text) - CHARS_MAX} more characters)"


def _text(schema: Schema | None, value: object) -> str:
    try:
        return java_text.of(schema, value)
    except ConvertError:  # bytes and the like: Java shows where they are in memory
        return f"({type(value).__name__})"


def _schema_text(schema: Schema | None) -> str:
    if schema is None:
        return "null"
    kind = schema.type.name
    return f"Schema{{{schema.name}:{kind}}}" if schema.name else f"Schema{{{kind}}}"
