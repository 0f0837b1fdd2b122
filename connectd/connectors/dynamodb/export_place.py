"""Where exports may go: names of buckets, prefixes of keys and accounts, by AWS's rules. Pure.

The rules are those of "General purpose bucket naming rules" and "Naming Amazon S3 objects" in the
S3 User Guide, and of ExportTableToPointInTime, whose S3Bucket takes names and no ARNs. Blanks at
the ends do not count, as nowhere in these keys, and "" is always fine: unset.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from connectd.configdef.values import invalid_value

PREFIX_BYTES_MAX: Final = 900
"""A key has at most 1024 bytes; DynamoDB adds AWSDynamoDB/<export id>/data/<file>.json.gz."""

_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", re.ASCII)
_OWNER: Final = re.compile(r"[0-9]{12}", re.ASCII)
_RESERVED_STARTS: Final = ("xn--", "sthree-", "amzn-s3-demo-")
_RESERVED_ENDS: Final = ("--ol-s3", ".mrap", "--x-s3", "--table-s3")


@dataclass(frozen=True)
class BucketName:
    """A bucket, or the alias of an access point, which stands for one."""

    def __call__(self, name: str, value: object) -> None:
        """Raise ConfigError for what S3 would refuse."""
        text = str(value or "").strip()
        problem = _bucket_problem(text) if text else ""
        if problem:
            raise invalid_value(name, value, problem)

    def __str__(self) -> str:
        return "name of an S3 bucket"


def _bucket_problem(text: str) -> str:
    if text.startswith("arn:"):
        return (
            "DynamoDB exports to a bucket by its name, not by an ARN; write the name of the bucket"
        )
    if "/" in text:
        return (
            "Expected the name of a bucket alone, as my-exports; write what follows it into "
            "init.sync.export.s3.prefix"
        )
    if not _BUCKET.fullmatch(text):
        return (
            "A bucket's name has 3 to 63 lower-case letters, digits, dots and hyphens, the first "
            "and the last one a letter or digit; write it as the S3 console shows it"
        )
    if ".." in text or _is_ip(text):
        return "A bucket's name has no two dots in a row, and is no IP address"
    if text.startswith(_RESERVED_STARTS) or text.endswith(_RESERVED_ENDS):
        return (
            f"Names that begin with {', '.join(_RESERVED_STARTS)} or end with "
            f"{', '.join(_RESERVED_ENDS)} are no general purpose buckets, which exports need"
        )
    return ""


def _is_ip(text: str) -> bool:
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class KeyPrefix:
    """The beginning of an object's key, without the slash at its end."""

    def __call__(self, name: str, value: object) -> None:
        """Raise ConfigError for what S3 would refuse, or nobody could find again."""
        problem = _prefix_problem(str(value or "").strip().strip("/"))
        if problem:
            raise invalid_value(name, value, problem)

    def __str__(self) -> str:
        return f"prefix of S3 keys, at most {PREFIX_BYTES_MAX} bytes"


def _prefix_problem(text: str) -> str:
    if text.startswith(("s3:", "arn:")):
        return (
            "Expected a path within the bucket, as team/exports; the bucket stands in "
            "init.sync.export.s3.bucket"
        )
    if any(unicodedata.category(each) in ("Cc", "Cs") for each in text):
        return "Control characters cannot be in a prefix; write letters, digits and ! - _ . * ' ( )"
    if any(part in (".", "..") for part in text.split("/")):
        return (
            "S3 knows no directories: no part between the slashes of a prefix is '.' or '..'; "
            "write the whole path from the top of the bucket"
        )
    size = len(text.encode())
    if size > PREFIX_BYTES_MAX:
        return f"It has {size} bytes in UTF-8, expected at most {PREFIX_BYTES_MAX}"
    return ""


@dataclass(frozen=True)
class AccountId:
    """An AWS account."""

    def __call__(self, name: str, value: object) -> None:
        """Raise ConfigError for what is no account."""
        text = str(value or "").strip()
        if text and not _OWNER.fullmatch(text):
            raise invalid_value(
                name, value, "Expected the 12 digits of an AWS account, as 123456789012"
            )

    def __str__(self) -> str:
        return "12 digits"
