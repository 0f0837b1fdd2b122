"""From configuration to settings: the typed, frozen view that every other room reads.

``config_def`` joins the keys, ``problems`` says what single keys cannot (keys that depend on each
other), ``DynamoDbConfig.from_config`` parses once, at the start of a connector or task. Units:
durations that are waited for are seconds (``_s``); windows that are compared with wall-clock
positions are milliseconds (``_ms``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal, cast

from connectd.aws.settings import AccountIdEndpointMode, AwsSettings
from connectd.configdef import parsing
from connectd.configdef.definition import ConfigDef
from connectd.connectors.dynamodb.config_keys import AWS_KEYS, CONNECTOR_KEYS, SCAN_KEYS
from connectd.connectors.dynamodb.config_keys_export import EXPORT_KEYS
from connectd.connectors.dynamodb.config_keys_spark import SPARK_KEYS
from connectd.connectors.dynamodb.config_keys_stream import MESSAGE_KEYS, STREAM_KEYS
from connectd.errors import ConfigError

CONFIG_DEF: Final = ConfigDef(
    [
        *AWS_KEYS,
        *CONNECTOR_KEYS,
        *SCAN_KEYS,
        *SPARK_KEYS,
        *EXPORT_KEYS,
        *STREAM_KEYS,
        *MESSAGE_KEYS,
    ]
)

JAVA_CLASS_NAMES: Final = frozenset(
    {
        "com.trustpilot.connector.dynamodb.DynamoDBSourceConnector",
        "DynamoDBSourceConnector",
        "DynamoDBSource",
    }
)
"""Names under which the Java connector is configured; they choose its envelope."""

_AWS_MEMBERS: Final = {
    "aws.region": "region",
    "dynamodb.service.endpoint": "dynamodb_endpoint",
    "dynamodb.streams.service.endpoint": "streams_endpoint",
    "resource.tagging.service.endpoint": "tagging_endpoint",
    "aws.sts.endpoint": "sts_endpoint",
    "aws.s3.endpoint": "s3_endpoint",
}
"""What ``AwsSettings`` may refuse although its key alone looks right."""


class StartPosition(Enum):
    """Where a stream is read the first time, when nothing is scanned."""

    LATEST = "LATEST"
    TRIM_HORIZON = "TRIM_HORIZON"


class GapPolicy(Enum):
    """What becomes of a table whose stream has lost changes."""

    RESYNC = "resync"
    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True)
class TagSelector:
    """Which tags make a table ours."""

    ingestion_key: str
    env_key: str
    env_value: str


class ScanEngine(Enum):
    """Who scans a table."""

    AUTO = "auto"
    DAEMON = "daemon"
    SPARK = "spark"
    EXPORT = "export"


@dataclass(frozen=True)
class ExportSettings:
    """Who reads exports, where they go and how they are encrypted; "" is "not said"."""

    reader: ScanEngine
    bucket: str
    prefix: str
    bucket_owner: str
    sse: str
    kms_key_id: str


@dataclass(frozen=True)
class ScanSettings:
    """INIT_SYNC. ``segments`` 0: by size; ``page_size`` 0: 1 MB; ``capacity_units`` 0: by share.

    ``spark_from_items`` 0: the number of items does not matter.
    """

    skip: bool
    start_position: StartPosition
    delay_s: float
    segments: int
    capacity_share: float
    capacity_units: int
    page_size: int
    consistent_read: bool
    max_age_ms: int
    engine: ScanEngine
    spark_from_bytes: int
    spark_from_items: int
    export: ExportSettings


@dataclass(frozen=True)
class StreamSettings:
    """SYNC: windows, waits and limits."""

    retention_ms: int
    safe_zone_ms: int
    lookback_ms: int
    poll_interval_s: float
    poll_interval_max_s: float
    page_limit: int
    describe_interval_s: float
    heartbeat_s: float
    gap_policy: GapPolicy
    resyncs_max: int


@dataclass(frozen=True)
class MessageSettings:
    """What messages look like, and where they go."""

    envelope_version: Literal["0.1", "1.0"]
    document_format: Literal["typed", "plain"]
    include_old_image: bool
    include_user_identity: bool
    drop_ttl_deletes: bool
    tombstones: bool
    topic_prefix: str
    topic_map: Mapping[str, str]

    def topic(self, table: str) -> str:
        """The topic of a table."""
        return self.topic_prefix + self.topic_map.get(table, table)


@dataclass(frozen=True)
class DynamoDbConfig:
    """All settings of a connector or task."""

    aws: AwsSettings
    tags: TagSelector
    whitelist: tuple[str, ...]
    rediscovery_s: float
    grouping: Literal["balanced", "stable"]
    buffer_pages: int
    scan: ScanSettings
    stream: StreamSettings
    messages: MessageSettings

    @classmethod
    def from_config(cls, config: Mapping[str, str]) -> DynamoDbConfig:
        """Parse a connector's or task's configuration.

        Raises:
            ConfigError: one line per problem, each naming its key.
        """
        parsed = parsing.parse(CONFIG_DEF, config)
        found = _dependent_problems(parsed)
        if found:
            raise ConfigError("\n".join(text for texts in found.values() for text in texts))
        return cls(
            aws=_aws(parsed),
            tags=TagSelector(
                ingestion_key=parsed.string("dynamodb.table.ingestion.tag.key"),
                env_key=parsed.string("dynamodb.table.env.tag.key"),
                env_value=parsed.string("dynamodb.table.env.tag.value"),
            ),
            # Each table once, in the order given; "" is no table.
            whitelist=tuple(
                dict.fromkeys(
                    filter(None, parsed.optional_strings("dynamodb.table.whitelist") or ())
                )
            ),
            rediscovery_s=parsed.integer("connect.dynamodb.rediscovery.period") / 1000,
            grouping=cast("Literal['balanced', 'stable']", parsed.string("table.grouping")),
            buffer_pages=parsed.integer("task.buffer.pages"),
            scan=_scan(parsed),
            stream=_stream(parsed),
            messages=_messages(parsed, config.get("connector.class", "")),
        )


def problems(config: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
    """What is wrong with keys together, by key; keys that are wrong alone are not repeated."""
    evaluations = parsing.evaluate(CONFIG_DEF, config)
    if any(evaluation.errors for evaluation in evaluations.values()):
        return {}
    return _dependent_problems(parsing.parse(CONFIG_DEF, config))


def parse_share(text: str) -> float:
    """``"0.5"`` and ``"50%"`` are one half.

    Raises:
        ConfigError: not a number, or not within (0, 1].
    """
    number = text.strip()
    is_percent = number.endswith("%")
    try:
        share = float(number.removesuffix("%"))
    except ValueError:
        share = 0.0
    share = share / 100 if is_percent else share
    if not 0 < share <= 1:
        raise ConfigError(
            f"init.sync.read.capacity.share is {text!r}: expected a fraction above 0 and up to 1, "
            "or a percentage up to 100%"
        )
    return share


def _dependent_problems(parsed: parsing.ParsedConfig) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    try:
        parse_share(parsed.string("init.sync.read.capacity.share"))
    except ConfigError as error:
        found["init.sync.read.capacity.share"] = [str(error)]
    for name, member in _AWS_MEMBERS.items():
        members: dict[str, Any] = {"region": "eu-west-1", member: parsed.optional_string(name)}
        try:
            AwsSettings(**members)
        except ConfigError as error:
            found[name] = [f"{name}: {error}"]
    _require_order(parsed, found, "stream.safe.zone.ms", "stream.retention.ms")
    _require_order(parsed, found, "stream.poll.interval.ms", "stream.poll.interval.max.ms")
    _require_order(parsed, found, "position.heartbeat.ms", "stream.safe.zone.ms")
    found.update(_export_problems(parsed))
    if not parsed.optional_strings("dynamodb.table.whitelist"):
        for name in ("dynamodb.table.ingestion.tag.key", "dynamodb.table.env.tag.key"):
            if not parsed.string(name):
                found[name] = [f'{name} is "": discovery by tags needs a tag key']
    return found


def _export_problems(parsed: parsing.ParsedConfig) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    name = "init.sync.export.s3.bucket"
    if parsed.string("init.sync.engine") == "export" and not parsed.string(name).strip():
        found[name] = [f'{name} is "": init.sync.engine is export, which needs a bucket']
    sse, key = "init.sync.export.s3.sse", "init.sync.export.s3.sse.kms.key.id"
    if parsed.string(key).strip() and parsed.string(sse) != "KMS":
        found[key] = [f"{key} is set, and {sse} is {parsed.string(sse)!r}: expected KMS"]
    return found


def _require_order(
    parsed: parsing.ParsedConfig, found: dict[str, list[str]], lower: str, upper: str
) -> None:
    low, high = parsed.integer(lower), parsed.integer(upper)
    if low > high:
        found[lower] = [f"{lower} is {low}, expected no more than {upper}, which is {high}"]


def _secret(parsed: parsing.ParsedConfig, name: str) -> str | None:
    secret = parsed.optional_secret(name)
    return secret.reveal() if secret is not None else None


def _aws(parsed: parsing.ParsedConfig) -> AwsSettings:
    return AwsSettings(
        region=parsed.string("aws.region"),
        access_key_id=_secret(parsed, "aws.access.key.id"),
        secret_access_key=_secret(parsed, "aws.secret.key"),
        session_token=_secret(parsed, "aws.session.token"),
        assume_role_arn=parsed.optional_string("aws.assume.role.arn"),
        assume_role_external_id=_secret(parsed, "aws.assume.role.external.id"),
        dynamodb_endpoint=parsed.optional_string("dynamodb.service.endpoint"),
        streams_endpoint=parsed.optional_string("dynamodb.streams.service.endpoint"),
        tagging_endpoint=parsed.optional_string("resource.tagging.service.endpoint"),
        sts_endpoint=parsed.optional_string("aws.sts.endpoint"),
        s3_endpoint=parsed.optional_string("aws.s3.endpoint"),
        account_id_endpoint_mode=cast(
            "AccountIdEndpointMode", parsed.string("aws.account.id.endpoint.mode")
        ),
    )


def _scan(parsed: parsing.ParsedConfig) -> ScanSettings:
    return ScanSettings(
        skip=parsed.boolean("init.sync.skip"),
        start_position=StartPosition(parsed.string("stream.start.position")),
        delay_s=float(parsed.integer("init.sync.delay.period")),
        segments=parsed.integer("init.sync.segments"),
        capacity_share=parse_share(parsed.string("init.sync.read.capacity.share")),
        capacity_units=parsed.integer("init.sync.read.capacity.units"),
        page_size=parsed.integer("init.sync.page.size"),
        consistent_read=parsed.boolean("init.sync.consistent.read"),
        max_age_ms=parsed.integer("init.sync.max.age.ms"),
        engine=ScanEngine(parsed.string("init.sync.engine")),
        spark_from_bytes=parsed.integer("init.sync.spark.threshold.bytes"),
        spark_from_items=parsed.integer("init.sync.spark.threshold.items"),
        export=ExportSettings(
            reader=ScanEngine(parsed.string("init.sync.export.reader")),
            bucket=parsed.string("init.sync.export.s3.bucket").strip(),
            prefix=parsed.string("init.sync.export.s3.prefix").strip().strip("/"),
            bucket_owner=parsed.string("init.sync.export.s3.bucket.owner").strip(),
            sse=parsed.string("init.sync.export.s3.sse"),
            kms_key_id=parsed.string("init.sync.export.s3.sse.kms.key.id").strip(),
        ),
    )


def _stream(parsed: parsing.ParsedConfig) -> StreamSettings:
    return StreamSettings(
        retention_ms=parsed.integer("stream.retention.ms"),
        safe_zone_ms=parsed.integer("stream.safe.zone.ms"),
        lookback_ms=parsed.integer("init.sync.lookback.ms"),
        poll_interval_s=parsed.integer("stream.poll.interval.ms") / 1000,
        poll_interval_max_s=parsed.integer("stream.poll.interval.max.ms") / 1000,
        page_limit=parsed.integer("stream.page.limit"),
        describe_interval_s=parsed.integer("stream.describe.interval.ms") / 1000,
        heartbeat_s=parsed.integer("position.heartbeat.ms") / 1000,
        gap_policy=GapPolicy(parsed.string("gap.policy")),
        resyncs_max=parsed.integer("gap.resync.max"),
    )


def _messages(parsed: parsing.ParsedConfig, connector_class: str) -> MessageSettings:
    version = parsed.string("envelope.version") or (
        "1.0" if connector_class.strip() in JAVA_CLASS_NAMES else "0.1"
    )
    topic_map: dict[str, str] = json.loads(parsed.optional_string("kafka.topic.map") or "{}")
    return MessageSettings(
        envelope_version=cast("Literal['0.1', '1.0']", version),
        document_format=cast("Literal['typed', 'plain']", parsed.string("document.format")),
        include_old_image=parsed.boolean("include.old.image"),
        include_user_identity=parsed.boolean("include.user.identity"),
        drop_ttl_deletes=parsed.string("ttl.deletes") == "drop",
        tombstones=parsed.boolean("tombstones.on.delete"),
        topic_prefix=parsed.string("kafka.topic.prefix"),
        topic_map=topic_map,
    )
