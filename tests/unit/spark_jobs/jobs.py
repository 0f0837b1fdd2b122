"""A job and its positions for tests that need no Spark."""

from __future__ import annotations

import dataclasses
from typing import Any

from connectd.aws.settings import AwsSettings
from connectd.connectors.dynamodb.envelope import EnvelopeSettings, InitSyncState
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.connectors.dynamodb.offsets import SegmentPosition, TableState
from connectd.connectors.dynamodb.scan_job import ScanJob
from connectd.model.record import ConverterSpec
from spark_jobs.chunks import ChunkOrder

START_MS = 1_700_000_000_000
JSON = ConverterSpec(
    "org.apache.kafka.connect.json.JsonConverter",
    (("converter.type", "value"), ("schemas.enable", "false")),
)


def positions(count: int) -> tuple[SegmentPosition, ...]:
    """The beginnings of all segments of a scan."""
    return tuple(SegmentPosition(number, count, START_MS) for number in range(count))


NOW_MS = 1_800_000_000_000
"""When orders are handed out, by the clocks of tests."""


def an_order(position: SegmentPosition, **changes: Any) -> ChunkOrder:
    """An order for a chunk that has a minute."""
    made = ChunkOrder(b"", position, issued_ms=NOW_MS, lease_s=60.0)
    return dataclasses.replace(made, **changes)


def job(segments: int = 3, **changes: Any) -> ScanJob:
    """A job for a whole table."""
    made = ScanJob(
        connector="copy",
        table="orders",
        topic="dynamodb-orders",
        key=KeySchema((KeyAttribute("id", "S"),)),
        envelope=EnvelopeSettings(),
        state=TableState("orders", InitSyncState.RUNNING, START_MS, total_segments=segments),
        segments=positions(segments),
        key_converter=JSON,
        value_converter=JSON,
        header_converter=ConverterSpec(
            "org.apache.kafka.connect.storage.SimpleHeaderConverter",
            (("converter.type", "header"),),
        ),
        producer={"bootstrap.servers": "127.0.0.1:1"},
        admin={"bootstrap.servers": "127.0.0.1:1"},
        aws=AwsSettings("eu-west-1"),
    )
    return dataclasses.replace(made, **changes)
