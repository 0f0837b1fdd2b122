"""The texts are those of ``SourceRecord.toString`` of Kafka 4.3.1."""

from __future__ import annotations

from connectd.model.record import SourcePartition, SourceRecord
from connectd.model.schema import INT32, OPTIONAL_STRING, STRING, Field, Schema, SchemaType, Struct
from connectd.pipeline import record_text

_SHARD = SourcePartition.of({"table_name": "t"})


def test_everything_about_a_record_is_shown() -> None:
    schema = Schema(
        SchemaType.STRUCT, name="n", fields=(Field("a", INT32), Field("b", OPTIONAL_STRING))
    )
    record = SourceRecord(
        "t",
        schema,
        Struct(schema, (1, None)),
        STRING,
        "v",
        timestamp_ms=12,
        headers=[("h", STRING, "x"), ("i", INT32, 3)],
    )
    assert record_text.of(_SHARD, {"n": 1}, record) == (
        "SourceRecord{sourcePartition={table_name=t}, sourceOffset={n=1}} "
        "ConnectRecord{topic='t', kafkaPartition=null, key=Struct{a=1}, keySchema=Schema{n:STRUCT},"
        " value=v, valueSchema=Schema{STRING}, timestamp=12, "
        "headers=ConnectHeaders(headers=[ConnectHeader(key=h, value=x, schema=Schema{STRING}), "
        "ConnectHeader(key=i, value=3, schema=Schema{INT32})])}"
    )


def test_what_is_not_there_is_null() -> None:
    record = SourceRecord("t", None, None, None, None, kafka_partition=3)
    assert record_text.of(_SHARD, None, record) == (
        "SourceRecord{sourcePartition={table_name=t}, sourceOffset=null} "
        "ConnectRecord{topic='t', kafkaPartition=3, key=null, keySchema=null, value=null, "
        "valueSchema=null, timestamp=null, headers=ConnectHeaders(headers=)}"
    )


def test_bytes_have_no_text_and_a_long_record_is_cut() -> None:
    record = SourceRecord("t", None, b"\x00", None, "x" * 1_000_000)
    text = record_text.of(_SHARD, None, record)
    assert "key=(bytes), " in text
    assert text.endswith(" more characters)")
    assert len(text) < 20_000
