"""Who runs what: this worker's place in the Connect cluster.

The herder shows its membership every new picture of the config topic and runs what the answer
assigns to it. A member of a group would ask for a rebalance there (connectors added or removed,
task sets committed) and answer with the assignment in force until the rebalance is over, then call
``on_change``. ``SoleMember`` is the cluster of one: everything is its own, at once; so it is for
the ``StandaloneMember``, which is in no cluster at all.

The generation fences: every status carries the one in which it was written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from connectd.configdef import rest_settings
from connectd.model.cluster import ClusterConfigState
from connectd.model.ids import ConnectorTaskId
from connectd.stores import protocols


@dataclass(frozen=True)
class Assignment:
    """What this worker is to run; -1 is the generation of a worker that has not joined."""

    generation: int = -1
    connectors: frozenset[str] = field(default_factory=frozenset)
    tasks: frozenset[ConnectorTaskId] = field(default_factory=frozenset)


class Membership(Protocol):
    """This worker as a member of its cluster; state of the event loop.

    ``worker_id`` is ``host:port`` of the advertised URL. ``on_change`` is called on the loop when
    an assignment comes into force without ``observe`` having been called.
    """

    worker_id: str
    on_change: Callable[[], None] | None

    async def join(self, snapshot: ClusterConfigState) -> None:
        """Become a member; returns when an assignment is in force.

        Raises:
            RetriableError: nobody coordinated within the deadline.
            WorkerError: the cluster refuses this worker.
        """
        ...

    async def leave(self) -> None:
        """Give everything up; idempotent, bounded, never raises."""
        ...

    def observe(self, snapshot: ClusterConfigState) -> Assignment:
        """Take note of a new picture; returns the assignment in force."""
        ...

    @property
    def assignment(self) -> Assignment:
        """The assignment in force."""
        ...

    @property
    def is_leader(self) -> bool:
        """Whether this worker writes the config topic and cleans up statuses."""
        ...

    @property
    def leader_url(self) -> str | None:
        """The advertised URL of the leader, None while it is unknown."""
        ...


class StandaloneMember:
    """The only worker there is: owner of everything, in the one generation 0 (spec B.3)."""

    def __init__(self, worker_url: str) -> None:
        self.worker_id = rest_settings.worker_id(worker_url)
        self.on_change: Callable[[], None] | None = None
        self._worker_url = worker_url
        self._assignment = Assignment()

    async def join(self, snapshot: ClusterConfigState) -> None:
        self.observe(snapshot)

    async def leave(self) -> None:
        self._assignment = Assignment(generation=0)

    def observe(self, snapshot: ClusterConfigState) -> Assignment:
        self._assignment = _everything(snapshot, generation=0)
        return self._assignment

    @property
    def assignment(self) -> Assignment:
        return self._assignment

    @property
    def is_leader(self) -> bool:
        return True

    @property
    def leader_url(self) -> str | None:
        return self._worker_url


class SoleMember:
    """The only worker of its cluster: leader, and owner of every connector and task.

    No broker counts generations for it, so it goes on from the highest one that a status carries:
    statuses of an earlier life, under whatever address, never look newer than its own.
    """

    def __init__(self, worker_url: str, statuses: protocols.StatusStore) -> None:
        self.worker_id = rest_settings.worker_id(worker_url)
        self.on_change: Callable[[], None] | None = None
        self._worker_url = worker_url
        self._statuses = statuses
        self._assignment = Assignment()
        self._task_sets: dict[str, int] = {}

    async def join(self, snapshot: ClusterConfigState) -> None:
        self._assignment = Assignment(generation=self._highest_generation() + 1)
        self.observe(snapshot)

    async def leave(self) -> None:
        self._assignment = Assignment(generation=self._assignment.generation)

    def observe(self, snapshot: ClusterConfigState) -> Assignment:
        task_sets = dict(snapshot.generations)
        current = self._assignment
        wanted = _everything(snapshot, current.generation)
        if (wanted, task_sets) != (current, self._task_sets):
            self._task_sets = task_sets
            self._assignment = replace(wanted, generation=current.generation + 1)
        return self._assignment

    @property
    def assignment(self) -> Assignment:
        return self._assignment

    @property
    def is_leader(self) -> bool:
        return True

    @property
    def leader_url(self) -> str | None:
        return self._worker_url

    def _highest_generation(self) -> int:
        found = [-1]
        for connector in self._statuses.connectors():
            status = self._statuses.connector(connector)
            found.extend(task.generation for task in self._statuses.tasks(connector).values())
            if status is not None:
                found.append(status.generation)
        return max(found)


def _everything(snapshot: ClusterConfigState, generation: int) -> Assignment:
    connectors = frozenset(snapshot.connectors)
    tasks = frozenset(task for name in connectors for task in snapshot.tasks(name))
    return Assignment(generation, connectors, tasks)
