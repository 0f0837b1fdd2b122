"""The source task: a group of tables, each with a job of its own.

A table that fails for good is reported and shown FAILED, the others go on; when the last one has
failed the task fails. Tables share one queue (``emission_queue``), one picture of the service's
time, and with other tasks the clients and the poll scheduler of the process.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Final

import structlog

from connectd.aio.backoff import Backoff, retry
from connectd.aio.jobs import JobGroup
from connectd.aio.toggles import Toggle
from connectd.aws.clients import AwsClientPool
from connectd.connectors.dynamodb.config import DynamoDbConfig
from connectd.connectors.dynamodb.emission_queue import EmissionQueue
from connectd.connectors.dynamodb.service_time import ServiceTime
from connectd.connectors.dynamodb.source_api import SourceApi, SourceApiPool
from connectd.connectors.dynamodb.spark_engine import HandOff, SparkEngine, hand_notes_on
from connectd.connectors.dynamodb.table_job import TableJob
from connectd.connectors.dynamodb.table_scope import TableProgress, TableScope
from connectd.errors import ConfigError, FatalTaskError
from connectd.model.cluster import Config
from connectd.model.record import Emission, SourceOffset, SourcePartition
from connectd.plugins.internal_topics import InternalTopics
from connectd.plugins.spi import BufferFill, TaskContext

_log = structlog.get_logger(__name__)

TABLES_KEY: Final = "tables"
"""Task configuration: the tables of this task, separated by commas (no table's name has one)."""

_STOP_HARD_S: Final = 5.0
_REFRESH: Final = Backoff(initial_s=0.5, max_s=5.0, attempts_max=5)


def tables_of(config: Config) -> tuple[str, ...]:
    """The tables that a task configuration names.

    Raises:
        ConfigError: it names none.
    """
    tables = tuple(dict.fromkeys(filter(None, config.get(TABLES_KEY, "").split(","))))
    if not tables:
        raise ConfigError(f"task configuration has no tables: {TABLES_KEY} is not set")
    return tables


def _by_table(
    offsets: Mapping[SourcePartition, SourceOffset],
) -> dict[str, dict[SourcePartition, SourceOffset]]:
    """All offsets of a connector, sorted out by table."""
    found: dict[str, dict[SourcePartition, SourceOffset]] = {}
    for partition, offset in offsets.items():
        found.setdefault(str(partition.to_dict().get("table_name")), {})[partition] = offset
    return found


class DynamoDbSourceTask:
    """Implements ``plugins.spi.SourceTask``, ``WatchesPauses`` and ``HasBuffer``."""

    def __init__(self) -> None:
        self._context: TaskContext | None = None
        self._pool: SourceApiPool | None = None
        self._api: SourceApi | None = None
        self._queue: EmissionQueue | None = None
        self._jobs: JobGroup | None = None
        self._progress: dict[str, TableProgress] = {}
        self._failed: set[str] = set()
        self._running = Toggle(is_on=True)

    async def start(self, context: TaskContext, config: Config) -> None:
        """Open clients, read the stored offsets, start a job per table."""
        settings = DynamoDbConfig.from_config(config)
        tables = tables_of(config)
        services = context.services
        self._context = context
        await retry(context.offsets.refresh, clock=services.clock, policy=_REFRESH)
        self._pool = pool = services.resource(AwsClientPool)
        self._api = api = await pool.acquire(settings.aws)
        self._queue = queue = EmissionQueue(settings.buffer_pages, services.clock)
        self._jobs = JobGroup(
            f"{context.connector}-{context.task}/tables", on_failure=self._on_table_failure
        )
        time = ServiceTime(services.clock)
        spark: SparkEngine | None = services.resources.get(SparkEngine)
        hand_off = (
            None if spark is None else HandOff(spark, context.connector, config, self._running)
        )
        stored = _by_table(context.offsets.all())
        for table in tables:
            progress = TableProgress(
                table, settings.messages.topic(table), moved_s=services.clock.monotonic()
            )
            self._progress[table] = progress
            scope = TableScope(
                config=settings,
                api=api,
                clock=services.clock,
                time=time,
                scheduler=services.scheduler,
                queue=queue,
                progress=progress,
                hand_off=hand_off,
            )
            job = TableJob(scope, stored.get(table, {}))
            self._jobs.spawn(table, self._run_table(job, progress), service=True)

    async def _run_table(self, job: TableJob, progress: TableProgress) -> None:
        """Live as one table.

        Raises:
            ConfigError: its records would go where the worker keeps its own.
        """
        assert self._context is not None
        internal = self._context.services.resources.get(InternalTopics, InternalTopics())
        if progress.topic in internal.names:
            raise ConfigError(
                f"topic of table {progress.table} would be {progress.topic}, a topic of the "
                "worker's own; change kafka.topic.prefix or kafka.topic.map"
            )
        await job.run()

    async def poll(self) -> Sequence[Emission]:
        """The next emissions.

        Raises:
            FatalTaskError: every table has failed.
        """
        assert self._queue is not None
        return await self._queue.take()

    def set_running(self, is_running: bool) -> None:
        """See ``plugins.spi.WatchesPauses``: what scans for us elsewhere rests while we do."""
        self._running.set(is_running)

    async def stop(self) -> None:
        """Stop all tables and give the clients back."""
        if self._jobs is not None:
            abandoned = await self._jobs.stop(hard_s=_STOP_HARD_S)
            if abandoned:
                _log.error("stopping: table jobs had to be abandoned", tables=abandoned)
            self._jobs = None
        api, self._api = self._api, None
        if api is not None and self._pool is not None:
            await self._pool.release(api)

    def tables(self) -> Sequence[Mapping[str, object]]:
        """One row per table; see ``table_scope.TableProgress.row``."""
        if self._context is None or self._queue is None:
            return ()
        now_s = self._context.services.clock.monotonic()
        statistics = self._queue.statistics()
        is_blocked = statistics.emissions > 0 and statistics.places_taken >= statistics.places_max
        row = functools.partial(
            TableProgress.row, task=self._context.task, now_s=now_s, is_blocked=is_blocked
        )
        return [row(progress) for progress in self._progress.values()]

    def buffer(self) -> BufferFill | None:
        """See ``plugins.spi.HasBuffer``."""
        if self._queue is None:
            return None
        statistics = self._queue.statistics()
        return BufferFill(statistics.places_taken, statistics.places_max)

    def _on_table_failure(self, table: str, error: BaseException) -> None:
        assert self._context is not None
        assert self._queue is not None
        text = str(error) or type(error).__name__
        self._progress[table].enter("FAILED", text)
        self._failed.add(table)
        _log.error("table failed", table=table, error=text)
        failure = FatalTaskError(text if f"table {table}" in text else f"table {table}: {text}")
        failure.__cause__ = error
        hand_notes_on(error, failure)
        self._context.report_failure(failure)
        if len(self._failed) == len(self._progress):
            self._queue.end(failure)
