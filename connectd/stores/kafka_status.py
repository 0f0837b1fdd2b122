"""The status topic of a cluster (spec kafka-connect C.4).

The table holds what has been *read*: a status is seen here when every other member can see it.
Writing needs no answer. While one page of statuses is on its way, later ones gather, the newest of
each key replacing what it overtakes. A page that is not acknowledged in time is withdrawn by the
producer, and what is still the newest of its key is written again (Kafka Connect retries the latest
only) unless the store writes under another generation by then or a safe write is not safe any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from connectd.aio.clock import Clock
from connectd.errors import (
    BrokerUnavailableError,
    ConnectdError,
    ProduceError,
    ProducerLostError,
    WorkerError,
)
from connectd.kafka.page import SendResult
from connectd.kafka.tailing import LogRecord
from connectd.model.ids import ConnectorTaskId
from connectd.model.status import Status, TopicStatus
from connectd.stores import status_log, topic_home
from connectd.stores.kafka_store import KafkaStore
from connectd.stores.status_log import StatusTable, Subject, TopicKey
from connectd.stores.topic_home import TopicHome

_log = structlog.get_logger(__name__)

GIVE_UP_MS = 5_000
"""After this a page is withdrawn, and its statuses are looked at again before they are repeated."""

RETRY_S = 0.5
"""Before statuses are repeated that were refused at once."""


@dataclass(frozen=True, eq=False)
class _Write:
    """A record to be written; identity tells it from a later one with equal bytes."""

    subject: Subject | TopicKey
    value: bytes | None
    status: Status | None = None
    is_safe: bool = False


class KafkaStatusStore(KafkaStore):
    """Implements ``stores.protocols.StatusStore`` on a compacted topic."""

    RULES = topic_home.STATUS_RULES

    def __init__(
        self, home: TopicHome, *, clock: Clock, on_failure: Callable[[WorkerError], None]
    ) -> None:
        """``on_failure`` is called on the loop when the topic cannot be followed any more.

        Raises:
            ConfigError: a client setting is not accepted.
        """
        super().__init__(home, clock=clock, on_failure=on_failure, give_up_ms=GIVE_UP_MS)
        self._table = StatusTable()
        self._wanted: dict[bytes, _Write] = {}
        self._in_flight: dict[bytes, _Write] = {}
        self._generation = 0
        self._is_closed = False
        self._durable = asyncio.Event()
        self._durable.set()

    async def close(self) -> None:
        """See ``protocols.Store``."""
        self._is_closed = True
        await super().close()

    # --- reading ----------------------------------------------------------------------------

    def connector(self, connector: str) -> Status | None:
        """See ``protocols.StatusStore``."""
        return self._table.get(connector)

    def task(self, task: ConnectorTaskId) -> Status | None:
        """See ``protocols.StatusStore``."""
        return self._table.get(task)

    def tasks(self, connector: str) -> Mapping[ConnectorTaskId, Status]:
        """See ``protocols.StatusStore``."""
        return self._table.tasks(connector)

    def connectors(self) -> frozenset[str]:
        """See ``protocols.StatusStore``."""
        return self._table.connectors()

    def topics(self, connector: str) -> tuple[TopicStatus, ...]:
        """See ``protocols.StatusStore``."""
        return self._table.topics(connector)

    def _on_records(self, records: Sequence[LogRecord]) -> None:
        for record in records:
            reason = self._table.apply(record.key, record.value)
            if reason is not None:
                _log.warning(
                    "status topic: record skipped",
                    topic=self._home.topic,
                    partition=record.partition,
                    offset=record.offset,
                    reason=reason,
                )

    # --- writing ----------------------------------------------------------------------------

    def put_connector(self, connector: str, status: Status | None, *, safe: bool = False) -> None:
        """See ``protocols.StatusStore``. Removing it writes the tombstones of its tasks too."""
        if status is None:
            tasks = set(self._table.tasks(connector)) | {
                subject
                for subject in self._under_way()
                if isinstance(subject, ConnectorTaskId) and subject.connector == connector
            }
            for task in sorted(tasks):
                self._put(task, None, is_safe=False)
        self._put(connector, status, is_safe=safe)

    def put_task(self, task: ConnectorTaskId, status: Status | None, *, safe: bool = False) -> None:
        """See ``protocols.StatusStore``."""
        self._put(task, status, is_safe=safe)

    def put_topic(self, topic: TopicStatus) -> None:
        """See ``protocols.StatusStore``."""
        self._want(_Write(TopicKey(topic.topic, topic.connector), status_log.topic_value(topic)))

    def delete_topics(self, connector: str) -> None:
        """See ``protocols.StatusStore``."""
        read = {TopicKey(topic.topic, connector) for topic in self._table.topics(connector)}
        written = {
            subject
            for subject in self._under_way()
            if isinstance(subject, TopicKey) and subject.connector == connector
        }
        for key in sorted(read | written, key=lambda each: each.topic):
            self._want(_Write(key, None))

    async def flush(self, deadline_s: float) -> bool:
        """See ``protocols.StatusStore``; what was written has then been read back as well."""
        end = self._clock.monotonic() + deadline_s
        try:
            await asyncio.wait_for(self._durable.wait(), deadline_s)
            await self._log.read_to_end(max(0.0, end - self._clock.monotonic()))
        except (TimeoutError, BrokerUnavailableError):
            return False
        return True

    def _put(self, subject: Subject, status: Status | None, *, is_safe: bool) -> None:
        if status is None:
            self._want(_Write(subject, None))
            return
        self._generation = status.generation
        if self._table.may_write(subject, status, safe=is_safe):
            self._want(_Write(subject, status_log.status_value(status), status, is_safe))

    def _under_way(self) -> list[Subject | TopicKey]:
        """Whose records are written but not acknowledged: the table may not know of them yet."""
        return [write.subject for write in (*self._in_flight.values(), *self._wanted.values())]

    def _want(self, write: _Write) -> None:
        subject = write.subject
        key = (
            status_log.topic_key(subject)
            if isinstance(subject, TopicKey)
            else status_log.subject_key(subject)
        )
        self._wanted.pop(key, None)  # re-inserted: written in the order of the latest puts
        self._wanted[key] = write
        self._durable.clear()
        self._send_next()

    def _send_next(self) -> None:
        if self._in_flight or self._is_closed:
            return
        if not self._wanted:
            self._durable.set()
            return
        self._in_flight, self._wanted = self._wanted, {}
        records = [(key, write.value) for key, write in self._in_flight.items()]
        try:
            self._log.append_nowait(records, self._on_written)
        except ConnectdError as error:
            self._in_flight = {}
            _log.error("status topic: cannot be written", topic=self._home.topic, error=str(error))

    def _on_written(self, result: SendResult) -> None:
        written, self._in_flight = self._in_flight, {}
        refused = {failure.key: failure.error for failure in result.failures}
        is_more_refused = result.error is not None or result.failure_count > len(refused)
        will_retry = False
        for key, write in written.items():
            error = refused.get(key, result.error)
            if error is None and not is_more_refused:
                continue
            if error is not None and not isinstance(error, ProduceError | ProducerLostError):
                _log.error("status topic: record refused", key=key.decode(), error=str(error))
            elif key not in self._wanted and self._may_repeat(write):
                self._wanted[key] = write
                will_retry = True
        if will_retry:
            asyncio.get_running_loop().call_later(RETRY_S, self._send_next)
        else:
            self._send_next()

    def _may_repeat(self, write: _Write) -> bool:
        if isinstance(write.subject, TopicKey) or write.status is None:
            return True  # tombstones and topics are nobody's words
        return write.status.generation == self._generation and self._table.may_write(
            write.subject, write.status, safe=write.is_safe
        )
