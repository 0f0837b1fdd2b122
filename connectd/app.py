"""The composition root: builds every object of a worker once, in order, and closes them in reverse.

``run_worker`` is what ``connectd run`` does after it has read the configuration. The order:
sockets (an address in use is told first), the shared resources of plugins, the stores, the
herder, and last the REST server, which answers while the stores are still being read. SIGTERM and
SIGINT ask for the end: REST stops taking requests, tasks drain and commit, statuses are flushed,
the stores are closed; all within ``connectd.shutdown.grace.ms``. A second signal ends the process
at once.

The exit code says how it went; see ``ExitCode``.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum

import structlog

import connectd
from connectd.aio.clock import LoopClock
from connectd.aio.jobs import JobGroup, wait_first
from connectd.aio.scheduler import PollScheduler
from connectd.aws.clients import AwsClientPool
from connectd.configdef import parsing
from connectd.configdef.catalogue import PluginKind
from connectd.configdef.connector import SOURCE_DEF
from connectd.configdef.definition import ConfigDef
from connectd.configdef.worker import InternalTopic, WorkerConfig
from connectd.connectors.dynamodb.connector import DynamoDbSourceConnector
from connectd.converters.json_converter import JsonConverter
from connectd.errors import RetriableError, WorkerError
from connectd.kafka.admin import KafkaAdmin
from connectd.kafka.pool import ProducerPool
from connectd.kafka.producer import PageProducer
from connectd.model.record import SourceOffset, SourcePartition
from connectd.model.states import LifecycleEvent, TargetState
from connectd.pipeline.encoding import Converters
from connectd.pipeline.source_task import RunnerSettings, SourceTaskRunner
from connectd.plugins import layering, spi
from connectd.plugins.directory import PluginDirectory
from connectd.plugins.registry import PluginDesc, PluginRegistry
from connectd.rest.api import create_api
from connectd.rest.server import RestServer
from connectd.runtime.connector_life import ConnectorOffsetReader
from connectd.runtime.herder import Herder, HerderSettings, Plugins, Stores, WorkerInfo
from connectd.runtime.lives import LifeMaker, LifeSettings
from connectd.runtime.membership import SoleMember
from connectd.runtime.statuses import StatusReporter
from connectd.runtime.task_runner import TaskRunner, TaskSpec
from connectd.runtime.validation import ValidationThreads
from connectd.runtime.worker import Worker
from connectd.stores import protocols
from connectd.stores.kafka_config import KafkaConfigStore
from connectd.stores.kafka_offset import KafkaOffsetStore
from connectd.stores.kafka_status import KafkaStatusStore
from connectd.stores.topic_home import TopicHome

_log = structlog.get_logger(__name__)

_REST_GRACE_S = 2.0

_CLIENTS_S = 1.0
"""What is kept of the grace period for ending clients, once tasks and stores are through."""

_BROKER_QUIET_S = 3.0
"""A broker that takes longer to answer at the start is worth a line in the log."""


class ExitCode(IntEnum):
    """How a worker ended."""

    CLEAN = 0  # stopped, and everything acknowledged is committed
    FAILED = 1  # a service of the worker gave up; the log says which
    CONFIG = 2  # the configuration, or what it points to, cannot be used
    TAIL_REPEATED = 3  # stopped, but a tail is not committed: it will be sent again


def plugin_registry() -> PluginRegistry:
    """Every plugin that comes with connectd. Importing a plugin registers nothing by itself."""
    registry = PluginRegistry()
    registry.register(
        PluginDesc(
            class_name="connectd.DynamoDBSource",
            aliases=("com.trustpilot.connector.dynamodb.DynamoDBSourceConnector",),
            kind=PluginKind.SOURCE,
            version=connectd.__version__,
            cls=DynamoDbSourceConnector,
        )
    )
    registry.register(
        PluginDesc(
            class_name="org.apache.kafka.connect.json.JsonConverter",
            kind=PluginKind.CONVERTER,
            version=connectd.__version__,
            cls=JsonConverter,
        )
    )
    return registry


def documented_plugins() -> list[tuple[str, ConfigDef]]:
    """Title and keys of everything that the reference documents beside the worker."""
    return [
        ("Source connectors", SOURCE_DEF),
        ("connectd.DynamoDBSource", DynamoDbSourceConnector.config_def()),
        (JsonConverter.class_name, JsonConverter.config_def()),
    ]


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
        self, pool: ProducerPool, settings: Mapping[str, str], *, release_deadline_s: float
    ) -> None:
        self._pool = pool
        self._settings = settings
        self._release_deadline_s = release_deadline_s

    def acquire(self) -> PageProducer:
        return self._pool.acquire(self._settings)

    async def release(self, producer: PageProducer) -> None:
        await self._pool.release(producer, deadline_s=self._release_deadline_s)


class WorkerApp:
    """All objects of one worker process. Made and used on its event loop."""

    def __init__(self, config: WorkerConfig) -> None:
        self._config = config
        self._clock = LoopClock()
        self._registry = plugin_registry()
        self._aws = AwsClientPool(self._clock)
        self._producers = ProducerPool(
            client_id=f"connector-producer-{config.group.id}",
            buffer_kib=config.producer_queue_kib,
            on_failure=self._fail,
        )
        self._services = spi.WorkerServices(
            clock=self._clock,
            scheduler=PollScheduler(in_flight_max=config.polls_in_flight_max),
            resources={AwsClientPool: self._aws},
        )
        self._admin = KafkaAdmin(
            config.client_config(), client_id=self._client_id("shared-admin"), clock=self._clock
        )
        self._rest = RestServer(config.rest.listeners, grace_s=_REST_GRACE_S)
        self._jobs = JobGroup("process", on_failure=lambda _, error: self._fail(error))
        self._ended = asyncio.Event()
        self._stopping = asyncio.Event()
        self._stop_until_s = 0.0
        self._failure: BaseException | None = None
        self._has_tail_left = False
        self._cluster_id: str | None = None
        self._herder: Herder | None = None

    # -- life -----------------------------------------------------------------------------------

    async def run(self) -> ExitCode:
        """Serve until a signal or a failure; everything is closed when it returns.

        Raises:
            ConfigError: something that the configuration names cannot be used.
            WorkerError: a service of the worker gave up.
        """
        try:
            bound = self._rest.open()
            url = self._config.rest.advertised.url(bound, _machine_address())
            self._herder = herder = self._build_herder(url)
            self._listen_to_signals()
            self._jobs.spawn("herder", self._serve(herder))
            self._jobs.spawn(
                "rest",
                self._rest.serve(create_api(herder, self._config.rest, self._clock)),
                service=True,
            )
            await wait_first(self._ended.wait(), self._stopping.wait())
        finally:
            await self._close()
        if self._failure is not None:
            raise self._failure
        return ExitCode.TAIL_REPEATED if self._has_tail_left else ExitCode.CLEAN

    async def _serve(self, herder: Herder) -> None:
        try:
            with herder.stage("waiting for a Kafka broker to answer"):
                await wait_first(self._find_broker(), self._stopping.wait())
            if not self._stopping.is_set():
                await herder.run()
        except asyncio.CancelledError:
            _log.error("stopping: not done in time", grace_s=self._config.shutdown_grace_s)
            self._has_tail_left = True
            raise
        finally:
            self._ended.set()

    async def _find_broker(self) -> None:
        wait_s, servers = self._config.broker_wait_s, ", ".join(self._config.bootstrap_servers)
        try:
            self._cluster_id = await self._admin.cluster_id(min(_BROKER_QUIET_S, wait_s))
            return
        except RetriableError as error:
            _log.warning(
                "no Kafka broker answers yet, waiting",
                bootstrap_servers=servers,
                deadline_s=wait_s,
                error=str(error),
            )
        try:
            self._cluster_id = await self._admin.wait_broker(max(0.0, wait_s - _BROKER_QUIET_S))
        except RetriableError as error:
            raise WorkerError(
                f"no Kafka broker answered within {wait_s:g} s (default.api.timeout.ms); check "
                f"bootstrap.servers ({servers}) and the network"
            ) from error

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal, number)

    def _on_signal(self, number: signal.Signals) -> None:
        _log.info("stopping", signal=number.name, grace_s=self._config.shutdown_grace_s)
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(each)  # the next one ends the process at once
        self._stop()

    def _stop(self) -> None:
        if not self._stopping.is_set():
            self._stop_until_s = self._clock.monotonic() + self._config.shutdown_grace_s
        self._stopping.set()
        if self._herder is not None:
            self._herder.stop()

    def _fail(self, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error
        self._stop()
        self._ended.set()

    async def _close(self) -> None:
        self._stop()
        self._rest.stop()
        grace_s = max(0.0, self._stop_until_s - self._clock.monotonic() - _CLIENTS_S)
        left_behind = await self._jobs.stop(grace_s=grace_s, hard_s=_CLIENTS_S)
        if left_behind:
            _log.error("stopping: services did not end in time", jobs=left_behind)
            self._has_tail_left = True
        self._rest.close()
        await self._producers.close(deadline_s=_CLIENTS_S)
        await self._aws.close()

    # -- wiring ---------------------------------------------------------------------------------

    def _build_herder(self, url: str) -> Herder:
        config = self._config
        stores = self._build_stores()
        membership = SoleMember(url, stores.statuses)
        statuses = StatusReporter(
            stores.statuses,
            membership,
            self._clock,
            stores.configs.snapshot,
            tracks_topics=config.topic_tracking_enabled,
        )
        maker = LifeMaker(
            services=self._services,
            offsets=stores.offsets,
            membership=membership,
            statuses=statuses,
            make_connector=lambda name: self._connector_class(name)(),
            make_task_runner=lambda spec: self._make_runner(spec, stores.offsets),
            resolve=lambda connector_config: connector_config,
            settings=LifeSettings(task_grace_s=config.task_shutdown_timeout_s),
        )
        return Herder(
            describe=self._describe,
            clock=self._clock,
            stores=stores,
            membership=membership,
            statuses=statuses,
            worker=Worker(maker),
            plugins=Plugins(
                directory=PluginDirectory(self._registry, config),
                connector_class=self._connector_class,
                connector_type=self._connector_type,
                run_blocking=ValidationThreads(),
            ),
            resolve=lambda connector_config: connector_config,
            settings=HerderSettings(
                tracks_topics=config.topic_tracking_enabled,
                allows_topic_reset=config.topic_tracking_reset_allowed,
            ),
        )

    def _build_stores(self) -> Stores:
        config = self._config
        flush_s = config.offset_flush_timeout_s
        return Stores(
            configs=KafkaConfigStore(
                self._home(config.config_topic, "configs"),
                clock=self._clock,
                on_failure=self._fail,
            ),
            offsets=KafkaOffsetStore(
                self._home(config.offset_topic, "offsets", write_deadline_s=flush_s),
                clock=self._clock,
                on_failure=self._fail,
            ),
            statuses=KafkaStatusStore(
                self._home(config.status_topic, "statuses"),
                clock=self._clock,
                on_failure=self._fail,
            ),
        )

    def _home(
        self, topic: InternalTopic, client: str, *, write_deadline_s: float = 30.0
    ) -> TopicHome:
        return TopicHome(
            client=self._config.client_config(),
            client_id=self._client_id(client),
            topic=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            topic_settings=topic.settings,
            may_create=self._config.internal_topics_created,
            create_deadline_s=self._config.broker_wait_s,
            write_deadline_s=write_deadline_s,
        )

    def _client_id(self, purpose: str) -> str:
        own = f"{self._config.client_id}-" if self._config.client_id else ""
        return f"{self._config.group.id}-{own}{purpose}"

    def _describe(self) -> WorkerInfo:
        return WorkerInfo(
            version=connectd.__version__, commit="unknown", kafka_cluster_id=self._cluster_id
        )

    def _make_runner(self, spec: TaskSpec, offsets: protocols.OffsetStore) -> TaskRunner:
        config, connector = spec.connector_config, spec.task_id.connector
        task_class = self._connector_class(config.get("connector.class", "")).task_class()
        framework = parsing.parse(SOURCE_DEF, config)
        return SourceTaskRunner(
            task=task_class(),
            context=_TaskContext(
                connector=connector,
                task=spec.task_id.task,
                services=self._services,
                offsets=ConnectorOffsetReader(offsets, connector),
                on_event=spec.on_event,
            ),
            config=spec.task_config,
            converters=Converters(
                key=layering.make_converter("key", self._registry, self._config, config),
                value=layering.make_converter("value", self._registry, self._config, config),
            ),
            producers=_PoolLease(
                self._producers,
                layering.client_settings("producer", self._config, config),
                release_deadline_s=self._config.offset_flush_timeout_s,
            ),
            offsets=_TaskOffsets(offsets, connector),
            settings=RunnerSettings(
                commit_interval_s=self._config.offset_flush_interval_s,
                commit_timeout_s=self._config.offset_flush_timeout_s,
                tolerate_all=framework.string("errors.tolerance") == "all",
                log_errors=framework.boolean("errors.log.enable"),
            ),
            starts_paused=spec.target is TargetState.PAUSED,
            on_event=spec.on_event,
            on_topic=spec.on_topic,
            on_tail_left=self._on_tail_left,
        )

    def _connector_class(self, name: str) -> type[spi.SourceConnector]:
        found: type[spi.SourceConnector] = self._registry.find(PluginKind.SOURCE, name).cls
        return found

    def _connector_type(self, name: str) -> str:
        plugin = self._registry.find_any(name)
        return "unknown" if plugin is None else plugin.kind.value

    def _on_tail_left(self) -> None:
        if self._stopping.is_set():
            self._has_tail_left = True


def _machine_address() -> str:
    """This machine's own address as its name resolves to, the loopback address if it does not."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"


async def run_worker(config: WorkerConfig) -> ExitCode:
    """Run a worker until it is told to stop; raises what made it fail."""
    return await WorkerApp(config).run()
