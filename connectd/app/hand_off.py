"""What a worker offers to tables that are scanned on Spark: its settings, and all about records.

A scan on Spark converts and sends as the worker itself would: the same converters, the same
producer settings, the same tolerance of errors. ``record_settings`` asks those who know for each.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Mapping
from pathlib import Path

from connectd.app import task_wiring
from connectd.configdef import parsing
from connectd.configdef.connector import SOURCE_DEF
from connectd.configdef.worker import WorkerConfig
from connectd.connectors.dynamodb import spark_command
from connectd.connectors.dynamodb.scan_job import ErrorRules
from connectd.connectors.dynamodb.spark_driver import SparkSubmit
from connectd.connectors.dynamodb.spark_engine import (
    DriverPlaces,
    RecordSettings,
    SparkEngine,
    Turns,
)
from connectd.errors import ConfigError
from connectd.kafka import clientconf
from connectd.model.cluster import Config
from connectd.plugins import layering
from connectd.plugins.internal_topics import InternalTopics
from connectd.plugins.registry import PluginRegistry


def spark_engine(
    config: WorkerConfig,
    registry: PluginRegistry,
    internal: InternalTopics,
    *,
    client_id: str,
    places: DriverPlaces | None = None,
) -> SparkEngine:
    """The engine of a worker; ``client_id`` is that of producers whose settings name none.

    ``places`` are those of drivers, if the process shares them with others. What drivers of killed
    workers have left on this machine is removed.
    """
    spark_command.remove_stale_files(Path(tempfile.gettempdir()))
    return SparkEngine(
        settings=config.spark,
        records=functools.partial(record_settings, config, registry, internal, client_id),
        starter=SparkSubmit(config.spark),
        turns=Turns(config.spark.drivers_max if places is None else places),
    )


def record_settings(
    worker: WorkerConfig,
    registry: PluginRegistry,
    internal: InternalTopics,
    client_id: str,
    connector: str,
    config: Config,
) -> RecordSettings:
    """How the records of a connector, with this (resolved) config, become bytes.

    Raises:
        ConfigError: a converter or client of the connector is wrong, or cannot go to Spark.
    """
    policy = task_wiring.error_policy(parsing.parse(SOURCE_DEF, config))
    return RecordSettings(
        key_converter=layering.make_converter("key", registry, worker, config).spec,
        value_converter=layering.make_converter("value", registry, worker, config).spec,
        header_converter=layering.make_header_converter(registry, worker, config).spec,
        producer=_producer(worker, connector, config, client_id),
        admin=layering.client_settings("admin", worker, config),
        errors=ErrorRules(
            tolerates_all=policy.tolerates_all,
            retry_timeout_s=policy.retry_timeout_s,
            retry_delay_max_s=policy.retry_delay_max_s,
            logs_failures=policy.logs_failures,
            logs_records=policy.logs_records,
        ),
        creates_topics=worker.topic_creation_enabled,
        reserved_topics=tuple(sorted(internal.names)),
    )


def _producer(
    worker: WorkerConfig, connector: str, config: Config, client_id: str
) -> Mapping[str, str]:
    conf = clientconf.producer_conf(
        layering.client_settings("producer", worker, config),
        client_id=client_id,
        buffer_kib=worker.producer_queue_kib,
    )
    unfit = sorted(name for name, value in conf.items() if not isinstance(value, str))
    if unfit:
        raise ConfigError(
            f"connector {connector}: producer settings {', '.join(unfit)} cannot be handed to "
            "Spark; set init.sync.engine to daemon"
        )
    return conf
