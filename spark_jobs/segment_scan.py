"""One chunk of a scan, in a Python worker of Spark: read pages, convert, send, tell how far.

The pages are those of a segment of the table, or of a data file of its export (``export_chunk``).

Everything that decides what a record looks like, what an error means and how capacity is paced is
the daemon's own: its client for DynamoDB, ``ScanPayload``, ``PageEncoding``, ``ScanPacer``,
``TaskTopics``. Here they run on an event loop that lives as long as the Python process does, one
chunk at a time; clients, converters and producer are made once per process (``_tools``).

A result's position is never further than what Kafka has acknowledged, page by page from the
beginning of the chunk, whatever else went wrong. One page is asked for ahead, while the one before
it is converted and sent; what is asked for is also sent, so that no read capacity is wasted.

Nothing is sent after the chunk's lease (``chunk_lease``): what is under way then is dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import sys
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from connectd.aio.backoff import Backoff
from connectd.aio.clock import LoopClock, wall_ms
from connectd.aio.jobs import Ahead
from connectd.connectors.dynamodb.decode import Raw, ScanPage, decode_scan_page
from connectd.connectors.dynamodb.envelope import InitSyncState
from connectd.connectors.dynamodb.export_files import DataFile
from connectd.connectors.dynamodb.offsets import SegmentPosition
from connectd.connectors.dynamodb.pacing import ScanPacer
from connectd.connectors.dynamodb.payload import ScanPayload
from connectd.connectors.dynamodb.scan_lease import DELIVERY_S
from connectd.errors import (
    BrokerUnavailableError,
    ConnectdError,
    ConvertError,
    FatalTaskError,
    ProduceError,
    RetriableError,
    TransientNetworkError,
)
from connectd.model.record import Encoded
from connectd.pipeline.encoding import PageEncoding
from spark_jobs import export_chunk
from spark_jobs.chunk_lease import ChunkLease, LeaseOverError
from spark_jobs.chunk_sending import SentPage
from spark_jobs.chunk_tools import ChunkTools, open_tools
from spark_jobs.chunks import ChunkOrder, ChunkResult

_log = structlog.get_logger(__name__)

_BACKOFF: Final = Backoff(initial_s=0.5, max_s=20.0)
"""As the daemon's scan has it."""

_ACKNOWLEDGED_S: Final = 30.0
"""What of a lease is kept for hearing of what was sent; of a short one, half of it."""

_Pages = AsyncGenerator[tuple[Sequence[Raw], SegmentPosition], None]
"""Items, and the position after them."""


def scan_chunks(orders: Iterable[ChunkOrder]) -> Iterator[ChunkResult]:
    """What Spark calls in a Python worker, for the one order of a partition."""
    for order in orders:
        yield _worker.scan(order)


