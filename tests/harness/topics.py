"""Reads Kafka topics to their end, correctly on every broker.

The end is where each partition says that it ended (``enable.partition.eof``), never a number asked
for beforehand: small brokers answer wrong end offsets, and transactions leave gaps (spec
test-infrastructure, "Lessons for any client").
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from tests.harness.processes import HarnessError

READ_DEADLINE_S = 60.0
BATCH_RECORDS = 1000
POLL_S = 0.05  # a consumer waits so long for a whole batch, also at the end


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """One record of a topic."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, str | bytes | None], ...] = ()

    @property
    def key_json(self) -> Any:
        """The key, parsed."""
        return None if self.key is None else json.loads(self.key)

    @property
    def value_json(self) -> Any:
        """The value, parsed; None for a tombstone."""
        return None if self.value is None else json.loads(self.value)


class TopicReader:
    """Reads the same topics again and again, each time from where it stopped to their end.

    Keeps next offsets by itself and joins no group. A topic that does not exist has no records.
    """

    def __init__(self, bootstrap: str, topics: Iterable[str]) -> None:
        self._topics = list(topics)
        self._next: dict[tuple[str, int], int] = {}
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "not-used",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 50,
                "allow.auto.create.topics": False,
                "log_level": 0,
            }
        )

    def read_to_end(self, *, deadline_s: float = READ_DEADLINE_S) -> Iterator[TopicRecord]:
        """Records since the last call; raises HarnessError when the end is not reached in time.

        Partitions that are written without pause have no end: take as many records as are wanted
        and leave the iterator.
        """
        open_partitions = set(self._partitions(deadline_s))
        self._consumer.assign(
            [
                TopicPartition(topic, partition, self._next.get((topic, partition), FIRST))
                for topic, partition in open_partitions
            ]
        )
        give_up_at = time.monotonic() + deadline_s
        while open_partitions:
            if time.monotonic() > give_up_at:
                raise HarnessError(
                    f"reading {sorted(open_partitions)} did not reach the end within "
                    f"{deadline_s:g} s; is the broker there, or does something write without pause?"
                )
            for message in self._consumer.consume(BATCH_RECORDS, timeout=POLL_S):
                where = _place_of(message)
                error = message.error()
                if error is None:
                    record = _record_of(message)
                    self._next[where] = record.offset + 1
                    yield record
                elif error.code() == KafkaError._PARTITION_EOF:
                    open_partitions.discard(where)
                elif error.code() not in TRANSIENT_ERRORS:
                    raise HarnessError(f"reading {where}: {error}")

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _partitions(self, deadline_s: float) -> list[tuple[str, int]]:
        known = self._consumer.list_topics(timeout=deadline_s).topics
        return [
            (topic, partition)
            for topic in self._topics
            if topic in known
            for partition in known[topic].partitions
        ]


FIRST: int = OFFSET_BEGINNING
TRANSIENT_ERRORS = {
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TRANSPORT,
    KafkaError._TIMED_OUT,
}
"""librdkafka reconnects by itself; the deadline decides."""


def read_topic(bootstrap: str, topic: str, enough: int | None = None) -> list[TopicRecord]:
    """Every record of a topic, partition by partition in order; none if it does not exist.

    With ``enough``, no more than so many: a topic that is written without pause has no end.
    """
    with TopicReader(bootstrap, [topic]) as reader:
        return list(islice(reader.read_to_end(), enough))


def _place_of(message: Message) -> tuple[str, int]:
    topic, partition = message.topic(), message.partition()
    if topic is None or partition is None:
        raise HarnessError(f"the consumer failed: {message.error()}")
    return topic, partition


def _record_of(message: Message) -> TopicRecord:
    topic, partition = _place_of(message)
    offset = message.offset()
    if offset is None:
        raise HarnessError(f"a record of {topic}-{partition} came without an offset")
    headers = message.headers() or []
    pairs = headers.items() if isinstance(headers, dict) else headers
    return TopicRecord(topic, partition, offset, message.key(), message.value(), tuple(pairs))
