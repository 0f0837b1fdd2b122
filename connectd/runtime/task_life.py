"""One life of one task on this worker: a runner in a job of its own, and its status.

The boundary at which a failing task is caught: whatever its runner raises becomes the status FAILED
with its trace, and the worker goes on. Made and stopped by the supervisor of its connector.

A runner that ends with a ``SendAgainError`` is followed by another one, from the last position: it
gets another producer when its own was lost, and a topic that is deleted comes back when the broker,
or the connector's rules, create it. The task is RUNNING meanwhile; it fails when a topic has not
come back a few times in a row. So is a runner whose process is lost (``cores``), as often as that
happens: it waits for the next process, RESTARTING.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from connectd.aio.backoff import Backoff
from connectd.aio.jobs import JobGroup, run_unless
from connectd.errors import (
    InvariantError,
    SendAgainError,
    TaskProcessLostError,
    TopicGoneError,
)
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import LifecycleEvent, State, TargetState
from connectd.observe import logs
from connectd.observe.metrics import Numbers
from connectd.plugins import containment
from connectd.runtime import degradation
from connectd.runtime.statuses import StatusPen, summary_of
from connectd.runtime.task_runner import OnEvent, TaskRunner

_log = structlog.get_logger(__name__)

REWINDS_MAX: Final = 5
"""Runners in a row that may end so, each soon after the one before, when a topic has vanished."""

REWIND_STEADY_S: Final = 60.0
"""A runner that lives as long as that has begun anew."""

_REWIND: Final = Backoff(initial_s=1.0, max_s=15.0)

RunnerMaker = Callable[[OnEvent, Callable[[], TargetState]], Awaitable[TaskRunner]]
"""Makes a runner; the second argument tells the target by then, and nothing waits after that."""


class TaskLife:
    """Runs one runner to its end; ``job_name`` is unique.

    ``create`` makes the runner. It may raise, and may take a while, since config providers are
    asked first: meanwhile the task can be stopped, and its target can change.
    """

    def __init__(
        self,
        task_id: ConnectorTaskId,
        *,
        jobs: JobGroup,
        job_name: str,
        pen: StatusPen,
        create: RunnerMaker,
        target: TargetState,
        grace_s: float,
    ) -> None:
        self.name = str(task_id)
        self._task_id = task_id
        self.grace_s = grace_s
        self._jobs = jobs
        self._job_name = job_name
        self._pen = pen
        self._create = create
        self._target = target
        self._runner: TaskRunner | None = None
        self._failure: Exception | None = None
        self._is_stopping = False
        self._rewinds = 0
        self._lost = _Lost()
        self._stop_wanted = asyncio.Event()
        self._begun = asyncio.Event()
        self._told = asyncio.Event()
        self._ended = asyncio.Event()

    def start(self) -> None:
        """Begin. Failing to make a runner is a failure of the task, told by its status."""
        self._jobs.spawn(self._job_name, self._live())

    async def _live(self) -> None:
        logs.bind_context(connector=self._task_id.connector, task=self._task_id.task)
        try:
            while not self._is_stopping:
                begun_s = asyncio.get_running_loop().time()
                try:
                    await self._live_once()
                    break
                except SendAgainError as error:
                    lived_s = asyncio.get_running_loop().time() - begun_s
                    self._rewinds = 1 if lived_s >= REWIND_STEADY_S else self._rewinds + 1
                    if self._rewinds > REWINDS_MAX and isinstance(error, TopicGoneError):
                        raise
                    await self._before_rewind(error)
                except TaskProcessLostError as error:
                    _log.warning("going back to the last position", error=str(error))
                    self._lost = _Lost.now(self.tables(), str(error))
                    self._pen.report(LifecycleEvent.RESTARTED)
            if not self._is_stopping:
                raise InvariantError(f"task {self.name} ended, it was to run until stopped")
            self._pen.report(LifecycleEvent.SHUT_DOWN)
        except asyncio.CancelledError:
            self._pen.report(LifecycleEvent.SHUT_DOWN)
            raise
        except Exception as error:
            self._failure = error
            self._pen.report(LifecycleEvent.FAILED, error)
        finally:
            self._ended.set()
            self._begun.set()
            self._told.set()

    async def _live_once(self) -> None:
        runner = await run_unless(self._make_runner(), self._stop_wanted.wait())
        if runner is not None and not self._is_stopping:
            self._begun.set()
            with containment.contained(f"running task {self.name}"):
                await runner.run()

    async def _before_rewind(self, error: SendAgainError) -> None:
        wait_s = _REWIND.wait_s(self._rewinds)
        _log.warning(
            "records were not delivered: going back to the last position",
            error=str(error),
            attempt=self._rewinds,
            wait_s=round(wait_s, 1),
        )
        await run_unless(asyncio.sleep(wait_s), self._stop_wanted.wait())

    def _report(self, event: LifecycleEvent, error: Exception | None = None) -> None:
        for each in _of_another_runner(event, self._pen.state) if self._rewinds else (event,):
            self._pen.report(each, error)
        self._told.set()

    async def _make_runner(self) -> TaskRunner:
        self._runner = runner = await self._create(self._report, lambda: self._target)
        return runner

    @property
    def state(self) -> State:
        """The state that its status shows."""
        return self._pen.state

    @property
    def failed_to_start(self) -> bool:
        """Whether there never was a runner."""
        return self._runner is None and self._ended.is_set()

    def set_target(self, target: TargetState) -> None:
        """Pause or resume; anything else is the supervisor's business."""
        if target is self._target:
            return
        self._target = target
        if self._runner is None:
            return  # it will be made for this target
        if target is TargetState.PAUSED:
            self._runner.pause()
        elif target is TargetState.STARTED:
            self._runner.resume()

    def announce_restart(self) -> None:
        """Show RESTARTING and begin to stop; this life writes no status after that."""
        self._pen.report(LifecycleEvent.RESTARTED)
        self._pen.revoke()
        self.signal_stop()

    def tables(self) -> Sequence[Mapping[str, object]]:
        """Progress of the task's inputs; of a failed task their last, shown as failed.

        While the task is paused they show that, instead of what they would be doing. While it waits
        for another process they are those of the one that is lost.
        """
        if self._runner is None:
            return ()
        rows = self._runner.tables() or self._lost.rows()
        if not self._ended.is_set():
            return [*map(_paused, rows)] if self._pen.state is State.PAUSED else rows
        if self._pen.state is not State.FAILED:
            return ()
        reason = "the task has failed"
        if self._failure is not None:
            reason = f"{reason}: {summary_of(self._failure)}"
        return [{**row, "state": "FAILED", "reason": row.get("reason") or reason} for row in rows]

    def metrics(self) -> Numbers:
        """What the runner says of itself; nothing when there is none, or none any more."""
        return {} if self._runner is None or self._ended.is_set() else self._runner.metrics()

    # -- the stop ladder ------------------------------------------------------------------------

    def signal_stop(self) -> None:
        """Ask the runner to wind down."""
        self._is_stopping = True
        self._stop_wanted.set()
        if self._runner is not None and not self._ended.is_set():
            self._runner.signal_stop()

    async def cancel(self) -> None:
        """Interrupt the runner."""
        await self._jobs.cancel(self._job_name, deadline_s=0.0)

    def fence(self) -> None:
        """Let it write nothing from now on, and end."""
        self.abandon()
        self.signal_stop()

    def abandon(self) -> None:
        """Take the pens of the runner and of this life away."""
        self._pen.revoke()
        if self._runner is not None:
            self._runner.abandon()

    async def wait_begun(self) -> None:
        """Wait until there is a runner, or will be none (``failed_to_start``)."""
        await self._begun.wait()

    async def wait_told(self) -> None:
        """Wait until its status says something of this life."""
        await self._told.wait()

    @property
    def has_ended(self) -> bool:
        """Whether the runner has returned, raised, or never was."""
        return self._ended.is_set()

    async def wait_ended(self) -> None:
        """Wait for the end."""
        await self._ended.wait()


