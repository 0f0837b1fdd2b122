"""The configuration: what the Java connector takes, with its defaults, and what is refused."""

from __future__ import annotations

import pytest

from connectd.configdef.definition import REQUIRED
from connectd.configdef.parsing import default_value
from connectd.connectors.dynamodb.config import (
    CONFIG_DEF,
    JAVA_CLASS_NAMES,
    DynamoDbConfig,
    GapPolicy,
    StartPosition,
    parse_share,
    problems,
)
from connectd.errors import ConfigError

_JAVA_KEYS = [
    # Spec dynamodb-connector 1: name, type, default, importance, group, order, width, display name.
    ("aws.region", "STRING", "eu-west-1", "LOW", "AWS", 1, "SHORT", "Region"),
    ("aws.access.key.id", "PASSWORD", None, "LOW", "AWS", 2, "LONG", "Access key id"),
    ("aws.secret.key", "PASSWORD", None, "LOW", "AWS", 3, "LONG", "Secret key"),
    (
        "dynamodb.table.ingestion.tag.key",
        *("STRING", "datalake-ingest", "HIGH", "AWS", 4, "MEDIUM", "Ingestion tag key name"),
    ),
    (
        "dynamodb.table.env.tag.key",
        *("STRING", "environment", "HIGH", "AWS", 5, "MEDIUM", "Environment tag key"),
    ),
    (
        "dynamodb.table.env.tag.value",
        *("STRING", "dev", "HIGH", "AWS", 6, "MEDIUM", "Environment"),
    ),
    (
        "dynamodb.service.endpoint",
        *("STRING", None, "LOW", "AWS", 7, "MEDIUM", "AWS DynamoDB API Endpoint"),
    ),
    (
        "resource.tagging.service.endpoint",
        *("STRING", None, "LOW", "AWS", 8, "MEDIUM", "AWS Resource Group Tag API Endpoint"),
    ),
    ("dynamodb.table.whitelist", "LIST", None, "LOW", "AWS", 8, "MEDIUM", "Tables whitelist"),
    (
        "kcl.table.billing.mode",
        *("STRING", "PROVISIONED", "LOW", "AWS", 9, "MEDIUM", "KCL table billing mode"),
    ),
    (
        "kafka.topic.prefix",
        *("STRING", "dynamodb-", "HIGH", "Connector", 1, "MEDIUM", "Topic prefix"),
    ),
    ("init.sync.delay.period", "INT", 60, "LOW", "Connector", 2, "MEDIUM", "INIT_SYNC delay"),
    (
        "connect.dynamodb.rediscovery.period",
        *("LONG", 60_000, "LOW", "Connector", 4, "MEDIUM", "Rediscovery period"),
    ),
]


@pytest.mark.parametrize("expected", _JAVA_KEYS, ids=lambda expected: str(expected[0]))
def test_a_key_of_the_java_connector_is_declared_as_there(expected: tuple[object, ...]) -> None:
    key = CONFIG_DEF.key(str(expected[0]))
    assert (
        key.name,
        key.type.value,
        key.default,
        key.importance.value,
        key.group,
        key.order,
        key.width.value,
        key.display_name,
    ) == expected


def test_the_keys_of_the_java_connector_come_in_its_order() -> None:
    names = [expected[0] for expected in _JAVA_KEYS]
    assert [name for name in CONFIG_DEF.names() if name in names] == names


def test_no_key_has_to_be_set() -> None:
    assert [key.name for key in CONFIG_DEF if key.default is REQUIRED] == []
    assert problems({}) == {}


def test_every_default_passes_its_own_validator() -> None:
    for key in CONFIG_DEF:
        if key.validator is not None:
            key.validator(key.name, default_value(key))


def test_no_two_keys_of_ours_claim_the_same_place_in_a_form() -> None:
    # The Java connector has one such pair, at AWS 8.
    java = {str(expected[0]) for expected in _JAVA_KEYS}
    places = [(key.group, key.order) for key in CONFIG_DEF if key.name not in java]
    taken = {(key.group, key.order) for key in CONFIG_DEF if key.name in java}
    assert len(set(places)) == len(places)
    assert taken.isdisjoint(places)


def test_every_key_has_words_for_people() -> None:
    for key in CONFIG_DEF:
        assert key.doc.endswith((".", '"')), key.name
        assert key.display_name, key.name


