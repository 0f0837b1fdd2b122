"""Gets pages ready for the producer, in order: encoded where that may wait, and tried again.

A page that knows its own way to bytes is pure work and goes to the producer's thread as it is.
Every other one runs plugins: it is encoded in the task's thread first, while the task waits. So a
plugin that waits for the outside holds up its own task and nobody else, a retry never lets a later
page overtake, and stopping the task ends the wait.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import structlog

from connectd.aio.clock import Clock
from connectd.errors import InvariantError, RetriableError
from connectd.model.record import Encoded
from connectd.pipeline.encoding import PageEncoding
from connectd.pipeline.tolerance import ErrorPolicy, Failure
from connectd.pipeline.topics import TaskTopics

_log = structlog.get_logger(__name__)


class Encoder(Protocol):
    """Runs the work of one task away from the event loop (``encoder_thread.EncoderThread``)."""

    async def run(self, work: Callable[[], Encoded]) -> Encoded:
        """What ``work`` returns or raises."""
        ...

    def close(self) -> None:
        """No more work will come."""
        ...


class ReadyPage:
    """Bytes that wait for the producer's thread, which takes them once."""

    def __init__(self, encoded: Encoded) -> None:
        self._encoded: Encoded | None = encoded

    def __call__(self) -> Encoded:
        """The page, let go of."""
        encoded, self._encoded = self._encoded, None
        if encoded is None:
            raise InvariantError("a page is sent a second time")
        return encoded


@dataclass
class _Outage:
    """The record that waits, how often it was tried, and since when."""

    entry: int
    began_s: float
    attempts: int = 0


class PagePreparation:
    """See the module's docstring. Used by one task, one page at a time."""

    def __init__(
        self,
        *,
        encoder: Encoder,
        policy: ErrorPolicy,
        clock: Clock,
        topics: TaskTopics,
        log_fields: Mapping[str, object],
    ) -> None:
        self._encoder = encoder
        self._policy = policy
        self._clock = clock
        self._topics = topics
        self._log_fields = dict(log_fields)
        self._outage = ""

    @property
    def trouble(self) -> str:
        """What is being tried again; empty otherwise."""
        return self._outage or self._topics.trouble

    async def prepare(self, encoding: PageEncoding) -> Callable[[], Encoded]:
        """What the producer's thread is to call for the bytes of a page.

        Raises:
            FatalTaskError: a topic may not be written to, or cannot be created.
        """
        if encoding.is_direct and not self._topics.creates:
            return lambda: self._topics.checked(encoding())
        encoded = self._topics.checked(await self._encoded(encoding))
        await self._topics.ensure(encoded)
        return ReadyPage(encoded)

    async def _encoded(self, encoding: PageEncoding) -> Encoded:
        outage: _Outage | None = None
        try:
            while True:
                try:
                    encoded = await self._encoder.run(encoding)
                except RetriableError:
                    failure = encoding.interrupted_by
                    if failure is None:
                        raise
                    if outage is None or outage.entry != encoding.entries_done:
                        outage = _Outage(encoding.entries_done, self._clock.monotonic())
                    await self._wait_or_give_up(encoding, failure, outage)
                    continue
                if self._outage:
                    _log.info("processing records: works again", **self._log_fields)
                return encoded
        finally:
            self._outage = ""

    async def _wait_or_give_up(
        self, encoding: PageEncoding, failure: Failure, outage: _Outage
    ) -> None:
        outage.attempts += 1
        tried_for_s = self._clock.monotonic() - outage.began_s
        delay_s = self._policy.retry_delay_s(outage.attempts, tried_for_s=tried_for_s)
        if delay_s is None:
            encoding.give_up()
            return
        if not self._outage:
            _log.warning(
                "processing records: tried again until it works, later records wait",
                stage=failure.stage.value,
                class_name=failure.class_name,
                record=failure.origin,
                error=str(failure.error),
                retry_timeout_s=self._policy.retry_timeout_s,
                **self._log_fields,
            )
        self._outage = f"{failure.stage.value} is tried again: {failure.error}"
        encoding.retries += 1
        await self._clock.sleep(delay_s)
