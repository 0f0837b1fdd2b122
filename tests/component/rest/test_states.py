"""Pause, resume, stop, restart and tasks over REST (spec kafka-connect A.4, D.2, D.3.1)."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

import pytest

from connectd.aio.jobs import JobGroup
from tests.kit.control_plane import control_plane
from tests.kit.virtual import virtual


@virtual
async def test_pause_and_resume_answer_202_and_reach_connector_and_tasks() -> None:
    """H38, H40; both are idempotent."""
    async with control_plane() as plane:
        await plane.create("s", tasks_max="2")
        for _ in range(2):
            answer = await plane.client.put("/connectors/s/pause")
            assert (answer.status, answer.body) == (202, b"")
            await plane.settle()
            assert await plane.states("s") == ("PAUSED", ["PAUSED", "PAUSED"])
        assert plane.probes["s"].calls["stop"] == 1
        assert len(plane.probes["s"].alive()) == 2
        for _ in range(2):
            answer = await plane.client.put("/connectors/s/resume")
            assert (answer.status, answer.body) == (202, b"")
            await plane.settle()
            assert await plane.states("s") == ("RUNNING", ["RUNNING", "RUNNING"])
        assert plane.probes["s"].calls["start"] == 2
        assert plane.probes["s"].calls["task start"] == 2


@virtual
async def test_stop_answers_204_takes_the_tasks_away_and_resume_brings_them_back() -> None:
    """H41, R28."""
    async with control_plane() as plane:
        await plane.create("s", tasks_max="2")
        for _ in range(2):
            answer = await plane.client.put("/connectors/s/stop")
            assert (answer.status, answer.body) == (204, b"")
            await plane.settle()
            assert await plane.states("s") == ("STOPPED", [])
            assert (await plane.client.get("/connectors/s/tasks")).json() == []
        assert plane.probes["s"].alive() == []
        assert (await plane.client.put("/connectors/s/resume")).status == 202
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING", "RUNNING"])


@virtual
async def test_a_plain_restart_answers_204_and_leaves_the_tasks_alone() -> None:
    """H52, R27: connector only, as in Kafka."""
    async with control_plane() as plane:
        await plane.create("s")
        answer = await plane.client.post("/connectors/s/restart")
        assert (answer.status, answer.body) == (204, b"")
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])
        assert plane.probes["s"].calls["start"] == 2
        assert plane.probes["s"].calls["task start"] == 1


@virtual
async def test_a_plain_restart_that_fails_is_told() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        plane.probes["s"].start_error = ValueError("no region")
        answer = await plane.client.post("/connectors/s/restart")
        assert (answer.status, answer.message) == (500, "Failed to start connector: s")
        body = (await plane.client.get("/connectors/s/status")).json()
        assert body["connector"]["state"] == "FAILED"
        assert body["connector"]["trace"].startswith("ValueError: no region\n")


@virtual
async def test_a_restart_with_flags_answers_202_with_what_is_restarting() -> None:
    """H53, R10, R22."""
    async with control_plane() as plane:
        await plane.create("s", tasks_max="2")
        answer = await plane.client.post("/connectors/s/restart?includeTasks=true")
        assert answer.status == 202
        body = answer.json()
        assert list(body) == ["name", "connector", "tasks", "type"]
        assert body["connector"]["state"] == "RESTARTING"
        assert [task["state"] for task in body["tasks"]] == ["RESTARTING", "RESTARTING"]
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING", "RUNNING"])
        assert plane.probes["s"].calls["start"] == 2
        assert plane.probes["s"].calls["task start"] == 4


@virtual
async def test_restarting_only_what_failed_leaves_the_rest_alone() -> None:
    """H54, R10."""
    async with control_plane() as plane:
        await plane.create("s", tasks_max="2")
        answer = await plane.client.post("/connectors/s/restart?onlyFailed=TRUE&includeTasks=True")
        assert answer.status == 202
        assert [task["state"] for task in answer.json()["tasks"]] == ["RUNNING", "RUNNING"]
        await plane.settle()
        assert plane.probes["s"].calls["task start"] == 2
        plane.probes["s"].latest(1).fail(ValueError("boom"))
        await plane.settle()
        answer = await plane.client.post("/connectors/s/restart?onlyFailed=true&includeTasks=true")
        body = answer.json()
        assert body["connector"]["state"] == "RUNNING"
        assert [task["state"] for task in body["tasks"]] == ["RUNNING", "RESTARTING"]
        assert "boom" in body["tasks"][1]["trace"], "as Kafka answers: why it is restarted"
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING", "RUNNING"])
        assert plane.probes["s"].calls["task start"] == 3


@pytest.mark.parametrize("query", ["", "?includeTasks=yes", "?onlyFailed=1&includeTasks=0"])
@virtual
async def test_anything_but_true_is_false(query: str) -> None:
    async with control_plane() as plane:
        await plane.create("s")
        assert (await plane.client.post(f"/connectors/s/restart{query}")).status == 204


@virtual
async def test_restarting_is_visible_while_the_old_task_takes_its_time_to_stop() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        plane.probes["s"].ignores_stop = True
        await plane.client.post("/connectors/s/restart?includeTasks=true")
        await plane.settle(1.0)
        assert await plane.states("s") == ("RESTARTING", ["RESTARTING"])
        await plane.settle(10.0)
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])


@virtual
async def test_a_restart_needs_a_status() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        plane.statuses.put_connector("s", None)
        answer = await plane.client.post("/connectors/s/restart?includeTasks=true")
        assert (answer.status, answer.message) == (404, "Status for connector s not found")


@virtual
async def test_tasks_are_listed_with_their_configs() -> None:
    """H29, H30."""
    async with control_plane() as plane:
        await plane.create("s", tasks_max="2")
        answer = await plane.client.get("/connectors/s/tasks")
        assert [task["id"] for task in answer.json()] == [
            {"connector": "s", "task": 0},
            {"connector": "s", "task": 1},
        ]
        assert answer.json()[1]["config"] == {
            "probe.topic": "t1",
            "number": "1",
            "task.class": "tests.kit.probes.ProbeTask",
        }
        answer = await plane.client.get("/connectors/s/tasks/1/status")
        assert answer.json() == {
            "id": 1,
            "state": "RUNNING",
            "worker_id": "worker:8083",
            "version": "1.0",
        }
        answer = await plane.client.get("/connectors/s/tasks/7/status")
        assert (answer.status, answer.message) == (404, "No status found for task s-7")
        answer = await plane.client.get("/connectors/s/tasks/-1/status")
        assert (answer.status, answer.message) == (404, "No status found for task s--1")


@pytest.mark.parametrize(
    "task", ["x", "1.0", "--1", "٣", "2147483648", "99999999999999999999", "%20"]
)
@virtual
async def test_a_task_that_is_no_number_is_no_path(task: str) -> None:
    async with control_plane() as plane:
        await plane.create("s")
        answer = await plane.client.get(f"/connectors/s/tasks/{quote(task, safe='%')}/status")
        assert (answer.status, answer.message) == (404, "HTTP 404 Not Found")


@virtual
async def test_one_task_can_be_restarted() -> None:
    """H56."""
    async with control_plane() as plane:
        await plane.create("s", tasks_max="2")
        plane.probes["s"].latest(1).fail(ValueError("boom"))
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING", "FAILED"])
        answer = await plane.client.post("/connectors/s/tasks/1/restart")
        assert (answer.status, answer.body) == (204, b"")
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING", "RUNNING"])
        assert plane.probes["s"].calls["task start"] == 3
        answer = await plane.client.post("/connectors/s/tasks/9/restart")
        assert (answer.status, answer.message) == (404, "Unknown task: s-9")
        answer = await plane.client.post("/connectors/none/tasks/0/restart")
        assert (answer.status, answer.message) == (404, "Unknown connector: none")


@virtual
async def test_a_task_that_cannot_even_be_made_is_told() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        plane.probes["s"].runner_error = ValueError("no converter")
        answer = await plane.client.post("/connectors/s/tasks/0/restart")
        assert (answer.status, answer.message) == (500, "Failed to start task: s-0")
        body = (await plane.client.get("/connectors/s/tasks/0/status")).json()
        assert body["state"] == "FAILED"
        assert body["trace"].startswith("ValueError: no converter\n")


@virtual
async def test_a_restart_that_waits_for_a_hanging_start_ends_at_its_deadline() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        plane.probes["s"].start_gate = asyncio.Event()
        answer = await plane.client.post("/connectors/s/restart")
        assert answer.status == 500
        assert answer.message.startswith(
            "Request timed out. The worker is currently restarting connector s, which began at "
        )


@virtual
async def test_two_restarts_at_once_both_succeed() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        statuses: list[int] = []

        async def restart() -> None:
            statuses.append((await plane.client.post("/connectors/s/restart")).status)

        jobs = JobGroup("test")
        jobs.spawn("one", restart())
        jobs.spawn("two", restart())
        assert await jobs.join(deadline_s=60.0)
        assert statuses == [204, 204]
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])
