"""Wires one reconciliation from a worker's and a connector's configuration."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from connectd.aio.backoff import Backoff, retry
from connectd.aio.clock import LoopClock, wall_ms
from connectd.app import bundled, reconcile_on_spark
from connectd.app.expected_records import ExpectedRecords
from connectd.app.reconcile_on_spark import SparkLook
from connectd.app.reconcile_parts import OnProgress, Parts, Wishes
from connectd.app.reconciliation import Reconciliation
from connectd.aws.clients import AwsClientPool, AwsClients
from connectd.config_providers import declared
from connectd.configdef.catalogue import PluginKind
from connectd.configdef.worker import WorkerConfig
from connectd.connectors.dynamodb import reconciling
from connectd.connectors.dynamodb.config import DynamoDbConfig
from connectd.connectors.dynamodb.connector import DynamoDbSourceConnector
from connectd.connectors.dynamodb.envelope import InitSyncState, SourceInfo
from connectd.connectors.dynamodb.export_pages import ExportReading
from connectd.connectors.dynamodb.offsets import TableState
from connectd.connectors.dynamodb.opening import record_plan
from connectd.connectors.dynamodb.plan import TablePlan
from connectd.connectors.dynamodb.reconciling import StateReader
from connectd.connectors.dynamodb.record_keys import KeyReader
from connectd.connectors.dynamodb.source_api import TableDescription
from connectd.connectors.dynamodb.table_reading import TableReading
from connectd.errors import ConfigError
from connectd.kafka import clientconf
from connectd.kafka.admin import KafkaAdmin
from connectd.kafka.following import OnRecords, TopicFollower
from connectd.kafka.producer import PageProducer
from connectd.model.cluster import Config
from connectd.model.record import SourceOffset
from connectd.pipeline.encoding import Converters
from connectd.plugins import chaining, layering
from connectd.plugins.lookups import Lookups
from connectd.plugins.registry import PluginRegistry
from connectd.plugins.resolving import ConfigResolver

BROKER_S: Final = 20.0
"""How long a broker may take to answer the first time."""

CLIENT_ID: Final = "connectd-reconcile"

_RETRY: Final = Backoff(initial_s=0.5, max_s=5.0, attempts_max=5)


@dataclass(frozen=True)
class Subject:
    """What is compared. ``config`` is the connector's, as it is stored; ``offset`` the table's
    state in its offsets, None where that is not known: records of a repair carry it."""

    connector: str
    table: str
    config: Mapping[str, str | None]
    offset: SourceOffset | None


@asynccontextmanager
async def opened(
    subject: Subject,
    worker: WorkerConfig,
    wishes: Wishes,
    on_progress: OnProgress,
    *,
    on_spark: bool = False,
    export: str | None = None,
) -> AsyncIterator[Reconciliation]:
    """A reconciliation that is ready; everything is closed behind the block.

    ``on_spark``: Spark does the first look. ``export``: an export's name, instead of a scan.

    Raises:
        ConfigError: worker or connector are not configured so that records could be made, or the
            wishes contradict one another.
        BrokerUnavailableError: no broker answers.
        AccessDeniedError, TableGoneError: the table cannot be read.
    """
    if export is not None and wishes.removes_extra:
        raise ConfigError(
            "--repair-extra needs a scan: an export does not say what is in the table now; compare "
            "without --export"
        )
    registry = bundled.plugin_registry()
    config = await _resolved(subject.config, worker, registry)
    settings = _settings(subject.connector, config, registry)
    if wishes.removes_extra:  # what a scan has not seen must not be there
        settings = replace(settings, scan=replace(settings.scan, consistent_read=True))
    wiring = _Wiring(subject, worker, config, settings, registry)
    await wiring.admin.wait_broker(BROKER_S)
    pool = AwsClientPool(wiring.clock)
    api = await pool.acquire(settings.aws)
    try:
        description = await retry(
            lambda: api.dynamodb.describe_table(subject.table), clock=wiring.clock, policy=_RETRY
        )
        parts = wiring.parts(api, description, on_spark=on_spark)
        if export is not None:
            reading = await ExportReading.open(api.exports, export, description.arn, wiring.clock)
            parts = replace(parts, export=reading)
        yield Reconciliation(subject.connector, subject.table, parts, wishes, on_progress)
    finally:
        await pool.close()


class _Wiring:
    """Builds the parts of one reconciliation; opens nothing."""

    def __init__(
        self,
        subject: Subject,
        worker: WorkerConfig,
        config: Config,
        settings: DynamoDbConfig,
        registry: PluginRegistry,
    ) -> None:
        self._subject = subject
        self._worker = worker
        self._config = config
        self._settings = settings
        self._registry = registry
        self.clock = LoopClock()
        self._converters = Converters(
            key=layering.make_converter("key", registry, worker, config),
            value=layering.make_converter("value", registry, worker, config),
            header=layering.make_header_converter(registry, worker, config),
            transforms=chaining.make_chain(registry, config),
        )
        # A source connector has no consumer: the worker's own settings reach the brokers, and what
        # is said for consumers comes on top.
        self._consumer = {
            **worker.client_config(),
            **layering.client_settings("consumer", worker, config),
        }
        self.admin = KafkaAdmin(
            layering.client_settings("admin", worker, config),
            client_id=CLIENT_ID,
            clock=self.clock,
        )

    def parts(self, api: AwsClients, description: TableDescription, *, on_spark: bool) -> Parts:
        """All of them."""
        plan = record_plan(description, self._settings.messages)
        converters, now_ms = self._converters, wall_ms(self.clock)
        info, states = _info(self._subject, now_ms), self._states(plan)
        return Parts(
            clock=self.clock,
            table=TableReading(api.dynamodb, description, self._settings.scan, self.clock),
            expected=ExpectedRecords(plan, info, converters, states, self.clock),
            states=states,
            keys=KeyReader(
                plan.key_schema,
                reconciling.decoder(converters.key),
                sanitise=plan.envelope.sanitises_names,
            ),
            topic=plan.topic,
            may_be_routed=bool(converters.transforms),
            open_follower=self._follower,
            open_producer=self._producer,
            spark=self._spark(description, plan, now_ms) if on_spark else None,
        )

    def _states(self, plan: TablePlan) -> StateReader:
        return StateReader(
            reconciling.decoder(self._converters.value),
            self._subject.table,
            plain_documents=plan.envelope.document == "plain",
        )

    def _follower(
        self, topic: str, on_records: OnRecords, start: Mapping[int, int] | None
    ) -> TopicFollower:
        return TopicFollower(
            self._consumer,
            topic,
            client_id=CLIENT_ID,
            admin=self.admin,
            clock=self.clock,
            on_records=on_records,
            start=start,
        )

    def _producer(self) -> PageProducer:
        conf = clientconf.producer_conf(
            layering.client_settings("producer", self._worker, self._config), client_id=CLIENT_ID
        )
        return PageProducer(conf, name=CLIENT_ID)

    def _spark(self, description: TableDescription, plan: TablePlan, now_ms: int) -> SparkLook:
        job = reconcile_on_spark.make_job(
            self._subject.connector,
            self._config,
            self._settings,
            self._worker,
            self._registry,
            description,
            plan,
            now_ms=now_ms,
        )
        settings = {**self._consumer, "isolation.level": "read_committed"}
        consumer = clientconf.consumer_conf(settings, client_id=CLIENT_ID)
        return SparkLook(self._worker.spark, job, consumer)


async def _resolved(
    config: Mapping[str, str | None], worker: WorkerConfig, registry: PluginRegistry
) -> Mapping[str, str]:
    classes = {**declared.built_in_classes(), **registry.provider_classes}
    resolve = ConfigResolver(Lookups(declared.make_providers(worker.properties, classes)))
    written = {name: value for name, value in config.items() if value is not None}
    return (await resolve(written)).config


def _settings(
    connector: str, config: Mapping[str, str], registry: PluginRegistry
) -> DynamoDbConfig:
    name = config.get("connector.class", "")
    if registry.find(PluginKind.SOURCE, name).cls is not DynamoDbSourceConnector:
        raise ConfigError(
            f"connector {connector} is a {name}; only tables of connectd.DynamoDBSource can be "
            "compared with their topics"
        )
    return DynamoDbConfig.from_config(config)


def _info(subject: Subject, now_ms: int) -> SourceInfo:
    """What the records of a repair say about the initial scan: what the connector's own would."""
    if subject.offset is not None:
        return TableState.from_offset(subject.table, subject.offset).info()
    return SourceInfo(
        table_name=subject.table,
        init_sync_state=InitSyncState.SKIPPED,
        init_sync_start_ms=now_ms,
        init_sync_end_ms=now_ms,
    )
