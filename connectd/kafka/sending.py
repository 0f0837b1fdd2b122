"""The producer's thread: encodes pages, produces their records, and hears the acknowledgements.

``PageSender`` owns the confluent_kafka Producer; everything marked "thread" runs in its thread and
is touched nowhere else. ``producer.PageProducer`` is the other side, on the event loop. What has to
be told goes through one callback, ``report``, which is safe to call from here.

Order: records are produced in page order, urgent pages first, by one thread, and a full buffer
makes the thread wait with the very record that did not fit. Nothing is dropped; the input queue
fills up behind it and the loop stops taking pages: that is the back-pressure.

A client that has lost all its brokers for good (``stranded``) is given up with all it holds. That
is withdrawn before anybody hears of it: what another producer sends comes behind.
"""

from __future__ import annotations

import contextlib
import functools
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog
from confluent_kafka import KafkaError, KafkaException, Producer

from connectd.errors import (
    ConfigError,
    ConnectdError,
    FatalTaskError,
    ProduceError,
    ProducerLostError,
    WorkerError,
)
from connectd.kafka import clientconf, errors
from connectd.kafka.batches import BATCH_RECORDS, Batches
from connectd.kafka.clientconf import Conf
from connectd.kafka.page import Page, SendJob, SendResult
from connectd.kafka.stranded import Lookout
from connectd.kafka.voice import ClientVoice
from connectd.model.record import Encoded, EncodedPage, RoutedPage, RoutedRecord

_log = structlog.get_logger(__name__)

IDLE_WAIT_S = 1.0
"""With nothing in flight: how often errors and logs are looked at. Work wakes the thread at once,
but what librdkafka has to say piles up in memory until somebody polls."""

ACK_WAIT_MIN_S = 0.001
ACK_WAIT_MAX_S = 0.016
"""With records in flight: how long acknowledgements may lie unseen. The wait doubles while nothing
happens, so that a broker which is away for hours costs 60 wake-ups a second and not a thousand."""

FULL_WAIT_S = 0.1
"""With a full buffer: the longest wait for an acknowledgement before looking at the stop flag."""

FLUSH_SLICE_S = 0.05
"""While flushing: how long one call may block the thread."""


@dataclass(frozen=True)
class Taken:
    """A page has left the input queue: there is a place for another."""

    job: SendJob


@dataclass(frozen=True)
class Settled:
    """A page has its answer."""

    job: SendJob
    result: SendResult


@dataclass(frozen=True)
class Failed:
    """The producer has failed for good; no page that is not settled will be."""

    error: ConnectdError


@dataclass(frozen=True)
class Ended:
    """The thread is at its end: the last report."""


Report = Taken | Settled | Failed | Ended


