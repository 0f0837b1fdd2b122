"""Records into Kafka from a Python worker: one producer, no thread of ours, pages answered whole.

The producer is the daemon's in every setting (idempotent, ``acks=all``, placed as Java places
records); the daemon hands them over ready. A full buffer is waited out by polling, so that what is
acknowledged makes room. ``SentPage`` counts the acknowledgements of one page: only a page whose
records have all been heard of moves a position.

A sender that could not deliver in time is thrown away (``discard``): what it still holds must not
reach Kafka after the same records, read anew, have been sent by another one.

librdkafka repeats itself in its log while a broker is away; the last thing it said is told with the
chunk's failure instead.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from connectd.errors import BrokerUnavailableError, ConfigError, ConnectdError, ProduceError
from connectd.kafka import errors
from connectd.model.record import Encoded, EncodedPage, RoutedRecord

DELIVERY_S: Final = 60.0
"""How long Kafka may take none of what a chunk sends, before the chunk is given up."""

_POLL_S: Final = 0.1
_DISCARD_S: Final = 0.5


class SentPage:
    """Records of one page on their way; ``failure`` is why the first one was not delivered."""

    __slots__ = ("failure", "failure_count", "left", "size")

    def __init__(self, size: int) -> None:
        self.size = self.left = size
        self.failure_count = 0
        self.failure: ConnectdError | None = None

    def ack(self, error: KafkaError | None, message: Message) -> None:
        """Delivery callback of every record."""
        self.left -= 1
        if error is not None:
            self._count(error, message.topic() or "", message.key(), len(message))

    def refuse(self, error: KafkaException, record: RoutedRecord) -> None:
        """A record that the client did not even take."""
        self.left -= 1
        self._count(error, record.topic, record.key, len(record.value or b""))

    def _count(
        self, error: KafkaError | KafkaException, topic: str, key: bytes | None, value_bytes: int
    ) -> None:
        self.failure_count += 1
        if self.failure is None:
            cause = errors.delivery_error(error, topic, value_bytes + len(key or b""))
            shown = "none" if key is None else key.decode(errors="replace")
            self.failure = type(cause)(f"sending the record with key {shown} to {topic}: {cause}")
            self.failure.__cause__ = cause


class _Patience:
    """How long nothing has been acknowledged."""

    def __init__(self, left: int, longest_s: float) -> None:
        self._left = left
        self._longest_s = longest_s
        self._heard_at_s = time.monotonic()

    def is_over(self, left: int) -> bool:
        """Whether it has been too long, now that so many records are left."""
        now_s = time.monotonic()
        if left < self._left:
            self._left, self._heard_at_s = left, now_s
        return left > 0 and now_s - self._heard_at_s > self._longest_s


class ChunkSender:
    """See the module's docstring. Used by one thread."""

    def __init__(self, settings: Mapping[str, str], *, delivery_s: float = DELIVERY_S) -> None:
        """``settings`` are librdkafka's.

        Raises:
            ConfigError: librdkafka does not accept a value.
        """
        try:
            self._producer = Producer({**settings, "error_cb": self._on_error, "log_level": 0})
        except KafkaException as error:
            raise ConfigError(f"creating a producer: {errors.kafka_error(error).str()}") from error
        self._delivery_s = delivery_s
        self._pages: list[SentPage] = []
        self._trouble = ""

    def send(self, page: Encoded) -> SentPage:
        """Produce a page's records, in order.

        Raises:
            BrokerUnavailableError: the buffer stays full.
            ProduceError: the producer has failed for good.
        """
        sent = SentPage(len(page.records))
        self._pages = [*(each for each in self._pages if each.left), sent]
        if isinstance(page, EncodedPage):
            self._send_plain(page, sent)
        else:
            for record in page.records:
                self._send_routed(record, sent)
        self._poll(0)
        return sent

    def _send_plain(self, page: EncodedPage, sent: SentPage) -> None:
        """The direct path: hot, every instruction in here is paid per record."""
        produce, ack, topic = self._producer.produce, sent.ack, page.topic
        for key, value in page.records:
            try:
                produce(topic, value, key, -1, ack)
            except (BufferError, KafkaException):
                self._send_routed(RoutedRecord(topic, key, value), sent)

    def _send_routed(self, record: RoutedRecord, sent: SentPage) -> None:
        patience: _Patience | None = None
        while True:
            try:
                self._produce(record, sent)
            except BufferError:
                patience = patience or _Patience(self._left(), self._delivery_s)
                self._poll(_POLL_S)
                if patience.is_over(self._left()):
                    raise self._not_delivered() from None
                continue
            except KafkaException as error:
                self._raise_if_fatal(error)
                sent.refuse(error, record)
            return

    def _produce(self, record: RoutedRecord, sent: SentPage) -> None:
        self._producer.produce(
            record.topic,
            record.value,
            record.key,
            partition=-1 if record.kafka_partition is None else record.kafka_partition,
            on_delivery=sent.ack,
            timestamp=record.timestamp_ms or 0,  # librdkafka's word for now
            headers=list(record.headers),
        )

    def wait_delivered(self, pages: Iterable[SentPage]) -> None:
        """Wait until all records of these pages have been heard of.

        Raises:
            BrokerUnavailableError: nothing was heard for too long.
            ProduceError: the producer has failed for good.
        """
        patience = _Patience(self._left(), self._delivery_s)
        for page in pages:
            while page.left:
                self._flush()
                if patience.is_over(self._left()):
                    raise self._not_delivered()

    def discard(self) -> None:
        """Forget everything that is not acknowledged; the sender is of no use after that."""
        self._producer.purge()
        self._producer.flush(_DISCARD_S)

    def _left(self) -> int:
        """Records that nothing has been heard of."""
        return sum(each.left for each in self._pages)

    def _flush(self) -> None:
        """Send without lingering, and hear what there is."""
        try:
            self._producer.flush(_POLL_S)
        except KafkaException as error:
            self._raise_if_fatal(error)
            raise

    def _poll(self, wait_s: float) -> None:
        try:
            self._producer.poll(wait_s)
        except KafkaException as error:
            self._raise_if_fatal(error)
            raise

    def _raise_if_fatal(self, exception: KafkaException) -> None:
        error = errors.kafka_error(exception)
        if error.fatal() or error.code() == KafkaError._FATAL:
            raise ProduceError(str(errors.translate(error, "producing"))) from exception

    def _not_delivered(self) -> BrokerUnavailableError:
        heard = f"; the client says: {self._trouble}" if self._trouble else ""
        return BrokerUnavailableError(
            f"producing: Kafka has acknowledged nothing for {self._delivery_s:g} s{heard}; check "
            "that the brokers run and that the Spark executors reach them"
        )

    def _on_error(self, error: KafkaError) -> None:
        if error.code() != KafkaError._ALL_BROKERS_DOWN or not self._trouble:
            self._trouble = error.str()
