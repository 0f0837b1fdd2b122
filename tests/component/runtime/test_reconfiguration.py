"""Task sets follow their connectors (spec kafka-connect D.3, B.9)."""

from __future__ import annotations

import asyncio

import pytest

from connectd.errors import ConfigError, FatalTaskError, RetriableError
from connectd.model.cluster import Config
from connectd.model.states import State
from tests.kit.control_plane import Plane, control_plane, src
from tests.kit.virtual import virtual


def _generation(plane: Plane) -> int:
    return plane.configs.snapshot().generations["s"]


def _request(plane: Plane) -> None:
    context = plane.probes["s"].context
    assert context is not None
    context.request_task_reconfiguration()


@virtual
async def test_a_request_publishes_only_what_differs() -> None:
    async with control_plane() as plane:
        await plane.create("s", tasks_max="4")
        generation = _generation(plane)
        _request(plane)
        await plane.settle()
        assert plane.probes["s"].calls["task_configs"] == 2
        assert _generation(plane) == generation
        plane.probes["s"].task_count = 2
        _request(plane)
        await plane.settle()
        assert _generation(plane) == generation + 1
        assert await plane.states("s") == ("RUNNING", ["RUNNING", "RUNNING"])


@virtual
async def test_requests_that_come_while_one_is_served_are_one_more_round() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        put = plane.configs.put_tasks

        async def slow_put(connector: str, configs: list[Config]) -> None:
            await asyncio.sleep(10.0)
            await put(connector, configs)

        plane.configs.put_tasks = slow_put  # type: ignore[method-assign, assignment]
        plane.probes["s"].task_count = 0
        for _ in range(5):
            _request(plane)
            await plane.settle()
        await plane.settle(30.0)
        assert plane.probes["s"].calls["task_configs"] == 3


@virtual
async def test_a_connector_that_is_replaced_before_it_has_answered_holds_up_nobody() -> None:
    async with control_plane() as plane:
        probe = plane.probes["s"]
        probe.task_configs_gate = asyncio.Event()
        await plane.create("s", tasks_max="2")
        assert await plane.states("s") == ("RUNNING", [])
        probe.task_configs_gate = None
        await plane.create("s", tasks_max="3")
        assert await plane.states("s") == ("RUNNING", ["RUNNING"] * 3)


@virtual
async def test_too_many_tasks_fail_the_connector_in_kafkas_words_and_once() -> None:
    async with control_plane() as plane:
        plane.probes["s"].task_count = 3
        await plane.create("s", tasks_max="2")
        await plane.settle(600.0)
        assert await plane.states("s") == ("FAILED", [])
        status = plane.status("s")
        assert status is not None
        assert status.trace is not None
        assert (
            "The connector s has generated 3 tasks, which is greater than 2, the maximum"
            in (status.trace.splitlines()[0])
        )
        assert plane.probes["s"].calls["task_configs"] == 1


@virtual
async def test_too_many_tasks_are_allowed_where_nothing_enforces_the_limit() -> None:
    async with control_plane() as plane:
        plane.probes["s"].task_count = 3
        await plane.create("s", tasks_max="2", tasks_max_enforce="false")
        assert await plane.states("s") == ("RUNNING", ["RUNNING"] * 3)


@virtual
async def test_errors_that_may_pass_are_retried_with_growing_waits() -> None:
    async with control_plane() as plane:
        probe = plane.probes["s"]
        probe.task_configs_error = RetriableError("throttled")
        await plane.create("s")
        seen: list[int] = []
        for _ in range(5):
            seen.append(probe.calls["task_configs"])
            await plane.settle(0.25 * 2 ** len(seen) / 2)
        assert seen == [1, 2, 3, 4, 5]
        await plane.settle(600.0)
        before = probe.calls["task_configs"]
        await plane.settle(120.5)
        assert probe.calls["task_configs"] - before == 2, "one a minute in the end"
        assert await plane.states("s") == ("RUNNING", [])
        probe.task_configs_error = None
        await plane.settle(60.5)
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])


@virtual
async def test_a_new_request_does_not_wait_for_the_next_try() -> None:
    async with control_plane() as plane:
        probe = plane.probes["s"]
        probe.task_configs_error = RetriableError("throttled")
        await plane.create("s")
        await plane.settle(600.0)
        probe.task_configs_error = None
        _request(plane)
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])


@pytest.mark.parametrize("error", [ConfigError("no tables"), FatalTaskError("role refused")])
@virtual
async def test_errors_that_only_a_user_can_mend_fail_the_connector(error: Exception) -> None:
    async with control_plane() as plane:
        plane.probes["s"].task_configs_error = error
        await plane.create("s")
        status = plane.status("s")
        assert status is not None
        assert status.state is State.FAILED
        assert str(error) in (status.trace or "")


@virtual
async def test_a_broker_that_is_away_is_tried_again() -> None:
    async with control_plane() as plane:
        put = plane.configs.put_tasks
        refusals = 3

        async def refuse(connector: str, configs: list[Config]) -> None:
            nonlocal refusals
            refusals -= 1
            if refusals >= 0:
                raise RetriableError("no broker")
            await put(connector, configs)

        plane.configs.put_tasks = refuse  # type: ignore[method-assign, assignment]
        await plane.create("s")
        assert await plane.states("s") == ("RUNNING", [])
        await plane.settle(5.0)
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])


@pytest.mark.parametrize("verb", ["pause", "stop"])
@virtual
async def test_a_connector_that_does_not_run_is_not_asked(verb: str) -> None:
    async with control_plane() as plane:
        await plane.create("s")
        await plane.client.put(f"/connectors/s/{verb}")
        await plane.settle()
        _request(plane)
        await plane.settle()
        assert plane.probes["s"].calls["task_configs"] == 1


@virtual
async def test_a_task_set_that_comes_too_late_is_not_published() -> None:
    """Between computing and writing, the connector was stopped."""
    async with control_plane() as plane:
        plane.probes["s"].task_configs_error = RetriableError("later")
        await plane.create("s")
        await plane.client.put("/connectors/s/stop")
        plane.probes["s"].task_configs_error = None
        _request(plane)
        await plane.settle(120.0)
        assert await plane.states("s") == ("STOPPED", [])
        changes = plane.herder.changes
        assert not await changes.publish_tasks("s", src("s"), [{"n": "0"}])
        assert not await changes.publish_tasks("none", src("none"), [{"n": "0"}])


@virtual
async def test_the_same_config_put_again_and_again_restarts_nothing() -> None:
    """R17: operators do that every two minutes."""
    async with control_plane() as plane:
        await plane.create("s", tasks_max="2")
        generation, calls = _generation(plane), dict(plane.probes["s"].calls)
        written: list[object] = []
        plane.statuses.put_connector = lambda *status, **_: written.append(status)  # type: ignore[method-assign]
        for _ in range(5):
            answer = await plane.client.put("/connectors/s/config", src("s", tasks_max="2"))
            assert answer.status == 200
            await plane.settle(60.0)
        assert _generation(plane) == generation
        assert plane.probes["s"].calls == calls
        assert written == []
