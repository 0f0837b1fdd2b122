"""The keys of INIT_SYNC from an export to S3; see ``config_keys``."""

from __future__ import annotations

from typing import Final

from connectd.configdef import validators
from connectd.configdef.definition import ConfigKey, ConfigType, Importance, Width
from connectd.connectors.dynamodb import export_place

_GROUP: Final = "Initial sync"

EXPORT_KEYS: Final = (
    ConfigKey(
        "init.sync.export.s3.bucket",
        ConfigType.STRING,
        "With init.sync.engine=export, the S3 bucket that DynamoDB exports tables to and that "
        "they are read from. The credentials need s3:PutObject, s3:PutObjectAcl, "
        "s3:AbortMultipartUpload and s3:GetObject there, and dynamodb:ExportTableToPointInTime "
        "and dynamodb:DescribeExport on the table. Nothing in it is ever removed by the "
        "connector: give it a lifecycle rule.",
        Importance.MEDIUM,
        "",
        _GROUP,
        12,
        Width.MEDIUM,
        "Export bucket",
        validator=export_place.BucketName(),
    ),
    ConfigKey(
        "init.sync.export.s3.prefix",
        ConfigType.STRING,
        'Where in the bucket exports go: DynamoDB adds AWSDynamoDB/<export id>. "": at its top.',
        Importance.LOW,
        "",
        _GROUP,
        13,
        Width.MEDIUM,
        "Export prefix",
        validator=export_place.KeyPrefix(),
    ),
    ConfigKey(
        "init.sync.export.s3.bucket.owner",
        ConfigType.STRING,
        'The AWS account that the bucket belongs to. "": the account of the table.',
        Importance.LOW,
        "",
        _GROUP,
        14,
        Width.SHORT,
        "Export bucket owner",
        validator=export_place.AccountId(),
    ),
    ConfigKey(
        "init.sync.export.s3.sse",
        ConfigType.STRING,
        'How the export is encrypted: AES256 or KMS. "": as the bucket says. With KMS the '
        "credentials need kms:GenerateDataKey and kms:Decrypt on the key.",
        Importance.LOW,
        "",
        _GROUP,
        15,
        Width.SHORT,
        "Export encryption",
        validator=validators.one_of("", "AES256", "KMS"),
    ),
    ConfigKey(
        "init.sync.export.s3.sse.kms.key.id",
        ConfigType.STRING,
        'With init.sync.export.s3.sse=KMS, the id of the key. "": the key that AWS manages.',
        Importance.LOW,
        "",
        _GROUP,
        16,
        Width.MEDIUM,
        "Export key",
    ),
    ConfigKey(
        "init.sync.export.reader",
        ConfigType.STRING,
        "With init.sync.engine=export, who reads the export: daemon (the worker itself), spark "
        "(a job that the worker starts, as for init.sync.engine=spark), or auto: Spark for tables "
        "above the thresholds of Spark, if the worker finds a spark-submit. It may change hands. "
        "Incremental exports, which close gaps, are always read by the worker.",
        Importance.LOW,
        "daemon",
        _GROUP,
        18,
        Width.SHORT,
        "Export reader",
        validator=validators.one_of("auto", "daemon", "spark"),
    ),
    ConfigKey(
        "aws.s3.endpoint",
        ConfigType.STRING,
        "URL of the S3 service, for exports. Not set: AWS's own in the region.",
        Importance.LOW,
        None,
        _GROUP,
        17,
        Width.MEDIUM,
        "AWS S3 API Endpoint",
        validator=validators.url(),
    ),
)
"""INIT_SYNC from an export."""
