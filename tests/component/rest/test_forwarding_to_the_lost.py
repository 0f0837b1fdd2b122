"""What is asked of a leader that is lost meanwhile: the next one does it, or nobody; nobody late.

The line of a lost leader to the group is cut; requests still reach it, and wait there. When the
line is mended it finds them, as a process that was frozen finds them in its sockets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from connectd.runtime.peers import PeerAnswer, PeerError
from tests.component.rest.test_forwarding import OPTIONS, two
from tests.kit.asgi_client import Answer
from tests.kit.cluster import Cluster, Worker
from tests.kit.control_plane import src
from tests.kit.virtual import virtual

LEASE_SHORT_S = 8.0
"""The leader has stopped what it runs, and still leads as far as the others know."""

IO_ERROR = "IO Error trying to forward REST request: "


async def lose(cluster: Cluster, worker: Worker) -> None:
    worker.session.is_cut = True
    await cluster.settle(LEASE_SHORT_S)


async def mend(cluster: Cluster, worker: Worker) -> None:
    worker.session.is_cut = False
    await cluster.settle(60.0)


def written(cluster: Cluster, key: str) -> int:
    return [each for each, _ in cluster.configs.records].count(key)


@virtual
async def test_what_may_be_done_twice_is_done_by_the_new_leader() -> None:
    async with Cluster(options=OPTIONS) as cluster:
        lost, follower = await two(cluster)
        await lose(cluster, lost)
        answer = await follower.plane.client.put("/connectors/a/config", src("a"))
        assert answer.status == 201
        assert cluster.leader() is follower
        assert written(cluster, "connector-a") == 1
        await follower.plane.client.delete("/connectors/a")
        await mend(cluster, lost)
        assert (await lost.plane.client.get("/connectors")).json() == []


@pytest.mark.parametrize(
    ("method", "path", "content"),
    [
        ("POST", "/connectors", {"name": "b", "config": src("b")}),
        ("PATCH", "/connectors/a/config", {"tasks.max": "2"}),
        ("DELETE", "/connectors/a", None),
    ],
)
@virtual
async def test_what_may_not_is_given_up_and_does_not_happen_later(
    method: str, path: str, content: object
) -> None:
    async with Cluster(options=OPTIONS) as cluster:
        lost, follower = await two(cluster)
        await follower.plane.create("a")
        await cluster.settle()
        before = len(cluster.configs.records)
        await lose(cluster, lost)
        answer = await follower.plane.client.request(method, path, content)
        assert answer.status == 500
        assert answer.message.startswith(f"{IO_ERROR}http://w1:8083/connectors")
        assert answer.message.endswith("look whether it was done, and ask again if not")
        await mend(cluster, lost)
        assert [key for key, _ in cluster.configs.records[before:]] == []
        refused = [await each for each in cluster.questions if (await each).status >= 400]
        assert "has given it up" in refused[-1].message


@virtual
async def test_what_waits_for_its_turn_at_the_leader_when_it_is_given_up_does_not_happen() -> None:
    async with Cluster(options=OPTIONS) as cluster:
        leader, follower = await two(cluster)
        await follower.plane.create("a")
        hung_up = asyncio.Event()
        async with asyncio.TaskGroup() as jobs, leader.plane.herder._gate.turn("a"):
            late = jobs.create_task(
                leader.plane.client.request("DELETE", "/connectors/a?forward=true", hung_up=hung_up)
            )
            await asyncio.sleep(1.0)
            hung_up.set()
        assert late.result().status == 500
        assert (await follower.plane.client.get("/connectors/a")).status == 200


@virtual
async def test_what_waits_for_its_turn_when_the_leader_is_lost_does_not_happen() -> None:
    async with Cluster(options=OPTIONS) as cluster:
        lost, follower = await two(cluster)
        await follower.plane.create("a")
        await cluster.settle()
        before = len(cluster.configs.records)
        async with asyncio.TaskGroup() as jobs:
            async with lost.plane.herder._gate.turn("a"):
                change = jobs.create_task(lost.plane.client.delete("/connectors/a"))
                await asyncio.sleep(1.0)
                await lose(cluster, lost)
                await cluster.settle(10.0)
                assert cluster.leader() is follower
            assert (await change).status == 409
        assert cluster.configs.records[before:] == []
        await mend(cluster, lost)


@virtual
async def test_a_restart_is_not_waited_for_where_the_owner_is_lost() -> None:
    async with Cluster(options=OPTIONS) as cluster:
        leader, lost = await two(cluster)
        await leader.plane.client.put("/connectors/a/config", src("a", tasks_max="2"))
        await cluster.settle()
        (task,) = lost.running()
        await lose(cluster, lost)
        answer = await leader.plane.client.post(f"/connectors/a/tasks/{task.task}/restart")
        assert answer.status == 409  # nobody has it, for the time that a lost worker is waited for


class Unreachable:
    """Nobody can be reached."""

    async def ask(
        self, method: str, url: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> PeerAnswer:
        raise PeerError(f"{url}: no route", is_unsent=True)


@virtual
async def test_what_the_lost_leader_has_not_heard_of_is_done_by_the_new_one() -> None:
    async with Cluster(options=OPTIONS) as cluster:
        lost, follower = await two(cluster)
        cluster.instead = Unreachable()
        lost.session.is_cut = True
        answer = await follower.plane.client.post("/connectors", {"name": "a", "config": src("a")})
        assert answer.status == 201
        lost.session.is_cut = False


@virtual
async def test_a_leader_that_stays_and_cannot_be_reached_is_not_waited_for_without_end() -> None:
    async with Cluster(options=OPTIONS) as cluster:
        _, follower = await two(cluster)
        cluster.instead = Unreachable()
        answer = await follower.plane.client.post("/connectors", {"name": "a", "config": src("a")})
        assert answer.status == 500
        assert answer.message == f"{IO_ERROR}http://w1:8083/connectors?forward=true: no route"


async def put(worker: Worker, deadline_ms: str) -> Answer:
    headers = {"X-Connectd-Deadline-Ms": deadline_ms}
    return await worker.plane.client.put("/connectors/a/config", src("a"), headers=headers)


@virtual
async def test_the_time_of_a_request_is_one_for_all_workers_that_it_meets() -> None:
    async with Cluster(options=OPTIONS) as cluster:
        leader, _ = await two(cluster)
        late = await put(leader, "0")
        assert (late.status, written(cluster, "connector-a")) == (500, 0)
        assert late.message.startswith("Request timed out")
        for nonsense in ("", "-1", "1e3", "\u0663", "9" * 40):
            assert (await put(leader, nonsense)).status in (200, 201)

        leader.session.is_cut = True
        await asyncio.sleep(LEASE_SHORT_S)
        clock = asyncio.get_running_loop()
        began_s = clock.time()
        late = await put(leader, "3000")
        assert late.message.startswith("Request timed out. The worker is currently ensuring")
        assert 2.9 < clock.time() - began_s < 3.1
        leader.session.is_cut = False
        await cluster.settle(60.0)


@virtual
async def test_whoever_has_changed_something_sees_it_where_it_was_asked() -> None:
    async with Cluster(options=OPTIONS) as cluster:
        _, follower = await two(cluster)
        follower.plane.configs.lags = True  # type: ignore[attr-defined]
        client = follower.plane.client
        assert (await client.put("/connectors/a/config", src("a"))).status == 201
        assert (await client.get("/connectors/a")).status == 200
        await client.patch("/connectors/a/config", {"tasks.max": "2"})
        assert (await client.get("/connectors/a/config")).json()["tasks.max"] == "2"
        assert (await client.delete("/connectors/a")).status == 204
        assert (await client.get("/connectors/a")).status == 404


@virtual
async def test_a_restart_finds_what_another_worker_has_only_just_made() -> None:
    async with Cluster(options=OPTIONS) as cluster:
        leader, follower = await two(cluster)
        follower.plane.configs.lags = True  # type: ignore[attr-defined]
        await leader.plane.client.put("/connectors/a/config", src("a", tasks_max="1"))
        assert (await follower.plane.client.post("/connectors/a/restart")).status == 204
        await cluster.settle()
        assert (await follower.plane.client.post("/connectors/a/tasks/0/restart")).status == 204
        assert (await follower.plane.client.post("/connectors/b/restart")).status == 404