class PageSender:
    """See the module's docstring. ``put``, ``wake`` and ``stop`` are called on the loop."""

    def __init__(self, conf: Conf, *, name: str, report: Callable[[Report], None]) -> None:
        """Create the client.

        Raises:
            ConfigError: librdkafka does not accept a value.
        """
        self._name = name
        self._voice = ClientVoice(name)
        try:
            self._producer = Producer(clientconf.with_voice(conf, self._voice))
        except KafkaException as error:
            raise ConfigError(f"creating a producer: {errors.kafka_error(error).str()}") from error
        # Half of it leaves room for what Kafka adds to a record.
        self._batches = Batches(self._producer, bytes_max=clientconf.message_bytes_max(conf) // 2)
        self._lookout = Lookout(Producer, conf, self._voice)
        self._topic = ""
        self._report = report
        self._queue: queue.SimpleQueue[SendJob] = queue.SimpleQueue()
        self._urgent: queue.SimpleQueue[SendJob] = queue.SimpleQueue()
        self._is_wanted = threading.Event()
        self._pages: set[Page] = set()
        self._wait_s = ACK_WAIT_MIN_S
        self._is_stopping = False
        self._fatal: ProduceError | ProducerLostError | None = None
        self.is_flushing = False
        self.buffer_full_count = 0
        self._thread = threading.Thread(target=self._run, name=f"producer-{name}", daemon=True)

    # --- on the loop ------------------------------------------------------------------------

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def put(self, job: SendJob, *, is_urgent: bool) -> None:
        """Hand over a page. The caller bounds how many lie here; urgent ones are taken first."""
        (self._urgent if is_urgent else self._queue).put(job)
        self._is_wanted.set()

    def wake(self) -> None:
        """Make the thread look at its flags."""
        self._is_wanted.set()

    def give_up(self, error: ProduceError) -> None:
        """Send nothing more, of what lies here neither; every page fails with this error."""
        self._fatal = error
        self._producer.purge(blocking=False)
        self.wake()

    def stop(self) -> None:
        """End the thread soon; what is not acknowledged by now is forgotten."""
        self._is_stopping = True
        self.wake()

    @property
    def records_buffered(self) -> int:
        """Records not yet acknowledged, plus events not yet looked at."""
        return len(self._producer)

    @property
    def is_available(self) -> bool:
        """Whether the brokers answer, as far as the client has found out."""
        return self._voice.is_available

    @property
    def trouble(self) -> str:
        """Why they do not; empty: they do."""
        return self._voice.trouble

    # --- thread -----------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._is_stopping:
                self._step()
        except Exception as error:  # the boundary of the thread: nobody else would ever hear of it
            failure = WorkerError(f"producer thread ended: {type(error).__name__}: {error}")
            failure.__cause__ = error
            self._report(Failed(failure))
        finally:
            self._forget_everything()
            self._report(Ended())

    def _step(self) -> None:
        job = self._next_job()
        if job is not None:
            self._report(Taken(job))
            self._take(job)
        if self.is_flushing and self._pages:
            self._serve(self._producer.flush, FLUSH_SLICE_S)
        else:
            events = self._serve(self._producer.poll, 0)
            is_busy = events > 0 or job is not None
            self._wait_s = ACK_WAIT_MIN_S if is_busy else min(self._wait_s * 2, ACK_WAIT_MAX_S)
        self._look_out()

    def _serve(self, serve: Callable[[float], int], wait_s: float) -> int:
        """Let the client call back. It raises here what concerns the client as a whole."""
        try:
            return serve(wait_s)
        except KafkaException as error:
            if not self._is_fatal(error):
                raise WorkerError(f"serving Kafka's client: {errors.kafka_error(error)}") from error
            return 0

    def _next_job(self) -> SendJob | None:
        """A page, or None after a while. Never ``SimpleQueue.get`` with a timeout: CPython's waits
        for ever when its thread is held up for longer than that (its rest becomes negative)."""
        job = self._waiting_job()
        if job is not None or (self.is_flushing and self._pages):
            return job
        self._is_wanted.wait(self._wait_s if self._pages else IDLE_WAIT_S)
        self._is_wanted.clear()  # before looking: what is put after this sets it again
        return self._waiting_job()

    def _waiting_job(self) -> SendJob | None:
        """The first that is urgent, or else the first."""
        for waiting in (self._urgent, self._queue):
            with contextlib.suppress(queue.Empty):
                return waiting.get_nowait()
        return None

    def _take(self, job: SendJob) -> None:
        if self._fatal is not None:
            self._report(Settled(job, SendResult(topics=(), records=0, error=self._fatal)))
            return
        try:
            encoded = job.encode()
        except ConnectdError as error:
            self._report(Settled(job, SendResult(topics=(), records=0, error=error)))
            return
        except BaseException as error:  # an encoder may end its task, not the producer of all
            failure = FatalTaskError(f"encoding a page: {type(error).__name__}: {error}")
            failure.__cause__ = error
            self._report(Settled(job, SendResult(topics=(), records=0, error=failure)))
            return
        if not encoded.records:
            self._report(Settled(job, SendResult(topics=encoded.topics, records=0)))
            return
        self._produce(job, encoded)

    def _produce(self, job: SendJob, encoded: Encoded) -> None:
        page = Page(job, encoded.topics, len(encoded.records), self._on_complete)
        self._pages.add(page)
        self._topic = encoded.topics[0]
        try:
            match encoded:
                case EncodedPage():
                    self._produce_plain(page, encoded)
                case RoutedPage():
                    self._produce_routed(page, encoded)
        except (TypeError, ValueError, OverflowError) as error:  # what the client cannot take
            page.abandon()
            self._pages.discard(page)
            failure = FatalTaskError(
                f"producing to {', '.join(map(repr, encoded.topics))}: a record is not what "
                f"Kafka's client takes ({type(error).__name__}: {error})"
            )
            failure.__cause__ = error
            self._report(Settled(job, SendResult(topics=encoded.topics, records=0, error=failure)))

    def _produce_plain(self, page: Page, encoded: EncodedPage) -> None:
        """The direct path: hot, what is paid per record is in ``batches``."""
        topic, left = encoded.topic, encoded.records
        ack = page.ack_with_offset if page.job.wants_offsets else page.ack
        while True:
            taken, refused = self._batches.produce(topic, left, ack)
            if taken == len(left) and not refused:
                return
            ends = bool(refused) and page.job.stops_at_refusal
            if ends:
                page.leave_out(len(left) - taken)
            for place, error in refused:
                page.refuse(KafkaException(error), RoutedRecord(topic, *left[place]))
            if ends:
                return
            some = left[taken : taken + BATCH_RECORDS]
            left = left[taken + len(some) :]
            routed = [RoutedRecord(topic, key, value) for key, value in some]
            if not self._produce_each(page, routed, behind=len(left)):
                return

    def _produce_routed(self, page: Page, encoded: RoutedPage) -> None:
        self._produce_each(page, encoded.records, is_whole=True)

    def _produce_each(
        self,
        page: Page,
        records: Sequence[RoutedRecord],
        *,
        behind: int = 0,
        is_whole: bool = False,
    ) -> bool:
        """One by one, as the client has room for them; False: the page ends here.

        ``behind``: so many records of the page come after these. ``is_whole``: they are a page.
        """
        for number, record in enumerate(records):
            index = number if is_whole else None
            try:
                if not self._produce_with_patience(page, record, index):
                    return False
            except KafkaException as error:
                if self._is_fatal(error):
                    return False
                stops = page.job.stops_at_refusal
                if stops:
                    page.leave_out(len(records) - number - 1 + behind)
                page.refuse(error, record, index=index)
                if stops:
                    return False
        return True

    def _produce_with_patience(self, page: Page, record: RoutedRecord, index: int | None) -> bool:
        """Wait with this record until the buffer takes it; False when the page is given up."""
        try:
            self._produce_record(page, record, index)
        except BufferError:
            self.buffer_full_count += 1
        else:
            return True
        while not self._is_stopping and self._fatal is None:
            self._serve(self._producer.poll, FULL_WAIT_S)
            if self._look_out():
                return False
            with contextlib.suppress(BufferError):
                self._produce_record(page, record, index)
                return True
        return False

    def _produce_record(self, page: Page, record: RoutedRecord, index: int | None) -> None:
        ack = page.ack_with_offset if page.job.wants_offsets else page.ack
        self._producer.produce(
            record.topic,
            record.value,
            record.key,
            partition=-1 if record.kafka_partition is None else record.kafka_partition,
            on_delivery=ack if index is None else functools.partial(page.ack_at, index, ack),
            timestamp=record.timestamp_ms or 0,  # librdkafka's word for now
            headers=list(record.headers),
        )

    def _on_complete(self, page: Page) -> None:
        self._pages.discard(page)
        if page.failure_count < page.size:
            self._voice.on_answer()
        self._report(Settled(page.job, page.result()))

    def _is_fatal(self, exception: KafkaException) -> bool:
        error = errors.kafka_error(exception)
        if not error.fatal() and error.code() != KafkaError._FATAL:
            return False
        self._fail(error)
        return True

    def _fail(self, error: KafkaError) -> None:
        """librdkafka says that the client is of no use any more."""
        translated = errors.translate(error, "producing")
        advice = ""
        if error.code() == KafkaError.CLUSTER_AUTHORIZATION_FAILED:
            advice = "; grant IDEMPOTENT_WRITE, or set producer.override.enable.idempotence=false"
        failure = ProduceError(f"{translated}{advice}")
        failure.__cause__ = translated.__cause__
        self._end_with(failure)

    def _look_out(self) -> bool:
        """Find out whether the client waits for nothing, and give it up then; an idle one, too."""
        is_waiting = self._pages or not self._voice.is_available
        if not is_waiting or not self._topic or self._fatal is not None:
            return False
        if not self._lookout.is_stranded(self._producer, self._topic):
            return False
        self._end_with(
            ProducerLostError(
                "producing: Kafka answers other clients, but this one has lost all brokers; it is "
                "given up, and what it held has to be sent again by another one"
            )
        )
        return True

    def _end_with(self, failure: ProduceError | ProducerLostError) -> None:
        """Every page fails, this one and all to come."""
        if self._fatal is not None:
            return
        self._fatal = failure
        self._producer.purge()
        # Told first: who hears that a page has failed must find the producer unusable.
        self._report(Failed(failure))
        pages, self._pages = self._pages, set()
        for page in pages:
            page.abandon()
            result = SendResult(topics=page.topics, records=page.size, error=failure)
            self._report(Settled(page.job, result))
        is_lost = isinstance(failure, ProducerLostError)
        (_log.warning if is_lost else _log.error)(
            "producer is given up" if is_lost else "producer has failed for good",
            client=self._name,
            error=str(failure),
        )

    def _forget_everything(self) -> None:
        for page in self._pages:
            page.abandon()
        self._pages.clear()
        if len(self._producer):
            self._producer.purge()
            self._producer.flush(FLUSH_SLICE_S)
