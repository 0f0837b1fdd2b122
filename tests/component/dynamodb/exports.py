"""DynamoDB's exports and the S3 that they go to, in memory, in the documented layout.

An export takes ``duration_s``. What a test changes in ``objects`` is what a reader gets; ``now``
decides what a table looks like. ``fails``: exports end as FAILED, for that reason.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from connectd.aio.clock import Clock
from connectd.connectors.dynamodb.source_api import ExportDescription, ExportRequest, ObjectPart
from connectd.errors import InvalidRequestError

Items = Callable[[str], Sequence[Any]]
Gate = Callable[[str, str], Exception | None]


def data_file(items: Sequence[Any]) -> bytes:
    """A data file of these items."""
    return gzip.compress(b"".join(json.dumps({"Item": each}).encode() + b"\n" for each in items))


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
    gate: Gate = lambda operation, subject: None
    duration_s: float = 120.0
    file_items: int = 10
    fails: str = ""
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
        items = list(self.items_of(table))
        export = FakeExport(wanted, arn, folder, self.clock.wall_s(), items, self.fails)
        self.exports[arn] = export
        return self._description(export)

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
        )

    def _write(self, export: FakeExport) -> None:
        export.is_written = True
        files: dict[str, tuple[bytes, int]] = {}
        for first in range(0, len(export.items) + 1, self.file_items):  # the last one may be empty
            part = export.items[first : first + self.file_items]
            files[f"{export.folder}/data/{first:08d}.json.gz"] = (data_file(part), len(part))
        files_key = f"{export.folder}/manifest-files.json"
        written = {
            f"{export.folder}/manifest-summary.json": summary(
                export.arn, export.request.table_arn, files_key, len(export.items)
            ),
            files_key: files_manifest(files),
            **{key: content for key, (content, _) in files.items()},
        }
        for key, content in written.items():
            self.objects[export.request.bucket, key] = content
