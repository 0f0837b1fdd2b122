"""The thread that reads a log: every partition from its beginning, for ever.

``TailReader`` owns the confluent_kafka Consumer; it assigns the partitions itself, joins no group
and commits nothing. What it reads goes to ``deliver`` in batches, together with how far each
partition has been read: that position also moves where there is no record to show (the end of a
partition after compaction or after a transaction's marker).

A broker that is away is waited for without end. A client that has lost all brokers for good
(``stranded``) is replaced in here: the next one begins behind what has been read. A topic that has
gone, or that may not be read, ends the thread with an error: its owner would otherwise trust a
picture that no longer grows. librdkafka says nothing when a topic is deleted under it, so an idle
reader asks now and then.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka import Message as KafkaMessage

from connectd.errors import ConfigError, WorkerError
from connectd.kafka import clientconf, errors
from connectd.kafka.clientconf import Conf
from connectd.kafka.stranded import Lookout
from connectd.kafka.voice import ClientVoice

_log = structlog.get_logger(__name__)

POLL_S = 0.2
"""How long one look may block the thread: the longest that ``stop`` has to wait."""

BATCH_RECORDS = 500
"""Records handed over at once."""

BATCHES_AHEAD = 8
"""Batches that the loop has not taken in yet; then the thread waits, and librdkafka's own queue
(``queued.max.messages.kbytes``) fills up behind it."""

LEADERS_S = 1.0
"""How long to wait for the partitions' leaders before starting without them."""

ASK_S = 1.0
"""While the broker is away: how often it is asked whether it is back."""

LOOK_AROUND_S = 20.0
"""How often an idle reader asks whether its topic still exists; one small request."""

MISSES_MAX = 2
"""Answers in a row that say no: one may come from a broker that is still starting."""

QUEUED_KIB = 16 * 1024

_LOST = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.UNKNOWN_TOPIC_ID,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError._FATAL,
    }
)


@dataclass(frozen=True)
class LogRecord:
    """One record of a log; key and value as they are, whoever wrote them."""

    key: bytes | None
    value: bytes | None
    partition: int
    offset: int
    timestamp_ms: int


@dataclass(frozen=True)
class Batch:
    """Records in order, the positions after them, and partitions whose end was seen."""

    records: tuple[LogRecord, ...]
    positions: dict[int, int]
    at_end: frozenset[int]


@dataclass(frozen=True)
class Lost:
    """The last word of a reader that cannot go on."""

    error: WorkerError