def test_nothing_set_gives_the_documented_defaults() -> None:
    config = DynamoDbConfig.from_config({})
    assert (config.aws.region, config.aws.has_static_keys) == ("eu-west-1", False)
    assert (config.whitelist, config.rediscovery_s, config.buffer_pages) == ((), 60.0, 16)
    assert (config.tags.ingestion_key, config.tags.env_key, config.tags.env_value) == (
        "datalake-ingest",
        "environment",
        "dev",
    )
    assert config.grouping == "balanced"
    assert (config.scan.delay_s, config.scan.capacity_share, config.scan.segments) == (60.0, 0.5, 0)
    assert not config.scan.skip
    assert config.scan.start_position is StartPosition.LATEST
    assert config.scan.max_age_ms == 19 * 3_600_000
    assert config.stream.retention_ms == 24 * 3_600_000
    assert config.stream.safe_zone_ms == 20 * 3_600_000
    assert config.stream.lookback_ms == 3_600_000
    assert config.stream.gap_policy is GapPolicy.RESYNC
    assert config.messages.topic("orders") == "dynamodb-orders"
    assert config.messages.tombstones


def test_units_are_converted_once() -> None:
    config = DynamoDbConfig.from_config(
        {
            "connect.dynamodb.rediscovery.period": "1500",
            "init.sync.delay.period": "2",
            "stream.poll.interval.ms": "100",
            "stream.poll.interval.max.ms": "300",
            "stream.describe.interval.ms": "2000",
            "position.heartbeat.ms": "4000",
        }
    )
    assert (config.rediscovery_s, config.scan.delay_s) == (1.5, 2.0)
    assert (config.stream.poll_interval_s, config.stream.poll_interval_max_s) == (0.1, 0.3)
    assert (config.stream.describe_interval_s, config.stream.heartbeat_s) == (2.0, 4.0)


def test_what_belongs_to_the_framework_or_to_nobody_is_passed_over() -> None:
    config = {
        "name": "copy",
        "connector.class": "DynamoDBSource",
        "tasks.max": "100",
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "transforms": "a",
        "table": "orders",
        "task.id": "task-1",
        "task.class": "com.trustpilot.connector.dynamodb.DynamoDBSourceTask",
        "tables": "orders",
        "some.thing": "",
    }
    assert problems(config) == {}
    assert DynamoDbConfig.from_config(config).whitelist == ()


# -- the empty text -------------------------------------------------------------------------------


def test_the_sample_of_the_java_documentation_works() -> None:
    """Its empty texts were an empty key pair, and a whitelist of no table (spec 1)."""
    config = DynamoDbConfig.from_config(
        {
            "aws.access.key.id": "",
            "aws.secret.key": "",
            "dynamodb.table.whitelist": "",
            "dynamodb.service.endpoint": "",
            "resource.tagging.service.endpoint": "",
        }
    )
    assert config == DynamoDbConfig.from_config({})


@pytest.mark.parametrize("empty", ["", "  "])
@pytest.mark.parametrize(
    "name",
    [
        "aws.access.key.id",
        "aws.secret.key",
        "aws.session.token",
        "aws.assume.role.arn",
        "aws.assume.role.external.id",
        "dynamodb.service.endpoint",
        "dynamodb.streams.service.endpoint",
        "resource.tagging.service.endpoint",
        "aws.sts.endpoint",
        "aws.s3.endpoint",
        "init.sync.export.s3.bucket",
        "dynamodb.table.whitelist",
        "kafka.topic.map",
        "envelope.version",
    ],
)
def test_an_empty_text_is_not_set(name: str, empty: str) -> None:
    assert DynamoDbConfig.from_config({name: empty}) == DynamoDbConfig.from_config({})


def test_a_whitelist_names_each_table_once_in_its_order() -> None:
    config = DynamoDbConfig.from_config({"dynamodb.table.whitelist": " b , a,, b ,c"})
    assert config.whitelist == ("b", "a", "c")


# -- what depends on other things -----------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(JAVA_CLASS_NAMES))
def test_a_java_class_name_chooses_the_envelope_of_the_java_connector(name: str) -> None:
    config = {"connector.class": name}
    assert DynamoDbConfig.from_config(config).messages.envelope_version == "1.0"
    config["envelope.version"] = "0.1"
    assert DynamoDbConfig.from_config(config).messages.envelope_version == "0.1"


