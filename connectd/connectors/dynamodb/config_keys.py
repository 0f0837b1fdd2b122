"""Every key of the DynamoDB source connector, declared once.

The first thirteen are those of the Java connector, with its names, types, defaults, groups, orders
and display names (spec dynamodb-connector 1), so that a form drawn from them looks the same. The
rest is ours; names that forks use for the same meaning are kept (``init.sync.skip``,
``aws.assume.role.arn``, ``kafka.topic.map``).

Here are words and limits only; ``config`` turns values into settings.
"""

from __future__ import annotations

from typing import Final

from connectd.configdef import validators
from connectd.configdef.definition import ConfigKey, ConfigType, Importance, Width

_HOUR_MS: Final = 3_600_000

_HIGH, _MEDIUM, _LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
_BOOLEAN, _STRING, _INT, _LONG = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.LONG,
)
_PASSWORD, _LIST = ConfigType.PASSWORD, ConfigType.LIST

_ENDPOINT_DOC = 'Not set or "": the endpoint of the region.'

AWS_KEYS: Final = (
    ConfigKey(
        "aws.region",
        _STRING,
        "AWS region of the tables, for all clients.",
        _LOW,
        "eu-west-1",
        "AWS",
        1,
        Width.SHORT,
        "Region",
        validator=validators.non_empty,
    ),
    ConfigKey(
        "aws.access.key.id",
        _PASSWORD,
        "Access key of static credentials. Used only together with aws.secret.key; otherwise the "
        "default chain finds credentials (environment, web identity, profile, container, "
        'instance). "" counts as not set.',
        _LOW,
        None,
        "AWS",
        2,
        Width.LONG,
        "Access key id",
    ),
    ConfigKey(
        "aws.secret.key",
        _PASSWORD,
        'Secret key of static credentials; see aws.access.key.id. "" counts as not set.',
        _LOW,
        None,
        "AWS",
        3,
        Width.LONG,
        "Secret key",
    ),
    ConfigKey(
        "dynamodb.table.ingestion.tag.key",
        _STRING,
        "Tables that carry a tag with this key, whatever its value, are copied.",
        _HIGH,
        "datalake-ingest",
        "AWS",
        4,
        Width.MEDIUM,
        "Ingestion tag key name",
    ),
    ConfigKey(
        "dynamodb.table.env.tag.key",
        _STRING,
        "Key of the tag that names a table's environment.",
        _HIGH,
        "environment",
        "AWS",
        5,
        Width.MEDIUM,
        "Environment tag key",
    ),
    ConfigKey(
        "dynamodb.table.env.tag.value",
        _STRING,
        "Value that the environment tag must have.",
        _HIGH,
        "dev",
        "AWS",
        6,
        Width.MEDIUM,
        "Environment",
    ),
    ConfigKey(
        "dynamodb.service.endpoint",
        _STRING,
        "URL of the DynamoDB service, used for its streams too unless "
        f"dynamodb.streams.service.endpoint is set. {_ENDPOINT_DOC}",
        _LOW,
        None,
        "AWS",
        7,
        Width.MEDIUM,
        "AWS DynamoDB API Endpoint",
        validator=validators.url(),
    ),
    ConfigKey(
        "resource.tagging.service.endpoint",
        _STRING,
        f"URL of the Resource Groups Tagging service. {_ENDPOINT_DOC}",
        _LOW,
        None,
        "AWS",
        8,
        Width.MEDIUM,
        "AWS Resource Group Tag API Endpoint",
        validator=validators.url(),
    ),
    ConfigKey(
        "dynamodb.table.whitelist",
        _LIST,
        "Names of the tables to copy, instead of discovery by tags. "
        'Not set or "": discovery by tags.',
        _LOW,
        None,
        "AWS",
        8,
        Width.MEDIUM,
        "Tables whitelist",
    ),
    ConfigKey(
        "kcl.table.billing.mode",
        _STRING,
        "Accepted and without effect: positions are kept in the offsets topic, no lease table is "
        "created.",
        _LOW,
        "PROVISIONED",
        "AWS",
        9,
        Width.MEDIUM,
        "KCL table billing mode",
        validator=validators.one_of("PROVISIONED", "PAY_PER_REQUEST"),
    ),
    ConfigKey(
        "aws.session.token",
        _PASSWORD,
        "Session token that belongs to temporary static credentials.",
        _LOW,
        None,
        "AWS",
        10,
        Width.LONG,
        "Session token",
    ),
    ConfigKey(
        "aws.assume.role.arn",
        _STRING,
        "Role to assume with the credentials found, for tables of another account. The role's "
        "credentials are renewed before they expire.",
        _MEDIUM,
        None,
        "AWS",
        11,
        Width.LONG,
        "Role to assume",
    ),
    ConfigKey(
        "aws.assume.role.external.id",
        _PASSWORD,
        "External id that the role's trust policy asks for.",
        _LOW,
        None,
        "AWS",
        12,
        Width.MEDIUM,
        "External id of the role",
    ),
    ConfigKey(
        "dynamodb.streams.service.endpoint",
        _STRING,
        'URL of the DynamoDB Streams service. Not set or "": dynamodb.service.endpoint, or the '
        "endpoint of the region.",
        _LOW,
        None,
        "AWS",
        13,
        Width.MEDIUM,
        "AWS DynamoDB Streams API Endpoint",
        validator=validators.url(),
    ),
    ConfigKey(
        "aws.sts.endpoint",
        _STRING,
        f"URL of the Security Token Service, for aws.assume.role.arn. {_ENDPOINT_DOC}",
        _LOW,
        None,
        "AWS",
        14,
        Width.MEDIUM,
        "AWS STS API Endpoint",
        validator=validators.url(),
    ),
    ConfigKey(
        "aws.account.id.endpoint.mode",
        _STRING,
        "Whether streams are asked at the account's own host, "
        "<account>.streams-ddb.<region>.amazonaws.com, which allow-lists and VPC endpoints often "
        "do not know.",
        _LOW,
        "disabled",
        "AWS",
        15,
        Width.SHORT,
        "Account id endpoint mode",
        validator=validators.one_of("disabled", "preferred", "required"),
    ),
)
"""Account, credentials, endpoints, and which tables."""

