"""A worker's configuration: Kafka's keys and defaults, typed, checked, warned about."""

from __future__ import annotations

from pathlib import Path

import pytest

from connectd.configdef import worker_keys
from connectd.configdef.definition import ConfigType
from connectd.configdef.parsing import default_value
from connectd.configdef.rest_settings import Listener
from connectd.configdef.values import value_text
from connectd.configdef.worker import (
    ClusterSettings,
    InternalTopic,
    Mode,
    WorkerConfig,
    environment_properties,
)
from connectd.errors import ConfigError

JSON = "org.apache.kafka.connect.json.JsonConverter"
MINIMAL = {
    "group.id": "connect",
    "key.converter": JSON,
    "value.converter": JSON,
    "config.storage.topic": "connect-configs",
    "offset.storage.topic": "connect-offsets",
    "status.storage.topic": "connect-status",
}

KAFKA_KEYS = [
    (name, type_name, importance, default)
    for name, type_name, importance, default in (
        [*line.split(" ", 3), ""][:4]
        for line in Path(__file__).with_name("kafka_worker_keys.txt").read_text().splitlines()
        if not line.startswith("#")
    )
]
"""Every key of Kafka's own worker, as it declares them."""


def worker(**changes: str) -> WorkerConfig:
    return WorkerConfig.from_properties(
        {**MINIMAL, **{name.replace("_", "."): value for name, value in changes.items()}}
    )


def cluster(config: WorkerConfig) -> ClusterSettings:
    assert config.cluster is not None
    return config.cluster


