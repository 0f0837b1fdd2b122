"""The herder as a service: starts, restarts, many connectors, ends (DESIGN section 6)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from connectd.aio.jobs import JobGroup
from connectd.errors import ConfigError, WorkerError
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import State
from connectd.model.status import Status
from connectd.runtime.statuses import LATE_S
from connectd.stores.memory import MemoryConfigStore, MemoryOffsetStore, MemoryStatusStore
from tests.kit.control_plane import Plane, control_plane, src
from tests.kit.virtual import virtual

AllStores = tuple[MemoryConfigStore, MemoryOffsetStore, MemoryStatusStore]


def _stores() -> AllStores:
    return MemoryConfigStore(), MemoryOffsetStore(), MemoryStatusStore()


async def _fill(stores: AllStores, count: int) -> None:
    for number in range(count):
        name = f"c{number}"
        await stores[0].put_connector(name, src(name))
        await stores[0].put_tasks(name, [{"probe.topic": "t1", "number": "0"}])


@virtual
async def test_two_hundred_connectors_start_promptly_even_if_one_hangs() -> None:
    """R32."""
    stores = _stores()
    await _fill(stores, 200)
    opened = asyncio.Event()
    async with control_plane(stores=stores, opens=opened.wait) as plane:
        plane.probes["c7"].start_gate = asyncio.Event()
        before_s = asyncio.get_running_loop().time()
        opened.set()
        answer = await plane.client.get("/connectors")
        assert len(answer.json()) == 200
        assert asyncio.get_running_loop().time() == before_s
        await plane.settle()
        running = (await plane.client.get("/connectors?expand=status")).json()
        assert len(running) == 199, "all others run by now"
        await plane.settle(LATE_S)
        listing = (await plane.client.get("/connectors?expand=status")).json()
        states = {name: entry["status"]["connector"]["state"] for name, entry in listing.items()}
        assert states.pop("c7") == "UNASSIGNED"
        assert set(states.values()) == {"RUNNING"}
        assert sum(len(entry["status"]["tasks"]) for entry in listing.values()) == 200


@virtual
async def test_a_restarted_worker_goes_on_with_what_is_stored() -> None:
    stores = _stores()
    async with control_plane(stores=stores) as plane:
        await plane.create("run", tasks_max="2")
        await plane.create("pause")
        await plane.create("stop")
        await plane.client.put("/connectors/pause/pause")
        await plane.client.put("/connectors/stop/stop")
        await plane.settle()
        generation = _generation(plane, "run")
        task_sets = dict(plane.configs.snapshot().generations)
    async with control_plane(stores=stores) as plane:
        assert await plane.states("run") == ("RUNNING", ["RUNNING", "RUNNING"])
        assert await plane.states("pause") == ("PAUSED", ["PAUSED"])
        assert await plane.states("stop") == ("STOPPED", [])
        assert _generation(plane, "run") > generation
        assert plane.configs.snapshot().generations == task_sets, "nothing was published again"


def _generation(plane: Plane, name: str) -> int:
    status = plane.status(name)
    assert status is not None
    return status.generation


@virtual
async def test_statuses_of_a_killed_worker_are_taken_back() -> None:
    """RUNNING means running: also before the first start has succeeded."""
    stores = _stores()
    await _fill(stores, 1)
    task = ConnectorTaskId("c0", 0)
    stores[2].put_connector("c0", Status(State.RUNNING, "killed:8083", 40))
    stores[2].put_task(task, Status(State.RUNNING, "killed:8083", 40))
    stores[2].put_connector("deleted", Status(State.RUNNING, "killed:8083", 12))
    stores[2].put_task(ConnectorTaskId("c0", 5), Status(State.FAILED, "killed:8083", 12, "x"))
    opened = asyncio.Event()
    async with control_plane(stores=stores, opens=opened.wait) as plane:
        plane.probes["c0"].start_gate = asyncio.Event()
        plane.probes["c0"].task_start_error = ValueError("still broken")
        opened.set()
        await plane.settle()
        assert plane.status("c0") == Status(State.UNASSIGNED, "worker:8083", 42)
        status = plane.statuses.task(task)
        assert status is not None
        assert (status.state, status.generation) == (State.FAILED, 42)
        assert plane.status("deleted") is None
        assert await plane.states("c0") == ("UNASSIGNED", ["FAILED"])


@virtual
async def test_the_end_leaves_unassigned_behind_and_failures_visible() -> None:
    stores = _stores()
    async with control_plane(stores=stores) as plane:
        await plane.create("a", tasks_max="2")
        await plane.create("b")
        plane.probes["a"].latest(1).fail(ValueError("x"))
        context = plane.probes["b"].context
        assert context is not None
        context.raise_error(ValueError("y"))
        await plane.settle()
    statuses = stores[2]
    shown = {
        "a": statuses.connector("a"),
        "b": statuses.connector("b"),
        "a-0": statuses.task(ConnectorTaskId("a", 0)),
        "a-1": statuses.task(ConnectorTaskId("a", 1)),
        "b-0": statuses.task(ConnectorTaskId("b", 0)),
    }
    states = {name: status.state for name, status in shown.items() if status is not None}
    assert states == {
        "a": State.UNASSIGNED,
        "b": State.FAILED,
        "a-0": State.UNASSIGNED,
        "a-1": State.FAILED,
        "b-0": State.UNASSIGNED,
    }
    assert plane.probes["a"].calls["stop"] == 1
    assert plane.failures == []
    assert plane.worker.statistics().running == ()


@virtual
async def test_the_end_is_bounded_whatever_the_plugins_do() -> None:
    async with control_plane() as plane:
        for name in ("a", "b", "c"):
            await plane.create(name)
        for name in ("a", "b", "c"):
            plane.probes[name].stop_gate = asyncio.Event()
            plane.probes[name].ignores_stop = plane.probes[name].ignores_cancel = True
        before_s = asyncio.get_running_loop().time()
        plane.herder.stop()
        await plane.settle(60.0)
        assert (await plane.client.get("/connectors")).message == "Worker is shutting down"
    assert asyncio.get_running_loop().time() - before_s < 61.0
    assert all(plane.probes[name].latest().is_abandoned for name in ("a", "b", "c"))
    for name in ("a", "b", "c"):
        plane.probes[name].latest().finish()
    assert plane.failures == []


@virtual
async def test_the_end_may_come_before_the_start_is_over() -> None:
    async with control_plane(opens=asyncio.Event().wait) as plane:
        before_s = asyncio.get_running_loop().time()
        plane.herder.stop()
        await plane.settle()
    assert asyncio.get_running_loop().time() - before_s < 1.0
    assert plane.failures == []


@virtual
async def test_an_internal_topic_that_cannot_be_used_ends_the_worker_with_its_text() -> None:
    async def refuse() -> None:
        raise ConfigError("cleanup.policy is delete")

    async with control_plane(opens=refuse) as plane:
        assert [str(error) for error in plane.failures] == ["cleanup.policy is delete"]


@virtual
async def test_a_store_that_failed_for_good_ends_the_worker_loudly() -> None:
    async def fail(*args: object) -> None:
        raise WorkerError("config log: reader died")

    async with control_plane() as plane:
        await plane.create("s")
        plane.configs.put_target = fail  # type: ignore[method-assign, assignment]
        answer = await plane.client.put("/connectors/s/pause")
        assert (answer.status, answer.message) == (500, "config log: reader died")
        await plane.settle(60.0)
        assert [str(error) for error in plane.failures] == ["config log: reader died"]
        assert plane.probes["s"].alive() == []


@virtual
async def test_a_tick_that_fails_ends_the_worker_loudly() -> None:
    async with control_plane() as plane:
        await plane.create("s")

        def explode(work: Any) -> None:
            raise ZeroDivisionError("a bug")

        plane.worker.assign = explode  # type: ignore[method-assign, assignment]
        await plane.client.get("/health")
        await plane.settle(60.0)
        assert "ZeroDivisionError" in {type(error).__name__ for error in plane.failures}


@virtual
async def test_a_supervisor_that_fails_ends_the_worker_loudly() -> None:
    async with control_plane() as plane:

        def explode(*args: object) -> None:
            raise ZeroDivisionError("a bug")

        plane.worker._maker.connector_life = explode  # type: ignore[method-assign, assignment]
        await plane.create("s")
        await plane.settle(60.0)
        assert [type(error) for error in plane.failures] == [ZeroDivisionError]


@virtual
async def test_a_lost_wake_up_costs_latency_and_nothing_else() -> None:
    async with control_plane() as plane:
        plane.configs.on_change = None
        await plane.configs.put_connector("s", src("s"))
        await plane.settle(31.0)
        assert (await plane.states("s"))[0] == "RUNNING"
        await plane.settle(31.0)
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])


@virtual
async def test_what_was_only_just_created_can_be_restarted() -> None:
    async with control_plane() as plane:
        assert (await plane.client.put("/connectors/s/config", src("s"))).status == 201
        assert (await plane.client.post("/connectors/s/restart")).status == 204
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])


@virtual
async def test_restarts_that_arrive_together_are_one_and_the_strongest() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        for query in ("onlyFailed=true", "includeTasks=true", "onlyFailed=true&includeTasks=true"):
            await plane.client.post(f"/connectors/s/restart?{query}")
        await plane.settle()
        assert plane.probes["s"].calls["start"] == 2
        assert plane.probes["s"].calls["task start"] == 2
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])


@pytest.mark.parametrize("count", [1, 20])
@virtual
async def test_quiet_workers_do_nothing(count: int) -> None:
    async with control_plane() as plane:
        for number in range(count):
            await plane.create(f"c{number}")
        offset = plane.configs.snapshot().offset
        calls = [plane.probes[f"c{number}"].calls.copy() for number in range(count)]
        await plane.settle(24 * 3600.0)
        assert plane.configs.snapshot().offset == offset
        assert [plane.probes[f"c{number}"].calls for number in range(count)] == calls


@virtual
async def test_probes_that_ask_side_by_side_all_find_it_healthy() -> None:
    async with control_plane() as plane:
        statuses: list[int] = []

        async def probe() -> None:
            statuses.extend([(await plane.client.get("/health")).status for _ in range(20)])

        jobs = JobGroup("probes")
        for number in range(5):
            jobs.spawn(f"probe-{number}", probe())
        assert await jobs.join(deadline_s=60.0)
        assert set(statuses) == {200}
        assert len(statuses) == 100
