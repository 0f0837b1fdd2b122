"""Exports of tables: ExportTableToPointInTime, and the objects that it writes to S3.

The export is DynamoDB's own work and costs no read capacity; it needs point-in-time recovery. What
its objects mean is no business of this room (``connectors.dynamodb.export_files``).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import botocore.exceptions as boto

from connectd.aws.control import ControlPlane
from connectd.aws.errors import Call, parse_client_error
from connectd.errors import InvariantError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient as BotoDynamoDb

COMPLETED: Final = "COMPLETED"
FAILED: Final = "FAILED"
FULL: Final = "FULL_EXPORT"
INCREMENTAL: Final = "INCREMENTAL_EXPORT"
BOTH_IMAGES: Final = "NEW_AND_OLD_IMAGES"


@dataclass(frozen=True, slots=True)
class ExportWindow:
    """What an incremental export is of: changes from ``from_ms`` (inclusive) to ``to_ms``
    (exclusive), milliseconds since the epoch, whole seconds.

    "The incremental export will reflect the table's state including and after" the one, "just prior
    to" the other (API reference of IncrementalExportSpecification). From 15 minutes to 24 hours.
    """

    from_ms: int
    to_ms: int


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """What to export and where to. Equal requests with equal tokens are one export for 8 hours.

    ``prefix`` "": none; ``bucket_owner`` "": the bucket is this account's; ``sse`` "": as the
    bucket encrypts, else AES256 or KMS, with ``kms_key_id`` "" for AWS's own key. ``window`` None:
    a full export, of the moment that the service chooses.
    """

    table_arn: str
    token: str
    bucket: str
    prefix: str = ""
    bucket_owner: str = ""
    sse: str = ""
    kms_key_id: str = ""
    window: ExportWindow | None = None


@dataclass(frozen=True, slots=True)
class ExportDescription:
    """What DescribeExport says. ``status``: IN_PROGRESS, COMPLETED or FAILED.

    ``export_ms`` is the moment whose picture the export is, milliseconds since the epoch, and
    ``started_ms`` when its work began; ``manifest_key`` one of its manifests in ``bucket``, which
    stand side by side.
    """

    arn: str
    status: str
    export_ms: int | None = None
    manifest_key: str | None = None
    item_count: int = 0
    failure: str = ""
    bucket: str = ""
    table_arn: str = ""
    kind: str = FULL
    started_ms: int | None = None


class ObjectPart(NamedTuple):
    """Bytes of an object, and how many it has altogether."""

    content: bytes
    total_bytes: int


class ExportsClient:
    """Asks for exports and reads them. ``make_s3`` is called once, in a thread, when needed."""

    def __init__(
        self, *, client: BotoDynamoDb, make_s3: Callable[[], Any], control: ControlPlane
    ) -> None:
        self._client = client
        self._make_s3 = make_s3
        self._control = control
        self._s3: Any = None
        self._making = threading.Lock()

    async def request(self, wanted: ExportRequest) -> ExportDescription:
        """Begin an export, or find the one that the same request began.

        Raises ``InvalidRequestError`` (point-in-time recovery is off, among others),
        ``AccessDeniedError``, ``ConflictError``, ``TableGoneError``, ``ThrottledError`` (too many
        exports at once), ``TransientNetworkError``.
        """
        optional = {
            "S3Prefix": wanted.prefix,
            "S3BucketOwner": wanted.bucket_owner,
            "S3SseAlgorithm": wanted.sse,
            "S3SseKmsKeyId": wanted.kms_key_id,
        }
        parameters: dict[str, Any] = {
            "TableArn": wanted.table_arn,
            "ClientToken": wanted.token,
            "S3Bucket": wanted.bucket,
            "ExportFormat": "DYNAMODB_JSON",
            "ExportType": FULL,
            **{name: value for name, value in optional.items() if value},
            **_window_parameters(wanted.window),
        }
        answer = await self._control.call(
            Call("dynamodb:ExportTableToPointInTime", wanted.table_arn),
            self._client.export_table_to_point_in_time,
            **parameters,
        )
        return parse_export(answer["ExportDescription"])

    async def describe(self, arn: str) -> ExportDescription:
        """How far an export is. Raises as ``request`` does."""
        answer = await self._control.call(
            Call("dynamodb:DescribeExport", arn), self._client.describe_export, ExportArn=arn
        )
        return parse_export(answer["ExportDescription"])

    async def read_object(self, bucket: str, key: str, *, start: int, length: int) -> ObjectPart:
        """Up to ``length`` bytes of an object from ``start`` on; none beyond its end.

        Raises ``InvalidRequestError`` (no such bucket or object), ``AccessDeniedError``,
        ``ThrottledError``, ``TransientNetworkError``.
        """
        if start < 0 or length < 1:
            raise InvariantError(f"reading s3://{bucket}/{key}: {length} bytes from {start}")
        call = Call("s3:GetObject", f"s3://{bucket}/{key}")
        return await self._control.call(call, self._get, bucket, key, start, length)

    def _get(self, bucket: str, key: str, start: int, length: int) -> ObjectPart:
        with self._making:
            if self._s3 is None:
                self._s3 = self._make_s3()
        try:
            answer = self._s3.get_object(
                Bucket=bucket, Key=key, Range=f"bytes={start}-{start + length - 1}"
            )
        except boto.ClientError as error:
            if parse_client_error(error).code == "InvalidRange":
                return ObjectPart(b"", start)  # an object that ends here, or has no byte at all
            raise
        # Not in a with statement: that would read past botocore, whose exceptions we know.
        with contextlib.closing(answer["Body"]) as body:
            content: bytes = body.read()
        total = str(answer.get("ContentRange", "")).rpartition("/")[2]
        return ObjectPart(content, int(total) if total.isdigit() else start + len(content))

    def close(self) -> None:
        """Close the connections to S3."""
        with self._making:
            if self._s3 is not None:
                self._s3.close()
                self._s3 = None


def _window_parameters(window: ExportWindow | None) -> dict[str, Any]:
    if window is None:
        return {}
    return {
        "ExportType": INCREMENTAL,
        "IncrementalExportSpecification": {
            "ExportFromTime": datetime.fromtimestamp(window.from_ms / 1000, UTC),
            "ExportToTime": datetime.fromtimestamp(window.to_ms / 1000, UTC),
            "ExportViewType": BOTH_IMAGES,
        },
    }


def parse_export(answer: Any) -> ExportDescription:
    """boto3's answer as ours."""
    words = (answer.get("FailureCode"), answer.get("FailureMessage"))
    return ExportDescription(
        arn=answer["ExportArn"],
        status=answer["ExportStatus"],
        export_ms=_milliseconds(answer.get("ExportTime")),
        manifest_key=answer.get("ExportManifest"),
        item_count=answer.get("ItemCount") or 0,
        failure=": ".join(filter(None, words)),
        bucket=answer.get("S3Bucket") or "",
        table_arn=answer.get("TableArn") or "",
        kind=answer.get("ExportType") or FULL,
        started_ms=_milliseconds(answer.get("StartTime")),
    )


def _milliseconds(time: datetime | None) -> int | None:
    return None if time is None else int(time.timestamp() * 1000)
