"""The source connector: watches which tables there are, and shares them between tasks.

The watch is a job that goes on whatever a round of discovery meets (field case D09): what fails is
logged, shown in ``tables`` and tried again after the rediscovery period. Only a *first* round that
is refused fails the connector, since nothing has ever worked then (D13).

``task_configs`` waits for the first round; from then on it answers from memory. A change of the set
of accepted tables asks the worker to come and call it again.

What keeps tables from being judged at all, so that nobody copies them, is no reason to skip them:
their rows are in DISCOVERY, and make no progress from then on (``progress_age_s``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

import structlog

import connectd
from connectd.aio.backoff import Backoff
from connectd.aio.clock import LoopClock
from connectd.aio.jobs import JobGroup
from connectd.aws.clients import AwsClientPool
from connectd.configdef.definition import ConfigDef
from connectd.connectors.dynamodb import config as settings
from connectd.connectors.dynamodb import stored_table
from connectd.connectors.dynamodb.discovery import Discovered, TableDiscovery
from connectd.connectors.dynamodb.grouping import group_tables
from connectd.connectors.dynamodb.source_api import SourceApi, SourceApiPool
from connectd.connectors.dynamodb.task import TABLES_KEY, DynamoDbSourceTask
from connectd.errors import InvariantError, RetriableError
from connectd.model.cluster import Config
from connectd.model.record import SourceOffset, SourcePartition
from connectd.plugins.spi import ConnectorContext

_log = structlog.get_logger(__name__)

FIRST_ROUND_DEADLINE_S: Final = 60.0
"""How long ``task_configs`` waits for the first round of discovery before it asks to be retried."""

CLOCK_TOLERANCE_MS: Final = 3_600_000
"""How far a time that a user writes may be ahead of this machine's clock."""

ALL_TABLES: Final = "*"
"""Stands for the table in the row that shows a round of discovery failing."""

_FIRST_ROUND: Final = Backoff(initial_s=1.0, max_s=30.0)


