"""Tasks on their worker: a failed one is a status and nothing more (DESIGN section 6)."""

from __future__ import annotations

import asyncio

import pytest

from connectd.errors import ProducerLostError, SendAgainError, TopicGoneError
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import LifecycleEvent, State
from connectd.runtime.lives import LifeSettings
from connectd.runtime.statuses import LATE_S
from connectd.runtime.task_life import REWIND_STEADY_S, REWINDS_MAX
from connectd.stores.memory import MemoryConfigStore, MemoryOffsetStore, MemoryStatusStore
from tests.kit.control_plane import Plane, control_plane, src
from tests.kit.virtual import virtual

S0 = ConnectorTaskId("s", 0)


def _trace(plane: Plane, task: ConnectorTaskId) -> str:
    status = plane.statuses.task(task)
    assert status is not None
    assert status.state is State.FAILED
    assert status.trace is not None
    return status.trace


@virtual
async def test_a_task_that_fails_fails_alone_and_is_not_restarted_by_itself() -> None:
    async with control_plane() as plane:
        await plane.create("s", tasks_max="3")
        plane.probes["s"].latest(1).fail(ValueError("access denied"))
        await plane.settle(3600.0)
        assert await plane.states("s") == ("RUNNING", ["RUNNING", "FAILED", "RUNNING"])
        assert _trace(plane, ConnectorTaskId("s", 1)).startswith("ValueError: access denied\n")
        assert len(plane.probes["s"].runners) == 3
        assert plane.failures == []


@virtual
async def test_a_task_that_fails_at_its_start_says_why() -> None:
    """H68."""
    async with control_plane() as plane:
        plane.probes["s"].task_start_error = ValueError("no such table")
        await plane.create("s")
        assert await plane.states("s") == ("RUNNING", ["FAILED"])
        assert _trace(plane, S0).startswith("ValueError: no such table\n")


@virtual
async def test_a_task_that_ends_though_nobody_stopped_it_has_failed() -> None:
    """RUNNING means running."""
    async with control_plane() as plane:
        await plane.create("s")
        plane.probes["s"].latest().finish()
        await plane.settle()
        assert "task s-0 ended, it was to run until stopped" in _trace(plane, S0)


@virtual
async def test_a_failure_that_a_task_survives_stays_visible_until_its_restart() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        probe = plane.probes["s"]
        probe.latest().report_failure(ValueError("table t2 is gone"))
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["FAILED"])
        assert probe.alive() == [S0]
        for verb in ("pause", "resume"):
            await plane.client.put(f"/connectors/s/{verb}")
            await plane.settle()
            assert (await plane.states("s"))[1] == ["FAILED"]
        assert _trace(plane, S0).startswith("ValueError: table t2 is gone\n")
        first = probe.latest()
        await plane.client.post("/connectors/s/restart?includeTasks=true&onlyFailed=true")
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])
        assert probe.latest() is not first
        assert probe.alive() == [S0]


@virtual
async def test_a_runner_that_reports_what_cannot_happen_fails() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        runner = plane.probes["s"].latest()
        with pytest.raises(AssertionError, match="RESUMED cannot happen to something RUNNING"):
            runner.spec.on_event(LifecycleEvent.RESUMED, None)


@virtual
async def test_stopping_a_deaf_task_takes_its_grace_and_then_cancels_it() -> None:
    async with control_plane(lives=LifeSettings(task_grace_s=20.0)) as plane:
        await plane.create("s", tasks_max="5")
        plane.probes["s"].ignores_stop = True
        await plane.client.put("/connectors/s/stop")
        await plane.settle(19.0)
        assert len(plane.probes["s"].alive()) == 5
        await plane.settle(1.1)
        assert plane.probes["s"].alive() == []


@virtual
async def test_an_abandoned_task_writes_no_status_any_more() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        probe = plane.probes["s"]
        probe.ignores_stop = probe.ignores_cancel = True
        old = probe.latest()
        await plane.client.post("/connectors/s/restart?includeTasks=true")
        await plane.settle(11.0)
        assert old.is_abandoned
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])
        before = plane.statuses.task(S0)
        old.spec.on_event(LifecycleEvent.FAILED, ValueError("zombie"))
        old.fail(ValueError("zombie ends"))
        await plane.settle()
        assert plane.statuses.task(S0) == before
        probe.ignores_stop = probe.ignores_cancel = False


@virtual
async def test_old_tasks_of_a_connector_end_before_new_ones_begin() -> None:
    """Two lives reading the same table would undo each other's offsets."""
    async with control_plane() as plane:
        await plane.create("s", tasks_max="3")
        probe = plane.probes["s"]
        probe.ignores_stop = True
        await plane.client.put("/connectors/s/config", src("s", tasks_max="2", probe_topic="t2"))
        for _ in range(100):
            await plane.settle(0.1)
            topics = {
                runner.spec.task_config["probe.topic"]
                for runner in probe.runners
                if runner.is_alive
            }
            assert len(topics) <= 1
        assert topics == {"t2"}
        assert len(probe.alive()) == 2
        probe.ignores_stop = False


@virtual
async def test_one_connector_that_stops_slowly_holds_up_no_other() -> None:
    async with control_plane() as plane:
        for name in ("slow", "quick"):
            await plane.create(name)
        plane.probes["slow"].ignores_stop = True
        for name in ("slow", "quick"):
            await plane.client.put(f"/connectors/{name}/stop")
        await plane.settle()
        assert plane.probes["quick"].alive() == []
        assert len(plane.probes["slow"].alive()) == 1