CONNECTOR_KEYS: Final = (
    ConfigKey(
        "kafka.topic.prefix",
        _STRING,
        "A table's topic is this prefix followed by the table's name, nothing in between.",
        _HIGH,
        "dynamodb-",
        "Connector",
        1,
        Width.MEDIUM,
        "Topic prefix",
    ),
    ConfigKey(
        "init.sync.delay.period",
        _INT,
        "Seconds to wait before the first INIT_SYNC of a table, so that a cluster that is starting "
        "comes to rest. Shown as DELAYED. Not waited for when a scan is continued or a gap is "
        "repaired.",
        _LOW,
        60,
        "Connector",
        2,
        Width.MEDIUM,
        "INIT_SYNC delay",
        validator=validators.at_least(0),
    ),
    ConfigKey(
        "connect.dynamodb.rediscovery.period",
        _LONG,
        "Milliseconds between two discoveries of tables.",
        _LOW,
        60_000,
        "Connector",
        4,
        Width.MEDIUM,
        "Rediscovery period",
        validator=validators.at_least(1_000),
    ),
    ConfigKey(
        "kafka.topic.map",
        _STRING,
        "JSON object of table names and what stands for them in the topic's name after the "
        'prefix, for example {"orders-v2":"orders"}. Tables that are not named keep their name.',
        _MEDIUM,
        None,
        "Connector",
        5,
        Width.LONG,
        "Topic names by table",
        validator=validators.json_object(string_values=True),
    ),
    ConfigKey(
        "table.grouping",
        _STRING,
        "How tables share tasks when there are more of them than tasks.max: balanced (group sizes "
        "differ by one at most) or stable (by hash of the name, so that a new table moves no "
        "other).",
        _LOW,
        "balanced",
        "Connector",
        6,
        Width.SHORT,
        "Table grouping",
        validator=validators.one_of("balanced", "stable"),
    ),
    ConfigKey(
        "task.buffer.pages",
        _INT,
        "Pages (1 MB at most, each) that a task holds before Kafka takes them. Bounds the memory "
        "of the task; its readers wait when the buffer is full.",
        _LOW,
        16,
        "Connector",
        7,
        Width.SHORT,
        "Buffered pages per task",
        validator=validators.between(2, 1_024),
    ),
)
"""Topics and tasks."""

