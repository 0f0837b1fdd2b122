"""Any worker of a cluster answers: it passes on what is another's (spec kafka-connect A.1.5)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from connectd.configdef.session_key_settings import SessionKeySettings
from connectd.runtime.herder import HerderSettings
from connectd.runtime.peers import PeerAnswer, PeerError
from tests.kit.cluster import Cluster, Worker
from tests.kit.control_plane import Options, Plane, src
from tests.kit.virtual import virtual

SIGNING = SessionKeySettings("HmacSHA256", 32, 3_600_000, "HmacSHA256", ("HmacSHA256",))
OPTIONS = Options(settings=HerderSettings(session_keys=SIGNING))


def probe_tasks(count: int) -> list[dict[str, str]]:
    """As the probe makes them: nothing needs to be published."""
    task_class = "tests.kit.probes.ProbeTask"
    return [
        {"probe.topic": "t1", "number": str(number), "task.class": task_class}
        for number in range(count)
    ]


async def two(cluster: Cluster) -> tuple[Worker, Worker]:
    """The leader and a follower, at rest."""
    leader, follower = await cluster.start("w1"), await cluster.start("w2")
    await cluster.settle(30.0)
    assert leader.member.is_leader
    return leader, follower


@virtual
async def test_a_follower_lets_the_leader_create_change_and_delete() -> None:
    async with Cluster(options=OPTIONS) as cluster:
        _, follower = await two(cluster)
        client = follower.plane.client
        created = await client.post("/connectors", {"name": "a", "config": src("a")})
        assert created.status == 201
        assert created.headers["location"] == "http://worker:8083/connectors/a"
        assert created.json()["name"] == "a"
        assert cluster.asked == ["POST http://w1:8083/connectors?forward=true"]
        changed = await client.put("/connectors/a/config", src("a", tasks_max="2"))
        assert (changed.status, changed.json()["config"]["tasks.max"]) == (200, "2")
        patched = await client.request("PATCH", "/connectors/a/config", {"tasks.max": "1"})
        assert (patched.status, patched.json()["config"]["tasks.max"]) == (200, "1")
        await cluster.settle()
        assert (await client.put("/connectors/a/stop")).status == 204
        assert (await client.request("DELETE", "/connectors/a/offsets")).status == 200
        assert (await client.request("DELETE", "/connectors/a")).status == 204
        assert (await client.get("/connectors")).json() == []


@virtual
async def test_the_leaders_refusal_is_the_followers() -> None:
    async with Cluster(options=OPTIONS) as cluster:
        _, follower = await two(cluster)
        client = follower.plane.client
        refused = await client.request("DELETE", "/connectors/none")
        assert (refused.status, refused.message) == (404, "Connector none not found")
        invalid = await client.put("/connectors/a/config", src("a", tasks_max="none"))
        assert invalid.status == 400


@virtual
async def test_wherever_the_connector_runs_the_leader_writes_its_tasks() -> None:
    async with Cluster(options=OPTIONS) as cluster:
        leader, follower = await two(cluster)
        for name in ("a", "b"):
            await leader.plane.client.put(f"/connectors/{name}/config", src(name, tasks_max="2"))
        await cluster.settle()
        assert follower.member.assignment.connectors  # so its tasks came by way of the leader
        assert any(each.startswith("POST http://w1:8083/connectors/") for each in cluster.asked)
        assert sorted(map(len, cluster.placed().values())) == [2, 2]


@virtual
async def test_a_restart_finds_the_worker_that_runs_it() -> None:
    async with Cluster(options=OPTIONS) as cluster:
        leader, follower = await two(cluster)
        await leader.plane.client.put("/connectors/a/config", src("a", tasks_max="2"))
        await cluster.settle()
        for worker in (leader, follower):
            cluster.asked.clear()
            for task in ("0", "1"):
                answer = await worker.plane.client.post(f"/connectors/a/tasks/{task}/restart")
                assert answer.status == 204
            assert len(cluster.asked) == 1
        starts = [each.plane.probes["a"].calls["task start"] for each in (leader, follower)]
        assert starts == [3, 3]


@virtual
async def test_a_restart_that_meets_a_new_task_set_waits_for_its_start() -> None:
    async with Cluster(options=OPTIONS) as cluster:
        leader, _ = await two(cluster)
        client = leader.plane.client
        await client.put("/connectors/a/config", src("a", tasks_max="2"))
        await cluster.settle()
        probes = [each.plane.probes["a"] for each in cluster.workers.values()]
        for each in probes:
            each.ignores_stop = True  # a restart takes its time, so that the new set meets it
        async with asyncio.TaskGroup() as jobs:
            answers = [
                jobs.create_task(client.post(f"/connectors/a/tasks/{task}/restart"))
                for task in (0, 1)
            ]
            await asyncio.sleep(0.1)
            await cluster.configs.view().put_tasks("a", probe_tasks(2))
        assert [answer.result().status for answer in answers] == [204, 204]
        for each in probes:
            each.ignores_stop = False


@virtual
async def test_a_restart_with_flags_is_everybodys() -> None:
    async with Cluster(options=OPTIONS) as cluster:
        leader, follower = await two(cluster)
        await leader.plane.client.put("/connectors/a/config", src("a", tasks_max="2"))
        await cluster.settle()
        answer = await follower.plane.client.post("/connectors/a/restart?includeTasks=true")
        assert answer.status == 202
        await cluster.settle()
        starts = [each.plane.probes["a"].calls["task start"] for each in (leader, follower)]
        assert starts == [2, 2]


@virtual
async def test_pausing_needs_nobody() -> None:
    async with Cluster(options=OPTIONS) as cluster:
        leader, follower = await two(cluster)
        await leader.plane.client.put("/connectors/a/config", src("a", tasks_max="2"))
        await cluster.settle()
        cluster.asked.clear()
        assert (await follower.plane.client.put("/connectors/a/pause")).status == 202
        assert cluster.asked == []
        await cluster.settle()
        assert await leader.plane.states("a") == ("PAUSED", ["PAUSED", "PAUSED"])


@virtual
async def test_two_hops_are_enough() -> None:
    async with Cluster(options=OPTIONS) as cluster:
        _, follower = await two(cluster)
        answer = await follower.plane.client.request("DELETE", "/connectors/a?forward=false")
        assert (answer.status, answer.message) == (
            409,
            "Cannot complete request because of a conflicting operation (e.g. worker rebalance)",
        )
        answer = await follower.plane.client.request("DELETE", "/connectors/a?forward=true")
        assert answer.status == 404
        assert cluster.asked == ["DELETE http://w1:8083/connectors/a?forward=false"]


@virtual
async def test_a_forwarded_internal_request_has_lost_its_signature() -> None:
    async with Cluster(options=OPTIONS) as cluster:
        leader, _ = await two(cluster)
        answer = await leader.plane.client.request("POST", "/connectors/a/tasks", [])
        assert (answer.status, answer.message) == (
            400,
            "Internal request missing required signature",
        )


class ScriptedPeers:
    """Answers as it is told to."""

    def __init__(self) -> None:
        self.answer = PeerAnswer(204, b"")
        self.error: PeerError | None = None
        self.is_silent = False
        self.headers: Mapping[str, str] = {}

    async def ask(
        self, method: str, url: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> PeerAnswer:
        self.headers = headers
        if self.is_silent:
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error
        return self.answer


async def _delete(plane: Plane) -> tuple[int, str]:
    answer = await plane.client.request("DELETE", "/connectors/a")
    return answer.status, answer.message


@virtual
async def test_what_is_no_answer_is_told_in_the_words_that_clients_know() -> None:
    peers = ScriptedPeers()
    async with Cluster() as cluster:
        await cluster.start("w1")
        follower = await cluster.start("w2", peers=peers)
        await cluster.settle(30.0)
        plane = follower.plane
        peers.answer = PeerAnswer(302, b"")
        text = "Unexpected status code when handling forwarded request: 302"
        assert await _delete(plane) == (500, text)
        peers.answer = PeerAnswer(502, b"<html>")
        status, text = await _delete(plane)
        assert (status, text[:40]) == (500, "IO Error trying to forward REST request:")
        peers.error = PeerError("http://w1:8083/: connection refused")
        text = "IO Error trying to forward REST request: http://w1:8083/: connection refused"
        assert await _delete(plane) == (500, text)
        peers.error = None
        peers.answer = PeerAnswer(409, json.dumps({"error_code": 409, "message": "x"}).encode())
        assert await _delete(plane) == (409, "x")
        await plane.client.request("DELETE", "/connectors/a", headers={"Authorization": "Basic x"})
        assert peers.headers == {"Authorization": "Basic x", "X-Connectd-Deadline-Ms": "90000"}


def tables_of(shown: Mapping[str, Any]) -> list[str]:
    return sorted(row["table"] for row in shown["tables"])


@virtual
async def test_every_worker_shows_the_tables_of_all_and_names_those_that_do_not_answer() -> None:
    async with Cluster(options=OPTIONS) as cluster:
        leader, follower = await two(cluster)
        await leader.plane.client.put("/connectors/a/config", src("a", tasks_max="2"))
        await cluster.settle()
        path = "/connectd/connectors/a/tables"
        for worker in (leader, follower):
            shown = (await worker.plane.client.get(path)).json()
            assert tables_of(shown) == ["skipped", "t0", "t1"]
            assert "unanswered" not in shown
        alone = (await leader.plane.client.get(f"{path}?forward=false")).json()
        assert tables_of(alone) == ["skipped", "t0"]

        cluster.away = {"w2"}
        shown = (await leader.plane.client.get(path)).json()
        assert tables_of(shown) == ["skipped", "t0"]
        reason = "http://w2:8083/connectd/connectors/a/tables?forward=false: nobody is there"
        assert shown["unanswered"] == [{"url": "http://w2:8083/", "reason": reason}]


@virtual
async def test_a_part_that_is_no_answer_is_missing_and_shows_why() -> None:
    peers = ScriptedPeers()
    async with Cluster(options=OPTIONS) as cluster:
        leader, _ = await two(cluster)
        await leader.plane.client.put("/connectors/a/config", src("a", tasks_max="2"))
        await cluster.settle()
        cluster.instead = peers
        reasons = list[str]()
        for peers.answer in (PeerAnswer(500, b"{}"), PeerAnswer(200, b"<"), PeerAnswer(200, b"[]")):
            shown = await leader.plane.client.get("/connectd/connectors/a/tables")
            (part,) = shown.json()["unanswered"]
            reasons.append(part["reason"])
        assert reasons[0] == "status 500"
        assert all("not what a worker answers" in each for each in reasons[1:])
        peers.is_silent = True
        shown = await leader.plane.client.get("/connectd/connectors/a/tables")
        assert [each["reason"] for each in shown.json()["unanswered"]] == ["no answer within 5 s"]