@virtual
async def test_a_task_set_that_is_too_large_by_now_fails_each_of_its_tasks() -> None:
    """Spec B.9: the check runs when tasks start, too."""
    stores = (MemoryConfigStore(), MemoryOffsetStore(), MemoryStatusStore())
    await stores[0].put_connector("s", src("s", tasks_max="2"))
    await stores[0].put_tasks("s", [{"n": "0"}, {"n": "1"}, {"n": "2"}])
    hang = asyncio.Event()
    async with control_plane(stores=stores, opens=hang.wait) as plane:
        plane.probes["s"].start_gate = gate = asyncio.Event()
        hang.set()
        await plane.settle(LATE_S + 0.1)
        assert (await plane.states("s"))[1] == ["FAILED"] * 3
        assert "has generated 3 tasks, which is greater than 2" in _trace(plane, S0)
        gate.set()
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING", "RUNNING"])


@virtual
async def test_pausing_reaches_a_task_that_begins_later() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        await plane.client.put("/connectors/s/pause")
        await plane.settle()
        assert (await plane.client.post("/connectors/s/tasks/0/restart")).status == 204
        await plane.settle()
        assert await plane.states("s") == ("PAUSED", ["PAUSED"])
        assert plane.probes["s"].calls["task start"] == 1
        await plane.client.put("/connectors/s/resume")
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])


@virtual
async def test_the_tables_of_a_paused_task_say_so() -> None:
    async with control_plane() as plane:
        await plane.create("s")

        async def row() -> tuple[object, object]:
            rows = (await plane.client.get("/connectd/connectors/s/tables")).json()["tables"]
            (found,) = [row for row in rows if row.get("table") == "t0"]
            return found["state"], found.get("reason")

        assert await row() == ("SYNC", None)
        await plane.client.put("/connectors/s/pause")
        await plane.settle()
        assert await row() == ("PAUSED", "the connector is paused; before it was in SYNC")
        await plane.client.put("/connectors/s/resume")
        await plane.settle()
        assert await row() == ("SYNC", None)


@virtual
async def test_a_restart_is_seen_by_whoever_asks_next() -> None:
    """R22: FAILED is not shown any more once the restart was accepted."""
    async with control_plane() as plane:
        await plane.create("s", tasks_max="2")
        plane.probes["s"].latest(1).fail(ValueError("boom"))
        await plane.settle()
        await plane.client.post("/connectors/s/restart?onlyFailed=true&includeTasks=true")
        assert await plane.states("s") == ("RUNNING", ["RUNNING", "RESTARTING"])
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING", "RUNNING"])


GONE = TopicGoneError("producing to topic t: there is no such topic")
LOST = ProducerLostError("producing: all brokers are lost")


@pytest.mark.parametrize("why", [GONE, LOST], ids=["topic", "producer"])
@virtual
async def test_a_task_that_has_to_send_again_goes_back_by_itself_and_shows_no_failure(
    why: SendAgainError,
) -> None:
    async with control_plane() as plane:
        await plane.create("s")
        probe = plane.probes["s"]
        for number in range(1, 4):
            probe.latest().fail(why)
            await plane.settle(REWIND_STEADY_S + 20.0)
            assert len(probe.runners) == 1 + number
            assert await plane.states("s") == ("RUNNING", ["RUNNING"])
        # Each has lived long: they do not add up.
        for _ in range(REWINDS_MAX):
            probe.latest().fail(why)
            await plane.settle(20.0)
            assert await plane.states("s") == ("RUNNING", ["RUNNING"])
        assert probe.alive() == [S0]


@virtual
async def test_a_task_that_loses_one_producer_after_another_fails_never() -> None:
    """Brokers that are away are waited for without end."""
    async with control_plane() as plane:
        await plane.create("s")
        probe = plane.probes["s"]
        for _ in range(3 * REWINDS_MAX):
            probe.latest().fail(LOST)
            await plane.settle(20.0)
            assert await plane.states("s") == ("RUNNING", ["RUNNING"])
        assert probe.alive() == [S0]


@virtual
async def test_a_task_whose_topic_does_not_come_back_fails_and_says_so() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        probe = plane.probes["s"]
        for _ in range(REWINDS_MAX + 1):
            probe.latest().fail(GONE)
            await plane.settle(20.0)
        assert await plane.states("s") == ("RUNNING", ["FAILED"])
        assert "there is no such topic" in _trace(plane, S0)
        assert len(probe.runners) == REWINDS_MAX + 1


@virtual
async def test_a_task_that_waits_for_its_topic_can_be_stopped_and_paused() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        probe = plane.probes["s"]
        probe.latest().fail(GONE)
        await plane.settle()
        await plane.client.put("/connectors/s/pause")
        await plane.settle(20.0)
        assert await plane.states("s") == ("PAUSED", ["PAUSED"])
        await plane.client.put("/connectors/s/resume")
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])
        probe.latest().fail(GONE)
        await plane.settle()
        await plane.client.put("/connectors/s/stop")
        await plane.settle()
        assert await plane.states("s") == ("STOPPED", [])
        assert probe.alive() == []


@virtual
async def test_an_input_that_had_failed_is_tried_again_with_the_others() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        probe = plane.probes["s"]
        probe.latest().report_failure(ValueError("table t2 is gone"))
        probe.latest().fail(GONE)
        await plane.settle(20.0)
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])
