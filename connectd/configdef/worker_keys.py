"""Every key of a worker, declared once (spec kafka-connect B.1, B.2, B.3).

Names, types and defaults are Kafka Connect's; the keys under ``connectd.`` are ours. Here are words
and limits only: ``worker`` turns values into settings.
"""

from __future__ import annotations

from typing import Final

from connectd.configdef import (
    overrides,
    session_key_settings,
    validators,
    worker_keys_clients,
    worker_keys_rest,
    worker_keys_spark,
)
from connectd.configdef.definition import (
    REQUIRED,
    ConfigDef,
    ConfigKey,
    ConfigType,
    Importance,
)
from connectd.configdef.key_group import KeyGroup
from connectd.errors import ConfigError
from connectd.observe.metrics import Dialect

_HIGH, _MEDIUM, _LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
_BOOLEAN, _STRING, _CLASS = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.CLASS
_INT, _SHORT, _LONG = ConfigType.INT, ConfigType.SHORT, ConfigType.LONG
_LIST = ConfigType.LIST

_PARTITIONS = validators.positive_or_default(validators.PARTITIONS_TEXT)
_REPLICATION = validators.positive_or_default(validators.REPLICATION_FACTOR_TEXT)
_NOT_NEGATIVE = validators.at_least(0)
_POSITIVE = validators.at_least(1)
_DISCOVERIES = ("ONLY_SCAN", "SERVICE_LOAD", "HYBRID_WARN", "HYBRID_FAIL")
_JMX_REPORTER = "org.apache.kafka.common.metrics.JmxReporter"
_LEVELS = ("OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "ALL")
_SIMPLE_HEADER_CONVERTER = "org.apache.kafka.connect.storage.SimpleHeaderConverter"


def check_dialects(name: str, value: object) -> None:
    """Validator of ``connectd.metrics.dialects``."""
    known = [dialect.value for dialect in Dialect]
    entries = value if isinstance(value, tuple) else ()
    for entry in entries:
        if entry not in known:
            raise ConfigError(f"{name} has {entry}, expected one of {', '.join(known)}")


# The declarations below read as tables.
# fmt: off


def _cluster() -> list[ConfigKey]:
    group = KeyGroup("Cluster")
    key = group.key
    key("bootstrap.servers", _LIST, "localhost:9092", _HIGH,
        "Kafka brokers to ask first, as host:port. One that answers is enough.", validators.servers)
    key("group.id", _STRING, REQUIRED, _HIGH,
        "Name of the Connect cluster: workers that have it, and the same three internal topics, "
        "share connectors and tasks. No consumer may have it.",
        validators.non_empty)
    key("connect.protocol", _STRING, "sessioned", _LOW,
        "How workers share the work: eager stops everything at each change, compatible and "
        "sessioned move only what has to move; sessioned also signs internal requests, without "
        "which there is no Basic authentication.",
        validators.one_of("eager", "compatible", "sessioned"))
    key("session.timeout.ms", _INT, 10_000, _HIGH,
        "A worker that the coordinator has not heard of for so long is out of the group. After two "
        "thirds of it a worker that gets no answer stops its tasks: others may take them over.",
        _POSITIVE)
    key("heartbeat.interval.ms", _INT, 3_000, _HIGH,
        "Time between two heartbeats; must be below session.timeout.ms, best a third of it.",
        _POSITIVE)
    key("rebalance.timeout.ms", _INT, 60_000, _HIGH,
        "Time that a worker has to join again when the group rebalances: it must be able to stop "
        "its tasks and commit their positions meanwhile.", _POSITIVE)
    key("scheduled.rebalance.max.delay.ms", _INT, 300_000, _LOW,
        "How long the work of a lost worker waits for its return before others take it over.",
        validators.between(0, 2**31 - 1))
    key("worker.sync.timeout.ms", _INT, 3_000, _MEDIUM,
        "How long a worker may take to catch up with the config topic before it leaves the group.",
        _NOT_NEGATIVE)
    key("worker.unsync.backoff.ms", _INT, 300_000, _MEDIUM,
        "How long a worker that could not catch up stays out of the group (eager only).",
        _NOT_NEGATIVE)
    key("inter.worker.key.generation.algorithm", _STRING, "HmacSHA256", _LOW,
        "Algorithm of the key that signs requests between workers.",
        session_key_settings.check_algorithms)
    key("inter.worker.key.size", _INT, None, _LOW,
        "Length of that key in bits; not set: what the algorithm asks for.",
        validators.optional(_POSITIVE))
    key("inter.worker.key.ttl.ms", _INT, 3_600_000, _LOW,
        "Age at which that key is replaced; 0 never replaces it.", _NOT_NEGATIVE)
    key("inter.worker.signature.algorithm", _STRING, "HmacSHA256", _LOW,
        "Algorithm that signs this worker's requests.", session_key_settings.check_algorithms)
    key("inter.worker.verification.algorithms", _LIST, ("HmacSHA256",), _LOW,
        "Algorithms accepted from other workers; inter.worker.signature.algorithm must be one.",
        session_key_settings.check_algorithms)
    return group.keys


def _internal_topics() -> list[ConfigKey]:
    group = KeyGroup("Internal topics")
    key = group.key
    created = "Used only when the worker creates the topic; -1 is the broker's default."
    key("config.storage.topic", _STRING, REQUIRED, _HIGH,
        "Compacted topic with the configs of connectors and tasks. One partition.",
        validators.non_empty)
    key("config.storage.replication.factor", _SHORT, 3, _LOW,
        f"Replicas of the config topic. {created}", _REPLICATION)
    key("offset.storage.topic", _STRING, REQUIRED, _HIGH,
        "Compacted topic with the positions of source connectors.", validators.non_empty)
    key("offset.storage.partitions", _INT, 25, _LOW,
        f"Partitions of the offsets topic. {created}", _PARTITIONS)
    key("offset.storage.replication.factor", _SHORT, 3, _LOW,
        f"Replicas of the offsets topic. {created}", _REPLICATION)
    key("status.storage.topic", _STRING, REQUIRED, _HIGH,
        "Compacted topic with the states of connectors and tasks.", validators.non_empty)
    key("status.storage.partitions", _INT, 5, _LOW,
        f"Partitions of the status topic. {created}", _PARTITIONS)
    key("status.storage.replication.factor", _SHORT, 3, _LOW,
        f"Replicas of the status topic. {created}", _REPLICATION)
    key("internal.topics.automatic.creation.enable", _BOOLEAN, True, _LOW,
        "Whether missing internal topics are created; if not, a missing one is an error.")
    key("connectd.new.config.topic.allowed", _BOOLEAN, False, _LOW,
        "Whether a config topic in which nothing was ever written about a connector is meant, "
        "although the offsets or the status topic knows connectors. If not, the worker is not "
        "ready until one is created, since the topic may have been deleted; it serves requests.")
    return group.keys


def _standalone() -> list[ConfigKey]:
    group = KeyGroup("Standalone")
    group.key("offset.storage.file.filename", _STRING, REQUIRED, _HIGH,
        "File with the positions of source connectors, in the format of the Java worker. One "
        "worker at a time; its directory must be writable.", validators.non_empty)
    return group.keys


def _tasks() -> list[ConfigKey]:
    group = KeyGroup("Connectors and tasks")
    key = group.key
    key("key.converter", _CLASS, REQUIRED, _HIGH,
        "Converter of message keys for connectors that name none. Its own settings follow under "
        "key.converter.")
    key("value.converter", _CLASS, REQUIRED, _HIGH,
        "Converter of message values for connectors that name none. Its own settings follow under "
        "value.converter.")
    key("header.converter", _CLASS, _SIMPLE_HEADER_CONVERTER, _LOW,
        "Converter of message headers for connectors that name none.")
    for kind in ("key", "value", "header"):
        key(f"{kind}.converter.plugin.version", _STRING, None, _LOW,
            f"Version of the plugin that {kind}.converter names; each plugin has one here.")
    key("offset.flush.interval.ms", _LONG, 60_000, _LOW,
        "Time between two commits of source positions; what is sent again after a crash grows "
        "with it.", _POSITIVE)
    key("offset.flush.timeout.ms", _LONG, 5_000, _LOW,
        "How long a commit may take before it is given up and tried at the next interval.",
        _POSITIVE)
    key("task.shutdown.graceful.timeout.ms", _LONG, 5_000, _LOW,
        "How long tasks that are stopped together have to end by themselves, all together.",
        _NOT_NEGATIVE)
    key("exactly.once.source.support", _STRING, "disabled", _HIGH,
        "Whether source connectors may write records and positions in one transaction.",
        validators.one_of("DISABLED", "ENABLED", "PREPARING", ignore_case=True))
    key("connector.client.config.override.policy", _STRING, "All", _MEDIUM,
        "Which settings of its Kafka clients a connector may override: All, None, Principal (who "
        "it logs in as) or Allowlist.", overrides.check_policy)
    key("connector.client.config.override.allowlist", _LIST, (), _MEDIUM,
        "The settings that the policy Allowlist lets through, without the override prefix.",
        validators.distinct())
    key("topic.creation.enable", _BOOLEAN, True, _LOW,
        "Whether topics of source connectors with topic.creation. keys are created as those say; "
        "if not, and without such keys, it is left to the broker.")
    key("topic.tracking.enable", _BOOLEAN, True, _LOW,
        "Whether the worker remembers to which topics a connector writes.")
    key("topic.tracking.allow.reset", _BOOLEAN, True, _LOW,
        "Whether a request may make it forget them.")
    key("config.providers", _LIST, (), _LOW,
        "Names of config providers, which know the values behind ${name:path:key} in configs. Each "
        "has config.providers.<name>.class: FileConfigProvider (path: a properties file), "
        "DirectoryConfigProvider (path: a directory, key: a file in it) or EnvVarConfigProvider "
        "(no path), and parameters: config.providers.<name>.param.allowed.paths for the first "
        "two, .param.allowlist.pattern for the last.", validators.distinct())
    key("plugin.path", _LIST, None, _LOW, "No effect: plugins are part of the installation.",
        validators.distinct(is_empty_allowed=False, is_null_allowed=True))
    key("plugin.discovery", _STRING, "hybrid_warn", _LOW,
        "No effect: plugins are part of the installation.",
        validators.one_of(*_DISCOVERIES, ignore_case=True))
    return group.keys


def _metrics() -> list[ConfigKey]:
    group = KeyGroup("Metrics")
    key = group.key
    key("metrics.sample.window.ms", _LONG, 30_000, _LOW, "Length of one sample.", _NOT_NEGATIVE)
    key("metrics.num.samples", _INT, 2, _LOW, "Samples that a metric keeps.", _POSITIVE)
    key("metrics.recording.level", _STRING, "INFO", _LOW,
        "How much is measured.", validators.one_of("INFO", "DEBUG"))
    key("metric.reporters", _LIST, _JMX_REPORTER, _LOW,
        "No effect: Java classes cannot be loaded here.", validators.distinct())
    key("connectd.metrics.dialects", _LIST, ("jmx1", "strimzi", "debezium"), _LOW,
        "Whose names /metrics gives Kafka Connect's metrics beside those of the JMX exporter: of "
        "its version 1 (jmx1), and of the rules of Strimzi and Debezium. See docs/metrics.md.",
        validators.all_of(validators.distinct(), check_dialects))
    key("connectd.table.degraded.ms", _LONG, 300_000, _LOW,
        "A table that should make progress and has made none for so long is degraded: in its row, "
        "in /metrics and in the readiness probe's answer. Three of the pauses that it makes on "
        "purpose (stream.poll.interval.max.ms) are never too long.",
        validators.between(1_000, 86_400_000))
    return group.keys


def _connectd() -> list[ConfigKey]:
    group = KeyGroup("connectd")
    key = group.key
    key("connectd.log.format", _STRING, "auto", _MEDIUM,
        "json, console, or auto: console on a terminal, json everywhere else.",
        validators.one_of("auto", "json", "console"))
    key("connectd.log.level", _STRING, "INFO", _MEDIUM,
        "The least important lines that are written. Libraries are heard from WARN on, from INFO "
        "on with DEBUG.",
        validators.one_of(*_LEVELS, ignore_case=True))
    key("connectd.producer.queue.kbytes", _INT, 32_768, _MEDIUM,
        "Records in KiB that a producer holds while the brokers are slow; reading waits beyond it.",
        validators.between(1_024, 2_097_151))
    key("connectd.polls.in.flight.max", _INT, 64, _LOW,
        "Polls of streams that run at the same time, over all tables of the worker.",
        validators.between(1, 10_000))
    key("workers", _INT, 1, _MEDIUM,
        "Processes that run this worker's tasks, one per core that they may use. 1: all in the "
        "worker's own process. With more, that one serves REST and coordinates, and each of the "
        "others takes its part of the tasks: raise tasks.max of a connector with it, since one "
        "task is in one process. Each has its own producers and needs some 100 MiB.",
        validators.between(1, 64))
    key("connectd.shutdown.grace.ms", _LONG, 25_000, _MEDIUM,
        "Time from SIGTERM to the end of the process. Keep it below the grace period of what "
        "stops the process (30 s in Kubernetes) and above task.shutdown.graceful.timeout.ms.",
        validators.between(1_000, 3_600_000))
    key("connectd.restart.attempts.max", _INT, 0, _MEDIUM,
        "How often a connector or task that has failed is restarted by itself; 0, as in Kafka "
        "Connect: never. One that has run for connectd.restart.backoff.max.ms has all its "
        "attempts again, and so has one that somebody restarts.",
        validators.between(0, 1_000_000))
    key("connectd.restart.backoff.ms", _LONG, 10_000, _LOW,
        "The wait before the first such restart; it doubles from failure to failure. Between half "
        "and all of a wait passes, at random.",
        validators.between(1_000, 86_400_000))
    key("connectd.restart.backoff.max.ms", _LONG, 600_000, _LOW,
        "The longest such wait.",
        validators.between(1_000, 86_400_000))
    return group.keys


# fmt: on

WORKER_DEF: Final = ConfigDef(
    [
        *_cluster(),
        *_internal_topics(),
        *_tasks(),
        *worker_keys_rest.rest_keys(),
        *worker_keys_clients.client_keys(),
        *_metrics(),
        *worker_keys_spark.spark_keys(),
        *_connectd(),
    ]
)
"""All keys of a distributed worker."""

STANDALONE_KEYS: Final = ConfigDef(_standalone())
"""The keys that only a standalone worker has."""

CLUSTER_KEYS: Final = frozenset(
    key.name for key in (*_cluster(), *_internal_topics()) if key.name != "bootstrap.servers"
) | {"exactly.once.source.support"}
"""The keys that only a distributed worker has."""

STANDALONE_DEF: Final = ConfigDef(
    [*(key for key in WORKER_DEF if key.name not in CLUSTER_KEYS), *STANDALONE_KEYS]
)
"""All keys of a standalone worker."""

CLIENT_KEYS: Final = frozenset(
    {"bootstrap.servers", *(key.name for key in worker_keys_clients.client_keys())}
) - {"client.id", "ssl.client.auth"}
"""Unprefixed keys that go to the worker's own Kafka clients."""

CLIENT_PREFIXES: Final = ("ssl.", "sasl.", "security.")
"""Unprefixed keys that go there although they are not declared one by one."""

WITHOUT_EFFECT: Final = frozenset(
    {
        "plugin.path",
        "plugin.discovery",
        "metric.reporters",
        "metrics.recording.level",
    }
)
"""Keys of the Java worker that are accepted, warned of when set, and change nothing."""
