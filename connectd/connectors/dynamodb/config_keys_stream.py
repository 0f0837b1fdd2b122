"""Keys of the second half of a table's life: SYNC, gaps, and the form of messages.

The first half, and the rules, are in ``config_keys``.
"""

from __future__ import annotations

from typing import Final

from connectd.configdef import validators
from connectd.configdef.definition import ConfigKey, ConfigType, Importance, Width

_HOUR_MS: Final = 3_600_000

_MEDIUM, _LOW = Importance.MEDIUM, Importance.LOW
_BOOLEAN, _STRING, _INT, _LONG = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.LONG,
)

STREAM_KEYS: Final = (
    ConfigKey(
        "stream.retention.ms",
        _LONG,
        "How long the stream keeps its records. A position older than this may have lost some: a "
        "gap.",
        _LOW,
        24 * _HOUR_MS,
        "Stream",
        1,
        Width.MEDIUM,
        "Stream retention",
        validator=validators.at_least(60_000),
    ),
    ConfigKey(
        "stream.safe.zone.ms",
        _LONG,
        "Age up to which a position without a sequence number (the beginning of a shard) is "
        "trusted. Below stream.retention.ms by the time that reading may take to get going.",
        _LOW,
        20 * _HOUR_MS,
        "Stream",
        2,
        Width.MEDIUM,
        "Safe zone",
        validator=validators.at_least(60_000),
    ),
    ConfigKey(
        "init.sync.lookback.ms",
        _LONG,
        "Changes older than the start of INIT_SYNC by more than this are skipped, since the scan "
        "has read them. Covers reads that are not strongly consistent and clocks that differ.",
        _LOW,
        _HOUR_MS,
        "Stream",
        3,
        Width.MEDIUM,
        "Look-back before INIT_SYNC",
        validator=validators.at_least(0),
    ),
    ConfigKey(
        "stream.poll.interval.ms",
        _LONG,
        "Wait between two reads of a shard that has new records (none after a full page). AWS "
        "allows about five reads per second and shard.",
        _LOW,
        250,
        "Stream",
        4,
        Width.SHORT,
        "Poll interval",
        validator=validators.at_least(1),
    ),
    ConfigKey(
        "stream.poll.interval.max.ms",
        _LONG,
        "Longest wait between two reads of a shard without new records; the wait is a twelfth of "
        "the time since the last ones, up to this.",
        _LOW,
        5_000,
        "Stream",
        5,
        Width.SHORT,
        "Poll interval when idle",
        validator=validators.between(1, 60_000),
    ),
    ConfigKey(
        "stream.page.limit",
        _INT,
        "Most records per read of a shard.",
        _LOW,
        1_000,
        "Stream",
        6,
        Width.SHORT,
        "Records per page",
        validator=validators.between(1, 1_000),
    ),
    ConfigKey(
        "stream.describe.interval.ms",
        _LONG,
        "Time between two looks at a table and its list of shards while nothing calls for one "
        "(the end of a shard does). AWS allows ten listings per second and account.",
        _LOW,
        300_000,
        "Stream",
        7,
        Width.MEDIUM,
        "Describe interval",
        validator=validators.at_least(1_000),
    ),
    ConfigKey(
        "position.heartbeat.ms",
        _LONG,
        "Time after which the position of a shard without new records is written again, so that a "
        "quiet table is not taken for a stale one. One small record per open shard.",
        _LOW,
        600_000,
        "Stream",
        8,
        Width.MEDIUM,
        "Position heartbeat",
        validator=validators.at_least(1_000),
    ),
    ConfigKey(
        "gap.policy",
        _STRING,
        "What to do when changes were lost between the stored position and the stream: resync "
        "(scan again; items deleted in the gap stay in the topic; with init.sync.engine=export "
        "read incremental exports, which have the deletions, where they reach back far enough), "
        "fail, or skip (go on with what is there). A gap is always logged, counted and shown.",
        _MEDIUM,
        "resync",
        "Stream",
        9,
        Width.SHORT,
        "Gap policy",
        validator=validators.one_of("resync", "fail", "skip"),
    ),
    ConfigKey(
        "gap.resync.max",
        _INT,
        "Resyncs of a table, each within 24 hours of the one before, after which it fails instead.",
        _LOW,
        3,
        "Stream",
        10,
        Width.SHORT,
        "Resyncs in a row",
        validator=validators.at_least(0),
    ),
)
"""SYNC and gaps."""

MESSAGE_KEYS: Final = (
    ConfigKey(
        "envelope.version",
        _STRING,
        'Form of the messages: 1.0, equal to the Java releases, or 0.1. "": 1.0 when the connector '
        "is configured with a Java class name, 0.1 otherwise.",
        _MEDIUM,
        "",
        "Messages",
        1,
        Width.SHORT,
        "Envelope version",
        validator=validators.one_of("", "0.1", "1.0"),
    ),
    ConfigKey(
        "document.format",
        _STRING,
        "Form of an item: typed (DynamoDB's JSON with lower-case types) or plain JSON.",
        _MEDIUM,
        "typed",
        "Messages",
        2,
        Width.SHORT,
        "Document format",
        validator=validators.one_of("typed", "plain"),
    ),
    ConfigKey(
        "include.old.image",
        _BOOLEAN,
        "Add old_document with the item before the change, for streams that carry it. With "
        "ProtobufConverter decide before the first record: it numbers fields by their place, so "
        "that a registry refuses the change later.",
        _LOW,
        False,
        "Messages",
        3,
        Width.SHORT,
        "Include the old image",
    ),
    ConfigKey(
        "include.user.identity",
        _BOOLEAN,
        "Add who made a change when the stream says so; deletions by time to live do.",
        _LOW,
        False,
        "Messages",
        4,
        Width.SHORT,
        "Include the user identity",
    ),
    ConfigKey(
        "ttl.deletes",
        _STRING,
        "Whether deletions by time to live are copied: include or drop.",
        _LOW,
        "include",
        "Messages",
        5,
        Width.SHORT,
        "Deletions by time to live",
        validator=validators.one_of("include", "drop"),
    ),
    ConfigKey(
        "tombstones.on.delete",
        _BOOLEAN,
        "Follow the message of a deletion with a tombstone, so that compaction removes the key.",
        _LOW,
        True,
        "Messages",
        6,
        Width.SHORT,
        "Tombstones",
    ),
)
"""What messages look like."""
