"""A segment of a table, page by page, for Python workers of Spark, which know no event loop.

The calls are the daemon's: its client, what its errors mean, its pace. Each reader has a loop and a
client of its own, for as long as it reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from connectd.aio.backoff import Backoff, retry
from connectd.aio.clock import LoopClock
from connectd.aws.clients import AwsClients
from connectd.aws.settings import AwsSettings
from connectd.connectors.dynamodb.decode import ScanPage, decode_scan_page
from connectd.connectors.dynamodb.pacing import ScanPacer
from connectd.connectors.dynamodb.source_api import TableDescription
from connectd.errors import ConvertError, TransientNetworkError

_RETRY: Final = Backoff(initial_s=0.5, max_s=20.0, attempts_max=12)
"""Some three minutes; then Spark tries the whole segment again, as often as it is set to."""


@dataclass(frozen=True)
class TablePlace:
    """Which table, and how it is read; ``page_size`` 0: up to 1 MB."""

    table: str
    aws: AwsSettings
    is_consistent: bool = False
    page_size: int = 0


@dataclass(frozen=True)
class Segment:
    """Which part of a table; ``read_units`` is its share of the pace, None: unpaced.

    ``item_bytes`` is what an item measures on average, None where nobody knows.
    """

    number: int
    total: int
    read_units: float | None
    item_bytes: float | None


def describe(place: TablePlace) -> TableDescription:
    """What the table is.

    Raises:
        TableGoneError, AccessDeniedError, RetriableError: it cannot be had.
    """
    with _clients(place) as (runner, clients, clock):
        return runner.run(
            retry(lambda: clients.dynamodb.describe_table(place.table), clock=clock, policy=_RETRY)
        )


def read_pages(place: TablePlace, segment: Segment) -> Iterator[ScanPage]:
    """All pages of a segment, in its order.

    Raises:
        RetriableError: the table could not be read for some minutes.
        FatalTaskError: it is gone, or may not be read.
    """
    with _clients(place) as (runner, clients, clock):
        reader = _SegmentReader(place, segment, clients, clock)
        while not reader.is_finished:
            yield runner.run(retry(reader.page, clock=clock, policy=_RETRY))


class _SegmentReader:
    def __init__(
        self, place: TablePlace, segment: Segment, clients: AwsClients, clock: LoopClock
    ) -> None:
        self._place = place
        self._segment = segment
        self._clients = clients
        self._pacer: ScanPacer | None = None
        if segment.read_units is not None:
            self._pacer = ScanPacer(
                units_per_s=segment.read_units,
                clock=clock,
                segments=1,
                item_bytes=segment.item_bytes,
                is_consistent=place.is_consistent,
            )
        self._key: bytes | None = None
        self.is_finished = False

    async def page(self) -> ScanPage:
        """The next page."""
        limit, expected = self._place.page_size or None, 0.0
        if self._pacer is not None:
            limit = self._pacer.limit(self._place.page_size)
            expected = await self._pacer.take(limit)
        page: ScanPage | None = None
        try:
            response = await self._clients.dynamodb.scan(
                self._place.table,
                segment=self._segment.number,
                total_segments=self._segment.total,
                exclusive_start_key=self._key,
                limit=limit,
                consistent=self._place.is_consistent,
            )
            page = decode_scan_page(response.body)
        except ConvertError as error:
            raise TransientNetworkError(str(error)) from error
        finally:
            if self._pacer is not None:
                consumed, items = (page.consumed_capacity, len(page.items)) if page else (0.0, 0)
                self._pacer.settle(expected, consumed, limit=limit, items=items)
        self._key = page.last_evaluated_key
        self.is_finished = self._key is None
        return page


@contextmanager
def _clients(
    place: TablePlace,
) -> Iterator[tuple[asyncio.Runner, AwsClients, LoopClock]]:
    with asyncio.Runner() as runner:
        clock = LoopClock()
        clients = AwsClients(place.aws, clock)
        runner.run(clients.open())
        try:
            yield runner, clients, clock
        finally:
            runner.run(clients.close())
