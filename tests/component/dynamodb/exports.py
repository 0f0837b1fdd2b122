"""DynamoDB's exports and the S3 that they go to, in memory, in the documented layout.

An export takes ``duration_s``. What a test changes in ``objects`` is what a reader gets; ``now``
decides what a table looks like. ``fails``: exports end as FAILED, for that reason.

Incremental exports are those of the developer guide ("DynamoDB table export output format"): their
data is in a folder that all of them share, their summary names the window and the view instead of
one moment, their lines are compacted to one per item.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from connectd.aio.clock import Clock, iso_instant
from connectd.connectors.dynamodb.source_api import (
    ExportDescription,
    ExportRequest,
    ExportWindow,
    ObjectPart,
)
from connectd.errors import InvalidRequestError

Items = Callable[[str], Sequence[Any]]
Changes = Callable[[str, float, float], Sequence[Any]]
"""Lines of a table's changes between two times (s)."""
Gate = Callable[[str, str], Exception | None]


def data_file(items: Sequence[Any]) -> bytes:
    """A data file of these items."""
    return lines_file([{"Item": each} for each in items])


def lines_file(lines: Sequence[Any]) -> bytes:
    """A data file of these lines."""
    return gzip.compress(b"".join(json.dumps(each).encode() + b"\n" for each in lines))


def change_line(keys: Any, written_s: float, new: Any, old: Any) -> dict[str, Any]:
    """A line of an incremental export; an image that is None is left out."""
    line = {"Metadata": {"WriteTimestampMicros": {"N": f"{written_s * 1e6:.0f}"}}, "Keys": keys}
    images = {"NewImage": new, "OldImage": old}
    return line | {name: image for name, image in images.items() if image is not None}


def files_manifest(files: dict[str, tuple[bytes, int]]) -> bytes:
    """The list of data files: content and number of items, by key."""
    return b"".join(
        json.dumps(
            {
                "itemCount": count,
                "md5Checksum": base64.b64encode(hashlib.md5(content).digest()).decode(),
                "etag": hashlib.md5(content).hexdigest() + "-1",
                "dataFileS3Key": key,
            }
        ).encode()
        + b"\n"
        for key, (content, count) in files.items()
    )


def window_summary(
    arn: str, table_arn: str, files_key: str, items: int, window: ExportWindow
) -> bytes:
    """The summary of an incremental export."""
    members = json.loads(summary(arn, table_arn, files_key, items))
    del members["exportTime"]
    return json.dumps(
        members
        | {
            "version": "2023-08-01",
            "exportFromTime": iso_instant(window.from_ms / 1000),
            "exportToTime": iso_instant(window.to_ms / 1000),
            "outputView": "NEW_AND_OLD_IMAGES",
            "exportType": "INCREMENTAL_EXPORT",
        }
    ).encode()


def summary(arn: str, table_arn: str, files_key: str, items: int, **others: object) -> bytes:
    """The summary of an export."""
    return json.dumps(
        {
            "version": "2020-06-30",
            "exportArn": arn,
            "startTime": "2026-05-01T10:00:00.000Z",
            "endTime": "2026-05-01T10:05:00.000Z",
            "tableArn": table_arn,
            "tableId": "12345678-a1b2-c3d4-e5f6-1234567890ab",
            "exportTime": "2026-05-01T10:00:00.000Z",
            "s3Bucket": "exports",
            "s3Prefix": "some",
            "s3SseAlgorithm": "AES256",
            "s3SseKmsKeyId": None,
            "manifestFilesS3Key": files_key,
            "billedSizeBytes": 0,
            "itemCount": items,
            "outputFormat": "DYNAMODB_JSON",
            "exportType": "FULL_EXPORT",
            **others,
        }
    ).encode()


@dataclass
class FakeExport:
    """One export: what it is of, when it ends, and what comes of it."""

    request: ExportRequest
    arn: str
    folder: str
    began_s: float
    items: Sequence[Any]
    failure: str = ""
    is_written: bool = False


