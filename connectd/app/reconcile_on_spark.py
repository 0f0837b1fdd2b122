"""The first look of a comparison, done by Spark: for tables that one process would scan for days.

Spark is started as for an initial scan (``spark_command``): a child of this process, which ends
with it. It scans, reads the topics up to offsets that are told to it, and brings both sides
together; what differs comes back in a file. Everything after that is done here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from connectd.aio import child_process
from connectd.app import hand_off
from connectd.configdef.spark_settings import SparkSettings
from connectd.configdef.worker import WorkerConfig
from connectd.connectors.dynamodb import scan, scan_job, scan_reports, spark_command
from connectd.connectors.dynamodb.config import DynamoDbConfig
from connectd.connectors.dynamodb.envelope import InitSyncState
from connectd.connectors.dynamodb.offsets import SegmentPosition, TableState
from connectd.connectors.dynamodb.plan import TablePlan
from connectd.connectors.dynamodb.reconcile_job import (
    JOB_FILE,
    RESULT_FILE,
    FirstLook,
    ReconcileJob,
)
from connectd.connectors.dynamodb.scan_job import ScanJob
from connectd.connectors.dynamodb.scan_reports import Failed, Finished, Started
from connectd.connectors.dynamodb.source_api import TableDescription
from connectd.errors import ConnectdError
from connectd.kafka.clientconf import Conf
from connectd.model.cluster import Config
from connectd.observe.redaction import redact_text
from connectd.plugins.internal_topics import InternalTopics
from connectd.plugins.registry import PluginRegistry

SCRIPT: Final = "reconcile.py"
GRACE_S: Final = 5.0
SEGMENT_BYTES: Final = 2 * 1024**3
SEGMENTS_MIN: Final = 4
_SEGMENTS_MAX: Final = 1_000_000


@dataclass(frozen=True)
class SparkLook:
    """Asks Spark; ``consumer`` are librdkafka's settings."""

    settings: SparkSettings
    job: ScanJob
    consumer: Conf

    async def __call__(
        self,
        ends: Mapping[str, Mapping[int, int]],
        differences_max: int,
        on_started: Callable[[str], None],
    ) -> FirstLook:
        """Compare the table with the topics up to these offsets.

        Raises:
            ConnectdError: Spark cannot be started, or has failed; with its last words.
        """
        parts = spark_command.find_parts(self.settings, os.environ)
        parts = replace(parts, script=str(Path(parts.script).with_name(SCRIPT)))
        reconcile = ReconcileJob(self.consumer, ends, differences_max)
        with spark_command.write_files(self.job, self.settings) as owned:
            files = owned.path
            (files / JOB_FILE).write_bytes(reconcile.to_json())  # the directory is private
            command = spark_command.command(parts, self.settings, self.job, files, os.environ)
            await self._run(command, files, on_started)
            return FirstLook.from_json((files / RESULT_FILE).read_bytes())

    async def _run(
        self, command: child_process.ChildCommand, files: Path, on_started: Callable[[str], None]
    ) -> None:
        last: Failed | Finished | None = None
        async with child_process.running(command, grace_s=GRACE_S) as child:
            async for line in child.lines():
                match scan_reports.from_line(line):
                    case Started(spark, master, _):
                        spark_command.remove_job(files)  # everybody has read it by now
                        on_started(f"Spark {spark} ({master}) compares")
                    case Failed() | Finished() as report:
                        last = report
                    case _:
                        child.keep(line)
            code = await child.wait()
            tail = [redact_text(each) for each in child.tail()]
        if isinstance(last, Failed):
            raise ConnectdError(f"comparing on Spark: {last.error}")
        if last is None:
            raise spark_command.verdict(code, tail, self.settings)


def make_job(
    connector: str,
    config: Config,
    settings: DynamoDbConfig,
    worker: WorkerConfig,
    registry: PluginRegistry,
    description: TableDescription,
    plan: TablePlan,
    *,
    now_ms: int,
) -> ScanJob:
    """The scan of a comparison: of all segments, as of now.

    Raises:
        ConfigError: a converter or client of the connector cannot go to Spark.
    """
    records = hand_off.record_settings(
        worker, registry, InternalTopics(frozenset()), "connectd-reconcile", connector, config
    )
    by_size = max(SEGMENTS_MIN, -(-description.size_bytes // SEGMENT_BYTES))
    total = settings.scan.segments or min(by_size, _SEGMENTS_MAX)
    return ScanJob(
        connector=connector,
        table=plan.table,
        topic=plan.topic,
        key=plan.key_schema,
        envelope=plan.envelope,
        state=TableState(plan.table, InitSyncState.RUNNING, now_ms, total_segments=total),
        segments=(SegmentPosition(0, total, now_ms),),
        key_converter=records.key_converter,
        value_converter=records.value_converter,
        header_converter=records.header_converter,
        producer=records.producer,
        admin=records.admin,
        aws=settings.aws,
        connector_config=scan_job.plugin_config(config),
        errors=records.errors,
        consistent_read=settings.scan.consistent_read,
        page_size=settings.scan.page_size,
        units_per_s=scan.units_per_s(settings.scan, description),
        item_bytes=scan.item_bytes(description),
    )
