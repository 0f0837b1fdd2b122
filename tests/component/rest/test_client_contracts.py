"""What named clients rely on, each as it goes about its work (spec rest-clients)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.kit.control_plane import SRC, Plane, control_plane, src
from tests.kit.probes import PROBE_CLASS
from tests.kit.virtual import virtual

CONNECTOR_STATES = {"RUNNING", "FAILED", "PAUSED", "UNASSIGNED", "RESTARTING", "STOPPED"}
TASK_STATES = CONNECTOR_STATES - {"STOPPED"}


@virtual
async def test_the_strimzi_operator_may_put_the_same_config_for_ever() -> None:
    """R17: no restart, no new task generation."""
    async with control_plane() as plane:
        await plane.create("s", tasks_max="2")
        generation = plane.configs.snapshot().generations["s"]
        runners = len(plane.probes["s"].runners)
        for _ in range(5):
            answer = await plane.client.put("/connectors/s/config", src("s", tasks_max="2"))
            assert answer.status == 200
            await plane.settle(120.0)
        assert plane.configs.snapshot().generations["s"] == generation
        assert len(plane.probes["s"].runners) == runners
        assert plane.probes["s"].calls["start"] == 1


@virtual
async def test_the_strimzi_operator_goes_through_a_whole_life() -> None:
    async with control_plane() as plane:
        client = plane.client
        assert (await client.get("/connector-plugins")).json()[0].keys() == {
            "class",
            "type",
            "version",
        }
        assert (await client.put("/connectors/s/config", SRC)).status == 201
        await plane.settle()
        assert (await client.put("/connectors/s/config", {**SRC, "tasks.max": "2"})).status == 200
        await plane.settle()
        desired = {**SRC, "tasks.max": "2", "name": "s"}
        assert (await client.get("/connectors/s/config")).json() == desired
        assert (await client.put("/connectors/s/pause")).status == 202
        assert (await client.put("/connectors/s/resume")).status == 202
        await plane.settle()
        restart = "/connectors/s/restart?includeTasks=true&onlyFailed=false"
        assert (await client.post(restart)).status == 202
        await plane.settle()
        assert (await client.post("/connectors/s/tasks/1/restart")).status == 204
        assert (await client.put("/connectors/s/stop")).status == 204
        await plane.settle()
        status = (await client.get("/connectors/s/status")).json()
        assert status["connector"]["state"] == "STOPPED"
        assert set((await client.delete("/connectors/s/offsets")).json()) == {"message"}
        assert (await client.delete("/connectors/s")).status == 204


@virtual
async def test_the_terraform_provider_polls_until_what_it_put_is_there() -> None:
    """R14-R16: as many keys as were put and equal values; 404 after a delete; 409 on a conflict."""
    async with control_plane() as plane:
        body = {"name": "t", "config": {**src("t"), "probe.secret": "plain"}}
        assert (await plane.client.post("/connectors", body)).status == 201
        config = (await plane.client.get("/connectors/t")).json()["config"]
        assert config == body["config"]
        again = await plane.client.post("/connectors", body)
        assert again.json() == {"error_code": 409, "message": "Connector t already exists"}
        assert (await plane.client.put("/connectors/t/pause")).status == 202
        await _poll_state(plane, "t", "PAUSED")
        assert (await plane.client.put("/connectors/t/resume")).status == 202
        await _poll_state(plane, "t", "RUNNING")
        assert (await plane.client.delete("/connectors/t")).status == 204
        async with asyncio.timeout(60.0):
            while (await plane.client.get("/connectors/t")).status != 404:
                await plane.settle(1.0)


async def _poll_state(plane: Plane, name: str, state: str) -> None:
    async with asyncio.timeout(60.0):
        while True:
            answer = await plane.client.get(f"/connectors/{name}/status")
            if answer.status == 200 and answer.json()["connector"]["state"] == state:
                return
            await plane.settle(1.0)


@virtual
async def test_the_go_library_decodes_the_connector_status_as_a_map_of_strings() -> None:
    """R29; R21: a failure of connector or task always carries its trace."""
    async with control_plane() as plane:
        await plane.create("s", tasks_max="2")
        context = plane.probes["s"].context
        assert context is not None
        plane.probes["s"].latest(1).fail(ValueError("task broke"))
        await plane.settle()
        body = (await plane.client.get("/connectors/s/status")).json()
        assert body["connector"]["state"] == "RUNNING"
        assert body["tasks"][1]["state"] == "FAILED"
        assert body["tasks"][1]["trace"].startswith("ValueError: task broke\n")
        assert "trace" not in body["tasks"][0]
        context.raise_error(ValueError("connector broke"))
        await plane.settle()
        body = (await plane.client.get("/connectors/s/status")).json()
        assert body["connector"]["trace"].startswith("ValueError: connector broke\n")
        assert all(isinstance(value, str) for value in body["connector"].values())
        assert all(isinstance(task["id"], int) for task in body["tasks"])


@virtual
async def test_uis_with_closed_types_meet_only_what_they_know() -> None:
    """kafbat/kafka-ui, datahub (R30)."""
    async with control_plane() as plane:
        for name, verb in [("a", None), ("b", "pause"), ("c", "stop")]:
            await plane.create(name)
            if verb is not None:
                await plane.client.put(f"/connectors/{name}/{verb}")
        plane.probes["a"].latest().fail(ValueError("x"))
        await plane.settle()
        listing = (await plane.client.get("/connectors?expand=info&expand=status")).json()
        assert isinstance(listing, dict)
        for name, entry in listing.items():
            assert entry.keys() == {"info", "status"}
            assert entry["info"].keys() == {"name", "config", "tasks", "type"}
            assert entry["info"]["type"] in {"source", "sink", "unknown"}
            assert entry["status"]["connector"]["state"] in CONNECTOR_STATES
            assert {task["state"] for task in entry["status"]["tasks"]} <= TASK_STATES
            for task in entry["status"]["tasks"]:
                assert task.keys() - {"trace"} == {"id", "state", "worker_id", "version"}
            topics = await plane.client.get(f"/connectors/{name}/topics")
            assert topics.json() == {name: {"topics": []}}
        infos = await plane.client.put(
            f"/connector-plugins/{PROBE_CLASS}/config/validate", src("x")
        )
        for entry in infos.json()["configs"]:
            if entry["definition"] is not None:
                assert entry["definition"]["type"] in {
                    "BOOLEAN",
                    "CLASS",
                    "DOUBLE",
                    "INT",
                    "LIST",
                    "LONG",
                    "PASSWORD",
                    "SHORT",
                    "STRING",
                }
                assert entry["definition"]["importance"] in {"LOW", "MEDIUM", "HIGH"}
                assert entry["definition"]["width"] in {"NONE", "SHORT", "MEDIUM", "LONG"}
            assert isinstance(entry["value"]["recommended_values"], list)
            assert isinstance(entry["value"]["visible"], bool)


@virtual
async def test_kcctl_reads_the_status_out_of_the_restart() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        answer = await plane.client.post("/connectors/s/restart?includeTasks=true&onlyFailed=true")
        assert answer.status == 202
        assert answer.json().keys() == {"name", "connector", "tasks", "type"}
        assert (await plane.client.get("/connectors/")).json() == ["s"]


@virtual
async def test_kcctl_asks_for_several_expansions_and_for_the_keys_of_any_plugin() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        client = plane.client
        assert (await client.get("/")).json().keys() == {"version", "commit", "kafka_cluster_id"}
        for query in ("expand=status&expand=info", "expand=info&expand=status&expand=more"):
            entry = (await client.get(f"/connectors?{query}")).json()["s"]
            assert entry.keys() == {"status", "info"}
        listed = (await client.get("/connector-plugins?connectorsOnly=false")).json()
        assert {"class", "type"} <= listed[0].keys()
        for plugin in listed:
            keys = (await client.get(f"/connector-plugins/{plugin['class']}/config")).json()
            assert all(isinstance(key["name"], str) for key in keys)
        checked = await client.put(
            f"/connector-plugins/{PROBE_CLASS}/config/validate", {**src("x"), "tasks.max": "no"}
        )
        infos = checked.json()
        assert infos["error_count"] >= 1
        wrong = [each for each in infos["configs"] if each["value"]["errors"]]
        assert [each["definition"]["name"] for each in wrong] == ["tasks.max"]


@virtual
async def test_kcctl_and_strimzi_read_and_set_levels_of_loggers() -> None:
    """Strimzi asks with a trailing slash, and takes 200 as well as 204 for a change."""
    async with control_plane() as plane:
        client = plane.client
        levels = (await client.get("/admin/loggers/")).json()
        assert all(each.keys() == {"level", "last_modified"} for each in levels.values())
        assert "root" in levels
        for name, found in levels.items():
            assert (await client.get(f"/admin/loggers/{name}")).json() == found
        same = {"level": levels["root"]["level"]}
        assert (await client.put("/admin/loggers/root?scope=cluster", same)).status == 204
        here = await client.put("/admin/loggers/root?scope=worker", same)
        assert (here.status, isinstance(here.json(), list)) == (200, True)


@virtual
async def test_strimzi_kcctl_and_kafka_ui_change_positions_of_a_stopped_connector() -> None:
    """GET, PATCH and DELETE answer 200; while it is not stopped, 400 with a message."""
    async with control_plane() as plane:
        await plane.create("s")
        client = plane.client
        entry = {"partition": {"table_name": "t"}, "offset": {"position": 7}}
        early = await client.patch("/connectors/s/offsets", {"offsets": [entry]})
        assert (early.status, "STOPPED state" in early.message) == (400, True)
        assert (await client.put("/connectors/s/stop")).status == 204
        await plane.settle()
        patched = await client.patch("/connectors/s/offsets", {"offsets": [entry]})
        assert (patched.status, list(patched.json())) == (200, ["message"])
        assert (await client.get("/connectors/s/offsets")).json() == {"offsets": [entry]}
        forgotten = await client.delete("/connectors/s/offsets")
        assert (forgotten.status, list(forgotten.json())) == (200, ["message"])
        assert (await client.get("/connectors/s/offsets")).json() == {"offsets": []}


@virtual
async def test_redpanda_console_has_configs_of_strings_only_and_forms_made_of_groups() -> None:
    async with control_plane() as plane:
        body = {**SRC, "tasks.max": 2, "probe.size": 15, "probe.flag": True}
        assert (await plane.client.put("/connectors/s/config", body)).status == 201
        await plane.settle()
        config = (await plane.client.get("/connectors/s/config")).json()
        assert config["tasks.max"] == "2"
        assert all(isinstance(value, str) for value in config.values())
        tasks = (await plane.client.get("/connectors/s/tasks")).json()
        assert all(isinstance(text, str) for task in tasks for text in task["config"].values())
        validate = f"/connector-plugins/{PROBE_CLASS}/config/validate"
        infos = (await plane.client.put(validate, src("x"))).json()
        groups = {each["definition"]["group"] for each in infos["configs"] if each["definition"]}
        assert groups - {None} <= set(infos["groups"])
        assert (await plane.client.put("/connectors/s/topics/reset")).status == 202


@virtual
async def test_kafka_ui_restarts_and_watches_single_tasks() -> None:
    async with control_plane() as plane:
        await plane.create("s", tasks_max="2")
        plane.probes["s"].latest(1).fail(ValueError("x"))
        await plane.settle()
        status = (await plane.client.get("/connectors/s/tasks/1/status")).json()
        assert (status["id"], status["state"]) == (1, "FAILED")
        assert (await plane.client.post("/connectors/s/tasks/1/restart")).status == 204
        await plane.settle()
        assert (await plane.client.get("/connectors/s/tasks/1/status")).json()["state"] == "RUNNING"
        for query in ("includeTasks=True&onlyFailed=FALSE", "includeTasks=true"):
            answer = await plane.client.post(f"/connectors/s/restart?{query}")
            assert [task["state"] for task in answer.json()["tasks"]] == ["RESTARTING"] * 2
            await plane.settle()


@virtual
async def test_a_connector_made_anew_shows_no_task_of_the_one_before() -> None:
    """R25: kafka-connect-ui lists what status and tasks say."""
    async with control_plane() as plane:
        await plane.create("s", tasks_max="6")
        assert (await plane.client.delete("/connectors/s")).status == 204
        await plane.create("s", tasks_max="1")
        assert len((await plane.client.get("/connectors/s/tasks")).json()) == 1
        assert len((await plane.client.get("/connectors/s/status")).json()["tasks"]) == 1


@virtual
async def test_datahub_and_ns4kafka_meet_no_member_that_they_do_not_know() -> None:
    """R30: the first maps a connector onto a closed type, the second escapes what it asks for."""
    async with control_plane() as plane:
        await plane.create("s")
        info = (await plane.client.get("/connectors/s")).json()
        assert list(info) == ["name", "config", "tasks", "type"]
        assert info["config"] == src("s")
        escaped = PROBE_CLASS.replace(".", "%2e")
        target = f"/connector-plugins/{escaped}/config/validate/"
        answer = await plane.client.put(target, src("s"))
        assert answer.json()["error_count"] == 0


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("PUT", "/connectors/s/pause"),
        ("PUT", "/connectors/s/resume"),
        ("POST", "/connectors/s/restart"),
        ("POST", "/connectors/s/tasks/0/restart"),
        ("PUT", "/connectors/s/topics/reset"),
        ("PUT", "/connectors/s/stop"),
    ],
)
@pytest.mark.parametrize("headers", [{}, {"content-type": "application/json"}])
@virtual
async def test_nothing_needs_a_body_that_has_none(
    method: str, target: str, headers: dict[str, str]
) -> None:
    """Clients send empty bodies, declared as JSON or not at all."""
    async with control_plane() as plane:
        await plane.create("s")
        answer = await plane.client.request(method, target, headers=headers)
        assert answer.status in (202, 204)
        assert answer.body == b""


@virtual
async def test_the_java_client_escapes_names_and_plugin_classes() -> None:
    """SourceLab kafka-connect-client, ns4kafka."""
    async with control_plane() as plane:
        assert (await plane.client.put("/connectors/a%20b/config", SRC)).status == 201
        assert (await plane.client.get("/connectors/a%20b")).json()["name"] == "a b"
        target = "/connector-plugins/tests%2EProbeSource/config/validate"
        answer: Any = await plane.client.put(target, src("x"))
        assert answer.json()["error_count"] == 0


@virtual
async def test_every_error_has_the_same_body() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        answers = [
            await plane.client.get("/connectors/none"),
            await plane.client.get("/nope"),
            await plane.client.post("/connectors/s"),
            await plane.client.put("/connectors/s/config", b"{"),
            await plane.client.put("/connectors/s/config", {"connector.class": "Nope"}),
            await plane.client.post("/connectors", b"x", headers={"content-type": "text/plain"}),
            await plane.client.get("/connectors", headers={"accept": "text/plain"}),
            await plane.client.delete("/connectors/s/offsets"),
        ]
        assert [answer.status for answer in answers] == [404, 404, 405, 400, 400, 415, 406, 400]
        assert all(answer.message for answer in answers)
        assert {answer.headers["content-type"] for answer in answers} == {"application/json"}


@virtual
async def test_progress_of_tables_is_merged_from_connector_and_tasks() -> None:
    async with control_plane() as plane:
        await plane.create("s", tasks_max="2")
        answer = await plane.client.get("/connectd/connectors/s/tables")
        assert answer.json() == {
            "tables": [
                {
                    "table": "skipped",
                    "state": "SKIPPED",
                    "reason": "no stream",
                    "degraded": False,
                },
                {"table": "t0", "state": "SYNC", "degraded": False},
                {"table": "t1", "state": "SYNC", "degraded": False},
            ]
        }
        plane.probes["s"].latest(0).fail(ValueError("x"))
        await plane.settle()
        rows = (await plane.client.get("/connectd/connectors/s/tables")).json()["tables"]
        assert rows[1:] == [
            {
                "table": "t0",
                "state": "FAILED",
                "reason": "the task has failed: x",
                "degraded": True,
            },
            {"table": "t1", "state": "SYNC", "degraded": False},
        ]
        answer = await plane.client.get("/connectd/connectors/none/tables")
        assert (answer.status, answer.message) == (404, "Connector none not found")
