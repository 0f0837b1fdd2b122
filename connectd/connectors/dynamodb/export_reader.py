"""Reads the data files of an export, as ``scan`` reads segments: several at once, each with its
own position, which is the number of its lines that are done.

``FILES_AT_ONCE`` compressed files are on this machine at the same time (``export_fetch``). After a
crash a file is read again, and what was done is skipped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from connectd.aio.jobs import JobGroup
from connectd.connectors.dynamodb import export_fetch, stored_table
from connectd.connectors.dynamodb.export_fetch import PART_BYTES, ReadPart
from connectd.connectors.dynamodb.export_files import DataFile, read_pages
from connectd.connectors.dynamodb.offsets import SegmentPosition, TableState
from connectd.connectors.dynamodb.plan import TablePlan
from connectd.connectors.dynamodb.scan_ledger import ScanLedger
from connectd.connectors.dynamodb.source_api import ObjectPart
from connectd.connectors.dynamodb.table_scope import TableScope

FILES_AT_ONCE: Final = 4


def reader_of(scope: TableScope, bucket: str, key: str) -> ReadPart:
    """Reads an object, trying each part until it works, which the table's row shows."""

    async def read(start: int) -> ObjectPart:
        return await scope.insist(
            f"reading s3://{bucket}/{key}",
            lambda: scope.api.exports.read_object(bucket, key, start=start, length=PART_BYTES),
        )

    return read


class ExportReader:
    """One export, from a durable RUNNING state to a durable FINISHED one."""

    def __init__(
        self, scope: TableScope, plan: TablePlan, ledger: ScanLedger, files: tuple[DataFile, ...]
    ) -> None:
        """``files[i]`` is segment i; an export without files has one segment and no items."""
        assert ledger.state.export_bucket is not None
        self._scope = scope
        self._plan = plan
        self._ledger = ledger
        self._files = files
        self._bucket = ledger.state.export_bucket
        self._left: Iterator[SegmentPosition] = iter(())
        self._reading = 0
        self._over = asyncio.Event()
        self._failure: BaseException | None = None
        self._jobs = JobGroup(f"{scope.table}/export", on_failure=self._on_failure)

    async def run(self) -> TableState:
        """Read what is left; returns the FINISHED state, durable.

        Raises:
            FatalTaskError: a file cannot be read.
        """
        left = self._ledger.unfinished()
        self._left = iter(left)
        self._reading = min(FILES_AT_ONCE, len(left))
        try:
            for number in range(self._reading):
                self._jobs.spawn(f"reader-{number}", self._read_files())
            if left:
                await self._over.wait()
        finally:
            await self._jobs.stop()
        if self._failure is not None:
            raise self._failure
        return await self._ledger.finish()

    async def _read_files(self) -> None:
        for position in self._left:
            if position.segment < len(self._files):
                position = await self._read_file(self._files[position.segment], position)
            else:
                position = replace(position, is_finished=True)
                self._ledger.move(position)
            await self._scope.queue.commit(
                stored_table.segment_partition(self._scope.table, position.segment),
                position.to_offset(),
            )
        self._reading -= 1
        if self._reading == 0:
            self._over.set()

    async def _read_file(self, file: DataFile, position: SegmentPosition) -> SegmentPosition:
        where = f"s3://{self._bucket}/{file.key}"
        items_max = self._scope.config.scan.page_size
        read = reader_of(self._scope, self._bucket, file.key)
        async with export_fetch.fetched(where, file, read) as content:
            pages = read_pages(where, content, file, skip=position.count, items_max=items_max)
            while not position.is_finished:
                async with self._scope.queue.place() as place:
                    page = next(pages)
                    position = replace(
                        position, count=position.count + len(page.items), is_finished=page.is_last
                    )
                    if page.items:
                        place.fill(self._ledger.batch(self._plan, page.items, position))
                self._ledger.move(position)
                await asyncio.sleep(0)  # a page takes a while to unpack; others want the loop too
        return position

    def _on_failure(self, name: str, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error
        self._over.set()