@pytest.mark.parametrize("name", [None, "connectd.DynamoDBSource", "org.example.DynamoDBSource"])
def test_any_other_name_chooses_our_envelope(name: str | None) -> None:
    config = {} if name is None else {"connector.class": name}
    assert DynamoDbConfig.from_config(config).messages.envelope_version == "0.1"
    config["envelope.version"] = "1.0"
    assert DynamoDbConfig.from_config(config).messages.envelope_version == "1.0"


def test_streams_are_asked_where_tables_are_unless_said_otherwise() -> None:
    both = {"dynamodb.service.endpoint": "http://127.0.0.1:4566"}
    assert DynamoDbConfig.from_config(both).aws.streams_endpoint == "http://127.0.0.1:4566"
    apart = both | {"dynamodb.streams.service.endpoint": "http://127.0.0.1:4567"}
    assert DynamoDbConfig.from_config(apart).aws.streams_endpoint == "http://127.0.0.1:4567"


def test_topics_follow_prefix_and_map() -> None:
    messages = DynamoDbConfig.from_config(
        {"kafka.topic.prefix": "cdc.", "kafka.topic.map": '{"orders-v2":"orders"}'}
    ).messages
    assert messages.topic("orders-v2") == "cdc.orders"
    assert messages.topic("customers") == "cdc.customers"


@pytest.mark.parametrize(
    ("text", "share"),
    [("0.5", 0.5), ("50%", 0.5), (" 25 % ", 0.25), ("1", 1.0), ("100%", 1.0), ("1e-2", 0.01)],
)
def test_a_share_is_a_fraction_or_a_percentage(text: str, share: float) -> None:
    assert parse_share(text) == share


@pytest.mark.parametrize("text", ["0", "-1", "1.1", "101%", "half", "", "%", "nan", "inf", "50%%"])
def test_a_share_that_is_none_is_refused(text: str) -> None:
    found = problems({"init.sync.read.capacity.share": text})
    assert list(found) == ["init.sync.read.capacity.share"]
    assert repr(text) in found["init.sync.read.capacity.share"][0]


@pytest.mark.parametrize("bucket", ["", "  "])
def test_exports_need_a_bucket(bucket: str) -> None:
    name = "init.sync.export.s3.bucket"
    found = problems({"init.sync.engine": "export", name: bucket})
    assert found == {name: [f'{name} is "": init.sync.engine is export, which needs a bucket']}
    assert problems({"init.sync.engine": "export", name: "exports"}) == {}


@pytest.mark.parametrize("sse", ["", "AES256"])
def test_a_key_of_kms_without_kms_is_refused(sse: str) -> None:
    name = "init.sync.export.s3.sse.kms.key.id"
    assert list(problems({"init.sync.export.s3.sse": sse, name: "key"})) == [name]
    assert problems({"init.sync.export.s3.sse": "KMS", name: "key"}) == {}


def test_a_prefix_has_no_slash_at_its_ends() -> None:
    config = DynamoDbConfig.from_config({"init.sync.export.s3.prefix": " /a/b/ "})
    assert config.scan.export.prefix == "a/b"


# -- secrets --------------------------------------------------------------------------------------


def test_secrets_are_passwords_and_nowhere_to_be_seen() -> None:
    """Field case X03: keys of type STRING are printed."""
    secrets = {
        "aws.access.key.id": "AKIA-sesame",
        "aws.secret.key": "sesame-secret",
        "aws.session.token": "sesame-token",
        "aws.assume.role.external.id": "sesame-external",
    }
    assert {key.name for key in CONFIG_DEF if key.is_secret} == set(secrets)
    config = DynamoDbConfig.from_config(secrets)
    assert config.aws.secret_access_key == "sesame-secret"
    assert config.aws.assume_role_external_id == "sesame-external"
    assert "sesame" not in repr(config)
    assert "sesame" not in str(config)


