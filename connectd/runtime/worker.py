"""Hosts the connectors and tasks that are assigned to this process.

The herder says what is to run (``assign``), the supervisors do it, one per connector. A failed
connector or task is a status and nothing more; a failed supervisor is a bug, and ``on_failure``
ends the process.

The worker owns the supervisors and the group of jobs in which all lives run; only the herder calls
it, never REST.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from connectd.aio.jobs import JobGroup
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import State
from connectd.runtime.assignment import ConnectorWork
from connectd.runtime.auto_restart import AutoRestart, Item, Recovery
from connectd.runtime.connector_life import GRACE_S, ConnectorLife
from connectd.runtime.lives import LifeMaker
from connectd.runtime.reloads import Reloads
from connectd.runtime.requests import RequestFailedError, stage
from connectd.runtime.start_counts import StartCounts
from connectd.runtime.stop_ladder import HARD_LIMIT_S
from connectd.runtime.supervisor import Supervisor

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class WorkerStatistics:
    """How many connectors are supervised, which jobs run, and what recovers from failures."""

    supervised: int
    running: tuple[str, ...]
    recoveries: Mapping[Item, Recovery]


class Worker:
    """See the module's docstring.

    The herder sets ``on_reconfigure`` (a connector wants its task configs computed) and
    ``on_failure``. ``starts`` counts lives, for metrics.
    """

    def __init__(self, maker: LifeMaker) -> None:
        self.on_reconfigure: Callable[[str], None] | None = None
        self.on_failure: Callable[[BaseException], None] | None = None
        self._maker = maker
        maker.on_reconfigure = self._on_reconfigure
        self._reloads = Reloads(self._reload)
        maker.on_resolved = self._reloads.note
        self._auto_restart = AutoRestart(maker.settings.restarts, self._restart_failed)
        self.starts = StartCounts()
        maker.on_begun, maker.on_state = self._on_begun, self._on_state
        self._jobs = JobGroup("worker", on_failure=self._on_job_failure)
        self._supervisors: dict[str, Supervisor] = {}
        self._supervisor_count = 0

    def _on_begun(self, item: Item) -> bool:
        self.starts.on_begun(item)
        return self._auto_restart.on_begun(item)

    def _on_state(self, item: Item, state: State) -> str | None:
        self.starts.on_state(item, state)
        return self._auto_restart.on_state(item, state)

    def _on_reconfigure(self, connector: str) -> None:
        if self.on_reconfigure is not None:
            self.on_reconfigure(connector)

    def _on_job_failure(self, name: str, error: BaseException) -> None:
        _log.critical("worker job failed", job=name, error=repr(error))
        if self.on_failure is not None:
            self.on_failure(error)

    # -- what the herder calls ------------------------------------------------------------------

    def assign(self, work_by_connector: Mapping[str, ConnectorWork]) -> None:
        """Make this, and nothing else, run. Returns at once."""
        for connector in self._supervisors.keys() - work_by_connector.keys():
            self._supervisors[connector].order(None)
        for connector, work in work_by_connector.items():
            supervisor = self._supervisors.get(connector)
            if supervisor is None:
                supervisor = self._new_supervisor(connector)
            supervisor.order(work)

    def _new_supervisor(self, connector: str) -> Supervisor:
        supervisor = Supervisor(
            connector, maker=self._maker, jobs=self._jobs, on_retired=self._on_retired
        )
        self._supervisors[connector] = supervisor
        self._supervisor_count += 1
        self._jobs.spawn(f"supervisor-{self._supervisor_count}", supervisor.run())
        return supervisor

    def _on_retired(self, connector: str) -> None:
        del self._supervisors[connector]
        self._reloads.forget(connector)
        self._auto_restart.forget(connector)
        self.starts.forget(connector)

    def _reload(self, connector: str) -> None:
        supervisor = self._supervisors.get(connector)
        if supervisor is not None:
            runs_here = supervisor.connector_life() is not None
            supervisor.restart(connector=runs_here, tasks=supervisor.task_lives())

    def _restart_failed(self, item: Item) -> None:
        connector = item.connector if isinstance(item, ConnectorTaskId) else item
        supervisor = self._supervisors.get(connector)
        if supervisor is None or not supervisor.restart_again(item):
            self._auto_restart.forget(item)

    def restart(
        self, connector: str, *, includes_connector: bool, tasks: Sequence[ConnectorTaskId]
    ) -> None:
        """Restart what of it runs here, showing RESTARTING meanwhile. Returns at once."""
        supervisor = self._supervisors.get(connector)
        if supervisor is not None:
            supervisor.restart(connector=includes_connector, tasks=tasks, announces=True)

    async def restart_connector(self, connector: str) -> None:
        """Begin a new life of the instance; returns when it has reached its target state.

        Raises:
            RequestFailedError: it has not, and its status says why; or it does not run here.
        """
        failed = RequestFailedError(f"Failed to start connector: {connector}")
        supervisor = self._supervisors.get(connector)
        if supervisor is None:
            raise failed
        supervisor.restart(connector=True)
        with stage(f"restarting connector {connector}"):
            await supervisor.wait_converged()
            life = supervisor.connector_life()
            if life is None:
                raise failed
            await life.wait_settled()
        if life.state is State.FAILED:
            raise failed

    async def restart_task(self, task: ConnectorTaskId) -> None:
        """Begin a new life of a task; returns when the old one has ended and the new one begun.

        Raises:
            RequestFailedError: no runner could be made, or the task does not run here.
        """
        failed = RequestFailedError(f"Failed to start task: {task}")
        supervisor = self._supervisors.get(task.connector)
        if supervisor is None:
            raise failed
        supervisor.restart(connector=False, tasks=[task])
        with stage(f"restarting task {task}"):
            await supervisor.wait_converged()
            life = supervisor.task_lives().get(task)
            if life is not None:
                await life.wait_begun()
        if life is None or life.failed_to_start:
            raise failed

    def fence(self) -> None:
        """Let nothing that runs here write any more. Returns at once."""
        for supervisor in self._supervisors.values():
            supervisor.fence()

    async def wait_all_settled(self) -> None:
        """Wait until everything that runs is what was assigned last; the stop ladder bounds it."""
        for supervisor in list(self._supervisors.values()):
            await supervisor.wait_converged()

    async def wait_settled(self, connector: str) -> None:
        """Wait until what runs of a connector is what was assigned last."""
        supervisor = self._supervisors.get(connector)
        if supervisor is not None:
            await supervisor.wait_converged()

    async def wait_tasks_told(self, connector: str) -> None:
        """Wait until every task of a connector that runs here has a status of its own."""
        supervisor = self._supervisors.get(connector)
        for life in () if supervisor is None else supervisor.task_lives().values():
            await life.wait_told()

    def connector_life(self, connector: str) -> ConnectorLife | None:
        """The life of a connector's instance, None if it does not run here."""
        supervisor = self._supervisors.get(connector)
        return None if supervisor is None else supervisor.connector_life()

    def supervisors(self) -> Sequence[Supervisor]:
        """Everything that is hosted here, by connector, in order of names; to look at."""
        return [self._supervisors[name] for name in sorted(self._supervisors)]

    def tables(self, connector: str) -> Sequence[Mapping[str, object]]:
        """Progress of the inputs of a connector, as far as they are served here."""
        supervisor = self._supervisors.get(connector)
        return () if supervisor is None else supervisor.tables()

    async def stop(self) -> None:
        """Stop everything by the ladder. Idempotent, bounded, never raises."""
        self._reloads.close()
        self._auto_restart.close()
        self.assign({})
        # Twice: a supervisor may just be in the middle of stopping something else.
        grace_s = 2 * (max(self._maker.settings.task_grace_s, GRACE_S) + HARD_LIMIT_S)
        if not await self._jobs.join(deadline_s=grace_s):
            abandoned = await self._jobs.stop(hard_s=HARD_LIMIT_S)
            _log.error("stopping: jobs left behind", jobs=abandoned)

    def statistics(self) -> WorkerStatistics:
        """What is supervised and what runs."""
        return WorkerStatistics(
            supervised=len(self._supervisors),
            running=self._jobs.statistics().running,
            recoveries=self._auto_restart.statistics(),
        )
