"""A whole table once, page by page, for those who look at it and keep no position.

The pages are those of the initial scan (``scan``): as many segments, the same size and pace. They
come in no order, each as soon as it is there; few are ahead of who takes them. What DynamoDB
refuses for the moment is asked again; what waiting will not mend ends the reading.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Final, Protocol

from connectd.aio.backoff import Backoff, retry
from connectd.aio.clock import Clock
from connectd.aio.jobs import JobGroup, run_unless
from connectd.connectors.dynamodb.config import ScanSettings
from connectd.connectors.dynamodb.decode import Raw, ScanPage, decode_item, decode_scan_page
from connectd.connectors.dynamodb.pacing import ScanPacer
from connectd.connectors.dynamodb.scan import segments_for
from connectd.connectors.dynamodb.source_api import RawResponse, TableDescription, TablesApi
from connectd.errors import (
    ConvertError,
    InvalidRequestError,
    RetriableError,
    TransientNetworkError,
)

PAGES_AHEAD: Final = 4
"""Pages of up to 1 MB that wait to be taken."""

ITEM_READS_MAX: Final = 16
"""Items read at the same time."""

_RETRY: Final = Backoff(initial_s=0.5, max_s=20.0, attempts_max=12)
"""Some three minutes: a throttled table or a network that is away for a while."""


class ItemsApi(TablesApi, Protocol):
    """Tables that can be asked for single items as well (``aws.dynamodb.DynamoDbClient``)."""

    async def get_item(self, table: str, key: bytes) -> RawResponse:
        """One item as it is now."""
        ...


class _SegmentEnd:
    """What a segment says last: its last page may be empty, or the only one."""


class TableReading:
    """Reads one table; see the module's docstring."""

    def __init__(
        self,
        api: ItemsApi,
        description: TableDescription,
        settings: ScanSettings,
        clock: Clock,
    ) -> None:
        self._api = api
        self._table = description.name
        self._settings = settings
        self._clock = clock
        self._segments = segments_for(description.size_bytes, settings.segments)
        self._pacer = _pacer(description, settings, clock, self._segments)

    @asynccontextmanager
    async def pages(self) -> AsyncIterator[AsyncGenerator[ScanPage]]:
        """All pages of all segments; leaving the block ends the reading.

        Raises:
            RetriableError: the table could not be read for some minutes.
            FatalTaskError: it is gone, or may not be read.
        """
        queue: asyncio.Queue[ScanPage | _SegmentEnd] = asyncio.Queue(PAGES_AHEAD)
        failures: list[BaseException] = []
        failed = asyncio.Event()

        def on_failure(_: str, error: BaseException) -> None:
            failures.append(error)
            failed.set()

        async def taken() -> AsyncGenerator[ScanPage]:
            left = self._segments
            while left:
                page = await run_unless(queue.get(), failed.wait())
                if page is None:
                    raise failures[0]
                if isinstance(page, _SegmentEnd):
                    left -= 1
                else:
                    yield page

        jobs = JobGroup(f"reading/{self._table}", on_failure=on_failure)
        for segment in range(self._segments):
            jobs.spawn(f"segment {segment}", self._read_segment(segment, queue))
        try:
            async with aclosing(taken()) as pages:
                yield pages
        finally:
            await jobs.stop()

    async def items(self, keys: Sequence[bytes]) -> list[Raw | InvalidRequestError | None]:
        """Items as they are now, by their keys (DynamoDB's JSON), in that order; None: no item.

        What DynamoDB says of a key that it does not take stands in the item's place: the others
        are none the worse for it.

        Raises:
            RetriableError, FatalTaskError: as ``pages``.
        """
        places = asyncio.Semaphore(ITEM_READS_MAX)

        async def asked(key: bytes) -> Raw | None:
            try:  # machinery for trying again costs more than a call that succeeds
                return await self._item(key)
            except RetriableError:
                return await retry(lambda: self._item(key), clock=self._clock, policy=_RETRY)

        async def one(key: bytes) -> Raw | InvalidRequestError | None:
            async with places:
                try:
                    return await asked(key)
                except InvalidRequestError as refusal:
                    return refusal

        return list(await asyncio.gather(*map(one, keys)))

    async def _item(self, key: bytes) -> Raw | None:
        response = await self._api.get_item(self._table, key)
        try:
            return decode_item(response.body)
        except ConvertError as error:
            raise TransientNetworkError(str(error)) from error

    async def _read_segment(
        self, segment: int, queue: asyncio.Queue[ScanPage | _SegmentEnd]
    ) -> None:
        key: bytes | None = None
        while True:
            after = key
            page = await retry(
                lambda: self._page(segment, after),  # noqa: B023  called before it changes
                clock=self._clock,
                policy=_RETRY,
            )
            await queue.put(page)
            key = page.last_evaluated_key
            if key is None:
                await queue.put(_SegmentEnd())
                return

    async def _page(self, segment: int, start_key: bytes | None) -> ScanPage:
        limit, expected = self._settings.page_size or None, 0.0
        if self._pacer is not None:
            limit = self._pacer.limit(self._settings.page_size)
            expected = await self._pacer.take(limit)
        page: ScanPage | None = None
        try:
            response = await self._api.scan(
                self._table,
                segment=segment,
                total_segments=self._segments,
                exclusive_start_key=start_key,
                limit=limit,
                consistent=self._settings.consistent_read,
            )
            page = decode_scan_page(response.body)
            return page
        except ConvertError as error:
            raise TransientNetworkError(str(error)) from error
        finally:
            if self._pacer is not None:
                consumed, items = (page.consumed_capacity, len(page.items)) if page else (0.0, 0)
                self._pacer.settle(expected, consumed, limit=limit, items=items)


def _pacer(
    description: TableDescription, settings: ScanSettings, clock: Clock, segments: int
) -> ScanPacer | None:
    """The pace of the initial scan (``scan.make_pacer``, which needs a task)."""
    units_per_s = float(settings.capacity_units) or (
        description.read_capacity_units * settings.capacity_share
    )
    if not units_per_s:
        return None
    items = description.item_count
    return ScanPacer(
        units_per_s=units_per_s,
        clock=clock,
        segments=segments,
        item_bytes=description.size_bytes / items if items else None,
        is_consistent=settings.consistent_read,
    )