def test_refusals_of_other_keys_show_no_secret() -> None:
    with pytest.raises(ConfigError) as caught:
        DynamoDbConfig.from_config({"aws.secret.key": "sesame", "aws.region": ""})
    assert "sesame" not in str(caught.value)


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("aws.region", ""),
        ("aws.account.id.endpoint.mode", "sometimes"),
        ("dynamodb.service.endpoint", "127.0.0.1:8000"),
        ("dynamodb.service.endpoint", "ftp://127.0.0.1"),
        ("resource.tagging.service.endpoint", "http://"),
        ("kcl.table.billing.mode", "provisioned"),
        ("kcl.table.billing.mode", ""),
        ("init.sync.delay.period", "-1"),
        ("init.sync.delay.period", "60s"),
        ("init.sync.delay.period", ""),
        ("init.sync.delay.period", "2147483648"),
        ("connect.dynamodb.rediscovery.period", "0"),
        ("connect.dynamodb.rediscovery.period", "1m"),
        ("kafka.topic.map", "[]"),
        ("kafka.topic.map", "orders=a"),
        ("kafka.topic.map", '{"orders":1}'),
        ("table.grouping", "random"),
        ("task.buffer.pages", "1"),
        ("init.sync.skip", "maybe"),
        ("stream.start.position", "AT_TIMESTAMP"),
        ("init.sync.segments", "4097"),
        ("init.sync.engine", "flink"),
        ("init.sync.export.s3.sse", "DES"),
        ("aws.s3.endpoint", "127.0.0.1:9000"),
        ("init.sync.read.capacity.units", "-1"),
        ("init.sync.page.size", "-5"),
        ("stream.page.limit", "1001"),
        ("stream.poll.interval.ms", "0"),
        ("gap.policy", "ignore"),
        ("gap.resync.max", "-1"),
        ("envelope.version", "2.0"),
        ("document.format", "avro"),
        ("ttl.deletes", "keep"),
        ("tombstones.on.delete", "1"),
    ],
)
def test_a_value_that_is_refused_is_named_with_its_key(name: str, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        DynamoDbConfig.from_config({name: text})
    message = str(caught.value)
    assert name in message
    assert text in message


@pytest.mark.parametrize(
    ("lower", "upper", "values"),
    [
        ("stream.safe.zone.ms", "stream.retention.ms", ("7200000", "3600000")),
        ("stream.poll.interval.ms", "stream.poll.interval.max.ms", ("3000", "2000")),
        ("position.heartbeat.ms", "stream.safe.zone.ms", ("3600000", "60000")),
    ],
)
def test_values_that_contradict_each_other_are_named_together(
    lower: str, upper: str, values: tuple[str, str]
) -> None:
    config = dict(zip((lower, upper), values, strict=True))
    assert problems(config) == {
        lower: [f"{lower} is {values[0]}, expected no more than {upper}, which is {values[1]}"]
    }
    with pytest.raises(ConfigError, match=f"{upper}, which is {values[1]}"):
        DynamoDbConfig.from_config(config)


@pytest.mark.parametrize("name", ["dynamodb.table.ingestion.tag.key", "dynamodb.table.env.tag.key"])
def test_discovery_by_tags_needs_tag_keys(name: str) -> None:
    assert list(problems({name: ""})) == [name]
    assert problems({name: "", "dynamodb.table.whitelist": "orders"}) == {}


@pytest.mark.parametrize(
    "name",
    [
        "dynamodb.service.endpoint",
        "dynamodb.streams.service.endpoint",
        "resource.tagging.service.endpoint",
        "aws.sts.endpoint",
    ],
)
@pytest.mark.parametrize("url", ["http://127.0.0.1:8000?x=1", "http://user:sesame@127.0.0.1"])
def test_an_endpoint_that_cannot_be_used_is_shown_at_its_own_key(name: str, url: str) -> None:
    found = problems({name: url})
    assert list(found) == [name]
    assert name in found[name][0]
    assert "sesame" not in found[name][0]


def test_a_region_of_blanks_is_no_region() -> None:
    # A no-break space is not among those that Java trims.
    assert list(problems({"aws.region": "\u00a0"})) == ["aws.region"]


def test_what_is_wrong_alone_is_not_repeated_together() -> None:
    assert problems({"init.sync.segments": "x", "stream.safe.zone.ms": "999999999"}) == {}


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        DynamoDbConfig.from_config({"init.sync.segments": "x", "gap.policy": "y"})
    lines = str(caught.value).splitlines()
    assert any("init.sync.segments" in line for line in lines)
    assert any("gap.policy" in line for line in lines)
