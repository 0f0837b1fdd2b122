"""A whole table once, page by page, out of a full export that is finished: for those who look at it
and keep no position, as ``table_reading`` is for the table itself. It costs no read capacity.

The picture is of the moment of the export. What has changed since, who looks must ask the table.
Files come one after the other, each checked before anything of it is told (``export_fetch``).
"""

from __future__ import annotations

import asyncio
import functools
import posixpath
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

from connectd.aio.backoff import Backoff, retry
from connectd.aio.clock import Clock
from connectd.aws import exports
from connectd.connectors.dynamodb import export_fetch, export_files
from connectd.connectors.dynamodb.decode import Raw
from connectd.connectors.dynamodb.export_fetch import PART_BYTES, ReadPart
from connectd.connectors.dynamodb.export_files import DamagedExportError, DataFile
from connectd.connectors.dynamodb.export_place import BucketName
from connectd.connectors.dynamodb.source_api import ExportsApi, ObjectPart
from connectd.errors import ConfigError

T = TypeVar("T")

_RETRY: Final = Backoff(initial_s=0.5, max_s=20.0, attempts_max=12)
"""Some three minutes: S3 that is slow, or a network that is away for a while."""

_BUCKET: Final = BucketName()

_SCHEME: Final = "s3://"
_SUMMARY: Final = "manifest-summary.json"


@dataclass(frozen=True)
class FinishedExport:
    """A full export of one table. ``export_ms``: the moment whose picture it is, epoch."""

    arn: str
    bucket: str
    files: tuple[DataFile, ...]
    export_ms: int | None

    @property
    def items(self) -> int:
        """How many it has."""
        return sum(each.items for each in self.files)


@dataclass(frozen=True)
class ExportPage:
    """Some items of a data file; ``where`` is its address, ``first_line`` the line of the first."""

    items: list[Raw]
    where: str
    first_line: int


class ExportReading:
    """Reads one export; ``open`` finds it."""

    def __init__(self, api: ExportsApi, export: FinishedExport, clock: Clock) -> None:
        self.export = export
        self._api = api
        self._clock = clock

    @classmethod
    async def open(cls, api: ExportsApi, name: str, table_arn: str, clock: Clock) -> ExportReading:
        """The export of this table that has this name.

        ``name`` is its ARN, or where its manifests are: ``s3://bucket/prefix/AWSDynamoDB/<id>``.

        Raises:
            ConfigError: there is none, or it is of another table, not finished, or damaged.
            AccessDeniedError: dynamodb:DescribeExport (for an ARN) or s3:GetObject is missing.
            RetriableError: it could not be read for some minutes.
        """
        if name.startswith(_SCHEME):
            arn, (bucket, _, key) = None, name.removeprefix(_SCHEME).partition("/")
            if not bucket:
                raise _nameless(name)
            _BUCKET("--export", bucket)
            key = posixpath.join(key.removesuffix(_SUMMARY).rstrip("/"), _SUMMARY)
        elif name.startswith("arn:"):
            found = await _insist(clock, lambda: api.describe(name))
            if found.status != exports.COMPLETED:
                raise ConfigError(
                    f"export {name} is {found.status}; name one that is {exports.COMPLETED}"
                )
            arn, bucket = name, found.bucket
            key = export_files.summary_key(found.manifest_key, "", name)
        else:
            raise _nameless(name)

        with _of_another():
            summary, files = await export_fetch.read_manifests(
                bucket,
                key,
                functools.partial(_reader, api, clock, bucket),
                arn=arn,
                table_arn=table_arn,
            )
        return cls(api, FinishedExport(summary.arn, bucket, files, summary.export_ms), clock)

    @asynccontextmanager
    async def pages(self) -> AsyncIterator[AsyncGenerator[ExportPage]]:
        """All pages of all files; leaving the block ends the reading.

        Raises:
            ConfigError: a file is not what its manifest says.
            FatalTaskError: it may not be read, or this machine has no room for it.
            RetriableError: it could not be read for some minutes.
        """
        async with aclosing(self._pages()) as pages:
            yield pages

    async def _pages(self) -> AsyncGenerator[ExportPage]:
        bucket = self.export.bucket
        for file in self.export.files:
            where = f"{_SCHEME}{bucket}/{file.key}"
            read = _reader(self._api, self._clock, bucket, file.key)
            line = 1
            with _of_another():
                async with export_fetch.fetched(where, file, read) as content:
                    for page in export_files.read_pages(where, content, file, skip=0, items_max=0):
                        yield ExportPage(page.items, where, line)
                        line += len(page.items)
                        await asyncio.sleep(0)  # to unpack a page takes a while


def _nameless(name: str) -> ConfigError:
    return ConfigError(
        f"{name!r} is no export; expected its ARN (arn:aws:dynamodb:…/export/…), or the folder of "
        f"its manifests ({_SCHEME}bucket/prefix/AWSDynamoDB/…)"
    )


def _reader(api: ExportsApi, clock: Clock, bucket: str, key: str) -> ReadPart:
    async def read(start: int) -> ObjectPart:
        return await _insist(
            clock, lambda: api.read_object(bucket, key, start=start, length=PART_BYTES)
        )

    return read


async def _insist(clock: Clock, call: Callable[[], Awaitable[T]]) -> T:
    async def attempt() -> T:
        return await call()

    return await retry(attempt, clock=clock, policy=_RETRY)


@contextmanager
def _of_another() -> Iterator[None]:
    """What is damaged is nothing that belongs to a connector: another export helps."""
    try:
        yield
    except DamagedExportError as error:
        raise ConfigError(f"{error.where}: {error.problem}; name another full export") from error
