"""A scan as a job for Spark, for tests that do not care what is in it."""

from __future__ import annotations

import dataclasses
from typing import Any

from connectd.aws.settings import AwsSettings
from connectd.connectors.dynamodb.envelope import EnvelopeSettings, InitSyncState
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.connectors.dynamodb.offsets import SegmentPosition, TableState
from connectd.connectors.dynamodb.scan_job import ScanJob
from connectd.model.record import ConverterSpec

START_MS = 1_700_000_000_000
_JSON = ConverterSpec("org.apache.kafka.connect.json.JsonConverter", (("schemas.enable", "false"),))


def a_job(**changes: Any) -> ScanJob:
    """A job for the three segments of table ``orders``."""
    job = ScanJob(
        connector="copy",
        table="orders",
        topic="dynamodb-orders",
        key=KeySchema((KeyAttribute("id", "S"),)),
        envelope=EnvelopeSettings("0.1", "typed"),
        state=TableState("orders", InitSyncState.RUNNING, START_MS, total_segments=3),
        segments=tuple(SegmentPosition(each, 3, START_MS) for each in range(3)),
        key_converter=_JSON,
        value_converter=_JSON,
        header_converter=ConverterSpec("org.apache.kafka.connect.storage.SimpleHeaderConverter"),
        producer={"bootstrap.servers": "127.0.0.1:9092", "sasl.password": "hunter2"},
        admin={},
        aws=AwsSettings("eu-west-1"),
    )
    return dataclasses.replace(job, **changes)
