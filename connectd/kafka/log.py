"""A compacted topic as a log: append to it, follow it, and know when its end has been read.

``CompactedLog`` is what the backing stores stand on. One reader thread follows all partitions from
their beginning (``tailing``) and hands batches to ``on_records`` on the loop; a small producer of
its own appends with all replicas' acknowledgement and in order (one request in flight, as
spec kafka-connect C.1 asks). Records come as bytes: what they mean, and which of them are garbage,
is the owner's business.

``read_to_end`` promises: everything that was acknowledged to anybody before the call has been
delivered when it returns. It asks the broker for the end offsets *after* its own appends are
acknowledged and waits until the position of every partition, which is moved by records and by
partition ends alike, has reached them. The offsets of its own acknowledged appends count as well:
a broker that answers end offsets wrongly is still not believed against them.

A broker that is away is waited for; callers get ``BrokerUnavailableError`` at their deadline. A
client that has lost all brokers for good (``stranded``) is replaced: appends under way fail with
``ProducerLostError``, the next one is the new client's; a reader goes on where it was. A
reader that cannot go on fails every waiting and later call with ``WorkerError`` and tells
``on_failure``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from connectd.aio.clock import Clock
from connectd.aio.threads import Inbox
from connectd.errors import (
    BrokerUnavailableError,
    ConnectdError,
    NotFoundError,
    RetriableError,
    WorkerError,
)
from connectd.kafka import clientconf, errors
from connectd.kafka.admin import KafkaAdmin
from connectd.kafka.clientconf import Settings
from connectd.kafka.page import SendJob, SendResult
from connectd.kafka.producer import PageProducer
from connectd.kafka.tailing import LOOK_AROUND_S, Batch, LogRecord, Lost, TailReader
from connectd.model.record import EncodedPage, EncodedRecord

_log = structlog.get_logger(__name__)

BUFFER_KIB = 4 * 1024
"""Appends that wait for a broker; their owners keep one write in flight, so it is ample."""

ASK_S = 2.0
"""One question for end offsets; asked again until the caller's deadline."""

RETRY_S = 0.2
"""Between two such questions."""

OnRecords = Callable[[Sequence[LogRecord]], None]


@dataclass(frozen=True)
class LogStatistics:
    """Records delivered, how far each partition has been read, and whether brokers answer."""

    records: int
    positions: tuple[int, ...]
    is_available: bool


