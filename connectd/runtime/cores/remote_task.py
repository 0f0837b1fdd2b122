"""A task that runs in a child, as the worker sees it: the other half of ``hosting``.

It keeps the right to write: a child asks for every write of offsets, and what is abandoned here is
answered that it may not. The task ends here when the child says so, when the child is lost, and not
before the writes that the child asked for are through; the next life reads them. It begins when
the last life is known to send nothing any more: the child has said so, or is no more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from connectd.aio.jobs import JobGroup, wait_first
from connectd.errors import RetriableError, TaskProcessLostError
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import LifecycleEvent, TargetState
from connectd.observe import redaction
from connectd.observe.metrics import Numbers
from connectd.runtime import degradation
from connectd.runtime.cores import groups, messages
from connectd.runtime.cores.failures import error_of, failure_of
from connectd.runtime.task_runner import TaskSpec
from connectd.stores import protocols

UNHEARD_S: Final = 15.0
"""Longer than any time between two reports."""

_WRITES_END_S: Final = 30.0
"""The stores' own deadlines are shorter."""


class Place(Protocol):
    """One of the worker's processes, with those that follow it when it is lost."""

    async def wait_ready(self) -> None:
        """Wait until a process is there."""
        ...

    @property
    def is_ready(self) -> bool:
        """Whether one is."""
        ...

    def send(self, message: messages.ToChild) -> None:
        """Say it; nobody hears it when there is none."""
        ...


class Places(Protocol):
    """Who spreads tasks over processes."""

    def enter(self, task: RemoteTask) -> Place:
        """The place of a task; ``run_number`` is set, and what the process says is passed on."""
        ...

    def leave(self, task: RemoteTask) -> None:
        """It is over."""
        ...

    def abandon(self, task: RemoteTask) -> None:
        """Let its process send nothing of it any more; one that does not say so soon is ended."""
        ...

    async def wait_let_go(self, task: ConnectorTaskId) -> None:
        """Wait until no process may send something of an earlier life of it, abandoned by then."""
        ...


@dataclass(frozen=True)
class RemoteTaskParts:
    """What all tasks need of their worker; the right to write is that of ``Membership``."""

    places: Places
    offsets: protocols.OffsetStore
    may_write: Callable[[], bool]
    writes_until_s: Callable[[], float]
    on_tail_left: Callable[[], None]


