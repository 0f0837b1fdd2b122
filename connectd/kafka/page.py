"""Pages on their way through the producer: what is handed in, what comes back, and the count.

A page is sent as a whole and answered as a whole. Its records share one callback, ``Page.ack``,
which counts down: an object per record would cost more than the record
(spec performance section 5).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, KafkaException, Message

from connectd.errors import ConnectdError, TopicGoneError
from connectd.kafka import errors
from connectd.model.record import Encoded, RoutedRecord

FAILURES_MAX = 20
"""Failed records that a result names; the rest is counted. A page may hold thousands."""


@dataclass(frozen=True)
class RecordFailure:
    """A record that Kafka does not have: its key (to name the item), its topic, and why."""

    key: bytes | None
    topic: str
    error: ConnectdError


@dataclass(frozen=True)
class SendResult:
    """What became of a page.

    ``error`` concerns the page as a whole: it could not be encoded and nothing was produced, or the
    producer has failed for good and nobody knows what was produced. ``failures`` concern single
    records (at most ``failures_max`` of the job are named, ``failure_count`` counts all; a
    ``TopicGoneError`` is always among them); every other one of the ``records`` is acknowledged.
    ``first_failed`` is the place in its page of the first of them, where that is known (of a
    ``RoutedPage``). ``offsets`` maps a Kafka partition to the highest acknowledged offset, for jobs
    that asked for it.
    """

    topics: tuple[str, ...]
    records: int
    error: ConnectdError | None = None
    failures: tuple[RecordFailure, ...] = ()
    failure_count: int = 0
    first_failed: int | None = None
    offsets: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class SendJob:
    """A page to send.

    ``encode`` runs in the producer's thread; it is pure and raises a ``ConnectdError`` when the
    page cannot be encoded. ``on_done`` is called on the loop, exactly once unless the producer is
    closed before. ``failures_max``: how many failed records the result is to name.
    ``stops_at_refusal``: what comes behind a record that the client does not take is not sent.
    ``is_urgent``: it passes those that are not, as far as they were not encoded yet; but none with
    the same ``order_key``.
    """

    encode: Callable[[], Encoded]
    on_done: Callable[[SendResult], None]
    wants_offsets: bool = False
    failures_max: int = FAILURES_MAX
    stops_at_refusal: bool = False
    is_urgent: bool = False
    order_key: Hashable = None


class Page:
    """A page whose records are being produced. Used by the producer's thread alone."""

    __slots__ = (
        "_is_topic_gone",
        "_on_complete",
        "failure_count",
        "failures",
        "first_failed",
        "job",
        "left",
        "offsets",
        "size",
        "topics",
    )

    def __init__(
        self,
        job: SendJob,
        topics: tuple[str, ...],
        size: int,
        on_complete: Callable[[Page], None],
    ) -> None:
        self.job = job
        self.topics = topics
        self.size = size
        self.left = size
        self.failures: list[RecordFailure] = []
        self.failure_count = 0
        self.first_failed: int | None = None
        self.offsets: dict[int, int] = {}
        self._is_topic_gone = False
        self._on_complete = on_complete

    def ack(self, error: KafkaError | None, message: Message) -> None:
        """Delivery callback of every record. It never produces (field case P06)."""
        self.left = left = self.left - 1  # hot: every instruction here is paid per record
        if error is not None:
            topic = message.topic() or ""
            self._count_failure(error, topic, message.key(), len(message))
        if not left:
            self._on_complete(self)

    def ack_with_offset(self, error: KafkaError | None, message: Message) -> None:
        """Delivery callback for jobs that want offsets."""
        if error is None:
            partition, offset = message.partition(), message.offset()
            if partition is not None and offset is not None:
                self.offsets[partition] = max(offset, self.offsets.get(partition, -1))
        self.ack(error, message)

    def ack_at(
        self, index: int, ack: Callable[..., None], error: KafkaError | None, message: Message
    ) -> None:
        """Delivery callback of a record whose place in the page is known, in front of another."""
        if error is not None:
            self._note_place(index)
        ack(error, message)

    def leave_out(self, records: int) -> None:
        """So many are not going to be sent."""
        self.left -= records
        self.size -= records

    def refuse(
        self, error: KafkaException, record: RoutedRecord, *, index: int | None = None
    ) -> None:
        """A record that the client did not even take."""
        if index is not None:
            self._note_place(index)
        self._count_failure(error, record.topic, record.key, len(record.value or b""))
        self.left -= 1
        if not self.left:
            self._on_complete(self)

    def abandon(self) -> None:
        """Answer nothing any more, whatever is still acknowledged."""
        self.left = 0  # the next acknowledgement counts to -1: never complete

    def result(self) -> SendResult:
        """The answer, once nothing is left."""
        return SendResult(
            topics=self.topics,
            records=self.size,
            failures=tuple(self.failures),
            failure_count=self.failure_count,
            first_failed=self.first_failed,
            offsets=self.offsets,
        )

    def _note_place(self, index: int) -> None:
        if self.first_failed is None or index < self.first_failed:
            self.first_failed = index

    def _count_failure(
        self, error: KafkaError | KafkaException, topic: str, key: bytes | None, value_bytes: int
    ) -> None:
        self.failure_count += 1
        is_named = len(self.failures) < self.job.failures_max
        if not is_named and self._is_topic_gone:
            return
        failure = errors.delivery_error(error, topic, value_bytes + len(key or b""))
        self._is_topic_gone |= isinstance(failure, TopicGoneError)
        if is_named or self._is_topic_gone:
            self.failures.append(RecordFailure(key, topic, failure))
