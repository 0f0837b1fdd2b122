"""Brings one connector's instance and tasks to what is ordered: stops the redundant, then starts.

One supervisor per connector, in a job of its own, so that a connector that is slow to stop holds up
nobody else; within a connector nothing starts before what it replaces has ended, since two lives
reading the same table would undo each other's offsets. Level-triggered: every wake-up compares the
latest order with what runs. A restart is a new version of an item, so that it is nothing special.

The supervisor owns the lives; the worker owns the supervisors. A failed life stays where it is
until its version changes.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from connectd.aio.jobs import JobGroup
from connectd.model.ids import ConnectorTaskId
from connectd.runtime.assignment import ConnectorWork, reconcile
from connectd.runtime.auto_restart import Item
from connectd.runtime.connector_life import ConnectorLife
from connectd.runtime.lives import LifeMaker
from connectd.runtime.stop_ladder import climb
from connectd.runtime.task_life import TaskLife


@dataclass(frozen=True)
class _Running:
    version: object
    life: ConnectorLife | TaskLife


class Supervisor:
    """See the module's docstring. ``on_retired`` is called when nothing is wanted nor runs."""

    def __init__(
        self,
        connector: str,
        *,
        maker: LifeMaker,
        jobs: JobGroup,
        on_retired: Callable[[str], None],
    ) -> None:
        self.connector = connector
        self._maker = maker
        self._jobs = jobs
        self._on_retired = on_retired
        self._work: ConnectorWork | None = None
        self._restarts: Counter[Item] = Counter()
        self._running: dict[Item, _Running] = {}
        self._wake = asyncio.Event()
        self._converged = asyncio.Event()

    # -- orders: synchronous, the latest wins ---------------------------------------------------

    def order(self, work: ConnectorWork | None) -> None:
        """Say what is to run from now on; None for nothing. Targets take effect at once."""
        if work == self._work and self._converged.is_set():
            return
        self._work = work
        wanted = self._wanted()
        for item, running in self._running.items():
            if item not in wanted:
                # It ends even if it is ordered again before this order has been executed:
                # its status may have been removed meanwhile, or somebody else has run it.
                self._restarts[item] += 1
            elif work is not None:
                running.life.set_target(work.target)
        self._signal()

    def restart(
        self, *, connector: bool, tasks: Iterable[ConnectorTaskId] = (), announces: bool = False
    ) -> None:
        """Begin new lives of the instance and of some tasks; ``announces`` shows RESTARTING."""
        items: list[Item] = [self.connector] if connector else []
        items.extend(tasks)
        for item in items:
            self._restarts[item] += 1
            if announces and item in self._running:
                self._running[item].life.announce_restart()
        self._signal()

    def restart_again(self, item: Item) -> bool:
        """Begin a new life of what has failed; False if it does not run here any more."""
        if item not in self._running:
            return False
        self._restarts[item] += 1
        self._signal()
        return True

    def fence(self) -> None:
        """Let nothing that runs write any more; it ends, and what is ordered begins anew."""
        for item, running in self._running.items():
            running.life.fence()
            self._restarts[item] += 1
        self._signal()

    def _signal(self) -> None:
        self._converged.clear()
        self._wake.set()

    # -- the job --------------------------------------------------------------------------------

    async def run(self) -> None:
        """Work until retired."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._stop_redundant()
            self._start_missing()
            if self._wake.is_set():
                continue
            self._converged.set()
            if self._work is None:
                self._on_retired(self.connector)
                return

    def _wanted(self) -> dict[Item, object]:
        work = self._work
        if work is None:
            return {}
        wanted: dict[Item, object] = {}
        if work.has_connector:
            wanted[self.connector] = (work.config, self._restarts[self.connector])
        for task in work.tasks:
            wanted[task] = (work.task_set, self._restarts[task])
        return wanted

    async def _stop_redundant(self) -> None:
        # Orders may change while lives are stopping: look again until nothing is redundant.
        while plan_stop := reconcile(self._wanted(), self._versions()).stop:
            await climb([self._running[item].life for item in plan_stop])
            for item in plan_stop:
                del self._running[item]

    def _versions(self) -> Mapping[Item, object]:
        return {item: running.version for item, running in self._running.items()}

    def _start_missing(self) -> None:
        work = self._work
        if work is None:
            return
        wanted = self._wanted()
        for item in reconcile(wanted, self._versions()).start:
            life: ConnectorLife | TaskLife
            if isinstance(item, ConnectorTaskId):
                life = self._maker.task_life(item, work.tasks[item], work, self._jobs)
            else:
                life = self._maker.connector_life(item, work, self._jobs)
            self._running[item] = _Running(wanted[item], life)
            life.start()

    # -- looking in -----------------------------------------------------------------------------

    async def wait_converged(self) -> None:
        """Wait until what runs is what was ordered last. (A life may still be starting.)"""
        await self._converged.wait()

    def connector_life(self) -> ConnectorLife | None:
        """The life of the instance, None while there is none."""
        running = self._running.get(self.connector)
        return running.life if running and isinstance(running.life, ConnectorLife) else None

    def task_lives(self) -> Mapping[ConnectorTaskId, TaskLife]:
        """The lives of the tasks, ended ones included, by id and in order."""
        found = {
            item: running.life
            for item, running in self._running.items()
            if isinstance(item, ConnectorTaskId) and isinstance(running.life, TaskLife)
        }
        return dict(sorted(found.items()))

    def tables(self) -> Sequence[Mapping[str, object]]:
        """Rows of the instance and of every task."""
        instance = self.connector_life()
        rows = [] if instance is None else list(instance.tables())
        for life in self.task_lives().values():
            rows.extend(life.tables())
        return rows
