"""The worker's configuration: from a properties file and the environment to a typed view.

``WorkerConfig.from_properties`` is called once, by the entry point, for a distributed worker or a
standalone one: they differ in ``cluster`` and ``offset_file``, of which each has one. Attributes
have Python names and units (durations in seconds, ``_s``); the keys they come from stand in
``worker_keys``. Keys with one of the known prefixes belong to converters, clients and topics and
are passed on as text.

A variable ``CONNECT_OFFSET_FLUSH_INTERVAL_MS`` overrides ``offset.flush.interval.ms`` of the file;
two underscores stand for one, three for a hyphen, as in the Confluent images.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from connectd.configdef import (
    parsing,
    rest_login,
    rest_settings,
    spark_settings,
    spelling,
    worker_keys,
)
from connectd.configdef.definition import ConfigDef
from connectd.configdef.overrides import OverridePolicy
from connectd.configdef.parsing import ParsedConfig
from connectd.configdef.values import invalid_value
from connectd.errors import ConfigError
from connectd.observe.redaction import is_secret_name, url_passwords

ENV_PREFIX: Final = "CONNECT_"
_SERVICE_LINKS: Final = ("CONNECT_SERVICE_", "CONNECT_PORT")
"""What Kubernetes sets by itself beside a Service named "connect"."""

PREFIXES: Final = (
    "key.converter.",
    "value.converter.",
    "header.converter.",
    "producer.",
    "consumer.",
    "admin.",
    "config.storage.",
    "offset.storage.",
    "status.storage.",
    "config.providers.",
    "listeners.https.",
    "admin.listeners.https.",
    "metrics.context.",
    spark_settings.CONF_PREFIX,
)
"""Beginnings of keys that are passed on as they are."""

_JAAS_PASSWORD: Final = re.compile(r"""\bpassword\s*=\s*["']?([^"';\s]+)""")
_INTERNAL_CONVERTERS: Final = ("internal.key.converter", "internal.value.converter")
_NOT_TOPIC_SETTINGS: Final = ("topic", "partitions", "replication.factor", "cleanup.policy")


@dataclass(frozen=True)
class InternalTopic:
    """One of the three internal topics, as it is to be created.

    -1 for partitions or replicas is the broker's default; ``settings`` never has cleanup.policy,
    which is always compact.
    """

    name: str
    partitions: int
    replication_factor: int
    settings: Mapping[str, str]


@dataclass(frozen=True)
class GroupSettings:
    """Membership of the worker in its group (spec kafka-connect C.5)."""

    id: str
    protocol: str
    session_timeout_s: float
    heartbeat_interval_s: float
    rebalance_timeout_s: float
    rebalance_delay_max_s: float
    sync_timeout_s: float
    unsync_backoff_s: float


@dataclass(frozen=True)
class ClusterSettings:
    """What a distributed worker shares with the others of its group."""

    group: GroupSettings
    config_topic: InternalTopic
    offset_topic: InternalTopic
    status_topic: InternalTopic
    topics_created: bool


class Mode(Enum):
    """The two kinds of workers."""

    DISTRIBUTED = "distributed"
    STANDALONE = "standalone"

    @property
    def definition(self) -> ConfigDef:
        """The keys of such a worker."""
        standalone = self is Mode.STANDALONE
        return worker_keys.STANDALONE_DEF if standalone else worker_keys.WORKER_DEF


@dataclass(frozen=True)
class WorkerConfig:
    """All settings of a worker. Prints without secrets.

    ``cluster`` is None for a standalone worker, ``offset_file`` for a distributed one. ``parsed``
    and ``properties`` hold what has no attribute of its own: typed, and as written.
    """

    bootstrap_servers: tuple[str, ...]
    client_id: str
    cluster: ClusterSettings | None
    offset_file: str | None
    rest: rest_settings.RestSettings
    key_converter: str
    value_converter: str
    header_converter: str
    offset_flush_interval_s: float
    offset_flush_timeout_s: float
    task_shutdown_timeout_s: float
    override_policy: OverridePolicy
    topic_creation_enabled: bool
    topic_tracking_enabled: bool
    topic_tracking_reset_allowed: bool
    log_format: str
    log_level: str
    producer_queue_kib: int
    polls_in_flight_max: int
    workers: int
    shutdown_grace_s: float
    broker_wait_s: float
    spark: spark_settings.SparkSettings
    parsed: ParsedConfig = field(repr=False)
    properties: Mapping[str, str] = field(repr=False)

    @classmethod
    def from_properties(
        cls,
        properties: Mapping[str, str],
        environ: Mapping[str, str] | None = None,
        *,
        mode: Mode = Mode.DISTRIBUTED,
    ) -> WorkerConfig:
        """Parse and check a worker's properties, overridden by ``environ``.

        Raises:
            ConfigError: one line per problem, each naming its key.
        """
        merged = {**properties, **environment_properties(environ or {})}
        parsed = parsing.parse(mode.definition, merged)
        is_distributed = mode is Mode.DISTRIBUTED
        problems = list(_cluster_problems(parsed)) if is_distributed else []
        if problems:
            raise ConfigError("\n".join(problems))
        return cls(
            bootstrap_servers=parsed.strings("bootstrap.servers"),
            client_id=parsed.string("client.id"),
            cluster=_cluster(parsed, merged) if is_distributed else None,
            offset_file=None if is_distributed else parsed.string("offset.storage.file.filename"),
            rest=rest_settings.read(parsed, merged, environ or {}),
            key_converter=parsed.string("key.converter"),
            value_converter=parsed.string("value.converter"),
            header_converter=parsed.string("header.converter"),
            offset_flush_interval_s=_seconds(parsed, "offset.flush.interval.ms"),
            offset_flush_timeout_s=_seconds(parsed, "offset.flush.timeout.ms"),
            task_shutdown_timeout_s=_seconds(parsed, "task.shutdown.graceful.timeout.ms"),
            override_policy=OverridePolicy.named(
                parsed.string("connector.client.config.override.policy"),
                parsed.strings("connector.client.config.override.allowlist"),
            ),
            topic_creation_enabled=parsed.boolean("topic.creation.enable"),
            topic_tracking_enabled=parsed.boolean("topic.tracking.enable"),
            topic_tracking_reset_allowed=parsed.boolean("topic.tracking.allow.reset"),
            log_format=parsed.string("connectd.log.format"),
            log_level=parsed.string("connectd.log.level"),
            producer_queue_kib=parsed.integer("connectd.producer.queue.kbytes"),
            polls_in_flight_max=parsed.integer("connectd.polls.in.flight.max"),
            workers=parsed.integer("workers"),
            shutdown_grace_s=_seconds(parsed, "connectd.shutdown.grace.ms"),
            broker_wait_s=_seconds(parsed, "default.api.timeout.ms"),
            spark=spark_settings.read(parsed, merged),
            parsed=parsed,
            properties=merged,
        )

    def with_prefix(self, prefix: str) -> dict[str, str]:
        """The properties under a prefix (``producer.``), without it."""
        return {
            name.removeprefix(prefix): value
            for name, value in self.properties.items()
            if name.startswith(prefix) and name != prefix
        }

    def client_config(self) -> dict[str, str]:
        """Settings of the worker's own Kafka clients: the unprefixed ones that the user wrote,
        under Java's names, and the brokers. Contains passwords as they are."""
        written = {
            name: value
            for name, value in self.properties.items()
            if name in worker_keys.CLIENT_KEYS or name.startswith(worker_keys.CLIENT_PREFIXES)
        }
        return {**written, "bootstrap.servers": ",".join(self.bootstrap_servers)}

    def warnings(self) -> list[str]:
        """What is probably not what the user meant; names only, never values."""
        return list(_warnings(self))

    def secrets(self) -> list[str]:
        """Every value that must not show up in logs, passwords inside of JAAS texts included."""
        by_type = self.parsed.secrets()
        by_name = [value for name, value in self.properties.items() if is_secret_name(name)]
        inside = [part for text in by_name for part in _JAAS_PASSWORD.findall(text)]
        inside += [part for text in self.properties.values() for part in url_passwords(text)]
        return [value for value in dict.fromkeys([*by_type, *by_name, *inside]) if value]


def environment_properties(environ: Mapping[str, str]) -> dict[str, str]:
    """The properties that ``CONNECT_`` variables stand for."""
    found = {}
    for variable, value in environ.items():
        if not variable.startswith(ENV_PREFIX) or variable.startswith(_SERVICE_LINKS):
            continue
        name = variable.removeprefix(ENV_PREFIX).lower()
        name = name.replace("___", "-").replace("__", "\0").replace("_", ".").replace("\0", "_")
        if name:
            found[name] = value
    return found


def _cluster_problems(parsed: ParsedConfig) -> Iterator[str]:
    """Keys of a cluster that depend on each other, and what this worker cannot honour."""
    signature = parsed.string("inter.worker.signature.algorithm")
    if signature not in parsed.strings("inter.worker.verification.algorithms"):
        yield str(
            invalid_value(
                "inter.worker.signature.algorithm",
                signature,
                "Signature algorithm must be present in inter.worker.verification.algorithms list",
            )
        )
    heartbeat_ms = parsed.integer("heartbeat.interval.ms")
    session_ms = parsed.integer("session.timeout.ms")
    if heartbeat_ms >= session_ms:
        yield (
            f"heartbeat.interval.ms is {heartbeat_ms}, expected less than session.timeout.ms "
            f"({session_ms}); set it to a third of that"
        )
    topics = [parsed.string(f"{kind}.storage.topic") for kind in ("config", "offset", "status")]
    if len(set(topics)) < len(topics):
        yield (
            "config.storage.topic, offset.storage.topic and status.storage.topic must be three "
            f"topics, found {', '.join(topics)}"
        )
    protocol = parsed.string("connect.protocol")
    if protocol != "sessioned" and rest_login.is_wanted(parsed):
        yield (
            f"connect.protocol is {protocol}, with which workers do not sign what they ask of each "
            "other, so that anybody could ask it past Basic authentication; set it to sessioned, "
            "or remove the authentication"
        )
    if parsed.string("exactly.once.source.support").lower() != "disabled":
        yield (
            "exactly.once.source.support is "
            f"{parsed.string('exactly.once.source.support')}, but source connectors are "
            "at-least-once in this version; set it to disabled"
        )


def _warnings(config: WorkerConfig) -> Iterator[str]:
    mode = Mode.STANDALONE if config.cluster is None else Mode.DISTRIBUTED
    known = mode.definition
    for name in config.properties:
        if name in worker_keys.WITHOUT_EFFECT or name.startswith(_INTERNAL_CONVERTERS):
            yield f"configuration key '{name}' has no effect here and can be removed"
        elif name not in known and name in worker_keys.CLUSTER_KEYS:
            yield f"configuration key '{name}' has no effect in a standalone worker"
        elif name not in known and not name.startswith((*PREFIXES, *worker_keys.CLIENT_PREFIXES)):
            yield spelling.unknown_key(name, known.names())
    for kind in ("config", "offset", "status"):
        if f"{kind}.storage.cleanup.policy" in config.properties:
            yield f"{kind}.storage.cleanup.policy is ignored: internal topics are compacted"
    if "config.storage.partitions" in config.properties:
        yield "config.storage.partitions is ignored: the config topic has one partition"
    if config.shutdown_grace_s <= config.task_shutdown_timeout_s:
        yield (
            f"connectd.shutdown.grace.ms ({config.shutdown_grace_s:g} s) leaves no time after "
            f"task.shutdown.graceful.timeout.ms ({config.task_shutdown_timeout_s:g} s): tasks may "
            "be cut off before their last commit"
        )


def _cluster(parsed: ParsedConfig, properties: Mapping[str, str]) -> ClusterSettings:
    return ClusterSettings(
        group=_group(parsed),
        config_topic=_topic("config", parsed, properties),
        offset_topic=_topic("offset", parsed, properties),
        status_topic=_topic("status", parsed, properties),
        topics_created=parsed.boolean("internal.topics.automatic.creation.enable"),
    )


def _group(parsed: ParsedConfig) -> GroupSettings:
    return GroupSettings(
        id=parsed.string("group.id"),
        protocol=parsed.string("connect.protocol"),
        session_timeout_s=_seconds(parsed, "session.timeout.ms"),
        heartbeat_interval_s=_seconds(parsed, "heartbeat.interval.ms"),
        rebalance_timeout_s=_seconds(parsed, "rebalance.timeout.ms"),
        rebalance_delay_max_s=_seconds(parsed, "scheduled.rebalance.max.delay.ms"),
        sync_timeout_s=_seconds(parsed, "worker.sync.timeout.ms"),
        unsync_backoff_s=_seconds(parsed, "worker.unsync.backoff.ms"),
    )


def _topic(kind: str, parsed: ParsedConfig, properties: Mapping[str, str]) -> InternalTopic:
    prefix = f"{kind}.storage."
    return InternalTopic(
        name=parsed.string(f"{prefix}topic"),
        partitions=1 if kind == "config" else parsed.integer(f"{prefix}partitions"),
        replication_factor=parsed.integer(f"{prefix}replication.factor"),
        settings={
            name.removeprefix(prefix): value
            for name, value in properties.items()
            if name.startswith(prefix) and name.removeprefix(prefix) not in _NOT_TOPIC_SETTINGS
        },
    )


def _seconds(parsed: ParsedConfig, name: str) -> float:
    return parsed.integer(name) / 1000
