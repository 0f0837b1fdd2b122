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
from connectd.app.task_wiring import TaskParts, TaskTies, TaskWiring, topic_rules
from connectd.config_providers import declared
from connectd.configdef import session_key_settings
from connectd.configdef.catalogue import PluginKind
from connectd.configdef.worker import WorkerConfig
from connectd.kafka.admin import SharedAdmins
from connectd.kafka.pool import ProducerPool
from connectd.model.cluster import Config
from connectd.model.record import SourceOffset, SourcePartition
from connectd.observe.tracing import Tracing
from connectd.plugins import spi
from connectd.plugins.directory import PluginDirectory
from connectd.plugins.lookups import Lookups
from connectd.plugins.registry import PluginRegistry
from connectd.plugins.resolving import ConfigResolver
from connectd.runtime.auto_restart import RestartPolicy
from connectd.runtime.connector_life import ConnectorOffsetReader
from connectd.runtime.cores.processes import TaskProcesses
from connectd.runtime.cores.remote_task import RemoteTask, RemoteTaskParts
from connectd.runtime.herder import Herder, HerderSettings, Plugins, WorkerInfo
from connectd.runtime.lives import LifeMaker, LifeSettings
from connectd.runtime.membership import Membership
from connectd.runtime.peers import Peers
from connectd.runtime.statuses import StatusReporter
from connectd.runtime.task_runner import TaskRunner, TaskSpec
from connectd.runtime.validation import ValidationThreads
from connectd.runtime.worker import Worker
from connectd.stores import protocols


@dataclass(frozen=True)
class Parts:
    """What a worker makes before its herder, and owns: it closes these itself.

    ``on_failure`` hears of a service that gave up, ``on_tail_left`` of a task that ended with
    records sent and not committed; ``cluster_id`` asks for what is known by now; ``peers`` is how
    other workers are asked; ``processes`` run the tasks, if the worker has any for them.
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
    processes: TaskProcesses | None = None


class _TaskOffsets:
    """Writes the offsets of one connector (``pipeline.OffsetWriter``)."""

    def __init__(self, store: protocols.OffsetStore, connector: str) -> None:
        self._store = store
        self._connector = connector

    async def put(self, offsets: Mapping[SourcePartition, SourceOffset | None]) -> None:
        await self._store.put(self._connector, offsets)


class Wiring:
    """Builds from a worker's configuration and the parts that it has already."""

    def __init__(self, config: WorkerConfig, ground: Ground, parts: Parts) -> None:
        self._config = config
        self._ground = ground
        self._parts = parts
        tasks = TaskParts(
            clock=parts.clock,
            registry=parts.registry,
            services=parts.services,
            producers=parts.producers,
            admins=SharedAdmins(client_id=ground.client_id("topics"), clock=parts.clock),
            tracing=parts.tracing,
        )
        self._tasks = TaskWiring(config, tasks)

    def herder(self, url: str) -> Herder:
        """The herder of the worker that others reach at ``url``."""
        config, parts = self._config, self._parts
        provider_classes = {**declared.built_in_classes(), **parts.registry.provider_classes}
        providers = declared.make_providers(config.properties, provider_classes)
        resolve = ConfigResolver(Lookups(providers))
        stores = self._ground.stores(parts.clock, parts.on_failure)
        membership = self._ground.membership(url, stores, parts.clock)
        if parts.processes is not None:
            parts.processes.writes_until_s = membership.writes_until_s
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
                on_fenced=(parts.processes or parts.producers).disown,
                on_level=None if parts.processes is None else parts.processes.set_level,
            ),
        )

    def _describe(self) -> WorkerInfo:
        return WorkerInfo(
            version=connectd.__version__,
            commit="unknown",
            kafka_cluster_id=self._parts.cluster_id(),
        )

    def _make_connector(self, config: Config) -> spi.SourceConnector:
        # What is wrong with them fails the connector, not its tasks.
        topic_rules(self._config, config)
        return self._connector_class(config.get("connector.class", ""))()

    def _make_runner(
        self, spec: TaskSpec, offsets: protocols.OffsetStore, membership: Membership
    ) -> TaskRunner:
        parts, connector = self._parts, spec.task_id.connector
        if parts.processes is not None:
            return RemoteTask(
                spec,
                RemoteTaskParts(
                    places=parts.processes,
                    offsets=offsets,
                    may_write=membership.may_write,
                    writes_until_s=membership.writes_until_s,
                    on_tail_left=parts.on_tail_left,
                ),
            )
        ties = TaskTies(
            reader=ConnectorOffsetReader(offsets, connector),
            writer=_TaskOffsets(offsets, connector),
            may_write=membership.may_write,
            on_tail_left=parts.on_tail_left,
        )
        return self._tasks.runner(spec, ties)

    def _connector_class(self, name: str) -> type[spi.SourceConnector]:
        found: type[spi.SourceConnector] = self._parts.registry.find(PluginKind.SOURCE, name).cls
        return found

    def _connector_version(self, name: str) -> str | None:
        plugin = self._parts.registry.find_any(name)
        return None if plugin is None else plugin.version

    def _connector_type(self, name: str) -> str:
        plugin = self._parts.registry.find_any(name)
        return "unknown" if plugin is None else plugin.kind.value


def _restart_policy(config: WorkerConfig) -> RestartPolicy:
    longest_s = config.parsed.integer("connectd.restart.backoff.max.ms") / 1000
    return RestartPolicy(
        attempts_max=config.parsed.integer("connectd.restart.attempts.max"),
        backoff=Backoff(
            initial_s=config.parsed.integer("connectd.restart.backoff.ms") / 1000, max_s=longest_s
        ),
        steady_s=longest_s,
    )