class _Worker:
    """The one of this process: its event loop, and the tools of the job that it last worked for."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tools: ChunkTools | None = None
        self._whose: object = None

    def scan(self, order: ChunkOrder) -> ChunkResult:
        """Do a chunk."""
        if self._loop is None:
            # Standard output belongs to Spark.
            structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
            self._loop = asyncio.new_event_loop()
        return self._loop.run_until_complete(self._scan(order))

    async def _scan(self, order: ChunkOrder) -> ChunkResult:
        try:
            chunk = ChunkScan(await self._tools_for(order), order)
        except ConnectdError as error:
            retriable = isinstance(error, RetriableError)
            return ChunkResult(order.position, error=describe(error), retriable=retriable)
        try:
            return await chunk.run()
        except BaseException:
            await self._drop_tools()  # nobody looks after what the producer still holds
            raise

    async def _drop_tools(self) -> None:
        tools, self._tools = self._tools, None
        if tools is not None:
            await tools.close()

    async def _tools_for(self, order: ChunkOrder) -> ChunkTools:
        whose = (order.job, dict(order.aws_keys))
        if self._tools is None or self._whose != whose:
            await self._drop_tools()
            self._tools, self._whose = await open_tools(order, LoopClock()), whose
        return self._tools


_worker = _Worker()


@dataclass
class _Page:
    """A page that was sent: the position after it, and what it brought."""

    after: SegmentPosition
    items: int
    skipped: int
    sent: SentPage
    topics: tuple[str, ...]
    is_cut: bool = False


class ChunkScan:
    """One chunk; see the module's docstring."""

    def __init__(self, tools: ChunkTools, order: ChunkOrder) -> None:
        job = tools.job
        self._tools = tools
        self._job = job
        self._from = order.position
        self._file = order.file
        self._clock = tools.clock
        self._lease = ChunkLease(order, tools.clock)
        self._pacer = None
        if order.units_per_s is not None:
            self._pacer = ScanPacer(
                units_per_s=order.units_per_s,
                clock=tools.clock,
                segments=1,
                item_bytes=order.item_bytes,
                is_consistent=job.consistent_read,
            )
        self._ends_at_s = self._end_s(job.chunk_s)
        self._items_left = sys.maxsize if job.chunk_items is None else job.chunk_items
        self._pages: list[_Page] = []
        self._items_read = 0
        self._consumed = 0.0
        self._ended_ms: int | None = None

    async def run(self) -> ChunkResult:
        """Scan until the chunk is full, the segment ends, or something fails."""
        failure: ConnectdError | None = None
        self._tools.sender.begin(self._lease)
        try:
            self._lease.check()
            async with asyncio.timeout(self._lease.left_s) as lease:
                await self._scan()
        except ConnectdError as error:
            failure = error
        except TimeoutError:
            if not lease.expired():
                raise
            failure = self._lease.over()
        try:
            self._tools.sender.wait_delivered(page.sent for page in self._pages)
        except ConnectdError as error:
            failure = failure or error
        failure = failure or self._delivery_failure()
        result = self._result()
        if isinstance(failure, BrokerUnavailableError | LeaseOverError | ProduceError):
            self._tools.renew_sender()  # after the count: what is thrown away is not acknowledged
        if failure is not None:
            result = dataclasses.replace(
                result,
                error=describe(failure),
                retriable=isinstance(failure, RetriableError),
            )
        elif self._pacer is not None:
            await self._pacer.take(0)  # what was consumed too much is waited off in here
        return result

    async def _scan(self) -> None:
        pages = self._table_pages() if self._file is None else self._file_pages(self._file)
        async with contextlib.aclosing(pages):
            async for items, after in pages:
                await self._send(items, after)

    def _end_s(self, duration_s: float) -> float:
        """When a chunk of that length ends; what it has sent then has time to be acknowledged."""
        left_s = self._lease.left_s
        return self._clock.monotonic() + min(duration_s, left_s - min(_ACKNOWLEDGED_S, left_s / 2))

    def _has_room_after(self, items: int) -> bool:
        """Whether the chunk goes on behind a page of so many items, which is here."""
        self._items_left -= items
        return self._items_left > 0 and self._clock.monotonic() < self._ends_at_s

    async def _table_pages(self) -> _Pages:
        position = self._from
        async with Ahead[ScanPage]() as reading:
            if not position.is_finished:
                await reading.begin(self._read(position))
            while reading.has_begun:
                page = await reading.take()
                position = position.after_page(page.last_evaluated_key, len(page.items))
                if self._has_room_after(len(page.items)) and not position.is_finished:
                    await reading.begin(self._read(position))
                yield page.items, position

    async def _file_pages(self, file: DataFile) -> _Pages:
        """The chunk's time begins when the file is here, and is not short beside the fetching."""
        began_s = self._clock.monotonic()
        async with export_chunk.fetched(self._tools, file) as (where, content):
            fetch_s = self._clock.monotonic() - began_s
            chunk_s = max(self._job.chunk_s, min(export_chunk.CHUNK_MAX_S, 9 * fetch_s))
            self._ends_at_s = self._end_s(chunk_s)
            for items, after in export_chunk.pages(self._job, where, content, file, self._from):
                self._items_read += len(items)
                yield items, after
                if not self._has_room_after(len(items)):
                    return

    async def _read(self, position: SegmentPosition) -> ScanPage:
        failures = 0
        while True:
            try:
                return await self._read_once(position)
            except RetriableError as error:
                failures += 1
                wait_s = _BACKOFF.wait_s(failures, floor_s=error.retry_after_s or 0.0)
                if self._clock.monotonic() + wait_s >= self._ends_at_s:
                    raise  # the driver is told, and waits with the whole segment
                await self._clock.sleep(wait_s)

    async def _read_once(self, position: SegmentPosition) -> ScanPage:
        limit, expected = self._job.page_size or None, 0.0
        if self._pacer is not None:
            limit = self._pacer.limit(self._job.page_size)
            expected = await self._pacer.take(limit)
        page: ScanPage | None = None
        try:
            response = await self._tools.clients.dynamodb.scan(
                self._job.table,
                segment=position.segment,
                total_segments=position.total_segments,
                exclusive_start_key=position.start_key,
                limit=limit,
                consistent=self._job.consistent_read,
            )
            page = decode_scan_page(response.body)
        except ConvertError as error:
            raise TransientNetworkError(str(error)) from error
        finally:
            consumed, items = (page.consumed_capacity, len(page.items)) if page else (0.0, 0)
            if self._pacer is not None:
                self._pacer.settle(expected, consumed, limit=limit, items=items)
        self._consumed += consumed
        self._items_read += items
        return page

    async def _send(self, items: Sequence[Raw], after: SegmentPosition) -> None:
        encoding = PageEncoding(
            self._payload(items, after), self._tools.converters, self._tools.policy
        )
        encoded = self._tools.topics.checked(await self._encoded(encoding))
        await self._see_to_topics(encoded)
        self._log_failures(encoding)
        self._pages.append(
            _Page(
                after=after,
                items=len(items),
                skipped=encoding.failure_count,
                sent=self._tools.sender.send(encoded),
                topics=encoded.topics if encoded.records else (),
                is_cut=encoding.ended_by is not None,
            )
        )
        if encoding.ended_by is not None:
            raise encoding.ended_by

    def _payload(self, items: Sequence[Raw], after: SegmentPosition) -> ScanPayload:
        """As ``scan.TableScan`` makes it: with one segment, the last record says FINISHED."""
        state, last_info = self._job.state, None
        if after.is_finished and after.total_segments == 1 and items:
            self._ended_ms = wall_ms(self._clock)
            last_info = dataclasses.replace(
                state,
                init_sync=InitSyncState.FINISHED,
                init_sync_end_ms=self._ended_ms,
                init_sync_count=after.count,
                start_key=None,
            ).info()
        return ScanPayload(self._tools.plan, state.info(), items, last_info)

    async def _encoded(self, encoding: PageEncoding) -> Encoded:
        """Encode, and try again what waits for the outside, as ``pipeline.preparation`` does.

        Where the connector sets no limit, the chunk's end is one: the driver is told by then.
        """
        policy, attempts, entry, began_s = self._tools.policy, 0, -1, 0.0
        while True:
            try:
                return encoding()
            except RetriableError:
                if encoding.interrupted_by is None:
                    raise
                now_s = self._clock.monotonic()
                if encoding.entries_done != entry:
                    attempts, entry, began_s = 0, encoding.entries_done, now_s
                attempts += 1
                delay_s = policy.retry_delay_s(attempts, tried_for_s=now_s - began_s)
                if delay_s is None:
                    encoding.give_up()
                    continue
                if policy.retry_timeout_s is None and now_s + delay_s >= self._ends_at_s:
                    raise
                await self._clock.sleep(delay_s)

    async def _see_to_topics(self, encoded: Encoded) -> None:
        try:
            async with asyncio.timeout(DELIVERY_S):
                await self._tools.topics.ensure(encoded)
        except TimeoutError as error:
            raise BrokerUnavailableError(
                f"seeing to {', '.join(encoded.topics)}: no answer from Kafka for {DELIVERY_S:g} s"
            ) from error

    def _log_failures(self, encoding: PageEncoding) -> None:
        if not self._tools.policy.logs_failures:
            return
        for failure in encoding.failures:
            _log.error(
                "record cannot be processed",
                connector=self._job.connector,
                stage=failure.stage.value,
                class_name=failure.class_name,
                record=failure.origin,
                error=str(failure.error),
            )

    def _is_done(self, page: _Page) -> bool:
        if page.is_cut or page.sent.left or page.sent.given_up:
            return False
        return not page.sent.failure_count or self._tools.policy.tolerates_all

    def _delivery_failure(self) -> ConnectdError | None:
        if self._tools.policy.tolerates_all:
            return None
        cause = next((each.sent.failure for each in self._pages if each.sent.failure), None)
        if cause is None:
            return None
        failure = FatalTaskError("Unrecoverable exception from producer send callback")
        failure.__cause__ = cause
        return failure

    def _result(self) -> ChunkResult:
        """As far as all pages from the first on are acknowledged."""
        position, items, records, skipped = self._from, 0, 0, 0
        topics: dict[str, None] = {}
        for page in self._pages:
            if not self._is_done(page):
                break
            position = page.after
            items += page.items
            records += page.sent.size - page.sent.failure_count
            skipped += page.skipped + page.sent.failure_count
            topics.update(dict.fromkeys(page.topics))
        return ChunkResult(
            position=position,
            items=items,
            records=records,
            skipped=skipped,
            topics=tuple(topics),
            consumed=self._consumed,
            items_read=self._items_read,
            ended_ms=self._ended_ms if position.is_finished else None,
        )


def describe(error: BaseException) -> str:
    """An error with its causes, on one line, for the status of the connector."""
    texts: list[str] = []
    current: BaseException | None = error
    while current is not None and len(texts) < 4:
        text = " ".join(str(current).split())
        if not texts or text not in texts[-1]:
            texts.append(f"{type(current).__name__}: {text}")
        current = current.__cause__
    return "; caused by ".join(texts)