class DynamoDbSourceConnector:
    """Implements ``plugins.spi.SourceConnector``."""

    version: ClassVar[str] = connectd.__version__

    def __init__(self) -> None:
        self._context: ConnectorContext | None = None
        self._config: Config = {}
        self._settings: settings.DynamoDbConfig | None = None
        self._pool: SourceApiPool | None = None
        self._api: SourceApi | None = None
        self._jobs: JobGroup | None = None
        self._discovered: Discovered | None = None
        self._has_discovered = asyncio.Event()
        self._failure: Exception | None = None
        self._last_error = ""
        self._started_s = 0.0
        self._unjudged_since_s: dict[str, float] = {}

    @classmethod
    def config_def(cls) -> ConfigDef:
        """All keys of this connector."""
        return settings.CONFIG_DEF

    @classmethod
    def task_class(cls) -> type[DynamoDbSourceTask]:
        """The class of its tasks."""
        return DynamoDbSourceTask

    @classmethod
    def validate(cls, config: Config) -> Mapping[str, Sequence[str]]:
        """What is wrong with keys together."""
        return settings.problems(config)

    async def start(self, context: ConnectorContext, config: Config) -> None:
        """Open clients and begin to watch; no call is made to AWS yet."""
        self._context = context
        self._config = dict(config)
        self._settings = settings.DynamoDbConfig.from_config(config)
        self._pool = pool = context.services.resource(AwsClientPool)
        self._api = api = await pool.acquire(self._settings.aws)
        self._started_s = context.services.clock.monotonic()
        discovery = TableDiscovery(self._settings, api, context.services.clock)
        self._jobs = JobGroup(f"{context.connector}/discovery", on_failure=self._on_failure)
        self._jobs.spawn("watch", self._watch(discovery), service=True)

    async def task_configs(self, tasks_max: int) -> Sequence[Config]:
        """The connector's configuration, and in each the tables of one task.

        A task with one table also gets the keys that the Java connector's tasks have.

        Raises:
            RetriableError: the first round of discovery is not over.
            AccessDeniedError: it was refused.
        """
        try:
            async with asyncio.timeout(FIRST_ROUND_DEADLINE_S):
                await self._has_discovered.wait()
        except TimeoutError as error:
            raise RetriableError(
                f"discovering tables has not ended within {FIRST_ROUND_DEADLINE_S:.0f} s "
                f"({self._last_error or 'no answer yet'}); it goes on"
            ) from error
        if self._failure is not None:
            raise self._failure
        if self._discovered is None or self._settings is None:
            raise InvariantError("task configs were asked of a connector that is not started")
        groups = group_tables(self._discovered.tables, tasks_max, self._settings.grouping)
        return [self._task_config(group) for group in groups]

    def _task_config(self, tables: tuple[str, ...]) -> Config:
        config = {**self._config, TABLES_KEY: ",".join(tables)}
        if len(tables) == 1:
            config.update({"table": tables[0], "task.id": "task-1"})
        return config

    async def stop(self) -> None:
        """Stop watching and give the clients back."""
        if self._jobs is not None:
            await self._jobs.stop()
            self._jobs = None
        api, self._api = self._api, None
        if api is not None and self._pool is not None:
            await self._pool.release(api)

    @classmethod
    def alter_offsets(
        cls, config: Config, offsets: Mapping[SourcePartition, SourceOffset | None]
    ) -> bool:
        """Check what a user wants to write; everything is kept in these offsets, nothing elsewhere.

        Any partition may be removed, also one that this connector would never write.
        """
        latest_ms = int(LoopClock().wall_s() * 1000) + CLOCK_TOLERANCE_MS
        for partition, offset in offsets.items():
            if offset is not None:
                name = stored_table.parse_partition(partition)
                stored_table.check_offset(name, offset)
                stored_table.check_times(offset, latest_ms=latest_ms)
        return True

    def tables(self) -> Sequence[Mapping[str, object]]:
        """Tables that are found and not copied, and a round of discovery that failed."""
        rows: list[Mapping[str, object]] = []
        if self._last_error:
            # Once it has succeeded, tables go on as they were: their own rows say how they do.
            age_s = self._age_s(self._started_s) if self._discovered is None else None
            rows.append(_undecided(ALL_TABLES, self._last_error, age_s))
        if self._discovered is not None:
            rows += [
                {"table": table, "state": "SKIPPED", "reason": reason}
                for table, reason in sorted(self._discovered.skipped.items())
            ]
            rows += [
                _undecided(table, f"not judged anew: {reason}")
                for table, reason in sorted(self._discovered.uncertain.items())
                if table in self._discovered.tables
            ]
            rows += [
                _undecided(
                    table, f"not known yet: {reason}", self._age_s(self._unjudged_since_s[table])
                )
                for table, reason in sorted(self._discovered.unjudged.items())
            ]
        return rows

    def _age_s(self, since_s: float) -> float:
        assert self._context is not None
        return round(self._context.services.clock.monotonic() - since_s, 3)

    # -- watching -------------------------------------------------------------------------------

    async def _watch(self, discovery: TableDiscovery) -> None:
        assert self._context is not None
        assert self._settings is not None
        clock, failures = self._context.services.clock, 0
        while True:
            try:
                found = await discovery.discover()
            except RetriableError as error:
                failures += 1
                self._report(error)
            except Exception as error:
                # Whatever it is, the next round is tried: rediscovery must not end silently.
                failures += 1
                if self._discovered is None:
                    self._fail(error)
                else:
                    self._report(error)
            else:
                failures = failures + 1 if found.unjudged else 0
                self._last_error = ""
                self._accept(found)
            wait_s = self._settings.rediscovery_s
            if failures and (self._discovered is None or self._discovered.unjudged):
                wait_s = min(wait_s, _FIRST_ROUND.wait_s(failures))
            await clock.sleep(wait_s)

    def _accept(self, found: Discovered) -> None:
        assert self._context is not None
        before, self._discovered = self._discovered, found
        self._failure = None
        now_s = self._context.services.clock.monotonic()
        since_s = self._unjudged_since_s
        self._unjudged_since_s = {each: since_s.get(each, now_s) for each in found.unjudged}
        self._has_discovered.set()
        if before is not None and before.tables == found.tables:
            return
        known = before.tables if before is not None else frozenset()
        _log.info(
            "set of tables has changed",
            connector=self._context.connector,
            added=sorted(found.tables - known),
            removed=sorted(known - found.tables),
        )
        self._warn_of_shared_topics(found)
        self._context.request_task_reconfiguration()

    def _warn_of_shared_topics(self, found: Discovered) -> None:
        assert self._context is not None
        assert self._settings is not None
        tables_by_topic: dict[str, list[str]] = {}
        for table in sorted(found.tables):
            tables_by_topic.setdefault(self._settings.messages.topic(table), []).append(table)
        for topic, tables in tables_by_topic.items():
            if len(tables) > 1:
                _log.warning(
                    "tables share a topic: compaction keeps one of the items with equal keys",
                    connector=self._context.connector,
                    topic=topic,
                    tables=tables,
                )

    def _report(self, error: Exception) -> None:
        assert self._context is not None
        self._last_error = f"discovering tables: {error}"
        _log.warning(
            "discovering tables failed, it will be tried again",
            connector=self._context.connector,
            error=str(error),
        )

    def _fail(self, error: Exception) -> None:
        """The first round is refused: nothing runs, and the user must see why."""
        assert self._context is not None
        self._last_error = f"discovering tables: {error}"
        self._failure = error
        self._has_discovered.set()
        self._context.raise_error(error)

    def _on_failure(self, name: str, error: BaseException) -> None:
        assert self._context is not None
        failure = InvariantError(f"discovery of {self._context.connector} ended: {error}")
        failure.__cause__ = error
        self._context.raise_error(failure)


def _undecided(table: str, reason: str, age_s: float | None = None) -> dict[str, object]:
    """A row in DISCOVERY; ``age_s``: for how long nobody could copy the table."""
    row: dict[str, object] = {"table": table, "state": "DISCOVERY", "reason": reason}
    return row if age_s is None else {**row, "progress_age_s": age_s}
