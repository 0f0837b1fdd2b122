"""Wires one reconciliation from a worker's and a connector's configuration."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from connectd.aio.backoff import Backoff, retry
from connectd.aio.clock import LoopClock
from connectd.app import bundled, reconciliation
from connectd.app.expected_records import ExpectedRecords
from connectd.app.reconciliation import OnProgress, Parts, Reconciliation, Wishes
from connectd.aws.clients import AwsClientPool
from connectd.config_providers import declared
from connectd.configdef.catalogue import PluginKind
from connectd.configdef.worker import WorkerConfig
from connectd.connectors.dynamodb import reconciling
from connectd.connectors.dynamodb.config import DynamoDbConfig
from connectd.connectors.dynamodb.connector import DynamoDbSourceConnector
from connectd.connectors.dynamodb.envelope import InitSyncState, SourceInfo
from connectd.connectors.dynamodb.offsets import TableState
from connectd.connectors.dynamodb.opening import record_plan
from connectd.connectors.dynamodb.plan import JSON_CONVERTER, TablePlan
from connectd.connectors.dynamodb.reconciling import KeyReader, StateReader
from connectd.connectors.dynamodb.table_reading import TableReading
from connectd.errors import ConfigError
from connectd.kafka import clientconf
from connectd.kafka.admin import KafkaAdmin
from connectd.kafka.following import TopicFollower
from connectd.kafka.producer import PageProducer
from connectd.kafka.tailing import LogRecord
from connectd.model.record import SourceOffset
from connectd.pipeline.encoding import Converters
from connectd.plugins import chaining, layering, spi
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
    subject: Subject, worker: WorkerConfig, wishes: Wishes, on_progress: OnProgress
) -> AsyncIterator[Reconciliation]:
    """A reconciliation that is ready; everything is closed behind the block.

    Raises:
        ConfigError: worker or connector are not configured so that records could be made.
        BrokerUnavailableError: no broker answers.
        AccessDeniedError, TableGoneError: the table cannot be read.
    """
    clock, registry = LoopClock(), bundled.plugin_registry()
    config = await _resolved(subject.config, worker, registry)
    settings = _settings(subject.connector, config, registry)
    converters = Converters(
        key=layering.make_converter("key", registry, worker, config),
        value=layering.make_converter("value", registry, worker, config),
        header=layering.make_header_converter(registry, worker, config),
        transforms=chaining.make_chain(registry, config),
    )
    admin = KafkaAdmin(
        layering.client_settings("admin", worker, config), client_id=CLIENT_ID, clock=clock
    )
    await admin.wait_broker(BROKER_S)
    pool = AwsClientPool(clock)
    api = await pool.acquire(settings.aws)
    try:
        description = await retry(
            lambda: api.dynamodb.describe_table(subject.table), clock=clock, policy=_RETRY
        )
        plan = record_plan(description, settings.messages)
        consumer = _consumer_settings(worker, config)

        def open_follower(
            topic: str, on_records: Callable[[Sequence[LogRecord]], None]
        ) -> TopicFollower:
            return TopicFollower(
                consumer,
                topic,
                client_id=CLIENT_ID,
                admin=admin,
                clock=clock,
                on_records=on_records,
            )

        def open_producer() -> PageProducer:
            conf = clientconf.producer_conf(
                layering.client_settings("producer", worker, config), client_id=CLIENT_ID
            )
            return PageProducer(conf, name=CLIENT_ID)

        parts = Parts(
            clock=clock,
            table=TableReading(api.dynamodb, description, settings.scan, clock),
            expected=ExpectedRecords(
                plan, _info(subject, int(clock.wall_s() * 1000)), converters, clock
            ),
            states=StateReader(
                _decoder(converters.value), plain_documents=plan.envelope.document == "plain"
            ),
            keys=_key_reader(plan, converters.key),
            own_topic=None if converters.transforms else plan.topic,
            open_follower=open_follower,
            open_producer=open_producer,
        )
        yield reconciliation.Reconciliation(
            subject.connector, subject.table, parts, wishes, on_progress
        )
    finally:
        await pool.close()


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


def _consumer_settings(worker: WorkerConfig, config: Mapping[str, str]) -> dict[str, str]:
    """A source connector has no consumer: the worker's own settings reach the brokers, and what is
    said for consumers comes on top."""
    return {**worker.client_config(), **layering.client_settings("consumer", worker, config)}


def _decoder(converter: spi.Converter) -> reconciling.Decode:
    if converter.spec.class_name == JSON_CONVERTER:
        carries = converter.spec.setting("schemas.enable", "true").strip().lower() == "true"
        return reconciling.json_decoder(carries_schema=carries)
    return lambda topic, data: reconciling.plain_data(converter.to_connect_data(topic, data)[1])


def _key_reader(plan: TablePlan, converter: spi.Converter) -> KeyReader:
    return KeyReader(plan.key_schema, _decoder(converter), sanitise=plan.envelope.sanitises_names)
