"""Records into Kafka from a Python worker: one producer, no thread of ours, pages answered whole.

The producer is the daemon's in every setting (idempotent, ``acks=all``, placed as Java places
records); the daemon hands them over ready. A full buffer is waited out by polling, so that what is
acknowledged makes room. ``SentPage`` counts the acknowledgements of one page: only a page whose
records have all been heard of moves a position.

A sender that could not deliver in time is thrown away (``discard``): what it still holds must not
reach Kafka after the same records, read anew, have been sent by another one. Each chunk has a time
in which it may send (``chunk_lease``); behind that, and for the case that the process is stopped in
mid chunk, the client itself gives up every record after a minute.

librdkafka repeats itself in its log while a broker is away; the last thing it said is told with the
chunk's failure instead.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from connectd.connectors.dynamodb.scan_lease import DELIVERY_S
from connectd.errors import BrokerUnavailableError, ConfigError, ConnectdError, ProduceError
from connectd.kafka import errors
from connectd.kafka.batches import Batches
from connectd.model.record import Encoded, EncodedPage, EncodedRecord, RoutedRecord
from spark_jobs.chunk_lease import ChunkLease

_POLL_S: Final = 0.1
_SLICE: Final = 64
"""Records between two looks at the lease: a process may be stopped anywhere, for any time."""

_TIMEOUT: Final = "message.timeout.ms"
_DISCARD_S: Final = 0.5


class SentPage:
    """Records of one page on their way; ``failure`` is why the first one was not delivered.

    Those that the client gave up for lack of time are ``given_up``: whether they have arrived is
    not known, and they are to be sent again.
    """

    __slots__ = ("failure", "failure_count", "given_up", "left", "may_give_up", "size")

    def __init__(self, size: int, *, may_give_up: bool = False) -> None:
        """``may_give_up``: the connector itself wants records to fail after a time."""
        self.size = self.left = size
        self.failure_count = self.given_up = 0
        self.failure: ConnectdError | None = None
        self.may_give_up = may_give_up

    def ack(self, error: KafkaError | None, message: Message) -> None:
        """Delivery callback of every record."""
        self.left -= 1
        if error is None:
            return
        if error.code() == KafkaError._MSG_TIMED_OUT and not self.may_give_up:
            self.given_up += 1
        else:
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
        own = settings.get(_TIMEOUT, "0")
        longest_ms = round(DELIVERY_S * 1000)
        # What is no number is refused by librdkafka, in its own words.
        self._may_give_up = not own.isdecimal() or 0 < int(own) <= longest_ms
        timeout = own if self._may_give_up else str(longest_ms)
        ours = {_TIMEOUT: timeout, "error_cb": self._on_error, "log_level": 0}
        try:
            self._producer = Producer({**settings, **ours})
        except KafkaException as error:
            raise ConfigError(f"creating a producer: {errors.kafka_error(error).str()}") from error
        self._batches = Batches(self._producer, bytes_max=sys.maxsize)
        self._delivery_s = delivery_s
        self._lease: ChunkLease | None = None
        self._pages: list[SentPage] = []
        self._trouble = ""

    def begin(self, lease: ChunkLease) -> None:
        """Send for another chunk from now on, as long as its lease lasts."""
        self._lease = lease

    def send(self, page: Encoded) -> SentPage:
        """Produce a page's records, in order.

        Raises:
            BrokerUnavailableError: the buffer stays full.
            LeaseOverError: the chunk may not send any more.
            ProduceError: the producer has failed for good.
        """
        sent = SentPage(len(page.records), may_give_up=self._may_give_up)
        self._pages = [*(each for each in self._pages if each.left or each.given_up), sent]
        if isinstance(page, EncodedPage):
            for start in range(0, len(page.records), _SLICE):
                self._check_lease()
                self._send_plain(page.topic, page.records[start : start + _SLICE], sent)
        else:
            for record in page.records:
                self._check_lease()
                self._send_routed(record, sent)
        self._poll(0)
        return sent

    def _send_plain(self, topic: str, records: Sequence[EncodedRecord], sent: SentPage) -> None:
        """The direct path: hot, what is paid per record is in ``batches``."""
        taken, refused = self._batches.produce(topic, records, sent.ack)
        for place, error in refused:
            sent.refuse(KafkaException(error), RoutedRecord(topic, *records[place]))
        for key, value in records[taken:]:
            self._send_routed(RoutedRecord(topic, key, value), sent)

    def _send_routed(self, record: RoutedRecord, sent: SentPage) -> None:
        patience: _Patience | None = None
        while True:
            try:
                self._produce(record, sent)
            except BufferError:
                patience = patience or _Patience(self._left(), self._delivery_s)
                self._poll(_POLL_S)
                self._check_lease()
                if patience.is_over(self._left()) or self._has_given_up():
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
            LeaseOverError: the chunk may not wait any more.
            ProduceError: the producer has failed for good.
        """
        patience = _Patience(self._left(), self._delivery_s)
        for page in pages:
            while page.left:
                self._flush()
                if page.left:
                    self._check_lease()
                if patience.is_over(self._left()):
                    raise self._not_delivered()
            if page.given_up:
                raise self._not_delivered()

    def discard(self) -> None:
        """Forget everything that is not acknowledged; the sender is of no use after that."""
        self._producer.purge()
        self._producer.flush(_DISCARD_S)

    def _check_lease(self) -> None:
        if self._lease is not None:
            self._lease.check()

    def _has_given_up(self) -> bool:
        return any(each.given_up for each in self._pages)

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
