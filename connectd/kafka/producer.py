"""Pages of records into Kafka: one producer, one thread, one answer per page.

``PageProducer`` is the loop's side. A task awaits ``send``, which returns as soon as the page has a
place in the thread's short input queue; while the broker is slow or away the queue is full and the
task waits: back-pressure reaches the source through it, and memory stays what it is (field case
P05). Answers come on the loop through ``SendJob.on_done``, many at a time for one wake-up.

*Urgent* pages have places of their own and pass the others that the thread has not taken yet. One
is treated as any other while a page with its ``order_key`` waits among those: whoever sent that, be
it a task that has ended since, its records stay in front.

Answers of different pages may overtake each other (acknowledgements arrive by Kafka partition); an
empty page is answered when the thread reaches it. Order among answers is the frontier's business.

Three ends: a *fatal* producer (librdkafka's idempotence has broken down, or credentials forbid it)
fails its pages with ``ProduceError`` and every later ``send``; the pool makes a new one for the
next task. So it does for one whose client has *lost* all brokers for good (``stranded``): that one
fails with ``ProducerLostError``, upon which tasks go back to what is committed and take the new
one. A *broken* one (a defect in this package) is a ``WorkerError`` for ``on_failure``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from connectd.aio.threads import Inbox
from connectd.errors import ConnectdError, ProduceError, ProducerLostError, WorkerError
from connectd.kafka.clientconf import Conf
from connectd.kafka.page import RecordFailure, SendJob, SendResult
from connectd.kafka.sending import Ended, Failed, PageSender, Report, Settled, Taken

__all__ = ["PageProducer", "ProducerStatistics", "RecordFailure", "SendJob", "SendResult"]

_log = structlog.get_logger(__name__)

QUEUE_PAGES_MAX = 4
"""Pages of up to 1 MB that wait for the thread: enough to keep it busy, little to hold."""

THREAD_END_S = 5.0
"""How long ``close`` waits for the thread after the deadline; then it is left to die alone."""


@dataclass(frozen=True)
class ProducerStatistics:
    """A snapshot. ``buffer_full`` counts how often a record found no room and had to wait."""

    pages_sent: int
    pages_outstanding: int
    pages_queued: int
    records_buffered: int
    records_acked: int
    records_failed: int
    buffer_full: int
    is_available: bool
    is_usable: bool


class PageProducer:
    """See the module's docstring. All methods are called on one event loop."""

    def __init__(
        self,
        conf: Conf,
        *,
        name: str,
        queue_pages_max: int = QUEUE_PAGES_MAX,
        on_failure: Callable[[WorkerError], None] | None = None,
    ) -> None:
        """Make the client for a configuration of ``clientconf.producer_conf``; ``open`` starts it.

        Raises:
            ConfigError: librdkafka does not accept a value.
        """
        self._inbox: Inbox[Report] = Inbox(asyncio.get_running_loop(), self._on_reports)
        self._sender = PageSender(conf, name=name, report=self._inbox.push)
        self._on_failure = on_failure
        self._places = {urgent: asyncio.Semaphore(queue_pages_max) for urgent in (False, True)}
        self._place_holders: dict[SendJob, bool] = {}
        """Which places they hold: those for urgent pages?"""
        self._outstanding: dict[SendJob, int] = {}
        self._flushes: dict[asyncio.Future[None], int] = {}
        self._error: ConnectdError | None = None
        self._ended = asyncio.Event()
        self._is_open = self._is_closed = self._is_retiring = False
        self._pages_sent = self._pages_queued = self._records_acked = self._records_failed = 0

    def open(self) -> None:
        """Start the thread."""
        self._is_open = True
        self._sender.start()

    async def send(self, job: SendJob) -> None:
        """Hand over a page; waits while the input queue is full. Cancelling sends nothing.

        Raises:
            ProduceError: the producer has failed for good, or is closed.
            ProducerLostError: its client has lost all brokers.
            WorkerError: its thread has died.
        """
        self._check_usable()
        while True:
            is_urgent = self._may_pass(job)
            places = self._places[is_urgent]
            await places.acquire()
            try:
                self._check_usable()
            except ConnectdError:
                places.release()
                raise
            if is_urgent == self._may_pass(job):
                break
            places.release()  # another page came, or went, meanwhile
        self._place_holders[job] = is_urgent
        self._hand_over(job, is_urgent=is_urgent)

    def _may_pass(self, job: SendJob) -> bool:
        """Whether a page may be treated as urgent. There are few others to look at."""
        return job.is_urgent and not any(
            other.order_key == job.order_key
            for other, is_urgent in self._place_holders.items()
            if not is_urgent
        )

    def send_nowait(self, job: SendJob) -> None:
        """Hand over a page although the input queue may be full; the caller bounds its pages.

        Raises:
            ProduceError, ProducerLostError, WorkerError: as ``send``.
        """
        self._check_usable()
        self._hand_over(job)

    def _hand_over(self, job: SendJob, *, is_urgent: bool = False) -> None:
        self._pages_sent += 1
        self._pages_queued += 1
        self._outstanding[job] = self._pages_sent
        self._sender.put(job, is_urgent=is_urgent)

    async def flush(self, deadline_s: float) -> int:
        """Wait until every page sent before this call is answered, without lingering.

        Returns the number of those pages that are not, when the deadline comes first.
        """
        last = self._pages_sent
        if self._unanswered(last):
            done = asyncio.get_running_loop().create_future()
            self._flushes[done] = last
            self._sender.is_flushing = True
            self._sender.wake()
            try:
                await asyncio.wait((done,), timeout=deadline_s)
            finally:
                del self._flushes[done]
                self._sender.is_flushing = bool(self._flushes)
        return self._unanswered(last)

    async def close(self, deadline_s: float) -> int:
        """Take no more pages, flush, and end. Idempotent.

        Returns the number of pages without an answer; theirs never comes.
        """
        if self._is_closed:
            return len(self._outstanding)
        self._is_closed = True
        if not self._is_open:
            return 0
        left = await self.flush(deadline_s)
        self._sender.stop()
        try:
            await asyncio.wait_for(self._ended.wait(), THREAD_END_S)
        except TimeoutError:
            _log.warning("producer thread does not end, leaving it behind", pages=left)
        self._inbox.close()
        self._turn_waiters_away()
        return left

    def disown(self) -> None:
        """Drop what has not been sent yet: it belongs to somebody else by now.

        Every page without an answer fails, this producer takes no more.
        """
        error = ProduceError("this worker is no member of its group any more; others send this")
        self._fail(error)
        self._sender.give_up(error)
        for job in list(self._outstanding):
            self._settle(job, SendResult(topics=(), records=0, error=error))
        self._turn_waiters_away()

    def retire(self) -> None:
        """Take no more pages, and end once those that were taken are answered, which for a lost one
        is soon. Nobody has to wait for that.
        """
        self._is_closed = self._is_retiring = True
        self._end_if_retired()

    def _end_if_retired(self) -> None:
        if self._is_retiring and not self._outstanding:
            self._sender.stop()

    @property
    def is_usable(self) -> bool:
        """Whether ``send`` would take a page, now or later."""
        return self._error is None and not self._is_closed

    @property
    def is_lost(self) -> bool:
        """Whether it has lost all brokers, and another one would reach them."""
        return isinstance(self._error, ProducerLostError)

    @property
    def trouble(self) -> str:
        """Why pages are not acknowledged; empty: they are, or there are none.

        An idle client may take a closed connection for an absence; nobody waits for it then.
        """
        return self._sender.trouble if self._outstanding else ""

    def statistics(self) -> ProducerStatistics:
        """How it stands."""
        return ProducerStatistics(
            pages_sent=self._pages_sent,
            pages_outstanding=len(self._outstanding),
            pages_queued=self._pages_queued,
            records_buffered=self._sender.records_buffered,
            records_acked=self._records_acked,
            records_failed=self._records_failed,
            buffer_full=self._sender.buffer_full_count,
            # One that is lost says nothing about Kafka, which answers others.
            is_available=self._sender.is_available or self.is_lost,
            is_usable=self.is_usable,
        )

    def _check_usable(self) -> None:
        if self._error is not None:
            # A new exception each time: one that is raised twice collects tracebacks.
            raise type(self._error)(str(self._error)) from self._error.__cause__
        if self._is_closed or not self._is_open:
            raise ProduceError("sending a page: the producer is closed; start the task again")

    def _unanswered(self, last: int) -> int:
        return sum(number <= last for number in self._outstanding.values())

    def _on_reports(self, reports: list[Report]) -> None:
        for report in reports:
            match report:
                case Taken(job):
                    self._pages_queued -= 1
                    self._free_place(job)
                case Settled(job, result):
                    self._settle(job, result)
                case Failed(error):
                    self._fail(error)
                case Ended():
                    self._ended.set()
        for done, last in self._flushes.items():
            if not done.done() and not self._unanswered(last):
                done.set_result(None)
        self._end_if_retired()

    def _free_place(self, job: SendJob) -> None:
        is_urgent = self._place_holders.pop(job, None)
        if is_urgent is not None:
            self._places[is_urgent].release()

    def _settle(self, job: SendJob, result: SendResult) -> None:
        if self._outstanding.pop(job, None) is None:
            return  # it had its answer when the producer broke
        self._records_failed += result.failure_count
        if result.error is None:
            self._records_acked += result.records - result.failure_count
        try:
            job.on_done(result)
        except Exception as error:  # one page's owner must not keep the answers of the others back
            failure = WorkerError(f"answering a page: {type(error).__name__}: {error}")
            failure.__cause__ = error
            self._fail(failure)

    def _fail(self, error: ConnectdError) -> None:
        if self._error is None:
            self._error = error
        if not isinstance(error, WorkerError):
            return
        if self._on_failure is not None:
            self._on_failure(error)
        else:
            _log.error("producer is broken", error=str(error))
        for job in list(self._outstanding):
            self._settle(job, SendResult(topics=(), records=0, error=error))
        self._turn_waiters_away()

    def _turn_waiters_away(self) -> None:
        # One place is enough: whoever wakes up finds the door closed and passes the place on.
        for places in self._places.values():
            places.release()
