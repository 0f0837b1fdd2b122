"""Which buckets, prefixes and owners of an export are taken, and what is said of others."""

from __future__ import annotations

import pytest

from connectd.connectors.dynamodb.config import DynamoDbConfig
from connectd.errors import ConfigError

KEYS = "init.sync.export.s3."


def problem(key: str, text: str) -> str:
    """What is said of a value; "": it is taken."""
    try:
        DynamoDbConfig.from_config({f"{KEYS}{key}": text})
    except ConfigError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("bucket", ""),
        ("bucket", " "),
        ("bucket", "abc"),
        ("bucket", " my-exports.eu-1 "),
        ("bucket", "a" * 63),
        ("bucket", "1.2.3"),
        ("bucket", "my-point-bj6h9w4qrqwfp1kmzy1tzs4bze1kueuw1a-s3alias"),
        ("prefix", ""),
        ("prefix", "/team/ex ports=1/ä/.hidden//a..b/"),
        ("prefix", "x" * 900),
        ("bucket.owner", ""),
        ("bucket.owner", " 012345678901 "),
    ],
)
def test_what_aws_takes_is_taken(key: str, text: str) -> None:
    assert problem(key, text) == ""


@pytest.mark.parametrize(
    ("key", "text", "told"),
    [
        ("bucket", "UPPER_case!!", "lower-case letters, digits, dots and hyphens"),
        ("bucket", "ab", "3 to 63"),
        ("bucket", "a" * 64, "3 to 63"),
        ("bucket", "-abc", "the first and the last one"),
        ("bucket", "abc.", "the first and the last one"),
        ("bucket", "bücket", "lower-case letters"),
        ("bucket", "a..b", "no two dots"),
        ("bucket", "192.168.5.4", "no IP address"),
        ("bucket", "s3://bkt/x", "write what follows it into init.sync.export.s3.prefix"),
        ("bucket", "bkt/x", "the name of a bucket alone, as my-exports"),
        ("bucket", "arn:aws:s3:eu-west-1:123456789012:accesspoint/p", "not by an ARN"),
        ("bucket", "xn--bucket", "no general purpose buckets"),
        ("bucket", "bucket--usw2-az1--x-s3", "no general purpose buckets"),
        ("prefix", "../../x", "write the whole path from the top of the bucket"),
        ("prefix", "a/./b", "is '.' or '..'"),
        ("prefix", "a\x01b", "Control characters"),
        ("prefix", "a\nb", "Control characters"),
        ("prefix", "a\x7fb", "Control characters"),
        ("prefix", "a\ud800b", "Control characters"),
        ("prefix", "s3://bkt/x", "the bucket stands in init.sync.export.s3.bucket"),
        ("prefix", "ä" * 451, "902 bytes in UTF-8, expected at most 900"),
        ("bucket.owner", "nobody", "the 12 digits of an AWS account, as 123456789012"),
        ("bucket.owner", "12345678901", "12 digits"),
        ("bucket.owner", "1234567890123", "12 digits"),
        ("bucket.owner", "١٢٣٤٥٦٧٨٩٠١٢", "12 digits"),
    ],
)
def test_what_aws_refuses_is_refused_with_what_to_write_instead(
    key: str, text: str, told: str
) -> None:
    assert told in problem(key, text)
