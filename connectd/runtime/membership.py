"""Who runs what: this worker's place in the Connect cluster.

The herder shows its membership every new picture of the config topic and runs what the answer
assigns to it. A member of a group (``group.member``) asks for a rebalance there (connectors added
or removed, task sets committed) and answers with the assignment in force until the rebalance is
over, then calls ``on_change``. For the ``StandaloneMember``, which is in no cluster, everything is
its own at once; so it is for the ``SoleMember``, the cluster of one that tests are made of.

The generation fences: every status carries the one in which it was written. A member that the
others may have given up has no right to write at all (``may_write``).
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from connectd.configdef import rest_settings
from connectd.model.cluster import ClusterConfigState
from connectd.model.ids import ConnectorTaskId
from connectd.stores import protocols


@dataclass(frozen=True)
class Assignment:
    """What this worker is to run; -1 is the generation of a worker that has not joined.

    ``task_sets`` are the generations of the task sets that were shared out, by connector: tasks of
    another set must not run before it has been shared out too. None: any set is as good.
    """

    generation: int = -1
    connectors: frozenset[str] = field(default_factory=frozenset)
    tasks: frozenset[ConnectorTaskId] = field(default_factory=frozenset)
    task_sets: Mapping[str, int] | None = None


class Membership(Protocol):
    """This worker as a member of its cluster; state of the event loop.

    ``worker_id`` is ``host:port`` of the advertised URL. The herder listens: ``on_change`` is
    called on the loop when an assignment comes into force without ``observe`` having been called;
    ``on_shrink`` is awaited until nothing runs that the assignment and the latest picture do not
    want; ``on_fenced`` when what runs must not write any more, not even a last offset;
    ``on_failure`` when membership cannot go on.
    """

    worker_id: str
    on_change: Callable[[], None] | None
    on_shrink: Callable[[], Awaitable[None]] | None
    on_fenced: Callable[[], None] | None
    on_failure: Callable[[BaseException], None] | None

    async def join(self, snapshot: ClusterConfigState) -> None:
        """Become a member; returns when an assignment is in force, however long that takes.

        Raises:
            ConfigError, AccessDeniedError: the cluster refuses this worker.
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

    @property
    def waiting_work(self) -> int:
        """How many connectors and tasks no worker was given in the last round, as the leader knows;
        0 for all others.
        """
        ...

    @property
    def is_rebalancing(self) -> bool:
        """Whether another assignment is on its way."""
        ...

    async def wait_at_rest(self) -> None:
        """Wait until none is."""
        ...

    @property
    def signs_requests(self) -> bool:
        """Whether the members have agreed to sign their requests to each other."""
        ...

    def owner_url(self, item: str | ConnectorTaskId) -> str | None:
        """Where a connector or a task runs, as far as the leader knows; None: it does not."""
        ...

    def may_write(self) -> bool:
        """Whether what runs here is still its own; if not, it has been fenced when this returns."""
        ...

    def writes_until_s(self) -> float:
        """Until when it is, as far as is known: seconds of the boot clock, which may be over."""
        ...


class _Alone:
    """What is the same for all who have nobody beside them."""

    signs_requests = True
    is_rebalancing = False
    is_leader = True
    waiting_work = 0

    def __init__(self, worker_url: str) -> None:
        self.worker_id = rest_settings.worker_id(worker_url)
        self.on_change: Callable[[], None] | None = None
        self.on_shrink: Callable[[], Awaitable[None]] | None = None
        self.on_fenced: Callable[[], None] | None = None
        self.on_failure: Callable[[BaseException], None] | None = None
        self._worker_url = worker_url
        self._assignment = Assignment()

    @property
    def assignment(self) -> Assignment:
        return self._assignment

    @property
    def leader_url(self) -> str | None:
        return self._worker_url

    async def wait_at_rest(self) -> None:
        """It always is."""

    def owner_url(self, item: str | ConnectorTaskId) -> str | None:
        return self._worker_url

    def may_write(self) -> bool:
        return True

    def writes_until_s(self) -> float:
        return math.inf


class StandaloneMember(_Alone):
    """The only worker there is: owner of everything, in the one generation 0 (spec B.3)."""

    async def join(self, snapshot: ClusterConfigState) -> None:
        self.observe(snapshot)

    async def leave(self) -> None:
        self._assignment = Assignment(generation=0)

    def observe(self, snapshot: ClusterConfigState) -> Assignment:
        self._assignment = _everything(snapshot, generation=0)
        return self._assignment


class SoleMember(_Alone):
    """The only worker of its cluster: leader, and owner of every connector and task.

    No broker counts generations for it, so it goes on from the highest one that a status carries:
    statuses of an earlier life, under whatever address, never look newer than its own.
    """

    def __init__(self, worker_url: str, statuses: protocols.StatusStore) -> None:
        super().__init__(worker_url)
        self._statuses = statuses
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
