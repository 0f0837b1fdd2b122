"""What has failed is restarted by itself, if that is asked for (P01), and never in a hot loop."""

from __future__ import annotations

import asyncio

from connectd.aio.backoff import Backoff
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import State
from connectd.runtime.auto_restart import RestartPolicy
from connectd.runtime.lives import LifeSettings
from tests.kit.control_plane import Plane, control_plane
from tests.kit.virtual import virtual

S0 = ConnectorTaskId("s", 0)
HOUR_S = 3600.0
WAIT_S = 10.0
ON = LifeSettings(
    restarts=RestartPolicy(
        attempts_max=3, backoff=Backoff(initial_s=WAIT_S, max_s=60.0), steady_s=100.0
    )
)


async def _fails(plane: Plane, task: int = 0) -> None:
    plane.probes["s"].latest(task).fail(ValueError("boom"))
    await plane.settle()


def _trace(plane: Plane) -> str:
    status = plane.statuses.task(S0)
    assert status is not None
    assert status.state is State.FAILED
    assert status.trace is not None
    return status.trace


@virtual
async def test_a_failed_task_stays_failed_as_in_kafka_unless_told_otherwise() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        await _fails(plane)
        await plane.settle(HOUR_S)
        assert await plane.states("s") == ("RUNNING", ["FAILED"])
        assert "Restart" not in _trace(plane)


@virtual
async def test_a_failed_task_is_restarted_after_a_wait_and_shows_its_failure_until_then() -> None:
    async with control_plane(lives=ON) as plane:
        await plane.create("s", tasks_max="2")
        await _fails(plane)
        assert _trace(plane).startswith("ValueError: boom\n")
        assert _trace(plane).splitlines()[-1].startswith("Restart 1 of 3 follows in ")
        await plane.settle(0.4 * WAIT_S)
        assert await plane.states("s") == ("RUNNING", ["FAILED", "RUNNING"])
        await plane.settle(WAIT_S)
        assert await plane.states("s") == ("RUNNING", ["RUNNING", "RUNNING"])
        assert len(plane.probes["s"].runners) == 3, "its neighbour is left alone"


@virtual
async def test_the_failure_stays_in_sight_while_the_new_life_starts() -> None:
    gate = asyncio.Event()
    async with control_plane(lives=ON) as plane:
        plane.probes["s"].start_error = ValueError("no role")
        await plane.create("s")
        plane.probes["s"].start_error = None
        plane.probes["s"].start_gate = gate
        await plane.settle(WAIT_S + 5.0)
        assert plane.probes["s"].calls["start"] == 2
        status = plane.status("s")
        assert status is not None
        assert status.state is State.FAILED
        assert "no role" in str(status.trace)
        gate.set()
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])


@virtual
async def test_what_fails_again_and_again_is_given_up_and_the_waits_grow() -> None:
    async with control_plane(lives=ON) as plane:
        plane.probes["s"].task_start_error = ValueError("still broken")
        await plane.create("s")
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        while "Given up" not in _trace(plane):
            await plane.settle(1.0)
        waited_s = loop.time() - began_s
        assert 0.5 * (10 + 20 + 40) <= waited_s <= 10 + 20 + 40 + 5
        assert plane.probes["s"].calls["task start"] == 4
        assert _trace(plane).splitlines()[-1].startswith("Given up after 3 restarts")
        await plane.settle(HOUR_S)
        assert plane.probes["s"].calls["task start"] == 4


@virtual
async def test_one_that_runs_for_long_has_all_its_attempts_again() -> None:
    async with control_plane(lives=ON) as plane:
        await plane.create("s")
        for _ in range(5):
            await _fails(plane)
            assert "Restart 1 of 3" in _trace(plane)
            await plane.settle(WAIT_S + 1.0)
            assert await plane.states("s") == ("RUNNING", ["RUNNING"])
            assert len(plane.worker.statistics().recoveries) == 1
            await plane.settle(101.0)
            assert plane.worker.statistics().recoveries == {}


@virtual
async def test_a_restart_by_hand_begins_the_count_anew_and_leaves_no_second_one_behind() -> None:
    async with control_plane(lives=ON) as plane:
        await plane.create("s")
        await _fails(plane)
        await plane.client.post("/connectors/s/tasks/0/restart")
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])
        await plane.settle(HOUR_S)
        assert plane.probes["s"].calls["task start"] == 2
        await _fails(plane)
        assert "Restart 1 of 3" in _trace(plane)


@virtual
async def test_a_failure_that_a_task_survives_counts_once() -> None:
    async with control_plane(lives=ON) as plane:
        await plane.create("s")
        for table in ("t1", "t2"):
            plane.probes["s"].latest().report_failure(ValueError(table))
        await plane.settle(WAIT_S + 10.0)
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])
        assert plane.probes["s"].calls["task start"] == 2


@virtual
async def test_nothing_is_restarted_that_is_stopped_or_deleted_meanwhile() -> None:
    async with control_plane(lives=ON) as plane:
        for name in ("s", "d"):
            plane.probes[name].start_error = ValueError("no role")
            await plane.create(name)
        await plane.client.put("/connectors/s/stop")
        await plane.client.delete("/connectors/d")
        await plane.settle()
        assert plane.worker.statistics().recoveries == {}
        await plane.settle(HOUR_S)
        assert (await plane.states("s"))[0] == "STOPPED"
        assert plane.probes["s"].calls["start"] == 1
        assert plane.probes["d"].calls["start"] == 1


@virtual
async def test_a_worker_that_ends_restarts_nothing() -> None:
    async with control_plane(lives=ON) as plane:
        await plane.create("s")
        await _fails(plane)
    await asyncio.sleep(HOUR_S)
    assert plane.probes["s"].calls["task start"] == 1
    assert plane.failures == []