class CompactedLog:
    """See the module's docstring; used on one event loop."""

    def __init__(
        self,
        settings: Settings,
        *,
        topic: str,
        client_id: str,
        admin: KafkaAdmin,
        clock: Clock,
        on_records: OnRecords,
        on_failure: Callable[[WorkerError], None],
        give_up_ms: int = 0,
        look_around_s: float = LOOK_AROUND_S,
    ) -> None:
        """``settings`` are client settings under their Java names.

        ``give_up_ms``: an append that is not acknowledged within it is withdrawn and fails; 0 keeps
        it for ever. ``look_around_s``: see ``tailing``.
        """
        self._settings = settings
        self._look_around_s = look_around_s
        self._topic = topic
        self._client_id = client_id
        self._admin = admin
        self._clock = clock
        self._on_records = on_records
        self._on_failure = on_failure
        self._give_up_ms = give_up_ms
        self._reader: TailReader | None = None
        self._producer: PageProducer | None = None
        self._inbox: Inbox[Batch | Lost | None] | None = None
        self._partitions = 0
        self._positions: dict[int, int] = {}
        self._ended: set[int] = set()
        self._own_ends: dict[int, int] = {}
        self._records = 0
        self._error: WorkerError | None = None
        self._moved = asyncio.Event()
        self._reader_gone = asyncio.Event()
        self._is_closed = False

    # --- life -------------------------------------------------------------------------------

    async def open(self, partitions: int, *, deadline_s: float) -> None:
        """Follow a topic of that many partitions; returns when all have been read to their end.

        Raises:
            ConfigError: a client setting is not accepted.
            BrokerUnavailableError: the end was not reached before the deadline.
            WorkerError: the topic cannot be read.
        """
        self._partitions = partitions
        self._positions = dict.fromkeys(range(partitions), 0)
        self._producer = self._new_producer()
        self._inbox = Inbox(asyncio.get_running_loop(), self._on_deliveries)
        self._reader = TailReader(
            clientconf.consumer_conf(self._settings, client_id=self._client_id),
            self._topic,
            partitions,
            self._inbox.push,
            look_around_s=self._look_around_s,
        )
        self._reader.start()
        end = self._clock.monotonic() + deadline_s
        await self._wait_moved(lambda: len(self._ended) == self._partitions, end)
        await self.read_to_end(max(end - self._clock.monotonic(), ASK_S))

    def _new_producer(self) -> PageProducer:
        producer = PageProducer(
            clientconf.producer_conf(
                {
                    **self._settings,
                    "enable.idempotence": "false",
                    "max.in.flight.requests.per.connection": "1",
                    "acks": "all",
                    "linger.ms": "0",
                    "compression.type": "none",
                    # A topic that was deleted would come back with another cleanup policy.
                    "allow.auto.create.topics": "false",
                    "delivery.timeout.ms": str(self._give_up_ms),
                },
                client_id=self._client_id,
                buffer_kib=BUFFER_KIB,
            ),
            name=f"{self._client_id} writer",
            on_failure=self._fail,
        )
        producer.open()
        return producer

    async def close(self, *, deadline_s: float) -> int:
        """Flush appends and end both threads. Idempotent; returns appends without an answer."""
        if self._is_closed:
            return 0
        self._is_closed = True
        if self._reader is None or self._producer is None or self._inbox is None:
            return 0
        self._reader.stop()
        left = await self._producer.close(deadline_s)
        try:
            await asyncio.wait_for(self._reader_gone.wait(), deadline_s + 1.0)
        except TimeoutError:
            _log.warning("reader thread does not end, leaving it behind", topic=self._topic)
        self._inbox.close()
        self._moved.set()
        return left

    # --- writing ----------------------------------------------------------------------------

    async def append(self, records: Sequence[EncodedRecord], *, deadline_s: float) -> None:
        """Append in order; returns when all are durable.

        Raises:
            BrokerUnavailableError: not acknowledged before the deadline. The records may be
                durable, or become so later (not after ``give_up_ms``).
            ProducerLostError: its client was given up. The records may be durable, or are not.
            ConnectdError: the broker refuses one; the first refusal.
        """
        done: asyncio.Future[SendResult] = asyncio.get_running_loop().create_future()

        def on_done(result: SendResult) -> None:
            if not done.done():
                done.set_result(result)

        doing = f"appending {len(records)} records to topic {self._topic}"
        try:
            async with asyncio.timeout(deadline_s):
                await self._usable_producer().send(self._job(records, on_done))
                result = await done
        except TimeoutError as error:
            raise BrokerUnavailableError(
                f"{doing}: not acknowledged within {deadline_s:g} s; check the brokers"
            ) from error
        refusal = first_error(result)
        if refusal is not None:
            raise refusal

    def append_nowait(
        self, records: Sequence[EncodedRecord], on_done: Callable[[SendResult], None]
    ) -> None:
        """Append in order without waiting; ``on_done`` is called on the loop.

        The caller bounds what is in flight: one call at a time, as the stores do it.
        """
        self._usable_producer().send_nowait(self._job(records, on_done))

    def _job(
        self, records: Sequence[EncodedRecord], on_done: Callable[[SendResult], None]
    ) -> SendJob:
        page = EncodedPage(self._topic, list(records))

        def on_acked(result: SendResult) -> None:
            for partition, offset in result.offsets.items():
                self._own_ends[partition] = max(offset + 1, self._own_ends.get(partition, 0))
            on_done(result)

        return SendJob(encode=lambda: page, on_done=on_acked, wants_offsets=True)

    def _usable_producer(self) -> PageProducer:
        self._check()
        if self._producer is None or self._is_closed:
            raise WorkerError(f"appending to topic {self._topic}: the log is not open")
        if self._producer.is_lost:
            self._producer.retire()
            self._producer = self._new_producer()
        return self._producer

    # --- reading ----------------------------------------------------------------------------

    async def read_to_end(self, deadline_s: float) -> None:
        """See the module's docstring.

        Raises:
            BrokerUnavailableError: the end was not reached before the deadline.
            WorkerError: the reader or the producer has failed for good.
        """
        end = self._clock.monotonic() + deadline_s
        if await self._usable_producer().flush(deadline_s):
            raise BrokerUnavailableError(self._not_read(deadline_s))
        targets = await self._end_offsets(end, deadline_s)
        await self._wait_moved(lambda: self.has_read(targets), end)

    def has_read(self, ends: dict[int, int]) -> bool:
        """Whether everything before these offsets, by partition, has been delivered."""
        return all(self._positions.get(each, 0) >= offset for each, offset in ends.items())

    async def _end_offsets(self, end: float, deadline_s: float) -> dict[int, int]:
        while True:
            self._check()
            left_s = end - self._clock.monotonic()
            if left_s <= 0:
                raise BrokerUnavailableError(self._not_read(deadline_s))
            try:
                told = await self._admin.end_offsets(
                    self._topic, self._partitions, min(ASK_S, left_s)
                )
            except (RetriableError, NotFoundError):
                # A topic that is missing for good is the reader's to notice: it ends the log.
                await self._clock.sleep(RETRY_S)
                continue
            return {each: max(told[each], self._own_ends.get(each, 0)) for each in told}

    async def _wait_moved(self, is_reached: Callable[[], bool], end: float) -> None:
        started = self._clock.monotonic()
        while not is_reached():
            self._check()
            self._moved.clear()
            left_s = end - self._clock.monotonic()
            try:
                await asyncio.wait_for(self._moved.wait(), max(left_s, 0.0))
            except TimeoutError as error:
                raise BrokerUnavailableError(self._not_read(end - started)) from error
        self._check()

    def _not_read(self, deadline_s: float) -> str:
        return (
            f"reading topic {self._topic} to its end: not reached within {deadline_s:g} s; check "
            "that the brokers run and that every partition has a leader"
        )

    def _on_deliveries(self, deliveries: list[Batch | Lost | None]) -> None:
        for delivery in deliveries:
            match delivery:
                case Batch(records, positions, at_end):
                    self._take_in(records, positions, at_end)
                case Lost(error):
                    self._fail(error)
                case None:
                    self._reader_gone.set()
        self._moved.set()

    def _take_in(
        self, records: Sequence[LogRecord], positions: dict[int, int], at_end: frozenset[int]
    ) -> None:
        if self._reader is not None:
            self._reader.taken()
        try:
            if records:
                self._on_records(records)
        except Exception as error:  # a defect above must not stop the log without a word
            failure = WorkerError(f"taking in records of topic {self._topic}: {error!r}")
            failure.__cause__ = error
            self._fail(failure)
            return
        self._records += len(records)
        self._positions.update(positions)
        self._ended |= at_end

    # --- failure and state ------------------------------------------------------------------

    @property
    def is_available(self) -> bool:
        """Whether the brokers answer, as far as the reader has found out."""
        return self._error is None and self._reader is not None and self._reader.is_available

    @property
    def refusal(self) -> str | None:
        """See ``tailing.TailReader``."""
        return None if self._reader is None else self._reader.refusal

    def statistics(self) -> LogStatistics:
        """How it stands."""
        positions = tuple(self._positions[each] for each in sorted(self._positions))
        return LogStatistics(self._records, positions, self.is_available)

    def _check(self) -> None:
        if self._error is not None:
            raise WorkerError(str(self._error)) from self._error
        if self._is_closed:
            raise WorkerError(f"using topic {self._topic}: the log is closed")

    def _fail(self, error: WorkerError) -> None:
        if self._error is None:
            self._error = error
            self._moved.set()
            self._on_failure(error)


def first_error(result: SendResult) -> ConnectdError | None:
    """Why a page of appends is not durable as a whole, or None."""
    if result.error is not None:
        return result.error
    if not result.failures:
        return None
    failure = result.failures[0].error
    if errors.was_given_up(failure):
        withdrawn = BrokerUnavailableError(f"{failure}; withdrawn, it will not be written")
        withdrawn.__cause__ = failure
        return withdrawn
    return failure
