"""The cluster of one."""

from __future__ import annotations

from connectd.model.cluster import ClusterConfigState
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import State
from connectd.model.status import Status
from connectd.runtime.membership import SoleMember
from connectd.stores.memory import MemoryStatusStore
from tests.kit.virtual import virtual

EMPTY = ClusterConfigState()
ONE = ClusterConfigState(
    connectors={"a": {}},
    task_configs={ConnectorTaskId("a", 0): {}},
    task_counts={"a": 1},
    generations={"a": 0},
)


@virtual
async def test_everything_is_its_own_and_it_leads() -> None:
    member = SoleMember("http://host:8083/", MemoryStatusStore())
    await member.join(ONE)
    assert member.worker_id == "host:8083"
    assert member.is_leader
    assert member.leader_url == "http://host:8083/"
    assert member.assignment.connectors == {"a"}
    assert member.assignment.tasks == {ConnectorTaskId("a", 0)}


@virtual
async def test_the_generation_counts_changes_of_the_assignment_and_nothing_else() -> None:
    member = SoleMember("http://host:8083", MemoryStatusStore())
    await member.join(EMPTY)
    assert member.assignment.generation == 0
    assert member.observe(ONE).generation == 1
    assert member.observe(ONE).generation == 1
    other_config = ClusterConfigState(
        connectors={"a": {"x": "1"}},
        task_configs=ONE.task_configs,
        task_counts=ONE.task_counts,
        generations=ONE.generations,
    )
    assert member.observe(other_config).generation == 1
    new_task_set = ClusterConfigState(
        connectors=ONE.connectors,
        task_configs=ONE.task_configs,
        task_counts=ONE.task_counts,
        generations={"a": 1},
    )
    assert member.observe(new_task_set).generation == 2
    assert member.observe(EMPTY).generation == 3


@virtual
async def test_the_generation_goes_on_from_what_earlier_lives_have_written() -> None:
    """Otherwise FAILED, a safe write, would be refused over a status of another address."""
    statuses = MemoryStatusStore()
    statuses.put_connector("a", Status(State.RUNNING, "old:8083", 17))
    statuses.put_task(ConnectorTaskId("a", 0), Status(State.RUNNING, "old:8083", 23))
    member = SoleMember("http://new:8083/", statuses)
    await member.join(EMPTY)
    assert member.assignment.generation == 24


@virtual
async def test_who_has_left_owns_nothing() -> None:
    member = SoleMember("http://host:8083/", MemoryStatusStore())
    await member.join(ONE)
    await member.leave()
    assert member.assignment.connectors == frozenset()
    assert member.assignment.tasks == frozenset()
    await member.leave()
