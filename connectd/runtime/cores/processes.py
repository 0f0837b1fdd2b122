"""Keeps the processes that tasks run in, and spreads tasks over them.

There are as many *places* as ``workers`` says, each with a process; a task keeps its place for as
long as a life of it lasts. A process that is lost is followed by another one in the same place, at
once the first time and later after longer and longer waits: what crashes it, a page or too little
memory, may well be there again. Its tasks end with a ``TaskProcessLostError``; the next lives wait
for the new process.

A process is lost when it ends, when its connection does, and when it gives no sign of life for
``SILENCE_LOOKS`` looks in a row. Looks and not time: a worker that was stopped and goes on has not
listened, and is not to believe that nobody spoke. After a few of them no other task goes there.

A task that was abandoned must be sent nothing of any more before it begins anew, here or in another
worker: what is old would land behind what is new. A process that does not say so at once, one that
stands still, is ended, and lost.

Owner of the processes, on the event loop of the worker.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final

import structlog

from connectd.aio.backoff import Backoff
from connectd.aio.clock import Clock
from connectd.aio.jobs import JobGroup, wait_first
from connectd.errors import TaskProcessLostError
from connectd.model.ids import ConnectorTaskId
from connectd.runtime.cores import messages, process_numbers
from connectd.runtime.cores.failures import error_of
from connectd.runtime.cores.lending import Lending
from connectd.runtime.cores.messages import ProcessReport
from connectd.runtime.cores.place import Peer, Place
from connectd.runtime.cores.remote_task import RemoteTask
from connectd.runtime.cores.spreading import place_of

_log = structlog.get_logger(__name__)

START_DEADLINE_S: Final = 60.0
"""Loading takes two seconds of processor time; many may start on a machine that has few."""

STEADY_S: Final = 60.0
"""A process that lives as long as that has begun anew: its loss is the first one again."""

LOOK_S: Final = 5.0
SILENCE_LOOKS: Final = 12
"""A minute without a report: the loop of the process stands still, or its machine is gone mad."""

SUSPECT_LOOKS: Final = 3
"""So many, and a place gets no task while there is a better one; reports may be 10 s apart."""

LET_GO_S: Final = 3.0
"""How long a process may take to say that it has let go of a task: its loop may be late."""

LEASE_S: Final = 0.5
"""How often processes hear until when they may write; a session is several seconds long."""

END_S: Final = 5.0
"""What a process gets at most to close its clients; by then it has no tasks any more."""

_AGAIN: Final = Backoff(initial_s=1.0, max_s=60.0)


PeerStarter = Callable[
    [messages.Setup, Callable[[messages.ToParent], None]], AbstractAsyncContextManager[Peer]
]
"""Starts a process, which is gone when the block is left. Entering may raise OSError."""


@dataclass(frozen=True)
class ProcessSettings:
    """How many there are, and what they are set up with; ``spark_places`` are for all of them."""

    places: int
    mode: str
    log_format: str
    properties: dict[str, str]
    environ: dict[str, str]
    spark_places: int = 1


@dataclass(frozen=True)
class ProcessStatistics:
    """How many processes there are to be, how many run, and how many were lost by now."""

    processes: int = 0
    running: int = 0
    lost: int = 0


class TaskProcesses:
    """See the module's docstring (``remote_task.Places``).

    ``writes_until_s`` says until when tasks may write (``Membership``); whoever makes the worker
    sets it. ``on_failure`` hears of a process that says that the worker cannot go on.
    """

    def __init__(
        self,
        settings: ProcessSettings,
        *,
        start: PeerStarter,
        clock: Clock,
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self.writes_until_s: Callable[[], float] = lambda: math.inf
        self._settings = settings
        self._start = start
        self._clock = clock
        self._on_failure = on_failure
        self._places = [Place(number) for number in range(settings.places)]
        self._levels: dict[str, str] = {}
        self._lending = Lending(settings.spark_places)
        self._runs = self._lost = 0
        self._gone = ProcessReport()
        self._let_go = asyncio.Event()
        self._ending = asyncio.Event()
        self._jobs = JobGroup("processes", on_failure=lambda _, error: on_failure(error))

    # -- life -----------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to start them; tasks wait for them."""
        for place in self._places:
            self._jobs.spawn(f"process-{place.number}", self._keep(place))
        self._jobs.spawn("lease", self._pass_lease_on())

    async def close(self, *, deadline_s: float = END_S) -> None:
        """End them all. What still runs in them is cut off, and they are too when it is time."""
        self._ending.set()
        await self._jobs.stop(grace_s=deadline_s)

    async def _keep(self, place: Place) -> None:
        losses = 0
        while not self._ending.is_set():
            began_s = self._clock.monotonic()
            why = await self._live_once(place)
            if self._ending.is_set():
                place.lose(TaskProcessLostError("the worker ends"))
                return
            losses = 1 if self._clock.monotonic() - began_s >= STEADY_S else losses + 1
            wait_s = _AGAIN.wait_s(losses - 1) if losses > 1 else 0.0
            self._on_lost(place, why, wait_s)
            await wait_first(self._clock.sleep(wait_s), self._ending.wait())

    def _on_lost(self, place: Place, why: str, wait_s: float) -> None:
        _log.error(
            "a process of tasks is lost: another one follows, its tasks go back to what is "
            "committed",
            process=place.number,
            reason=why,
            tasks=sorted(str(task.task_id) for task in place.runs.values()),
            wait_s=round(wait_s, 1),
        )
        self._lost += 1
        self._gone = process_numbers.merged([self._gone, process_numbers.counters(place.report)])
        self._lending.forget(place.number)
        self._tell_free()
        found = f"process {place.number} of the worker is lost ({why}); the task begins anew"
        place.lose(TaskProcessLostError(found))
        self._let_go.set()

    async def _live_once(self, place: Place) -> str:
        """One process, from its start to its end; in words, why it is none any more."""
        try:
            setup = self._setup(place)
            async with self._start(setup, lambda said: self._heard(place, said)) as peer:
                place.peer = peer
                return await self._accompany(place, peer)
        except OSError as error:
            return f"it cannot be started: {error}"

    async def _accompany(self, place: Place, peer: Peer) -> str:
        found: list[str] = []

        async def until_its_end() -> None:
            found.append(await peer.wait())

        async def until_it_is_silent() -> None:
            try:
                async with asyncio.timeout(START_DEADLINE_S):
                    await place.wait_ready()
            except TimeoutError:
                found.append(f"it was not ready after {START_DEADLINE_S:g} s")
                return
            while place.silent_looks < SILENCE_LOOKS:
                await self._clock.sleep(LOOK_S)
                place.silent_looks = 0 if place.has_reported else place.silent_looks + 1
                place.has_reported = False
            found.append(f"it has given no sign of life for {SILENCE_LOOKS * LOOK_S:g} s")

        async def until_it_is_condemned() -> None:
            await place.wait_condemned()
            found.append(place.reproach)

        await wait_first(
            until_its_end(), until_it_is_silent(), until_it_is_condemned(), self._ending.wait()
        )
        if self._ending.is_set() and not found:
            peer.send(messages.End())
            await wait_first(until_its_end(), self._clock.sleep(END_S))
        return found[0] if found else "it does not end"

    def _setup(self, place: Place) -> messages.Setup:
        settings = self._settings
        return messages.Setup(
            place=place.number,
            places=settings.places,
            mode=settings.mode,
            log_format=settings.log_format,
            properties=settings.properties,
            environ=settings.environ,
            levels=list(self._levels.items()),
        )

    # -- who may write --------------------------------------------------------------------------

    async def _pass_lease_on(self) -> None:
        told: dict[int, tuple[Peer, float]] = {}
        while not self._ending.is_set():
            until_s = self.writes_until_s()
            for place in self._places:
                peer = place.peer if place.is_ready else None
                if peer is not None and told.get(place.number) != (peer, until_s):
                    told[place.number] = peer, until_s
                    peer.send(messages.MayWrite(until_s))
            await wait_first(self._clock.sleep(LEASE_S), self._ending.wait())

    def disown(self) -> None:
        """Nothing that any of them holds may be written any more."""
        for place in self._places:
            place.send(messages.Fence())

    # -- tasks ----------------------------------------------------------------------------------

    def enter(self, task: RemoteTask) -> Place:
        """See ``remote_task.Places``."""
        places = [each for each in self._places if each.silent_looks < SUSPECT_LOOKS]
        places = places or self._places
        tasks: Sequence[Sequence[ConnectorTaskId]] = [
            [each.task_id for each in place.runs.values()] for place in places
        ]
        place = places[place_of(task.task_id, tasks)]
        self._runs += 1
        task.run_number = self._runs
        place.runs[task.run_number] = task
        return place

    def leave(self, task: RemoteTask) -> None:
        """See ``remote_task.Places``."""
        for place in self._places:
            place.runs.pop(task.run_number, None)

    def abandon(self, task: RemoteTask) -> None:
        """See ``remote_task.Places``. Idempotent."""
        run = task.run_number
        for place in self._places:
            if run in place.runs and run not in place.held and place.peer is not None:
                place.held[run] = task.task_id
                place.send(messages.AbandonTask(run))
                if not self._ending.is_set():  # all are ended then
                    self._jobs.spawn(f"abandoned-{run}", self._see_let_go(place, place.peer, run))

    async def _see_let_go(self, place: Place, peer: Peer, run: int) -> None:
        await self._clock.sleep(LET_GO_S)
        if run in place.held and place.peer is peer:
            place.condemn(f"it does not let go of task {place.held[run]}")

    async def wait_let_go(self, task: ConnectorTaskId) -> None:
        """See ``remote_task.Places``."""
        while any(task in place.held.values() for place in self._places):
            self._let_go.clear()
            await self._let_go.wait()

    # -- what they say --------------------------------------------------------------------------

    def _heard(self, place: Place, said: messages.ToParent) -> None:
        match said:
            case messages.Ready():
                place.send(messages.MayWrite(self.writes_until_s()))
                place.send(messages.PlacesFree(self._lending.free))
                place.become_ready()
                _log.info("a process of tasks is ready", process=place.number, pid=said.pid)
            case messages.Report():
                place.report, place.has_reported = said.process, True
                for report in said.tasks:
                    if (task := place.runs.get(report.run)) is not None:
                        task.on_report(report)
            case messages.WorkerFailed():
                self._on_failure(error_of(said.failure))
            case messages.TakePlace():
                self._lend(place, said.call)
            case messages.GivePlace():
                self._lending.give(place.number)
                self._tell_free()
            case messages.LetGo():
                self._heard_let_go(place, said.run)
            case messages.TaskEnded():
                self._heard_of_task(place, said)
                self._heard_let_go(place, said.run)
            case messages.TailLeft() | messages.TaskEvent() | messages.TaskTopic():
                self._heard_of_task(place, said)
            case messages.ReadOffsets() | messages.WriteOffsets():
                self._heard_of_task(place, said)

    def _heard_let_go(self, place: Place, run: int) -> None:
        if place.held.pop(run, None) is not None:
            self._let_go.set()

    def _lend(self, place: Place, call: int) -> None:
        peer = place.peer
        if peer is not None:
            self._lending.take(place.number, lambda: peer.send(messages.Answer(call)))
            self._tell_free()

    def _tell_free(self) -> None:
        for place in self._places:
            place.send(messages.PlacesFree(self._lending.free))

    def _heard_of_task(
        self,
        place: Place,
        said: messages.TaskEvent
        | messages.TaskTopic
        | messages.TailLeft
        | messages.TaskEnded
        | messages.ReadOffsets
        | messages.WriteOffsets,
    ) -> None:
        task = place.runs.get(said.run)
        if task is None:
            return  # it was given up before
        match said:
            case messages.TaskEvent():
                task.on_event(said)
            case messages.TaskTopic():
                task.on_topic(said.topic)
            case messages.TailLeft():
                task.on_tail_left()
            case messages.TaskEnded():
                task.on_ended(said)
            case messages.ReadOffsets():
                task.on_read(said)
            case messages.WriteOffsets():
                task.on_write(said)

    # -- what concerns all of them --------------------------------------------------------------

    def set_level(self, namespace: str, level: str) -> None:
        """The level of loggers, also of processes that are to come."""
        self._levels.pop(namespace, None)
        self._levels[namespace] = level
        for place in self._places:
            place.send(messages.SetLevel(namespace, level))

    def report(self) -> ProcessReport:
        """All of them together; counters go on when one is lost."""
        return process_numbers.merged([self._gone, *(place.report for place in self._places)])

    def statistics(self) -> ProcessStatistics:
        """How they are."""
        running = sum(place.is_ready for place in self._places)
        return ProcessStatistics(len(self._places), running, self._lost)