def problems(properties: dict[str, str]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        WorkerConfig.from_properties(properties)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(("name", "type_name", "importance", "default"), KAFKA_KEYS)
def test_a_key_is_declared_as_in_kafka(
    name: str, type_name: str, importance: str, default: str
) -> None:
    key = worker_keys.WORKER_DEF.key(name)
    assert (key.type.value, key.importance.value) == (type_name, importance)
    if name == "bootstrap.servers":  # must be set in Kafka; here a broker on this machine will do
        assert default == "!"
        assert default_value(key) == ("localhost:9092",)
        return
    assert key.is_required == (default == "!")
    if not key.is_required:
        shown = value_text(default_value(key))
        assert shown == (None if default == "-" else default)


def test_the_required_keys_are_those_of_kafka_connect() -> None:
    assert problems({}) == [
        f'Missing required configuration "{name}" which has no default value.'
        for name in (
            "group.id",
            "config.storage.topic",
            "offset.storage.topic",
            "status.storage.topic",
            "key.converter",
            "value.converter",
        )
    ]


def test_every_default_passes_its_own_validator_and_every_key_is_explained() -> None:
    for key in worker_keys.WORKER_DEF:
        assert key.doc.endswith((".", ";")), key.name
        if not key.is_required and key.validator is not None:
            key.validator(key.name, default_value(key))


def test_a_minimal_worker() -> None:
    config = worker()
    assert config.bootstrap_servers == ("localhost:9092",)
    assert cluster(config).group.id == "connect"
    assert cluster(config).group.heartbeat_interval_s == 3.0
    assert config.offset_flush_interval_s == 60.0
    assert config.shutdown_grace_s == 25.0
    assert config.rest.listeners == (Listener("http", "", 8083),)
    assert cluster(config).config_topic == InternalTopic("connect-configs", 1, 3, {})
    assert cluster(config).offset_topic == InternalTopic("connect-offsets", 25, 3, {})
    assert cluster(config).status_topic == InternalTopic("connect-status", 5, 3, {})
    assert (config.key_converter, config.value_converter) == (JSON, JSON)
    assert config.warnings() == []


def test_storage_prefixes_are_topic_settings() -> None:
    config = WorkerConfig.from_properties(
        MINIMAL
        | {
            "offset.storage.partitions": "-1",
            "offset.storage.segment.bytes": "1000",
            "offset.storage.cleanup.policy": "delete",
            "config.storage.partitions": "7",
            "config.storage.min.insync.replicas": "2",
        }
    )
    assert cluster(config).offset_topic == InternalTopic(
        "connect-offsets", -1, 3, {"segment.bytes": "1000"}
    )
    assert cluster(config).config_topic == InternalTopic(
        "connect-configs", 1, 3, {"min.insync.replicas": "2"}
    )
    assert config.warnings() == [
        "offset.storage.cleanup.policy is ignored: internal topics are compacted",
        "config.storage.partitions is ignored: the config topic has one partition",
    ]


def test_the_environment_overrides_the_file() -> None:
    config = WorkerConfig.from_properties(
        MINIMAL | {"offset.flush.interval.ms": "1"},
        {"CONNECT_OFFSET_FLUSH_INTERVAL_MS": "2000", "OFFSET_FLUSH_INTERVAL_MS": "3"},
    )
    assert config.offset_flush_interval_s == 2.0


def test_names_of_variables_become_names_of_keys() -> None:
    assert environment_properties(
        {
            "CONNECT_KEY_CONVERTER_SCHEMAS_ENABLE": "false",
            "CONNECT_CONNECTD_LOG_LEVEL": "DEBUG",
            "CONNECT_A__B___C": "x",
            "CONNECT_": "x",
            "CONNECT_SERVICE_HOST": "10.0.0.1",
            "CONNECT_PORT_8083_TCP": "tcp://10.0.0.1:8083",
            "PATH": "/bin",
        }
    ) == {"key.converter.schemas.enable": "false", "connectd.log.level": "DEBUG", "a_b-c": "x"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"inter.worker.signature.algorithm": "HmacMD5"},
            "Invalid value HmacMD5 for configuration inter.worker.signature.algorithm: Signature "
            "algorithm must be present in inter.worker.verification.algorithms list",
        ),
        (
            {"offset.storage.partitions": "0"},
            "Invalid value 0 for configuration offset.storage.partitions: Number of partitions "
            "must be positive, or -1 to use the broker's default",
        ),
        (
            {"status.storage.replication.factor": "0"},
            "Invalid value 0 for configuration status.storage.replication.factor: Replication "
            "factor must be positive and not larger than the number of brokers in the Kafka "
            "cluster, or -1 to use the broker's default",
        ),
        (
            {"heartbeat.interval.ms": "10000"},
            "heartbeat.interval.ms is 10000, expected less than session.timeout.ms (10000); set "
            "it to a third of that",
        ),
        (
            {"status.storage.topic": "connect-offsets"},
            "config.storage.topic, offset.storage.topic and status.storage.topic must be three "
            "topics, found connect-configs, connect-offsets, connect-offsets",
        ),
        (
            {"rest.extension.classes": "a.B"},
            "rest.extension.classes names a.B, but Java classes cannot be loaded here. "
            "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension is "
            "understood and means Basic authentication; for anything else put a proxy in front of "
            "the worker and remove the class",
        ),
        (
            {"exactly.once.source.support": "enabled"},
            "exactly.once.source.support is enabled, but source connectors are at-least-once in "
            "this version; set it to disabled",
        ),
        (
            {"exactly.once.source.support": "on"},
            "Invalid value on for configuration exactly.once.source.support: String must be one "
            "of (case insensitive): DISABLED, ENABLED, PREPARING",
        ),
        (
            {"exactly.once.source.support": "Enabled"},
            "exactly.once.source.support is Enabled, but source connectors are at-least-once in "
            "this version; set it to disabled",
        ),
        (
            {"bootstrap.servers": "localhost"},
            "Invalid value localhost for configuration bootstrap.servers: Expected host:port",
        ),
        (
            {"bootstrap.servers": ""},
            "Configuration 'bootstrap.servers' must not be empty. Valid values include: any "
            "non-empty value",
        ),
        (
            {"config.providers": "file,,env"},
            "Configuration 'config.providers' values must not be empty.",
        ),
        (
            {"plugin.path": ""},
            "Configuration 'plugin.path' must not be empty. Valid values include: any non-empty "
            "value",
        ),
        (
            {"listeners": "ftp://h:1"},
            'Listener protocol must be either "http" or "https". Found: ftp://h:1',
        ),
        (
            {"rest.advertised.listener": "https"},
            "rest.advertised.listener is https, but listeners has http; add a listener of scheme "
            "https",
        ),
        (
            {"connectd.shutdown.grace.ms": "0"},
            "Invalid value 0 for configuration connectd.shutdown.grace.ms: Value must be at least "
            "1000",
        ),
    ],
)
def test_what_cannot_work_is_refused(changes: dict[str, str], message: str) -> None:
    assert problems(MINIMAL | changes) == [message]


def test_unknown_keys_are_warned_of_with_a_suggestion_but_without_their_value() -> None:
    warnings = worker(ofset_flush_interval_ms="hunter2", made_up="hunter2").warnings()
    assert warnings == [
        "unknown configuration key 'ofset.flush.interval.ms' is ignored; did you mean "
        "'offset.flush.interval.ms'?",
        "unknown configuration key 'made.up' is ignored; check its spelling or remove it",
    ]


