"""Every request's way in: ready, within its deadline, and able to say what it waited for.

A request waits until the worker has read its internal topics, then does its work in named stages.
When its deadline passes, the answer says in which stage it was, and since when (spec kafka-connect
A.1.4): "timed out" alone helps nobody. Requests that change the same connector take turns, so that
what one has checked still holds when it writes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from weakref import WeakValueDictionary

from connectd.aio import clock as clocks
from connectd.errors import ConnectdError, RecordTooLargeError, RetriableError, WorkerError
from connectd.runtime import askers

REQUEST_DEADLINE_S = 90.0
"""Kafka Connect's own limit for every operation of the herder."""


class RequestFailedError(ConnectdError):
    """The worker understood the request but could not carry it out; the message says why."""


class RequestTimeoutError(RetriableError):
    """A request took longer than its deadline; the message names the stage it was in."""


class Stages:
    """What a job or request is doing now or did last, in sentences.

    Without a stage of its own yet, it tells what ``parent`` does: a request that waits for the
    worker to start shows how far the start is.
    """

    def __init__(self, clock: clocks.Clock, parent: Stages | None = None) -> None:
        self._clock = clock
        self._parent = parent
        self._description: str | None = None
        self._began_s = 0.0
        self._ended_s: float | None = None

    @contextlib.contextmanager
    def stage(self, description: str) -> Iterator[None]:
        """Be in a stage, named by a gerund: ``reading to the end of the config topic``."""
        self._description = description
        self._began_s, self._ended_s = self._clock.wall_s(), None
        try:
            yield
        except asyncio.CancelledError:
            raise  # not the end of the stage: this is where the request was when it was given up
        except BaseException:
            self._ended_s = self._clock.wall_s()
            raise
        self._ended_s = self._clock.wall_s()

    def sentence(self) -> str:
        """What is going on, as a sentence; empty when nothing has begun."""
        if self._description is None:
            return "" if self._parent is None else self._parent.sentence()
        began = clocks.iso_instant(self._began_s)
        if self._ended_s is None:
            return f"The worker is currently {self._description}, which began at {began}."
        ended = clocks.iso_instant(self._ended_s)
        return (
            f"The last operation the worker completed was {self._description}, "
            f"which began at {began} and completed at {ended}."
        )


_current: ContextVar[Stages | None] = ContextVar("request_stages", default=None)


@contextlib.contextmanager
def stage(description: str) -> Iterator[None]:
    """Be in a stage of the request under way; without one, it is nobody's business."""
    stages = _current.get()
    if stages is None:
        yield
        return
    with stages.stage(description):
        yield


@contextlib.contextmanager
def failing_with(message: str) -> Iterator[None]:
    """Turn a temporary error of a store into the answer that clients know for this operation.

    What is in the way follows behind Kafka Connect's words, for whoever reads them at night.
    """
    try:
        yield
    except RequestTimeoutError:
        raise
    except RetriableError as error:
        raise RequestFailedError(with_cause(message, error)) from error
    except RecordTooLargeError as error:
        raise RequestFailedError(
            f"{message}: the record is larger than Kafka takes; shorten it, or raise "
            "max.request.size of the worker and max.message.bytes of the worker's topic"
        ) from error


def with_cause(message: str, error: RetriableError) -> str:
    """The words that clients know for a failure, and what was in the way behind them."""
    words = str(error)
    return words if words.startswith(message) else f"{message}: {words}"


class RequestGate:
    """What all requests pass through; one per herder.

    ``stages`` tells what the herder itself does, ``was_opened`` whether it was ever ready.
    ``on_failure`` hears of a ``WorkerError``, which
    ends the process: the request that met it is only the messenger.
    """

    def __init__(self, clock: clocks.Clock, *, deadline_s: float = REQUEST_DEADLINE_S) -> None:
        self.stages = Stages(clock)
        self.on_failure: Callable[[WorkerError], None] | None = None
        self._clock = clock
        self._deadline_s = deadline_s
        self.was_opened = False
        self._ready = asyncio.Event()
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._is_closed = False

    def open(self) -> None:
        """Let the waiting requests in: everything has been read."""
        self.was_opened = True
        self._ready.set()

    def close(self) -> None:
        """Refuse from now on: the worker is going away."""
        self._is_closed = True
        self._ready.set()

    @property
    def is_closed(self) -> bool:
        """Whether the worker is going away."""
        return self._is_closed

    @contextlib.asynccontextmanager
    async def request(self) -> AsyncIterator[None]:
        """Everything that one request does.

        Raises:
            RequestTimeoutError: the deadline came first.
            RequestFailedError: the worker is shutting down.
        """
        stages = Stages(self._clock, parent=self.stages)
        token = _current.set(stages)
        limit = asyncio.timeout(askers.left_s(self._deadline_s))
        try:
            async with limit:
                await self._ready.wait()
                if self._is_closed:
                    raise RequestFailedError("Worker is shutting down")
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            sentence = stages.sentence()
            text = f"Request timed out. {sentence}" if sentence else "Request timed out"
            raise RequestTimeoutError(text) from None
        except WorkerError as error:
            if self.on_failure is not None:
                self.on_failure(error)
            raise
        finally:
            _current.reset(token)

    @contextlib.asynccontextmanager
    async def turn(self, connector: str) -> AsyncIterator[None]:
        """The right to check and write the records of one connector, one request at a time."""
        turn = self._turns.setdefault(connector, asyncio.Lock())
        with stage(f"waiting for another change of connector {connector}"):
            await turn.acquire()
        try:
            yield
        finally:
            turn.release()
