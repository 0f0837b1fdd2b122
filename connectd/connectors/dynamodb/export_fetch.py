"""Brings an export's objects to this machine, part by part, and only what is undamaged.

A data file goes to a temporary file (in the directory that TMPDIR names) and is compared with the
checksum of the manifest before anybody reads it. How a part is asked for, and how often, is the
caller's business: the daemon's (``export_reader``), or that of a Python worker of Spark.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from io import FileIO
from typing import IO, Final

from connectd.aws import exports
from connectd.connectors.dynamodb import export_files
from connectd.connectors.dynamodb.export_files import DamagedExportError, DataFile, ExportSummary
from connectd.connectors.dynamodb.source_api import ObjectPart
from connectd.errors import FatalTaskError, InvalidRequestError

PART_BYTES: Final = 2 * 1024**2
"""Of one GET: so little that its deadline is met by slow lines, and the loop is not held up."""

MANIFEST_BYTES_MAX: Final = 256 * 1024**2
"""About a million data files."""

CHECKSUM_ENDINGS: Final = (".md5", ".checksum")
"""Of the object beside a manifest: what DynamoDB writes, and what its developer guide calls it."""

CHECKSUM_BYTES_MAX: Final = 4096

ReadPart = Callable[[int], Awaitable[ObjectPart]]
"""Reads up to ``PART_BYTES`` of one object from a place on, trying until it works."""


async def read_parts(where: str, read: ReadPart) -> AsyncGenerator[bytes, None]:
    """An object from its beginning to its end.

    Raises:
        DamagedExportError: it is not there any more.
        ConnectdError: what ``read`` raises.
    """
    start, total = 0, 1
    while start < total:
        try:
            part = await read(start)
        except InvalidRequestError as error:
            raise DamagedExportError(where, str(error)) from error
        start, total = start + len(part.content), part.total_bytes
        if part.content:
            yield part.content
        elif start < total:
            raise DamagedExportError(where, f"it ends at {start} of {total} bytes")


async def read_whole(where: str, read: ReadPart, *, bytes_max: int) -> bytes:
    """A small object.

    Raises:
        FatalTaskError: it is not there, or has more than ``bytes_max`` bytes.
        ConnectdError: what ``read`` raises.
    """
    found = bytearray()
    async with contextlib.aclosing(read_parts(where, read)) as parts:
        async for part in parts:
            found += part
            if len(found) > bytes_max:
                raise FatalTaskError(f"{where} has more than {bytes_max} bytes")
    return bytes(found)


async def read_manifests(
    bucket: str,
    summary_key: str,
    reader_of: Callable[[str], ReadPart],
    *,
    arn: str | None,
    table_arn: str,
    kind: str = exports.FULL,
) -> tuple[ExportSummary, tuple[DataFile, ...]]:
    """Both manifests of an export, checked; ``reader_of`` reads the object of a key.

    Each is compared with its own checksum where that can be read.

    Raises:
        DamagedExportError: they are not what DynamoDB wrote, or not this export's.
        ConnectdError: what the readers raise.
    """

    async def text_of(where: str, key: str) -> bytes:
        text = await read_whole(where, reader_of(key), bytes_max=MANIFEST_BYTES_MAX)
        for ending in CHECKSUM_ENDINGS:
            beside = key.removesuffix(".json") + ending
            try:
                checksum = await read_whole(beside, reader_of(beside), bytes_max=CHECKSUM_BYTES_MAX)
            except FatalTaskError:
                continue  # there is none; who may not list a bucket is told that it is denied
            export_files.check_manifest(where, text, checksum)
            break
        return text

    where = f"s3://{bucket}/{summary_key}"
    text = await text_of(where, summary_key)
    summary = export_files.read_summary(where, text, arn=arn, table_arn=table_arn, kind=kind)
    where = f"s3://{bucket}/{summary.files_key}"
    text = await text_of(where, summary.files_key)
    return summary, export_files.read_files(where, text, summary.items)


@contextlib.asynccontextmanager
async def fetched(where: str, file: DataFile, read: ReadPart) -> AsyncIterator[IO[bytes]]:
    """A data file, on this machine and undamaged, for as long as the block lasts.

    Raises:
        DamagedExportError: it is not there any more, or not what the manifest says.
        FatalTaskError: this machine has no room for it.
        ConnectdError: what ``read`` raises.
    """
    digest = hashlib.md5(usedforsecurity=False)
    with contextlib.ExitStack() as open_files:
        try:
            content = open_files.enter_context(
                tempfile.TemporaryFile(prefix="connectd-export-", buffering=0)
            )
            async with contextlib.aclosing(read_parts(where, read)) as parts:
                async for part in parts:
                    digest.update(part)
                    _write(content, part)
        except OSError as error:
            raise FatalTaskError(
                f"{where} cannot be kept in {tempfile.gettempdir()}: {error}; give it room for a "
                "few data files, or set TMPDIR to a directory that has it"
            ) from error
        if digest.digest() != file.md5:
            raise DamagedExportError(
                where, f"its MD5 is {digest.hexdigest()}, the manifest says {file.md5.hex()}"
            )
        content.seek(0)
        yield content


def _write(file: FileIO, content: bytes) -> None:
    """All of it: the last bytes of a disk are written without an error, the next ones are not."""
    left = memoryview(content)
    while left:
        left = left[file.write(left) :]
