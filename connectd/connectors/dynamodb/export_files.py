"""What DynamoDB writes when it exports a table to S3: two manifests, and data files.

``manifest-summary.json`` says what was exported and where ``manifest-files.json`` is, which names
the data files, one JSON object per line. Data files lie where that manifest says and nowhere else:
full exports have a folder of their own, incremental ones share one. A data file is gzip of lines
``{"Item": {...}}``, an item being in the form that Scan has too (developer guide, "DynamoDB table
export output format"; spec streams-and-leases 4.7). The lines of incremental exports are the
business of ``export_changes``.

Pure.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import posixpath
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, Final, Generic, TypeVar

import msgspec

from connectd.aws import exports
from connectd.connectors.dynamodb.decode import Raw
from connectd.errors import FatalTaskError

T = TypeVar("T")

PAGE_BYTES: Final = 1024**2
"""As much as a page of Scan has."""

LINE_BYTES_MAX: Final = 16 * 1024**2
"""An item has 400 KB at most; its JSON, base64 and escapes included, a few times that."""

_SUMMARY: Final = "manifest-summary.json"
_INFLATED_BYTES: Final = 256 * 1024
_READ_BYTES: Final = 64 * 1024
_HEX_MD5: Final = re.compile(r"[0-9a-fA-F]{32}")
_BASE64_MD5: Final = re.compile(r"[A-Za-z0-9+/]{22}==")
_GZIP: Final = 16 + zlib.MAX_WBITS


class _Summary(msgspec.Struct, rename="camel"):
    export_arn: str
    table_arn: str
    manifest_files_key: str = msgspec.field(name="manifestFilesS3Key")
    output_format: str
    item_count: int
    export_time: str = ""
    export_type: str = exports.FULL


class _File(msgspec.Struct, rename="camel"):
    item_count: int
    md5_checksum: str
    data_file_key: str = msgspec.field(name="dataFileS3Key")


class _Line(msgspec.Struct, rename="pascal"):
    item: Raw


_summary_decoder = msgspec.json.Decoder(_Summary)
_files_decoder = msgspec.json.Decoder(_File)
_line_decoder = msgspec.json.Decoder(_Line)


@dataclass(frozen=True, slots=True)
class DataFile:
    """One data file: where it is, how many items it has, and the MD5 of its bytes."""

    key: str
    items: int
    md5: bytes


class DamagedExportError(FatalTaskError):
    """An export is not what DynamoDB wrote. ``where`` begins the message."""

    def __init__(self, where: str, problem: str) -> None:
        self.where = where
        self.problem = problem
        super().__init__(
            f"{where}: {problem}; restore the object, or remove the offset of the table (DELETE or "
            "PATCH on the connector's offsets) so that it is exported again"
        )


def summary_key(manifest_key: str | None, prefix: str, arn: str) -> str:
    """Where the summary is: beside the manifest that DescribeExport names, or where it must be."""
    export_id = arn.rpartition("/")[2]
    if manifest_key:
        return posixpath.join(posixpath.dirname(manifest_key), _SUMMARY)
    return posixpath.join(prefix, "AWSDynamoDB", export_id, _SUMMARY)


@dataclass(frozen=True, slots=True)
class ExportSummary:
    """What the summary of an export says. ``export_ms`` is None where it names no moment."""

    arn: str
    files_key: str
    items: int
    export_ms: int | None = None


def read_summary(
    where: str, text: bytes, *, arn: str | None, table_arn: str, kind: str = exports.FULL
) -> ExportSummary:
    """Read the summary of an export of this table; ``arn`` None: whichever it is.

    Raises:
        DamagedExportError: it is not the summary of this export.
    """
    try:
        summary = _summary_decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedExportError(where, f"it is no summary of an export ({error})") from error
    for name, found, expected in (
        ("exportArn", summary.export_arn, arn or summary.export_arn),
        ("tableArn", summary.table_arn, table_arn),
        ("outputFormat", summary.output_format, "DYNAMODB_JSON"),
        ("exportType", summary.export_type, kind),
    ):
        if found != expected:
            raise DamagedExportError(where, f"{name} is {found!r}, expected {expected!r}")
    return ExportSummary(
        summary.export_arn,
        summary.manifest_files_key,
        summary.item_count,
        _milliseconds(summary.export_time),
    )


def _milliseconds(instant: str) -> int | None:
    try:
        moment = datetime.fromisoformat(instant)
    except ValueError:
        return None
    return round(moment.astimezone(UTC).timestamp() * 1000)


def check_manifest(where: str, text: bytes, checksum: bytes) -> None:
    """Compare a manifest with the object that has its checksum: MD5, in base64 or hexadecimal.

    What is neither says nothing: the developer guide names those objects, not what they hold.

    Raises:
        DamagedExportError: the manifest has another one.
    """
    digest = hashlib.md5(text, usedforsecurity=False)
    said = checksum.decode("ascii", errors="replace").strip().strip('"')
    ours = base64.b64encode(digest.digest()).decode()
    if _HEX_MD5.fullmatch(said):
        said, ours = said.lower(), digest.hexdigest()
    elif not _BASE64_MD5.fullmatch(said):
        return
    if said != ours:
        raise DamagedExportError(where, f"its MD5 is {ours}, the checksum beside it says {said}")


def read_files(where: str, text: bytes, items: int) -> tuple[DataFile, ...]:
    """The data files, in the order of their names, which is the same in every life.

    Raises:
        DamagedExportError: it is not a list of files, or not of ``items`` items.
    """
    files: dict[str, DataFile] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            found = _files_decoder.decode(line)
            md5 = base64.b64decode(found.md5_checksum, validate=True)
        except (msgspec.DecodeError, UnicodeDecodeError, binascii.Error) as error:
            problem = f"line {number} names no data file ({error})"
            raise DamagedExportError(where, problem) from error
        if found.data_file_key in files:
            raise DamagedExportError(where, f"{found.data_file_key} is named twice")
        files[found.data_file_key] = DataFile(found.data_file_key, found.item_count, md5)
    listed = sum(each.items for each in files.values())
    if listed != items:
        raise DamagedExportError(where, f"its files have {listed} items, the summary says {items}")
    return tuple(files[key] for key in sorted(files))


def read_items(where: str, content: IO[bytes]) -> Iterator[Raw]:
    """The items of a data file, in its order, however long it is.

    Raises:
        DamagedExportError: it is no gzip, ends too early, or has a line that is no item.
    """
    return (item for item, _ in _parsed(where, content, _item_of))


def _item_of(line: bytes) -> Raw:
    return _line_decoder.decode(line).item


def _parsed(where: str, content: IO[bytes], parse: Callable[[bytes], T]) -> Iterator[tuple[T, int]]:
    """What the lines of a data file say, each with its length."""
    for number, line in enumerate(_lines(where, content), 1):
        try:
            yield parse(line), len(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            problem = f"line {number} is no item ({error})"
            raise DamagedExportError(where, problem) from error


def _lines(where: str, content: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in _inflated(where, content):
        lines = (rest + piece).split(b"\n")
        rest = lines.pop()
        if len(rest) > LINE_BYTES_MAX:
            raise DamagedExportError(where, f"a line has more than {LINE_BYTES_MAX} bytes")
        yield from (line for line in lines if line)
    if rest:
        yield rest


def _inflated(where: str, content: IO[bytes]) -> Iterator[bytes]:
    """All members of a gzip file, a little at a time; an empty file has none."""
    inflate = zlib.decompressobj(_GZIP)
    is_within = False
    data = content.read(_READ_BYTES)
    while data:
        try:
            piece = inflate.decompress(data, _INFLATED_BYTES)
        except zlib.error as error:
            raise DamagedExportError(where, f"it is no gzip file ({error})") from error
        is_within = not inflate.eof
        if piece:
            yield piece
        if inflate.eof:
            data = inflate.unused_data
            inflate = zlib.decompressobj(_GZIP)
        else:
            data = inflate.unconsumed_tail
        data = data or content.read(_READ_BYTES)
    while is_within and (piece := inflate.decompress(b"", _INFLATED_BYTES)):
        yield piece
    if is_within and not inflate.eof:
        raise DamagedExportError(where, "it ends in the middle")


@dataclass
class LinePage(Generic[T]):
    """What some lines say, to be emitted together, and whether they are the last ones."""

    items: list[T]
    is_last: bool


def read_pages(
    where: str, content: IO[bytes], file: DataFile, *, skip: int, items_max: int
) -> Iterator[LinePage[Raw]]:
    """The items of a data file of a full export; see ``parsed_pages``."""
    return parsed_pages(where, content, file, _item_of, skip=skip, items_max=items_max)


def parsed_pages(
    where: str,
    content: IO[bytes],
    file: DataFile,
    parse: Callable[[bytes], T],
    *,
    skip: int,
    items_max: int,
) -> Iterator[LinePage[T]]:
    """A data file after its first ``skip`` lines, in pages; there is always a last one.

    While lines are skipped, pages come empty, so that nobody waits long for the next one.
    ``items_max`` 0: bounded by ``PAGE_BYTES`` alone. ``parse`` refuses a line by raising msgspec's
    ``DecodeError``.

    Raises:
        DamagedExportError: as ``read_items``, or it has another number of items than it should.
            The last page does not come then.
    """
    done, size = 0, 0
    page: list[T] = []
    for item, length in _parsed(where, content, parse):
        if size >= PAGE_BYTES or 0 < items_max <= len(page):
            yield LinePage(page, is_last=False)
            page, size = [], 0
        done += 1
        size += length
        if done > skip:
            page.append(item)
    if done != file.items:
        raise DamagedExportError(where, f"it has {done} items, the manifest says {file.items}")
    yield LinePage(page, is_last=True)
