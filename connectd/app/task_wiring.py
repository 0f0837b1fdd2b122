"""Wires the runner of one task, in the worker's process or in one that it has for tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from connectd.aio.clock import Clock
from connectd.configdef import parsing, topic_creation
from connectd.configdef.catalogue import PluginKind
from connectd.configdef.connector import SOURCE_DEF
from connectd.configdef.worker import WorkerConfig
from connectd.kafka.admin import SharedAdmins
from connectd.kafka.pool import ProducerPool
from connectd.kafka.producer import PageProducer
from connectd.model.cluster import Config
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import LifecycleEvent, TargetState
from connectd.observe.metrics_windows import WindowSettings
from connectd.observe.tracing import Tracing
from connectd.pipeline.committer import OffsetWriter
from connectd.pipeline.encoding import Converters
from connectd.pipeline.source_task import RunnerSettings, SourceTaskRunner
from connectd.pipeline.tolerance import ErrorPolicy
from connectd.pipeline.topics import TaskTopics
from connectd.pipeline.tracing import TaskTracing
from connectd.plugins import chaining, layering, spi
from connectd.plugins.registry import PluginRegistry
from connectd.runtime.task_runner import TaskRunner, TaskSpec
from connectd.runtime.watched_task import WatchedTask


@dataclass(frozen=True)
class TaskParts:
    """What tasks of one process share."""

    clock: Clock
    registry: PluginRegistry
    services: spi.WorkerServices
    producers: ProducerPool
    admins: SharedAdmins
    tracing: Tracing | None = None


@dataclass(frozen=True)
class TaskTies:
    """What ties one life of a task to its worker: offsets, the right to write, who hears of it.

    ``on_tail_left`` hears of a task that ended with records sent and not committed.
    """

    reader: spi.OffsetReader
    writer: OffsetWriter
    may_write: Callable[[], bool]
    on_tail_left: Callable[[], None]


@dataclass(frozen=True)
class _TaskContext:
    """What a task sees of its worker (``spi.TaskContext``)."""

    connector: str
    task: int
    services: spi.WorkerServices
    offsets: spi.OffsetReader
    on_event: Callable[[LifecycleEvent, Exception | None], None]

    def report_failure(self, error: Exception) -> None:
        self.on_event(LifecycleEvent.FAILED, error)


class _PoolLease:
    """Takes a task's producer from the pool (``pipeline.ProducerLease``)."""

    def __init__(
        self,
        pool: ProducerPool,
        settings: Mapping[str, str],
        *,
        overridden_by: str,
        release_deadline_s: float,
    ) -> None:
        self._pool = pool
        self._settings = settings
        self._overridden_by = overridden_by
        self._release_deadline_s = release_deadline_s

    def acquire(self) -> PageProducer:
        return self._pool.acquire(self._settings, overridden_by=self._overridden_by)

    async def release(self, producer: PageProducer) -> None:
        await self._pool.release(
            producer, deadline_s=self._release_deadline_s, overridden_by=self._overridden_by
        )


class TaskWiring:
    """Builds runners from a worker's configuration and what its tasks share."""

    def __init__(self, config: WorkerConfig, parts: TaskParts) -> None:
        self._config = config
        self._parts = parts

    def runner(self, spec: TaskSpec, ties: TaskTies) -> TaskRunner:
        """The runner of one life of a task.

        Raises:
            ConfigError: something that its configs name cannot be used.
        """
        worker, parts = self._config, self._parts
        config, connector = spec.connector_config, spec.task_id.connector
        task_class = self._connector_class(config.get("connector.class", "")).task_class()
        framework = parsing.parse(SOURCE_DEF, config)
        return SourceTaskRunner(
            task=WatchedTask(task_class(), spec.task_id),
            context=_TaskContext(
                connector=connector,
                task=spec.task_id.task,
                services=parts.services,
                offsets=ties.reader,
                on_event=spec.on_event,
            ),
            config=spec.task_config,
            converters=Converters(
                key=layering.make_converter("key", parts.registry, worker, config),
                value=layering.make_converter("value", parts.registry, worker, config),
                header=layering.make_header_converter(parts.registry, worker, config),
                transforms=chaining.make_chain(parts.registry, config),
            ),
            producers=_PoolLease(
                parts.producers,
                layering.client_settings("producer", worker, config),
                overridden_by=connector if layering.has_overrides("producer", config) else "",
                release_deadline_s=worker.offset_flush_timeout_s,
            ),
            offsets=ties.writer,
            may_write=ties.may_write,
            settings=RunnerSettings(
                commit_interval_s=worker.offset_flush_interval_s,
                commit_timeout_s=worker.offset_flush_timeout_s,
                errors=error_policy(framework),
                metrics=window_settings(worker),
            ),
            topics=self._topics(spec.task_id, config),
            starts_paused=spec.target is TargetState.PAUSED,
            on_event=spec.on_event,
            on_topic=spec.on_topic,
            on_tail_left=ties.on_tail_left,
            tracing=self._tracing(spec.task_id),
        )

    def _topics(self, task: ConnectorTaskId, config: Config) -> TaskTopics:
        return TaskTopics(
            clock=self._parts.clock,
            reserved=internal_topics(self._config),
            rules=topic_rules(self._config, config),
            open_admin=lambda: self._parts.admins.get(
                layering.client_settings("admin", self._config, config)
            ),
            log_fields={"connector": task.connector, "task": task.task},
        )

    def _tracing(self, task: ConnectorTaskId) -> TaskTracing | None:
        tracing = self._parts.tracing
        if tracing is None:
            return None
        return TaskTracing(tracing, self._parts.clock, connector=task.connector, task=task.task)

    def _connector_class(self, name: str) -> type[spi.SourceConnector]:
        found: type[spi.SourceConnector] = self._parts.registry.find(PluginKind.SOURCE, name).cls
        return found


def topic_rules(worker: WorkerConfig, config: Config) -> topic_creation.TopicRules | None:
    """A connector's rules for the topics that it creates; None: the worker lets it create none.

    Raises:
        ConfigError: they are wrong.
    """
    return topic_creation.read(config) if worker.topic_creation_enabled else None


def internal_topics(config: WorkerConfig) -> frozenset[str]:
    """The names of the worker's own topics."""
    cluster = config.cluster
    if cluster is None:
        return frozenset()
    topics = (cluster.config_topic, cluster.offset_topic, cluster.status_topic)
    return frozenset(topic.name for topic in topics)


def error_policy(config: parsing.ParsedConfig) -> ErrorPolicy:
    """A connector's ``errors.*``; no ``errors.retry.timeout``, no end of retries (tolerance)."""
    timeout_ms = config.integer("errors.retry.timeout")
    is_endless = timeout_ms < 0 or not config.is_set("errors.retry.timeout")
    return ErrorPolicy(
        tolerates_all=config.string("errors.tolerance") == "all",
        retry_timeout_s=None if is_endless else timeout_ms / 1000,
        retry_delay_max_s=config.integer("errors.retry.delay.max.ms") / 1000,
        logs_failures=config.boolean("errors.log.enable"),
        logs_records=config.boolean("errors.log.include.messages"),
    )


def window_settings(config: WorkerConfig) -> WindowSettings:
    """Over how long rates, averages and maxima of metrics look back."""
    return WindowSettings(
        sample_s=config.parsed.integer("metrics.sample.window.ms") / 1000,
        samples=config.parsed.integer("metrics.num.samples"),
    )
