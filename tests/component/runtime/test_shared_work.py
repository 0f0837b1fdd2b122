"""One of several workers: the seam that the group protocol will fill (spec kafka-connect C.5)."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable

from connectd.model.cluster import ClusterConfigState, RestartRequest
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import State
from connectd.model.status import Status
from connectd.runtime.membership import Assignment
from connectd.stores.memory import MemoryConfigStore, MemoryOffsetStore, MemoryStatusStore
from tests.kit.control_plane import Plane, control_plane, src
from tests.kit.virtual import virtual

A0, A1, B0 = ConnectorTaskId("a", 0), ConnectorTaskId("a", 1), ConnectorTaskId("b", 0)


class Follower:
    """A member that is told what to run by somebody else."""

    def __init__(self) -> None:
        self.worker_id = "follower:8083"
        self.on_change: Callable[[], None] | None = None
        self.on_shrink: Callable[[], Awaitable[None]] | None = None
        self.on_fenced: Callable[[], None] | None = None
        self.on_failure: Callable[[BaseException], None] | None = None
        self.is_leader = False
        self.is_rebalancing = False
        self.signs_requests = True
        self.leader_url: str | None = "http://leader:8083/"
        self.assignment = Assignment(generation=3)
        self.has_left = False

    async def join(self, snapshot: ClusterConfigState) -> None:
        """The assignment is there already."""

    async def leave(self) -> None:
        self.has_left = True

    def observe(self, snapshot: ClusterConfigState) -> Assignment:
        return self.assignment

    async def wait_at_rest(self) -> None:
        """It always is."""

    def owner_url(self, item: str | ConnectorTaskId) -> str | None:
        """Only a leader knows."""
        return None

    def may_write(self) -> bool:
        return True

    def writes_until_s(self) -> float:
        return math.inf

    def assign(self, generation: int, connectors: set[str], tasks: set[ConnectorTaskId]) -> None:
        """A rebalance is over."""
        self.assignment = Assignment(generation, frozenset(connectors), frozenset(tasks))
        assert self.on_change is not None
        self.on_change()


def _task_config(number: int) -> dict[str, str]:
    """As the probe makes it: nothing needs to be published."""
    task_class = "tests.kit.probes.ProbeTask"
    return {"probe.topic": "t1", "number": str(number), "task.class": task_class}


async def _stores() -> tuple[MemoryConfigStore, MemoryOffsetStore, MemoryStatusStore]:
    configs = MemoryConfigStore()
    await configs.put_connector("a", src("a", tasks_max="2"))
    await configs.put_tasks("a", [_task_config(0), _task_config(1)])
    await configs.put_connector("b", src("b"))
    await configs.put_tasks("b", [_task_config(0)])
    return configs, MemoryOffsetStore(), MemoryStatusStore()


def _running(plane: Plane) -> set[ConnectorTaskId]:
    return {*plane.probes["a"].alive(), *plane.probes["b"].alive()}


@virtual
async def test_only_what_is_assigned_runs_here() -> None:
    member = Follower()
    async with control_plane(stores=await _stores(), membership=member) as plane:
        assert _running(plane) == set()
        member.assign(4, {"b"}, {A1})
        await plane.settle()
        assert _running(plane) == {A1}
        assert plane.probes["b"].calls["start"] == 1
        assert plane.probes["a"].calls["start"] == 0
        assert plane.statuses.task(A1) == Status(State.RUNNING, "follower:8083", 4, version="1.0")
        assert plane.statuses.task(A0) is None
    assert member.has_left


@virtual
async def test_what_is_revoked_stops_and_says_so_and_the_rest_goes_on() -> None:
    member = Follower()
    async with control_plane(stores=await _stores(), membership=member) as plane:
        member.assign(4, {"a", "b"}, {A0, A1, B0})
        await plane.settle()
        assert _running(plane) == {A0, A1, B0}
        first = plane.probes["a"].latest(0)
        member.assign(5, {"a"}, {A0})
        await plane.settle()
        assert _running(plane) == {A0}
        assert plane.probes["a"].latest(0) is first
        for status in (plane.statuses.task(A1), plane.statuses.task(B0), plane.status("b")):
            assert status == Status(State.UNASSIGNED, "follower:8083", 5)
        assert plane.probes["b"].calls["stop"] == 1


@virtual
async def test_what_others_have_taken_over_is_not_overwritten() -> None:
    member = Follower()
    async with control_plane(stores=await _stores(), membership=member) as plane:
        member.assign(4, {"a"}, {A0})
        await plane.settle()
        taken = Status(State.RUNNING, "other:8083", 9)
        plane.statuses.put_task(A0, taken)
        member.assign(5, {"a"}, set())
        await plane.settle()
        assert plane.statuses.task(A0) == taken


@virtual
async def test_a_follower_cleans_up_nothing() -> None:
    stores = await _stores()
    deleted = Status(State.RUNNING, "other:8083", 2)
    stores[2].put_connector("deleted", deleted)
    member = Follower()
    async with control_plane(stores=stores, membership=member) as plane:
        await plane.settle(60.0)
        assert plane.status("deleted") == deleted


@virtual
async def test_a_restart_concerns_what_runs_here_only() -> None:
    member = Follower()
    async with control_plane(stores=await _stores(), membership=member) as plane:
        member.assign(4, {"a"}, {A1})
        await plane.settle()
        theirs = Status(State.RUNNING, "other:8083", 4)
        plane.statuses.put_task(A0, theirs)
        everything = RestartRequest("a", only_failed=False, include_tasks=True)
        await plane.configs.put_restart(everything)  # as the leader does
        await plane.settle()
        assert plane.probes["a"].calls["task start"] == 2
        assert plane.statuses.task(A0) == theirs
        assert plane.statuses.task(A1) == Status(State.RUNNING, "follower:8083", 4, version="1.0")


@virtual
async def test_an_assignment_of_what_is_deleted_already_is_harmless() -> None:
    member = Follower()
    stores = await _stores()
    await stores[0].delete_connector("b")
    async with control_plane(stores=stores, membership=member) as plane:
        member.assign(4, {"a", "b", "gone"}, {A0, B0, ConnectorTaskId("gone", 0)})
        await plane.settle()
        assert _running(plane) == {A0}
