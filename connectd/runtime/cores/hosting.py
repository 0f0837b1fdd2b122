"""A child: runs the tasks that its parent gives it, and tells what becomes of them.

Each task runs in a job of its own, as in a worker of one process; the parent's ``RemoteTask`` is
its other half. What runs here may write for as long as the parent has said last (decision 12). When
that time is over, the parent having gone silent, pens and records are taken away and the runs end
as lost: the parent, if it is still there, begins them anew.

Owner of the runs, on the event loop. Wired by ``app.task_process``.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from connectd.aio.clock import BootClock
from connectd.aio.jobs import JobGroup, wait_first
from connectd.errors import TaskProcessLostError
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import LifecycleEvent, TargetState
from connectd.observe import logs, redaction
from connectd.observe.metrics import Numbers
from connectd.plugins import containment
from connectd.runtime.cores import groups, messages
from connectd.runtime.cores.calls import Calls
from connectd.runtime.cores.failures import Failure, failure_of
from connectd.runtime.cores.remote_offsets import RemoteOffsets
from connectd.runtime.cores.remote_places import RemotePlaces
from connectd.runtime.loop_watch import foreign
from connectd.runtime.task_runner import TaskRunner, TaskSpec

_log = structlog.get_logger(__name__)

REPORT_S: Final = 1.0
REPORT_MAX_S: Final = 10.0
_REPORT_COST: Final = 50
"""Reports take no more than a fiftieth of the time, however many tables there are."""

_ALL_RUNS_END_S: Final = 5.0
"""What is still there at the end has been given up by the parent already."""


@dataclass(frozen=True)
class Hosted:
    """What one run is made from; ``may_write`` and ``on_tail_left`` as for ``SourceTaskRunner``."""

    spec: TaskSpec
    offsets: RemoteOffsets
    may_write: Callable[[], bool]
    on_tail_left: Callable[[], None]


HostedRunnerMaker = Callable[[Hosted], TaskRunner]


@dataclass(frozen=True)
class HostParts:
    """What a host is made from.

    ``report`` tells of the process, ``unsent_bytes`` what the parent has not taken yet.
    ``on_fenced`` throws away what producers hold, ``on_level`` sets levels of loggers.
    """

    clock: BootClock
    send: Callable[[messages.ToParent], None]
    make_runner: HostedRunnerMaker
    report: Callable[[], messages.ProcessReport]
    unsent_bytes: Callable[[], int]
    on_fenced: Callable[[], None]
    on_level: Callable[[str, str], object]


@dataclass
class _Run:
    number: int
    task: ConnectorTaskId
    runner: TaskRunner
    is_lost: bool = False

    @property
    def job(self) -> str:
        return f"run-{self.number}"


class TaskHost:
    """See the module's docstring; ``receive`` takes what the parent says, ``Setup`` apart."""

    def __init__(self, parts: HostParts) -> None:
        self._parts = parts
        self._runs: dict[int, _Run] = {}
        self._until_s = -math.inf
        self._leased = asyncio.Event()
        self._ended = asyncio.Event()
        self._jobs = JobGroup("host", on_failure=lambda _, error: self.fail(error))
        self.calls = Calls(parts.send)
        self.spark_places = RemotePlaces(self.calls, parts.send)

    # -- life -----------------------------------------------------------------------------------

    async def run(self) -> None:
        """Serve until the parent wants the end, or ``end`` is called."""
        self._jobs.spawn("reports", self._report(), service=True)
        self._jobs.spawn("lease", self._watch_lease(), service=True)
        try:
            await self._ended.wait()
        finally:
            for run in list(self._runs.values()):
                run.runner.abandon()
            await self._jobs.stop(hard_s=_ALL_RUNS_END_S)

    def end(self) -> None:
        """Let ``run`` return."""
        self._ended.set()

    def fail(self, error: BaseException) -> None:
        """What the process stands on has given up: so does the worker."""
        _log.critical("a process of tasks has failed", error=repr(error))
        self._parts.send(messages.WorkerFailed(failure_of(error)))

    # -- what the parent says -------------------------------------------------------------------

    def receive(self, message: messages.ToChild) -> None:
        """Do it. What is said of a run that is over has no effect."""
        match message:
            case messages.StartTask():
                self._start(message)
            case messages.MayWrite():
                self._until_s = message.until_s
                self._leased.set()
            case messages.Fence():
                self._fence(are_lost=False)
            case messages.Answer():
                self.calls.on_answer(message)
            case messages.PlacesFree():
                self.spark_places.on_free(message.free)
            case messages.SetLevel():
                self._parts.on_level(message.namespace, message.level)
            case messages.End():
                self.end()
            case messages.Setup():
                return  # the first message, and not for the host
            case messages.AbandonTask():
                run = self._runs.get(message.run)
                if run is not None:
                    run.runner.abandon()
                self._parts.send(messages.LetGo(message.run))
            case _:
                run = self._runs.get(message.run)
                if run is not None:
                    self._turn(run, message)

    def _turn(
        self,
        run: _Run,
        message: messages.PauseTask | messages.StopTask | messages.CancelTask,
    ) -> None:
        match message:
            case messages.PauseTask(is_running=True):
                run.runner.resume()
            case messages.PauseTask():
                run.runner.pause()
            case messages.StopTask():
                run.runner.signal_stop()
            case messages.CancelTask():
                self._jobs.cancel_soon(run.job)

    # -- runs -----------------------------------------------------------------------------------

    def _start(self, start: messages.StartTask) -> None:
        for secret in start.secrets:
            redaction.register_secret(secret)
        number, send = start.run, self._parts.send
        task = ConnectorTaskId(start.connector, start.task)

        def on_event(event: LifecycleEvent, error: Exception | None) -> None:
            failure = None if error is None else failure_of(error)
            send(messages.TaskEvent(number, event.value, failure))

        spec = TaskSpec(
            task_id=task,
            generation=start.generation,
            connector_config=start.connector_config,
            task_config=start.task_config,
            target=TargetState.PAUSED if start.starts_paused else TargetState.STARTED,
            on_event=on_event,
            on_topic=lambda topic: send(messages.TaskTopic(number, topic)),
        )
        try:
            with foreign(f"creating task {task}"):
                runner = self._parts.make_runner(
                    Hosted(
                        spec,
                        RemoteOffsets(number, start.offsets, self.calls),
                        may_write=self.may_write,
                        on_tail_left=lambda: send(messages.TailLeft(number)),
                    )
                )
        except Exception as error:
            send(messages.TaskEnded(number, failure_of(error)))
            return
        run = self._runs[number] = _Run(number, task, runner)
        self._jobs.spawn(run.job, self._live(run))

    async def _live(self, run: _Run) -> None:
        logs.bind_context(connector=run.task.connector, task=run.task.task)
        failure: Failure | None = None
        try:
            with containment.contained(f"running task {run.task}"):
                await run.runner.run()
        except Exception as error:
            failure = failure_of(error)
        finally:
            del self._runs[run.number]
            if run.is_lost:
                failure = failure_of(TaskProcessLostError("the worker's main process was silent"))
            self._parts.send(messages.Report([self._told(run)], self._parts.report()))
            self._parts.send(messages.TaskEnded(run.number, failure))

    # -- the right to write ---------------------------------------------------------------------

    def may_write(self) -> bool:
        """Whether what runs here is still its own; if not, it has been fenced when this returns."""
        if self._parts.clock.boot_s() < self._until_s:
            return True
        self._fence(are_lost=True)
        return False

    async def _watch_lease(self) -> None:
        clock = self._parts.clock
        while True:
            await self._leased.wait()
            self._leased.clear()
            if self._until_s == math.inf:
                continue
            left_s = self._until_s - clock.boot_s()
            await wait_first(clock.sleep(left_s), self._leased.wait())
            if not self._leased.is_set():
                self._fence(are_lost=True)

    def _fence(self, *, are_lost: bool) -> None:
        self._until_s = -math.inf
        if are_lost and self._runs:
            _log.error("the worker's main process is silent: nothing is written here any more")
        for run in list(self._runs.values()):
            run.is_lost = run.is_lost or are_lost
            run.runner.abandon()
        self._parts.on_fenced()

    # -- reports --------------------------------------------------------------------------------

    async def _report(self) -> None:
        clock = self._parts.clock
        while True:
            began_s = clock.monotonic()
            if not self._parts.unsent_bytes():  # else the parent has not even taken the last one
                tasks = []
                for run in list(self._runs.values()):
                    tasks.append(self._told(run))
                    await asyncio.sleep(0)
                self._parts.send(messages.Report(tasks, self._parts.report()))
            took_s = clock.monotonic() - began_s
            await clock.sleep(min(max(REPORT_S, _REPORT_COST * took_s), REPORT_MAX_S))

    def _told(self, run: _Run) -> messages.TaskReport:
        rows: Sequence[Mapping[str, object]] = ()
        numbers: Numbers = {}
        try:
            rows, numbers = run.runner.tables(), run.runner.metrics()
        except Exception as error:
            _log.warning(
                "a plugin does not tell of itself", subject=str(run.task), error=repr(error)
            )
        return messages.TaskReport(run.number, [dict(row) for row in rows], groups.titled(numbers))
