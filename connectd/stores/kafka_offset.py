"""The offsets topic of a cluster (spec kafka-connect C.3).

Writes are gathered: while one page of offsets is on its way, everything that is put meanwhile makes
up the next one, the latest value of a partition replacing an earlier one. So a partition never has
two values in flight, a broker that is away for hours costs no memory, and a later ``put``
supersedes an earlier one whatever became of it.

``get`` answers what was put here and is not withdrawn, else what was read. A put that misses its
deadline withdraws what has not been sent; what has been sent may still become durable, and is still
answered. Both are positions whose records Kafka has acknowledged, so either may be started from.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from connectd.aio.clock import Clock
from connectd.errors import BrokerUnavailableError, ConnectdError, WorkerError
from connectd.kafka.page import SendResult
from connectd.kafka.tailing import LogRecord
from connectd.model.record import SourceOffset, SourcePartition
from connectd.stores import offset_entries, offset_format, topic_home
from connectd.stores.kafka_store import KafkaStore
from connectd.stores.offset_entries import OffsetEntry
from connectd.stores.offset_table import OffsetTable
from connectd.stores.topic_home import TopicHome

_log = structlog.get_logger(__name__)


@dataclass(eq=False)
class _Page:
    """Entries that are written together, and the answer that their putters wait for."""

    entries: dict[bytes, OffsetEntry] = field(default_factory=dict)
    done: asyncio.Future[SendResult] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class KafkaOffsetStore(KafkaStore):
    """Implements ``stores.protocols.OffsetStore`` on a compacted topic."""

    RULES = topic_home.OFFSET_RULES

    def __init__(
        self, home: TopicHome, *, clock: Clock, on_failure: Callable[[WorkerError], None]
    ) -> None:
        """``home.write_deadline_s`` is the worker's ``offset.flush.timeout.ms``.

        ``on_failure`` is called on the loop when the topic cannot be followed any more.

        Raises:
            ConfigError: a client setting is not accepted.
        """
        super().__init__(home, clock=clock, on_failure=on_failure)
        self._table = OffsetTable()
        self._next: _Page | None = None
        self._in_flight: _Page | None = None
        self._unread: dict[bytes, OffsetEntry] = {}
        self._unread_until: list[tuple[dict[int, int], _Page]] = []

    # --- reading ----------------------------------------------------------------------------

    async def refresh(self) -> None:
        """See ``protocols.OffsetStore``."""
        await self._log.read_to_end(self._home.write_deadline_s)

    def get(self, connector: str, partition: SourcePartition) -> SourceOffset | None:
        """See ``protocols.OffsetStore``."""
        return self._offset(offset_format.encode_key(connector, partition))

    def all(self, connector: str) -> Mapping[SourcePartition, SourceOffset]:
        """See ``protocols.OffsetStore``."""
        partitions = self._table.of_connector(connector)
        for key, entry in self._unread.items():
            if entry.connector == connector:
                partitions[key] = entry.partition
        found = ((partition, self._offset(key)) for key, partition in partitions.items())
        return {partition: offset for partition, offset in found if offset is not None}

    def connectors(self) -> frozenset[str]:
        """See ``protocols.OffsetStore``."""
        unread = (entry.connector for entry in self._unread.values() if entry.offset is not None)
        return self._table.connectors().union(unread)

    def _offset(self, key: bytes) -> SourceOffset | None:
        unread = self._unread.get(key)
        return self._table.get(key) if unread is None else unread.offset

    def _on_records(self, records: Sequence[LogRecord]) -> None:
        for record in records:
            reason = self._table.apply(record.key, record.value)
            if reason is not None:
                _log.warning(
                    "offsets topic: record skipped",
                    topic=self._home.topic,
                    partition=record.partition,
                    offset=record.offset,
                    reason=reason,
                )
        self._forget_what_was_read(records)

    # --- writing ----------------------------------------------------------------------------

    async def put(
        self, connector: str, offsets: Mapping[SourcePartition, SourceOffset | None]
    ) -> None:
        """See ``protocols.OffsetStore``."""
        entries = offset_entries.encoded(connector, offsets)
        if not entries:
            return
        page = self._gather(entries)
        self._send_next()
        try:
            async with asyncio.timeout(self._home.write_deadline_s):
                result = await asyncio.shield(page.done)
        except TimeoutError as error:
            self._withdraw(page, entries)
            raise BrokerUnavailableError(
                f"writing {len(entries)} offsets of {connector} to topic {self._home.topic}: not "
                f"acknowledged within {self._home.write_deadline_s:g} s; they are kept for the "
                "next attempt"
            ) from error
        except BaseException:
            self._withdraw(page, entries)
            raise
        _raise_for(entries, result)

    def _gather(self, entries: Mapping[bytes, OffsetEntry]) -> _Page:
        if self._next is None:
            self._next = _Page()
        page = self._next
        for key, entry in entries.items():
            # Re-inserted: the order of the page is that of the latest puts.
            page.entries.pop(key, None)
            page.entries[key] = self._unread[key] = entry
        return page

    def _send_next(self) -> None:
        if self._in_flight is not None or self._next is None:
            return
        page, self._next = self._next, None
        if not page.entries:  # all withdrawn
            return
        self._in_flight = page
        records = [(key, entry.value) for key, entry in page.entries.items()]
        try:
            self._log.append_nowait(records, lambda result: self._on_written(page, result))
        except ConnectdError as error:
            self._in_flight = None
            self._drop_unread(page)
            page.done.set_exception(error)
            page.done.exception()  # retrieved here: the putters may have gone

    def _on_written(self, page: _Page, result: SendResult) -> None:
        self._in_flight = None
        if result.error is None and not result.failure_count:
            # Answered from memory until the reader has come past these records.
            ends = {partition: offset + 1 for partition, offset in result.offsets.items()}
            self._unread_until.append((ends, page))
            self._forget_what_was_read(())
        else:
            self._drop_unread(page)
        page.done.set_result(result)
        self._send_next()

    def _withdraw(self, page: _Page, entries: Mapping[bytes, OffsetEntry]) -> None:
        if page is not self._next:
            return  # on its way: nobody can call it back
        for key, entry in entries.items():
            if page.entries.get(key) is entry:
                del page.entries[key]
                self._restore(key)

    def _restore(self, key: bytes) -> None:
        """What is answered for a key once its newest entry has been withdrawn."""
        self._unread.pop(key, None)
        sent = [page for _, page in self._unread_until]
        if self._in_flight is not None:
            sent.append(self._in_flight)
        for page in sent:  # oldest first: the newest stays
            if key in page.entries:
                self._unread[key] = page.entries[key]

    def _forget_what_was_read(self, records: Sequence[LogRecord]) -> None:
        reached: dict[int, int] = {}
        for record in records:
            reached[record.partition] = record.offset + 1
        waiting = self._unread_until
        self._unread_until = []
        for ends, page in waiting:
            left = {
                partition: end
                for partition, end in ends.items()
                if reached.get(partition, 0) < end and not self._log.has_read({partition: end})
            }
            if left:
                self._unread_until.append((left, page))
            else:
                self._drop_unread(page)

    def _drop_unread(self, page: _Page) -> None:
        for key, entry in page.entries.items():
            if self._unread.get(key) is entry:
                del self._unread[key]


def _raise_for(entries: Mapping[bytes, OffsetEntry], result: SendResult) -> None:
    """Tell a putter of its own refused offsets; those of others are none of its business.

    Raises:
        ConnectdError: the first refusal.
    """
    if result.error is not None:
        raise result.error
    for failure in result.failures:
        if failure.key in entries:
            raise failure.error
    if result.failure_count > len(result.failures):
        raise result.failures[0].error
