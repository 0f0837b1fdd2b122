"""One life of one task on this worker: a runner in a job of its own, and its status.

The boundary at which a failing task is caught: whatever its runner raises becomes the status FAILED
with its trace, and the worker goes on. Made and stopped by the supervisor of its connector.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from connectd.aio.jobs import JobGroup, run_unless
from connectd.errors import InvariantError
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import LifecycleEvent, State, TargetState
from connectd.observe import logs
from connectd.runtime.statuses import StatusPen
from connectd.runtime.task_runner import OnEvent, TaskRunner

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
            runner = await run_unless(self._make_runner(), self._stop_wanted.wait())
            if runner is not None and not self._is_stopping:
                self._begun.set()
                await runner.run()
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

    def _report(self, event: LifecycleEvent, error: Exception | None = None) -> None:
        self._pen.report(event, error)
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

        While the task is paused they show that, instead of what they would be doing.
        """
        if self._runner is None:
            return ()
        rows = self._runner.tables()
        if not self._ended.is_set():
            return [*map(_paused, rows)] if self._pen.state is State.PAUSED else rows
        if self._pen.state is not State.FAILED:
            return ()
        reason = f"the task has failed: {self._failure}"
        return [{**row, "state": "FAILED", "reason": row.get("reason") or reason} for row in rows]

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


def _paused(row: Mapping[str, object]) -> Mapping[str, object]:
    if row.get("state") == State.FAILED.value:
        return row
    reason = f"the connector is paused; before it was in {row.get('state')}"
    return {**row, "state": State.PAUSED.value, "reason": row.get("reason") or reason}