@dataclass(frozen=True)
class _Lost:
    """What a process had told of the task's tables when it was lost, and when that was."""

    told: Sequence[Mapping[str, object]] = ()
    why: str = ""
    lost_s: float = 0.0

    @classmethod
    def now(cls, told: Sequence[Mapping[str, object]], why: str) -> _Lost:
        return cls(told, why, asyncio.get_running_loop().time())

    def rows(self) -> Sequence[Mapping[str, object]]:
        by_s = asyncio.get_running_loop().time() - self.lost_s
        return degradation.aged(self.told, by_s, self.why)


def _of_another_runner(event: LifecycleEvent, now: State) -> tuple[LifecycleEvent, ...]:
    """What the status hears when a runner after the first one tells this."""
    if event not in (LifecycleEvent.STARTED, LifecycleEvent.PAUSED):
        return (event,)
    if now is State.RESTARTING:  # its process was lost
        return (event,)
    if now is State.FAILED:  # an input that had failed is tried again
        return (LifecycleEvent.RESTARTED, event)
    if event is LifecycleEvent.STARTED:
        return (LifecycleEvent.RESUMED,) if now is State.PAUSED else ()
    return () if now is State.PAUSED else (event,)


def _paused(row: Mapping[str, object]) -> Mapping[str, object]:
    if row.get("state") == State.FAILED.value:
        return row
    reason = f"the connector is paused; before it was in {row.get('state')}"
    return {**row, "state": State.PAUSED.value, "reason": row.get("reason") or reason}
