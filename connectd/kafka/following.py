"""A topic followed from its beginning by somebody who wants to know when its end has been read.

``TopicFollower`` reads every partition of a topic in one thread (``tailing``) and hands the records
to ``on_records`` on the loop, until it is closed; it writes nothing and joins no group. Only
committed records are shown. ``read_to_end`` promises: every record that was acknowledged, and whose
transaction was committed, before the call has been handed over when it returns. A topic may take
hours, so there is no deadline for the whole: one that stands still for ``STILL_S`` fails. So does
one that has got further partitions meanwhile: nobody reads those, and the promise would be broken.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from confluent_kafka import KafkaException

from connectd.aio.backoff import Backoff, retry
from connectd.aio.clock import Clock
from connectd.aio.threads import Inbox
from connectd.errors import BrokerUnavailableError, ConnectdError, NotFoundError
from connectd.kafka import clientconf, errors
from connectd.kafka.admin import KafkaAdmin, TopicDescription
from connectd.kafka.clientconf import Settings
from connectd.kafka.tailing import Batch, LogRecord, Lost, TailReader

STILL_S: Final = 30.0
"""How long a topic may give nothing before its end: a broker that restarts is back by then."""

ASK_S: Final = 5.0
CLOSE_S: Final = 5.0

_RETRY: Final = Backoff(initial_s=0.2, max_s=2.0, attempts_max=6)

OnRecords = Callable[[Sequence[LogRecord]], None]
OnProgress = Callable[[int, int], None]


class TopicFollower:
    """See the module's docstring; used on one event loop."""

    def __init__(
        self,
        settings: Settings,
        topic: str,
        *,
        client_id: str,
        admin: KafkaAdmin,
        clock: Clock,
        on_records: OnRecords,
        start: Mapping[int, int] | None = None,
    ) -> None:
        """``settings`` are consumer settings under their Java names; ``start`` as for a reader of
        ``tailing``.

        ``on_records`` may raise a ``ConnectdError``; ``read_to_end`` raises it then.
        """
        self._settings = {**settings, "isolation.level": "read_committed"}
        self._topic = topic
        self._client_id = client_id
        self._admin = admin
        self._clock = clock
        self._on_records = on_records
        self._start = dict(start or {})
        self._reader: TailReader | None = None
        self._inbox: Inbox[Batch | Lost | None] | None = None
        self._positions: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._error: ConnectdError | None = None
        self._moved = asyncio.Event()
        self._reader_gone = asyncio.Event()
        self.records = 0

    async def open(self) -> TopicDescription:
        """Begin to read; returns what the topic is like.

        Raises:
            NotFoundError: there is no such topic.
            AccessDeniedError: it may not be seen.
            BrokerUnavailableError: no broker answers.
            ConfigError: a client setting is not accepted.
        """
        found = await self._described()
        self._positions = {each: self._start.get(each, 0) for each in range(found.partitions)}
        self._inbox = Inbox(asyncio.get_running_loop(), self._on_deliveries)
        self._reader = TailReader(
            clientconf.consumer_conf(self._settings, client_id=self._client_id),
            self._topic,
            found.partitions,
            self._inbox.push,
            start=self._start,
        )
        self._reader.start()
        return found

    async def ends(self) -> dict[int, int]:
        """Where the partitions of the topic end now, for readers elsewhere; needs no ``open``.

        Raises:
            NotFoundError, AccessDeniedError, BrokerUnavailableError: as ``open``.
        """
        found = await self._described()
        return await self._end_offsets(found.partitions)

    async def read_to_end(self, on_progress: OnProgress | None = None) -> None:
        """See the module's docstring; ``on_progress`` hears of the offsets passed, and of how many.

        Raises:
            BrokerUnavailableError: the topic stands still before its end.
            AccessDeniedError, NotFoundError, ConnectdError: it cannot be read (any more), or has
                other partitions than when it was opened.
        """
        self._ends = await self._end_offsets(len(self._positions))
        while not self._is_at_end():
            if on_progress is not None:
                on_progress(*self._progress())
            self._moved.clear()
            try:
                await asyncio.wait_for(self._moved.wait(), STILL_S)
            except TimeoutError as error:
                raise BrokerUnavailableError(
                    f"reading topic {self._topic} to its end: nothing came for {STILL_S:g} s; "
                    "check that the brokers run and that every partition has a leader"
                ) from error
        # Behind the reading: what came into a new partition came before this, or is not promised.
        partitions = (await self._described()).partitions
        if partitions != len(self._positions):
            raise ConnectdError(
                f"topic {self._topic} had {len(self._positions)} partitions when its reading "
                f"began, and has {partitions} now: keys may be in others than before; run it again"
            )

    async def _described(self) -> TopicDescription:
        found = await retry(
            lambda: self._admin.describe(self._topic, ASK_S), clock=self._clock, policy=_RETRY
        )
        if found is None:
            raise NotFoundError(f"topic {self._topic} does not exist")
        return found

    async def _end_offsets(self, partitions: int) -> dict[int, int]:
        return await retry(
            lambda: self._admin.end_offsets(self._topic, partitions, ASK_S, committed=True),
            clock=self._clock,
            policy=_RETRY,
        )

    def _progress(self) -> tuple[int, int]:
        passed = sum(min(self._positions.get(each, 0), end) for each, end in self._ends.items())
        return passed, sum(self._ends.values())

    async def close(self) -> None:
        """End the thread."""
        if self._reader is None or self._inbox is None:
            return
        self._reader.stop()
        # A daemon thread that does not hear is taken along by the end of the process.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._reader_gone.wait(), CLOSE_S)
        self._inbox.close()
        self._reader = None

    def _is_at_end(self) -> bool:
        if self._error is not None:
            raise self._error
        return all(self._positions.get(each, 0) >= end for each, end in self._ends.items())

    def _on_deliveries(self, deliveries: list[Batch | Lost | None]) -> None:
        for delivery in deliveries:
            match delivery:
                case Batch(records, positions, _):
                    self._take_in(records, positions)
                case Lost(error):
                    self._error = self._error or self._named(error)
                case None:
                    self._reader_gone.set()
        self._moved.set()

    def _take_in(self, records: Sequence[LogRecord], positions: dict[int, int]) -> None:
        if self._reader is not None:
            self._reader.taken()
        if self._error is not None:
            return
        try:
            if records:
                self._on_records(records)
        except ConnectdError as error:
            self._error = error
            return
        self.records += len(records)
        self._positions.update(positions)

    def _named(self, error: ConnectdError) -> ConnectdError:
        """The reader speaks to a worker; here nobody has to start one again."""
        cause = error.__cause__
        if isinstance(cause, KafkaException):
            return errors.translate(cause, f"reading topic {self._topic}")
        return error