def test_keys_of_others_are_not_unknown() -> None:
    properties = {
        "producer.linger.ms": "5",
        "consumer.x": "y",
        "admin.x": "y",
        "key.converter.schemas.enable": "false",
        "sasl.login.class": "x",
        "ssl.cipher.suites": "x",
        "metrics.context.env": "prod",
    }
    assert WorkerConfig.from_properties(MINIMAL | properties).warnings() == []


def test_keys_without_effect_are_named() -> None:
    names = ("plugin.path", "internal.key.converter", "internal.value.converter.schemas.enable")
    config = WorkerConfig.from_properties({**MINIMAL, **dict.fromkeys(names, "x")})
    assert config.warnings() == [
        f"configuration key '{name}' has no effect here and can be removed" for name in names
    ]


def test_support_for_exactly_once_is_off_in_whatever_case() -> None:
    assert worker(exactly_once_source_support="DISABLED").warnings() == []


def test_a_grace_period_that_leaves_no_time_is_warned_of() -> None:
    (warning,) = worker(task_shutdown_graceful_timeout_ms="25000").warnings()
    assert "leaves no time" in warning


def test_the_workers_own_clients_get_the_unprefixed_settings_that_were_written() -> None:
    config = worker(
        bootstrap_servers=" a:1 , b:2",
        security_protocol="SASL_SSL",
        sasl_jaas_config='x required password="hunter2";',
        sasl_kerberos_service_name="kafka",
        producer_linger_ms="5",
        client_id="c",
    )
    assert config.client_config() == {
        "bootstrap.servers": "a:1,b:2",
        "security.protocol": "SASL_SSL",
        "sasl.jaas.config": 'x required password="hunter2";',
        "sasl.kerberos.service.name": "kafka",
    }
    assert worker().client_config() == {"bootstrap.servers": "localhost:9092"}
    assert config.with_prefix("producer.") == {"linger.ms": "5"}


def test_no_secret_is_printed_and_all_are_listed() -> None:
    config = worker(
        sasl_jaas_config='x required username="u" password="hunter1";',
        ssl_keystore_key="hunter2",
        producer_sasl_jaas_config="hunter3",
        value_converter_basic_auth_password="hunter4",
    )
    assert "hunter" not in repr(config)
    assert sorted(config.secrets()) == [
        "hunter1",
        "hunter2",
        "hunter3",
        "hunter4",
        'x required username="u" password="hunter1";',
    ]


def test_secrets_of_the_reference_are_of_type_password() -> None:
    for name in ("sasl.jaas.config", "ssl.key.password", "ssl.keystore.password",
                 "ssl.keystore.key", "ssl.truststore.password"):  # fmt: skip
        assert worker_keys.WORKER_DEF.key(name).type is ConfigType.PASSWORD


STANDALONE = {
    "offset.storage.file.filename": "/var/lib/connectd/offsets",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
}


def standalone(**properties: str) -> WorkerConfig:
    return WorkerConfig.from_properties({**STANDALONE, **properties}, mode=Mode.STANDALONE)


def test_a_standalone_worker_needs_no_group_and_no_topics() -> None:
    config = standalone()
    assert config.cluster is None
    assert config.offset_file == "/var/lib/connectd/offsets"
    assert config.bootstrap_servers == ("localhost:9092",)
    assert config.offset_flush_interval_s == 60.0
    assert config.warnings() == []


def test_a_standalone_worker_needs_a_file() -> None:
    with pytest.raises(ConfigError) as caught:
        WorkerConfig.from_properties({}, mode=Mode.STANDALONE)
    assert [line.split('"')[1] for line in str(caught.value).splitlines()] == [
        "key.converter",
        "value.converter",
        "offset.storage.file.filename",
    ]


@pytest.mark.parametrize("name", ["group.id", "offset.storage.topic", "session.timeout.ms"])
def test_keys_of_a_cluster_mean_nothing_to_a_standalone_worker(name: str) -> None:
    warning = f"configuration key '{name}' has no effect in a standalone worker"
    assert standalone(**{name: "x"}).warnings() == [warning]


def test_a_misspelt_key_of_a_standalone_worker_is_told() -> None:
    (warning,) = standalone(**{"offset.flush.interval": "1"}).warnings()
    assert "offset.flush.interval.ms" in warning


def test_the_two_kinds_of_workers_differ_in_cluster_and_file_only() -> None:
    distributed, alone = (set(mode.definition.names()) for mode in Mode)
    assert alone - distributed == {"offset.storage.file.filename"}
    assert distributed - alone == worker_keys.CLUSTER_KEYS
