"""The keys that decide who scans a table, this process or Spark; see ``config_keys``."""

from __future__ import annotations

from typing import Final

from connectd.configdef import validators
from connectd.configdef.definition import ConfigKey, ConfigType, Importance, Width

SPARK_KEYS: Final = (
    ConfigKey(
        "init.sync.engine",
        ConfigType.STRING,
        "Who scans: daemon (the worker itself), spark (a job that the worker starts with "
        "spark-submit and follows; see the worker's spark. keys), auto (Spark for tables above "
        "a threshold, if the worker finds a spark-submit), or export: nobody; DynamoDB exports the "
        "table to S3, which costs no read capacity and needs point-in-time recovery, and the "
        "export is read (see init.sync.export.s3.bucket and init.sync.export.reader). A scan that "
        "is under way may change hands, it goes on from its positions; what began as an export, or "
        "as a scan, ends as one. For Spark a table has one segment per 2 GB, however many, unless "
        "init.sync.segments is set.",
        Importance.MEDIUM,
        "auto",
        "Initial sync",
        9,
        Width.SHORT,
        "Scan engine",
        validator=validators.one_of("auto", "daemon", "spark", "export"),
    ),
    ConfigKey(
        "init.sync.spark.threshold.bytes",
        ConfigType.LONG,
        "With init.sync.engine=auto, size of a table in bytes, as DescribeTable tells, from which "
        "on Spark scans it.",
        Importance.LOW,
        19_000_000_000,
        "Initial sync",
        10,
        Width.MEDIUM,
        "Table size for Spark",
        validator=validators.at_least(0),
    ),
    ConfigKey(
        "init.sync.spark.threshold.items",
        ConfigType.LONG,
        "With init.sync.engine=auto, number of items from which on Spark scans a table although "
        "it is smaller than init.sync.spark.threshold.bytes. 0: whatever their number is.",
        Importance.LOW,
        46_000_000,
        "Initial sync",
        11,
        Width.MEDIUM,
        "Item count for Spark",
        validator=validators.at_least(0),
    ),
)
"""INIT_SYNC on Spark."""
