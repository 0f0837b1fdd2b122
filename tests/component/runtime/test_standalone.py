"""A standalone worker's answers: when they come, and their words (spec A.4, A.9, B.3; R24).

The words are those of a real standalone worker of Kafka 4.3.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from connectd.errors import ConfigError, TableGoneError
from connectd.runtime.herder import HerderSettings
from connectd.runtime.manners import STANDALONE
from connectd.runtime.membership import StandaloneMember
from connectd.runtime.requests import REQUEST_DEADLINE_S
from tests.kit.control_plane import WORKER_ID, WORKER_URL, Plane, control_plane, src
from tests.kit.virtual import virtual

NO_TASKS_FROM_OUTSIDE = (
    "Kafka Connect in standalone mode does not support externally setting task configurations."
)
NO_FENCING = "Kafka Connect in standalone mode does not support exactly-once source connectors."


@asynccontextmanager
async def standalone() -> AsyncIterator[Plane]:
    async with control_plane(
        settings=HerderSettings(manners=STANDALONE), membership=StandaloneMember(WORKER_URL)
    ) as plane:
        yield plane


def request_of(name: str, **more: str) -> dict[str, object]:
    return {"name": name, "config": src(name, **more)}


@virtual
async def test_the_answer_to_a_creation_has_the_tasks_and_they_run() -> None:
    async with standalone() as plane:
        answer = await plane.client.post("/connectors", request_of("c", tasks_max="2"))
        assert answer.status == 201
        assert [task["task"] for task in answer.json()["tasks"]] == [0, 1]
        assert await plane.states("c") == ("RUNNING", ["RUNNING", "RUNNING"])


@virtual
async def test_everything_is_of_generation_0() -> None:
    async with standalone() as plane:
        for number in range(3):
            await plane.client.post("/connectors", request_of(f"c{number}"))
        await plane.client.put("/connectors/c0/config", src("c0", tasks_max="2"))
        statuses = [plane.status(f"c{number}") for number in range(3)]
        assert {status.generation for status in statuses if status is not None} == {0}
        assert {status.worker_id for status in statuses if status is not None} == {WORKER_ID}


@virtual
async def test_the_answer_to_a_change_has_the_new_tasks() -> None:
    async with standalone() as plane:
        await plane.client.post("/connectors", request_of("c"))
        answer = await plane.client.put("/connectors/c/config", src("c", tasks_max="3"))
        assert (answer.status, len(answer.json()["tasks"])) == (200, 3)
        patched = await plane.client.patch("/connectors/c/config", {"tasks.max": "2"})
        assert (patched.status, len(patched.json()["tasks"])) == (200, 2)
        assert await plane.states("c") == ("RUNNING", ["RUNNING", "RUNNING"])


@virtual
async def test_the_same_config_again_restarts_nothing() -> None:
    async with standalone() as plane:
        await plane.client.post("/connectors", request_of("c"))
        answer = await plane.client.put("/connectors/c/config", src("c"))
        assert (answer.status, len(answer.json()["tasks"])) == (200, 1)
        assert plane.probes["c"].calls["start"] == 1
        assert len(plane.probes["c"].runners) == 1


@pytest.mark.parametrize(("wanted", "shown"), [("PAUSED", "PAUSED"), ("STOPPED", "STOPPED")])
@virtual
async def test_a_connector_may_begin_without_running(wanted: str, shown: str) -> None:
    async with standalone() as plane:
        body = {**request_of("c"), "initial_state": wanted}
        answer = await plane.client.post("/connectors", body)
        assert (answer.status, answer.json()["tasks"]) == (201, [])
        assert await plane.states("c") == (shown, [])


@pytest.mark.parametrize("where", ["start", "task_configs"])
@virtual
async def test_a_connector_that_does_not_start_leaves_nothing_behind(where: str) -> None:
    """R24."""
    async with standalone() as plane:
        probe = plane.probes["c"]
        if where == "start":
            probe.start_error = TableGoneError("the table orders does not exist")
        else:
            probe.task_configs_error = ConfigError("the table orders does not exist")
        answer = await plane.client.post("/connectors", request_of("c"))
        assert answer.status == 500
        assert answer.json()["message"] == "the table orders does not exist"
        for path in ("/connectors/c", "/connectors/c/status"):
            assert (await plane.client.get(path)).status == 404
        assert (await plane.client.get("/connectors")).json() == []
        probe.start_error = probe.task_configs_error = None
        assert (await plane.client.post("/connectors", request_of("c"))).status == 201


@virtual
async def test_a_connector_that_never_starts_is_told_and_taken_back() -> None:
    async with standalone() as plane:
        plane.probes["c"].start_gate = asyncio.Event()
        before_s = asyncio.get_running_loop().time()
        answer = await plane.client.post("/connectors", request_of("c"))
        assert answer.status == 500
        assert "waiting for connector c to take on its configuration" in answer.json()["message"]
        assert asyncio.get_running_loop().time() - before_s < REQUEST_DEADLINE_S + 15
        assert (await plane.client.get("/connectors")).json() == []


@virtual
async def test_one_that_hangs_holds_up_nobody_else() -> None:
    async with standalone() as plane:
        gate = plane.probes["slow"].start_gate = asyncio.Event()
        creating = asyncio.ensure_future(plane.client.post("/connectors", request_of("slow")))
        await plane.settle()
        before_s = asyncio.get_running_loop().time()
        assert (await plane.client.post("/connectors", request_of("quick"))).status == 201
        assert (await plane.client.get("/connectors")).json() == ["quick", "slow"]
        assert asyncio.get_running_loop().time() == before_s
        gate.set()
        assert (await creating).status == 201


@virtual
async def test_a_config_that_fails_stays_when_the_connector_was_there_before() -> None:
    async with standalone() as plane:
        await plane.client.post("/connectors", request_of("c"))
        plane.probes["c"].start_error = TableGoneError("the table orders does not exist")
        answer = await plane.client.put("/connectors/c/config", src("c", tasks_max="2"))
        assert answer.status == 500
        assert answer.json()["message"] == "the table orders does not exist"
        assert (await plane.client.get("/connectors/c/config")).json()["tasks.max"] == "2"
        assert (await plane.states("c"))[0] == "FAILED"


@virtual
async def test_a_task_that_fails_is_a_status_and_no_refusal() -> None:
    async with standalone() as plane:
        plane.probes["c"].runner_error = TableGoneError("gone")
        assert (await plane.client.post("/connectors", request_of("c"))).status == 201
        assert await plane.states("c") == ("RUNNING", ["FAILED"])


@virtual
async def test_stopped_and_deleted_is_what_the_answer_says() -> None:
    async with standalone() as plane:
        await plane.client.post("/connectors", request_of("c"))
        assert (await plane.client.put("/connectors/c/stop")).status == 204
        assert await plane.states("c") == ("STOPPED", [])
        assert plane.probes["c"].alive() == []
        await plane.client.put("/connectors/c/resume")
        assert (await plane.client.delete("/connectors/c")).status == 204
        assert (await plane.client.get("/connectors/c/status")).status == 404
        assert plane.probes["c"].alive() == []


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("POST", "/connectors/none/restart", 404, "Connector none not found"),
        ("POST", "/connectors/none/restart?includeTasks=true", 404, "Unknown connector: none"),
        ("POST", "/connectors/none/tasks/0/restart", 404, "Connector none not found"),
        ("POST", "/connectors/c/tasks/9/restart", 404, "Task c-9 not found"),
        ("PUT", "/connectors/none/stop", 500, "No connector `none` configured"),
        ("PUT", "/connectors/none/pause", 404, "Unknown connector none"),
        ("PUT", "/connectors/none/resume", 404, "Unknown connector none"),
        ("DELETE", "/connectors/none", 404, "Connector none not found"),
        ("PUT", "/connectors/c/fence", 500, NO_FENCING),
    ],
)
@virtual
async def test_the_words_of_a_standalone_worker(
    method: str, path: str, status: int, message: str
) -> None:
    async with standalone() as plane:
        await plane.client.post("/connectors", request_of("c"))
        answer = await plane.client.request(method, path)
        assert answer.json() == {"error_code": status, "message": message}
        assert answer.status == status


@virtual
async def test_task_sets_are_not_taken_from_outside() -> None:
    async with standalone() as plane:
        await plane.client.post("/connectors", request_of("c"))
        answer = await plane.client.post("/connectors/c/tasks", [{"probe.topic": "theirs"}])
        assert (answer.status, answer.json()["message"]) == (500, NO_TASKS_FROM_OUTSIDE)
        assert await plane.states("c") == ("RUNNING", ["RUNNING"])
