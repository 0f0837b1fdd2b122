"""A data file of an export, in a Python worker of Spark: brought here, checked, and cut into pages.

Each chunk brings the whole file and skips what is done; ``segment_scan`` lets chunks last longer
than the fetching did, so that little of the time goes into that.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import IO, Final

from connectd.aio.backoff import Backoff, retry
from connectd.connectors.dynamodb import export_fetch
from connectd.connectors.dynamodb.decode import Raw
from connectd.connectors.dynamodb.export_files import DataFile, read_pages
from connectd.connectors.dynamodb.offsets import SegmentPosition
from connectd.connectors.dynamodb.scan_job import ScanJob
from connectd.connectors.dynamodb.source_api import ObjectPart
from connectd.errors import InvariantError
from spark_jobs.chunk_tools import ChunkTools

CHUNK_MAX_S: Final = 60.0
"""No chunk lasts longer for the sake of its fetching: the daemon is to hear of it."""

_RETRY: Final = Backoff(initial_s=0.5, max_s=10.0, attempts_max=6)
"""Of one part; then the driver is told, and waits with the whole file."""


@asynccontextmanager
async def fetched(tools: ChunkTools, file: DataFile) -> AsyncIterator[tuple[str, IO[bytes]]]:
    """The file, and its name for messages.

    Raises:
        RetriableError: S3 could not be read for a while.
        FatalTaskError: the file is damaged, or may not be read.
    """
    bucket = tools.job.state.export_bucket
    if bucket is None:
        raise InvariantError(f"{file.key} is a file of no export")

    async def read(start: int) -> ObjectPart:
        async def once() -> ObjectPart:
            return await tools.clients.exports.read_object(
                bucket, file.key, start=start, length=export_fetch.PART_BYTES
            )

        return await retry(once, clock=tools.clock, policy=_RETRY)

    where = f"s3://{bucket}/{file.key}"
    async with export_fetch.fetched(where, file, read) as content:
        yield where, content


def pages(
    job: ScanJob, where: str, content: IO[bytes], file: DataFile, position: SegmentPosition
) -> Iterator[tuple[list[Raw], SegmentPosition]]:
    """What is left of a file, each page with the position after it.

    Raises:
        DamagedExportError: it is not what its manifest says.
    """
    for page in read_pages(where, content, file, skip=position.count, items_max=job.page_size):
        position = dataclasses.replace(
            position, count=position.count + len(page.items), is_finished=page.is_last
        )
        if page.items or page.is_last:
            yield page.items, position
