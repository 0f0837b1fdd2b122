"""Wires the herder of one worker and everything below it: stores, lives, runners.

``Wiring`` only builds. What it builds, the worker (``process``) runs and closes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import connectd
from connectd.aio.backoff import Backoff
from connectd.aio.clock import BootClock
from connectd.app.ground import Ground, OnFailure
from connectd.config_providers import declared
from connectd.configdef import parsing, session_key_settings, topic_creation
from connectd.configdef.catalogue import PluginKind
from connectd.configdef.connector import SOURCE_DEF
from connectd.configdef.worker import WorkerConfig
from connectd.kafka.admin import SharedAdmins
from connectd.kafka.pool import ProducerPool
from connectd.kafka.producer import PageProducer
from connectd.model.cluster import Config
from connectd.model.ids import ConnectorTaskId
from connectd.model.record import SourceOffset, SourcePartition
from connectd.model.states import LifecycleEvent, TargetState
from connectd.observe.metrics_windows import WindowSettings
from connectd.observe.tracing import Tracing
from connectd.pipeline.encoding import Converters
from connectd.pipeline.source_task import RunnerSettings, SourceTaskRunner
from connectd.pipeline.tolerance import ErrorPolicy
from connectd.pipeline.topics import TaskTopics
from connectd.pipeline.tracing import TaskTracing
from connectd.plugins import chaining, layering, spi
from connectd.plugins.directory import PluginDirectory
from connectd.plugins.lookups import Lookups
from connectd.plugins.registry import PluginRegistry
from connectd.plugins.resolving import ConfigResolver
from connectd.runtime.auto_restart import RestartPolicy
from connectd.runtime.connector_life import ConnectorOffsetReader
from connectd.runtime.herder import Herder, HerderSettings, Plugins, WorkerInfo
from connectd.runtime.lives import LifeMaker, LifeSettings
from connectd.runtime.membership import Membership
from connectd.runtime.peers import Peers
from connectd.runtime.statuses import StatusReporter
from connectd.runtime.task_runner import TaskRunner, TaskSpec
from connectd.runtime.validation import ValidationThreads
from connectd.runtime.watched_task import WatchedTask
from connectd.runtime.worker import Worker
from connectd.stores import protocols


@dataclass(frozen=True)
class Parts:
    """What a worker makes before its herder, and owns: it closes these itself.

    ``on_failure`` hears of a service that gave up, ``on_tail_left`` of a task that ended with
    records sent and not committed; ``cluster_id`` asks for what is known by now; ``peers`` is how
    other workers are asked.
    """

    clock: BootClock
    registry: PluginRegistry
    services: spi.WorkerServices
    producers: ProducerPool
    cluster_id: Callable[[], str | None]
    on_failure: OnFailure
    on_tail_left: Callable[[], None]
    peers: Peers
    tracing: Tracing | None = None


class _TaskOffsets:
    """Writes the offsets of one connector (``pipeline.OffsetWriter``)."""

    def __init__(self, store: protocols.OffsetStore, connector: str) -> None:
        self._store = store
        self._connector = connector

    async def put(self, offsets: Mapping[SourcePartition, SourceOffset | None]) -> None:
        await self._store.put(self._connector, offsets)


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


class Wiring:
    """Builds from a worker's configuration and the parts that it has already."""

    def __init__(self, config: WorkerConfig, ground: Ground, parts: Parts) -> None:
        self._config = config
        self._ground = ground
        self._parts = parts
        self._admins = SharedAdmins(client_id=ground.client_id("topics"), clock=parts.clock)

    def herder(self, url: str) -> Herder:
        """The herder of the worker that others reach at ``url``."""
        config, parts = self._config, self._parts
        provider_classes = {**declared.built_in_classes(), **parts.registry.provider_classes}
        providers = declared.make_providers(config.properties, provider_classes)
        resolve = ConfigResolver(Lookups(providers))
        stores = self._ground.stores(parts.clock, parts.on_failure)
        membership = self._ground.membership(url, stores, parts.clock)
        statuses = StatusReporter(
            stores.statuses,
            membership,
            parts.clock,
            stores.configs.snapshot,
            tracks_topics=config.topic_tracking_enabled,
        )
        maker = LifeMaker(
            services=parts.services,
            offsets=stores.offsets,
            membership=membership,
            statuses=statuses,
            make_connector=self._make_connector,
            version_of=self._connector_version,
            make_task_runner=lambda spec: self._make_runner(spec, stores.offsets, membership),
            resolve=resolve,
            settings=LifeSettings(
                task_grace_s=config.task_shutdown_timeout_s, restarts=_restart_policy(config)
            ),
        )
        return Herder(
            describe=self._describe,
            clock=parts.clock,
            stores=stores,
            membership=membership,
            statuses=statuses,
            worker=Worker(maker),
            plugins=Plugins(
                directory=PluginDirectory(parts.registry, config),
                connector_class=self._connector_class,
                connector_type=self._connector_type,
                run_blocking=ValidationThreads(),
            ),
            resolve=resolve,
            peers=parts.peers,
            settings=HerderSettings(
                tracks_topics=config.topic_tracking_enabled,
                allows_topic_reset=config.topic_tracking_reset_allowed,
                manners=self._ground.manners,
                session_keys=session_key_settings.read(config.parsed) if config.cluster else None,
                table_still_s=config.parsed.integer("connectd.table.degraded.ms") / 1000,
                allows_new_config_topic=config.cluster is not None
                and config.parsed.boolean("connectd.new.config.topic.allowed"),
                on_fenced=parts.producers.disown,
            ),
        )

    def _describe(self) -> WorkerInfo:
        return WorkerInfo(
            version=connectd.__version__,
            commit="unknown",
            kafka_cluster_id=self._parts.cluster_id(),
        )

    def _make_connector(self, config: Config) -> spi.SourceConnector:
        self._topic_rules(config)  # what is wrong with them fails the connector, not its tasks
        return self._connector_class(config.get("connector.class", ""))()

    def _topic_rules(self, config: Config) -> topic_creation.TopicRules | None:
        return topic_creation.read(config) if self._config.topic_creation_enabled else None

    def _make_runner(
        self, spec: TaskSpec, offsets: protocols.OffsetStore, membership: Membership
    ) -> TaskRunner:
        config, connector = spec.connector_config, spec.task_id.connector
        task_class = self._connector_class(config.get("connector.class", "")).task_class()
        framework = parsing.parse(SOURCE_DEF, config)
        return SourceTaskRunner(
            task=WatchedTask(task_class(), spec.task_id),
            context=_TaskContext(
                connector=connector,
                task=spec.task_id.task,
                services=self._parts.services,
                offsets=ConnectorOffsetReader(offsets, connector),
                on_event=spec.on_event,
            ),
            config=spec.task_config,
            converters=Converters(
                key=layering.make_converter("key", self._parts.registry, self._config, config),
                value=layering.make_converter("value", self._parts.registry, self._config, config),
                header=layering.make_header_converter(self._parts.registry, self._config, config),
                transforms=chaining.make_chain(self._parts.registry, config),
            ),
            producers=_PoolLease(
                self._parts.producers,
                layering.client_settings("producer", self._config, config),
                overridden_by=connector if layering.has_overrides("producer", config) else "",
                release_deadline_s=self._config.offset_flush_timeout_s,
            ),
            offsets=_TaskOffsets(offsets, connector),
            may_write=membership.may_write,
            settings=RunnerSettings(
                commit_interval_s=self._config.offset_flush_interval_s,
                commit_timeout_s=self._config.offset_flush_timeout_s,
                errors=error_policy(framework),
                metrics=window_settings(self._config),
            ),
            topics=TaskTopics(
                clock=self._parts.clock,
                reserved=_internal_topics(self._config),
                rules=self._topic_rules(config),
                open_admin=lambda: self._admins.get(
                    layering.client_settings("admin", self._config, config)
                ),
                log_fields={"connector": connector, "task": spec.task_id.task},
            ),
            starts_paused=spec.target is TargetState.PAUSED,
            on_event=spec.on_event,
            on_topic=spec.on_topic,
            on_tail_left=self._parts.on_tail_left,
            tracing=self._task_tracing(spec.task_id),
        )

    def _task_tracing(self, task: ConnectorTaskId) -> TaskTracing | None:
        tracing = self._parts.tracing
        if tracing is None:
            return None
        return TaskTracing(tracing, self._parts.clock, connector=task.connector, task=task.task)

    def _connector_class(self, name: str) -> type[spi.SourceConnector]:
        found: type[spi.SourceConnector] = self._parts.registry.find(PluginKind.SOURCE, name).cls
        return found

    def _connector_version(self, name: str) -> str | None:
        plugin = self._parts.registry.find_any(name)
        return None if plugin is None else plugin.version

    def _connector_type(self, name: str) -> str:
        plugin = self._parts.registry.find_any(name)
        return "unknown" if plugin is None else plugin.kind.value


def _internal_topics(config: WorkerConfig) -> frozenset[str]:
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


def _restart_policy(config: WorkerConfig) -> RestartPolicy:
    longest_s = config.parsed.integer("connectd.restart.backoff.max.ms") / 1000
    return RestartPolicy(
        attempts_max=config.parsed.integer("connectd.restart.attempts.max"),
        backoff=Backoff(
            initial_s=config.parsed.integer("connectd.restart.backoff.ms") / 1000, max_s=longest_s
        ),
        steady_s=longest_s,
    )