class RemoteTask:
    """See the module's docstring (``runtime.task_runner.TaskRunner``)."""

    def __init__(self, spec: TaskSpec, parts: RemoteTaskParts) -> None:
        self.task_id: ConnectorTaskId = spec.task_id
        self.run_number = 0
        self._spec = spec
        self._parts = parts
        self._place: Place | None = None
        self._is_paused = spec.target is TargetState.PAUSED
        self._has_begun = self._is_abandoned = False
        self._failure: Exception | None = None
        self._rows: Sequence[Mapping[str, object]] = ()
        self._told_s = 0.0
        self._numbers: Numbers = {}
        self._stopping = asyncio.Event()
        self._over = asyncio.Event()
        self._jobs = JobGroup(
            f"{spec.task_id}/offsets", on_failure=lambda _, error: self._fail(error)
        )

    # -- what the worker calls ------------------------------------------------------------------

    async def run(self) -> None:
        """Live in the process that it is given; see ``TaskRunner``.

        Raises:
            TaskProcessLostError: that process has ended.
            CarriedError: the task has failed there; or another error that is acted upon.
        """
        places = self._parts.places
        await wait_first(places.wait_let_go(self.task_id), self._stopping.wait())
        self._place = place = places.enter(self)
        try:
            while not place.is_ready and not self._stopping.is_set():
                await wait_first(place.wait_ready(), self._stopping.wait())
            if self._stopping.is_set():
                return
            self._begin(place)
            try:
                await self._over.wait()
            except asyncio.CancelledError:
                place.send(messages.CancelTask(self.run_number))
                await self._over.wait()
                raise
        finally:
            if self._has_begun and not self._over.is_set():
                places.abandon(self)  # nobody hears it out
            places.leave(self)
            await self._jobs.join(deadline_s=_WRITES_END_S)
        if isinstance(self._failure, TaskProcessLostError):
            # A worker that has stood still hears of it before it knows that others may have taken
            # over: it is fenced here if so, and says nothing of the task any more.
            self._parts.may_write()
        if self._failure is not None:
            raise self._failure

    def _begin(self, place: Place) -> None:
        spec = self._spec
        texts = [*spec.connector_config.values(), *spec.task_config.values()]
        # It may be the first task after a time in which nothing was allowed to be written.
        place.send(messages.MayWrite(self._parts.writes_until_s()))
        place.send(
            messages.StartTask(
                run=self.run_number,
                connector=spec.task_id.connector,
                task=spec.task_id.task,
                generation=spec.generation,
                connector_config=dict(spec.connector_config),
                task_config=dict(spec.task_config),
                starts_paused=self._is_paused,
                offsets=self._known_offsets(),
                secrets=redaction.secrets_in(texts),
            )
        )
        self._has_begun = True

    def pause(self) -> None:
        """See ``TaskRunner``."""
        self._set_running(False)

    def resume(self) -> None:
        """See ``TaskRunner``."""
        self._set_running(True)

    def _set_running(self, is_running: bool) -> None:
        self._is_paused = not is_running
        self._say(messages.PauseTask(self.run_number, is_running))

    def signal_stop(self) -> None:
        """See ``TaskRunner``."""
        self._stopping.set()
        self._say(messages.StopTask(self.run_number))

    def abandon(self) -> None:
        """See ``TaskRunner``."""
        self._is_abandoned = True
        self._stopping.set()
        if self._place is not None and self._has_begun and not self._over.is_set():
            self._parts.places.abandon(self)

    def tables(self) -> Sequence[Mapping[str, object]]:
        """Rows as the process has told them last; older, if that is long ago."""
        silent_s = asyncio.get_running_loop().time() - self._told_s
        if silent_s < UNHEARD_S:
            return self._rows
        why = f"its process has not been heard of for {silent_s:.0f} s"
        return degradation.aged(self._rows, silent_s, "" if self._over.is_set() else why)

    def metrics(self) -> Numbers:
        """Numbers as the process has told them last."""
        return self._numbers

    # -- what the process says ------------------------------------------------------------------

    def on_event(self, said: messages.TaskEvent) -> None:
        """See ``TaskSpec.on_event``; what cannot happen fails the task."""
        error = None if said.failure is None else error_of(said.failure)
        if self._is_abandoned:
            return
        try:
            self._spec.on_event(LifecycleEvent(said.event), error)
        except Exception as refusal:
            self._fail(refusal)

    def on_topic(self, topic: str) -> None:
        """See ``TaskSpec.on_topic``."""
        if not self._is_abandoned:
            self._spec.on_topic(topic)

    def on_tail_left(self) -> None:
        """It has ended with records that are sent and not committed."""
        self._parts.on_tail_left()

    def on_report(self, report: messages.TaskReport) -> None:
        """What it says of itself."""
        self._rows, self._numbers = report.rows, groups.numbers_of(report.numbers)
        self._told_s = asyncio.get_running_loop().time()

    def on_ended(self, said: messages.TaskEnded) -> None:
        """It is over."""
        if self._failure is None and said.failure is not None:
            self._failure = error_of(said.failure)
        self._over.set()

    def on_lost(self, error: TaskProcessLostError) -> None:
        """Its process is gone; without effect on one that still waits for a process."""
        if self._has_begun and not self._over.is_set():
            self._failure = self._failure or error
            self._over.set()

    def on_read(self, said: messages.ReadOffsets) -> None:
        """It wants to know the offsets, read to the end."""

        async def read() -> messages.Answer:
            await self._parts.offsets.refresh()
            return messages.Answer(said.call, offsets=self._known_offsets())

        self._jobs.spawn(f"read-{said.call}", self._answer(said.call, read()))

    def on_write(self, said: messages.WriteOffsets) -> None:
        """It wants to write offsets."""
        offsets = messages.offsets_of(said.offsets)

        async def write() -> messages.Answer:
            if self._is_abandoned or not self._parts.may_write():
                raise RetriableError("others may run this task: it writes no more here")
            await self._parts.offsets.put(self.task_id.connector, offsets)
            return messages.Answer(said.call)

        self._jobs.spawn(f"write-{said.call}", self._answer(said.call, write()))

    async def _answer(self, call: int, work: Awaitable[messages.Answer]) -> None:
        try:
            answer = await work
        except Exception as error:
            answer = messages.Answer(call, failure=failure_of(error))
        self._say(answer)

    def _known_offsets(self) -> bytes:
        return messages.offsets_text(self._parts.offsets.all(self.task_id.connector))

    def _fail(self, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error if isinstance(error, Exception) else RuntimeError(repr(error))
        self._say(messages.StopTask(self.run_number))

    def _say(self, message: messages.ToChild) -> None:
        if self._place is not None and self._has_begun and not self._over.is_set():
            self._place.send(message)
