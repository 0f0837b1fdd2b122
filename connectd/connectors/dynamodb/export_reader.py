"""Reads the data files of an export, as ``scan`` reads segments: several at once, each with its
own position, which is the number of its lines that are done.

``FILES_AT_ONCE`` compressed files are on this machine at the same time (``export_fetch``). After a
crash a file is read again, and what was done is skipped. What lines say and what becomes of them is
told by an ``ExportContent``: the items of a full export (``ExportedItems``), or the changes of an
incremental one (``export_catch_up``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any, Final, Protocol

from connectd.aio.jobs import JobGroup
from connectd.connectors.dynamodb import export_fetch, stored_table
from connectd.connectors.dynamodb.decode import Raw
from connectd.connectors.dynamodb.export_fetch import PART_BYTES, ReadPart
from connectd.connectors.dynamodb.export_files import DataFile, LinePage, read_pages
from connectd.connectors.dynamodb.offsets import SegmentPosition
from connectd.connectors.dynamodb.plan import TablePlan
from connectd.connectors.dynamodb.scan_ledger import ScanLedger
from connectd.connectors.dynamodb.source_api import ObjectPart
from connectd.connectors.dynamodb.table_scope import TableScope
from connectd.model.record import RecordBatch

FILES_AT_ONCE: Final = 4


def reader_of(scope: TableScope, bucket: str, key: str) -> ReadPart:
    """Reads an object, trying each part until it works, which the table's row shows."""

    async def read(start: int) -> ObjectPart:
        return await scope.insist(
            f"reading s3://{bucket}/{key}",
            lambda: scope.api.exports.read_object(bucket, key, start=start, length=PART_BYTES),
        )

    return read


class ExportContent(Protocol):
    """What the lines of an export say, and the positions of its files."""

    def unfinished(self) -> Sequence[SegmentPosition]:
        """The files that are left; segment i is file i."""
        ...

    def move(self, position: SegmentPosition) -> None:
        """A file is at another position now."""
        ...

    def pages(
        self, where: str, content: IO[bytes], file: DataFile, *, skip: int, items_max: int
    ) -> Iterator[LinePage[Any]]:
        """A data file after its first ``skip`` lines (``export_files.parsed_pages``)."""
        ...

    def batch(self, items: Sequence[Any], after: SegmentPosition) -> RecordBatch:
        """The emission of a page, with the position after it."""
        ...


@dataclass(frozen=True)
class ExportedItems:
    """Implements ``ExportContent`` for a full export: the records of a scan."""

    plan: TablePlan
    ledger: ScanLedger

    def unfinished(self) -> Sequence[SegmentPosition]:
        """See ``ExportContent``."""
        return self.ledger.unfinished()

    def move(self, position: SegmentPosition) -> None:
        """See ``ExportContent``."""
        self.ledger.move(position)

    def pages(
        self, where: str, content: IO[bytes], file: DataFile, *, skip: int, items_max: int
    ) -> Iterator[LinePage[Raw]]:
        """See ``ExportContent``."""
        return read_pages(where, content, file, skip=skip, items_max=items_max)

    def batch(self, items: Sequence[Raw], after: SegmentPosition) -> RecordBatch:
        """See ``ExportContent``."""
        return self.ledger.batch(self.plan, items, after)


class ExportReader:
    """Reads what is left of one export that is complete."""

    def __init__(
        self, scope: TableScope, bucket: str, files: tuple[DataFile, ...], content: ExportContent
    ) -> None:
        """``files[i]`` is segment i; an export without files has one segment and no items."""
        self._scope = scope
        self._bucket = bucket
        self._files = files
        self._content = content
        self._left: Iterator[SegmentPosition] = iter(())

    async def run(self) -> None:
        """Read what is left, until the ends of all files are durable.

        Raises:
            FatalTaskError: a file cannot be read.
        """
        left = self._content.unfinished()
        self._left = iter(left)
        readers = JobGroup(f"{self._scope.table}/export")
        for number in range(min(FILES_AT_ONCE, len(left))):
            readers.spawn(f"reader-{number}", self._read_files())
        await readers.complete()

    async def _read_files(self) -> None:
        for position in self._left:
            if position.segment < len(self._files):
                position = await self._read_file(self._files[position.segment], position)
            else:
                position = replace(position, is_finished=True)
                self._content.move(position)
            await self._scope.queue.commit(
                stored_table.segment_partition(self._scope.table, position.segment),
                position.to_offset(),
            )

    async def _read_file(self, file: DataFile, position: SegmentPosition) -> SegmentPosition:
        where = f"s3://{self._bucket}/{file.key}"
        items_max = self._scope.config.scan.page_size
        read = reader_of(self._scope, self._bucket, file.key)
        async with export_fetch.fetched(where, file, read) as content:
            pages = self._content.pages(
                where, content, file, skip=position.count, items_max=items_max
            )
            while not position.is_finished:
                async with self._scope.queue.place() as place:
                    page = next(pages)
                    position = replace(
                        position, count=position.count + len(page.items), is_finished=page.is_last
                    )
                    if page.items:
                        place.fill(self._content.batch(page.items, position))
                self._content.move(position)
                await asyncio.sleep(0)  # a page takes a while to unpack; others want the loop too
        return position