class TailReader:
    """See the module's docstring. ``start``, ``taken`` and ``stop`` are called on the loop."""

    def __init__(
        self,
        conf: Conf,
        topic: str,
        partitions: int,
        deliver: Callable[[Batch | Lost | None], None],
        *,
        look_around_s: float = LOOK_AROUND_S,
        start: Mapping[int, int] | None = None,
    ) -> None:
        """Create the consumer; ``deliver`` is safe to call from a thread, None says "ended".

        ``start``: offsets to begin at, by partition; the others begin at their beginning.

        Raises:
            ConfigError: librdkafka does not accept a value.
        """
        self._topic = topic
        self._partitions = partitions
        self._deliver = deliver
        self._look_around_s = look_around_s
        start = start or {}
        self._places = {each: start.get(each, OFFSET_BEGINNING) for each in range(partitions)}
        self._voice = ClientVoice(f"{conf['client.id']} reader")
        self._may_deliver = threading.Semaphore(BATCHES_AHEAD)
        self._is_stopping = threading.Event()
        self._ask_again_at = 0.0
        self._look_around_at = 0.0
        self._misses = 0
        self._is_unanswered = False
        self._refusal: str | None = None
        self._conf = {"queued.max.messages.kbytes": str(QUEUED_KIB), **conf}
        self._consumer = self._new_consumer()
        self._lookout = Lookout(Consumer, self._conf, self._voice)
        self._thread = threading.Thread(target=self._run, name=f"reader-{topic}", daemon=True)

    def _new_consumer(self) -> Consumer:
        try:
            return Consumer(clientconf.with_voice(self._conf, self._voice))
        except KafkaException as error:
            raise ConfigError(f"creating a consumer: {errors.kafka_error(error).str()}") from error

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def taken(self) -> None:
        """A batch has been taken in: there is room for another."""
        self._may_deliver.release()

    def stop(self) -> None:
        """End the thread within two looks."""
        self._is_stopping.set()

    @property
    def is_available(self) -> bool:
        """Whether the brokers answer, and know the topic, as far as the client has found out."""
        return self._voice.is_available and not self._misses

    @property
    def refusal(self) -> str | None:
        """Why the topic cannot be read although the brokers answer; None: they do not say so."""
        return self._refusal

    # --- thread -----------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._begin()
            while not self._is_stopping.is_set():
                self._look()
            self._consumer.close()
        except Exception as error:  # the boundary of the thread: nobody else would ever hear of it
            lost = error if isinstance(error, WorkerError) else self._lost(str(error), error)
            self._deliver(Lost(lost))
        finally:
            self._deliver(None)

    def _begin(self) -> None:
        self._look_up_leaders()
        self._consumer.assign(
            [TopicPartition(self._topic, each, place) for each, place in self._places.items()]
        )

    def _begin_again(self) -> None:
        _log.warning("reader has lost all brokers, going on with another client", topic=self._topic)
        self._consumer.close()
        self._consumer = self._new_consumer()
        self._begin()

    def _look_up_leaders(self) -> None:
        # librdkafka waits half a second before it asks again for a leader that it does not know.
        try:
            self._consumer.list_topics(self._topic, timeout=LEADERS_S)
        except KafkaException:
            return  # it will find them by itself, only later

    def _look(self) -> None:
        first = self._consumer.poll(POLL_S)
        if first is None:
            self._mind_the_silence()
            return
        messages = [first, *self._consumer.consume(BATCH_RECORDS - 1, timeout=0)]
        batch = self._digest(messages)
        self._places |= batch.positions
        if not batch.positions:
            return
        self._voice.on_answer()
        while not self._may_deliver.acquire(timeout=POLL_S):
            if self._is_stopping.is_set():
                return
        self._deliver(batch)

    def _digest(self, messages: list[KafkaMessage]) -> Batch:
        records: list[LogRecord] = []
        positions: dict[int, int] = {}
        at_end: set[int] = set()
        for message in messages:
            error, partition, offset = message.error(), message.partition(), message.offset()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                self._on_error(error)
                continue
            if partition is None or offset is None:
                continue
            if error is not None:
                positions[partition] = offset
                at_end.add(partition)
                continue
            positions[partition] = offset + 1
            at_end.discard(partition)
            _, timestamp_ms = message.timestamp()
            records.append(
                LogRecord(message.key(), message.value(), partition, offset, timestamp_ms)
            )
        return Batch(tuple(records), positions, frozenset(at_end))

    def _on_error(self, error: KafkaError) -> None:
        if error.code() in _LOST or error.fatal():
            raise self._lost(f"{error.str()} ({error.name()})", KafkaException(error))
        self._voice.on_error(error)

    def _lost(self, what: str, cause: BaseException) -> WorkerError:
        lost = WorkerError(
            f"reading topic {self._topic}: {what}; the worker cannot go on without it. See that "
            "the topic exists and may be read, then start the worker again"
        )
        lost.__cause__ = cause
        return lost

    def _mind_the_silence(self) -> None:
        now = time.monotonic()
        if not self._voice.is_available and now >= self._ask_again_at:
            self._ask_again_at = now + ASK_S
            self._ask_whether_back()
        elif self._voice.is_available and now >= self._look_around_at:
            self._look_around_at = now + self._look_around_s
            self._ask_whether_topic_exists()
        is_missing_brokers = self._is_unanswered or not self._voice.is_available
        if is_missing_brokers and self._lookout.is_stranded(self._consumer, self._topic):
            self._begin_again()

    def _ask_whether_back(self) -> None:
        # An idle log at its end has nothing to say when the broker returns, so it is asked.
        try:
            self._consumer.get_watermark_offsets(TopicPartition(self._topic, 0), timeout=POLL_S)
        except KafkaException:
            return  # still away: that was the question
        self._voice.on_answer()

    def _ask_whether_topic_exists(self) -> None:
        try:
            known = self._consumer.list_topics(self._topic, timeout=POLL_S).topics
        except KafkaException:
            self._is_unanswered = True
            return  # no answer is not a no
        self._is_unanswered = False
        error = known[self._topic].error if self._topic in known else None
        if error is None or error.code() not in _LOST:
            self._misses = 0
            self._refusal = None
            return
        self._misses += 1
        self._refusal = _refusal(self._topic, error)
        if self._misses >= MISSES_MAX:
            raise self._lost(f"{error.str()} ({error.name()})", KafkaException(error))


def _refusal(topic: str, error: KafkaError) -> str:
    if error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
        return f"topic {topic} may not be read any more ({error.name()})"
    return f"topic {topic} does not exist any more ({error.name()})"