@dataclass
class FakeExports:
    """Implements ``ExportsApi``; see the module's docstring."""

    clock: Clock
    items_of: Items
    changes_of: Changes = lambda table, from_s, to_s: ()
    gate: Gate = lambda operation, subject: None
    duration_s: float = 120.0
    file_items: int = 10
    fails: str = ""
    recovery_s: float = 35 * 86_400.0
    exports: dict[str, FakeExport] = field(default_factory=dict)
    objects: dict[tuple[str, str], bytes] = field(default_factory=dict)
    reads: list[tuple[str, int]] = field(default_factory=list)

    async def request(self, wanted: ExportRequest) -> ExportDescription:
        await self._call("ExportTableToPointInTime", wanted.table_arn)
        for export in self.exports.values():
            if export.request.token == wanted.token:
                if export.request != wanted:
                    raise InvalidRequestError("a token stands for one request")
                return self._description(export)
        number = f"{len(self.exports) + 1:014d}-abcdef"
        arn = f"{wanted.table_arn}/export/{number}"
        folder = "/".join(filter(None, (wanted.prefix, "AWSDynamoDB", number)))
        table = wanted.table_arn.rpartition("/")[2]
        items = list(self.items_of(table) if wanted.window is None else self._window(table, wanted))
        export = FakeExport(wanted, arn, folder, self.clock.wall_s(), items, self.fails)
        self.exports[arn] = export
        return self._description(export)

    def _window(self, table: str, wanted: ExportRequest) -> Sequence[Any]:
        """The lines of an incremental export; DynamoDB refuses windows that it cannot make."""
        assert wanted.window is not None
        now_s = self.clock.wall_s()
        from_s, to_s = wanted.window.from_ms / 1000, wanted.window.to_ms / 1000
        if from_s % 1 or to_s % 1 or not 15 * 60 <= to_s - from_s <= 86_400:
            raise InvalidRequestError(f"ValidationException: a window of {to_s - from_s} s")
        if to_s > now_s - 300 or from_s < now_s - self.recovery_s:
            raise InvalidRequestError("InvalidExportTimeException: outside of the recovery window")
        return self.changes_of(table, from_s, to_s)

    async def describe(self, arn: str) -> ExportDescription:
        await self._call("DescribeExport", arn)
        export = self.exports.get(arn)
        if export is None:
            raise InvalidRequestError(f"export {arn} does not exist")
        return self._description(export)

    async def read_object(self, bucket: str, key: str, *, start: int, length: int) -> ObjectPart:
        await self._call("GetObject", key)
        content = self.objects.get((bucket, key))
        if content is None:
            raise InvalidRequestError(f"s3:GetObject on s3://{bucket}/{key}: NoSuchKey")
        self.reads.append((key, start))
        return ObjectPart(content[start : start + length], len(content))

    def keys(self, ending: str) -> list[str]:
        """The keys of all objects that end like this, in order."""
        return sorted(key for _, key in self.objects if key.endswith(ending))

    async def _call(self, operation: str, subject: str) -> None:
        await self.clock.sleep(0.002)
        refusal = self.gate(operation, subject)
        if refusal is not None:
            raise refusal

    def _description(self, export: FakeExport) -> ExportDescription:
        is_over = self.clock.wall_s() >= export.began_s + self.duration_s
        status = "IN_PROGRESS" if not is_over else "FAILED" if export.failure else "COMPLETED"
        if status == "COMPLETED" and not export.is_written:
            self._write(export)
        return ExportDescription(
            arn=export.arn,
            status=status,
            export_ms=int(export.began_s) * 1000,
            manifest_key=f"{export.folder}/manifest-files.json" if is_over else None,
            item_count=len(export.items),
            failure=export.failure if status == "FAILED" else "",
            bucket=export.request.bucket,
            table_arn=export.request.table_arn,
            kind="FULL_EXPORT" if export.request.window is None else "INCREMENTAL_EXPORT",
            started_ms=int(export.began_s) * 1000,
        )

    def _write(self, export: FakeExport) -> None:
        export.is_written = True
        window, prefix = export.request.window, export.request.prefix
        lines = [{"Item": each} for each in export.items] if window is None else export.items
        own, shared = f"{export.folder}/data", "/".join(filter(None, (prefix, "AWSDynamoDB/data")))
        folder = own if window is None else shared
        number = export.arn.rpartition("/")[2]
        files: dict[str, tuple[bytes, int]] = {}
        for first in range(0, len(lines) + 1, self.file_items):  # the last one may be empty
            part = lines[first : first + self.file_items]
            files[f"{folder}/{number}-{first:08d}.json.gz"] = (lines_file(part), len(part))
        files_key = f"{export.folder}/manifest-files.json"
        about = (export.arn, export.request.table_arn, files_key, len(export.items))
        written = {
            f"{export.folder}/manifest-summary.json": (
                summary(*about) if window is None else window_summary(*about, window)
            ),
            files_key: files_manifest(files),
            **{key: content for key, (content, _) in files.items()},
        }
        for key, content in written.items():
            self.objects[export.request.bucket, key] = content