SCAN_KEYS: Final = (
    ConfigKey(
        "init.sync.skip",
        _BOOLEAN,
        "Copy changes only: a table without a stored position is not scanned, its stream is read "
        "from stream.start.position on. Tables whose scan is stored as finished or under way are "
        "not scanned (further) either.",
        _MEDIUM,
        False,
        "Initial sync",
        1,
        Width.SHORT,
        "Skip INIT_SYNC",
    ),
    ConfigKey(
        "stream.start.position",
        _STRING,
        "With init.sync.skip, where the stream is read from the first time: LATEST, or "
        "TRIM_HORIZON for the changes of up to 24 hours before. Shards that appear later are "
        "always read from their beginning.",
        _MEDIUM,
        "LATEST",
        "Initial sync",
        2,
        Width.SHORT,
        "First stream position",
        validator=validators.one_of("LATEST", "TRIM_HORIZON"),
    ),
    ConfigKey(
        "init.sync.segments",
        _INT,
        "Segments that a scan reads in parallel, each with a position of its own. 0: one per 2 GB "
        "of the table's size, 8 at most. A scan that is under way keeps its number. On Spark a "
        "scan that begins has no more than one per 64 MiB, or 64 if that is more.",
        _MEDIUM,
        0,
        "Initial sync",
        3,
        Width.SHORT,
        "Scan segments",
        validator=validators.between(0, 4_096),
    ),
    ConfigKey(
        "init.sync.read.capacity.share",
        _STRING,
        "Share of the table's provisioned read capacity that a scan may consume, as a fraction "
        "(0.5) or in percent (50%). Tables with on-demand capacity are scanned unpaced, unless "
        "init.sync.read.capacity.units is set.",
        _MEDIUM,
        "0.5",
        "Initial sync",
        4,
        Width.SHORT,
        "Share of read capacity",
    ),
    ConfigKey(
        "init.sync.read.capacity.units",
        _INT,
        "Read capacity units per second that a scan may consume, whatever the table's own "
        "capacity is. 0: by init.sync.read.capacity.share.",
        _LOW,
        0,
        "Initial sync",
        5,
        Width.SHORT,
        "Read capacity units",
        validator=validators.at_least(0),
    ),
    ConfigKey(
        "init.sync.page.size",
        _INT,
        "Items per Scan page. 0: as many as fit into 1 MB, which is cheapest.",
        _LOW,
        0,
        "Initial sync",
        6,
        Width.SHORT,
        "Items per page",
        validator=validators.at_least(0),
    ),
    ConfigKey(
        "init.sync.consistent.read",
        _BOOLEAN,
        "Scan with strongly consistent reads, at twice the capacity. Not needed for completeness: "
        "changes around the start of the scan come again from the stream.",
        _LOW,
        False,
        "Initial sync",
        7,
        Width.SHORT,
        "Consistent reads",
    ),
    ConfigKey(
        "init.sync.max.age.ms",
        _LONG,
        "Age from which a scan that is still under way is reported as too old (the Java connector "
        "starts again at 19 hours, for ever). The scan goes on from its saved position; whether "
        "the stream still reaches back to its start is checked at its end, by gap.policy.",
        _LOW,
        19 * _HOUR_MS,
        "Initial sync",
        8,
        Width.MEDIUM,
        "Oldest scan",
        validator=validators.at_least(60_000),
    ),
)
"""INIT_SYNC."""
