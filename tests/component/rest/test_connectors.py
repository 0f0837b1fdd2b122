"""Connectors over REST: create, look at, change, delete (spec kafka-connect A.4, H 6-42)."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import quote

import pytest

from connectd.aio.jobs import JobGroup
from connectd.errors import RetriableError
from tests.kit.control_plane import SRC, WORKER_ID, control_plane, src
from tests.kit.probes import PROBE_CLASS
from tests.kit.virtual import virtual


@virtual
async def test_a_new_worker_has_no_connectors() -> None:
    async with control_plane() as plane:
        answer = await plane.client.get("/connectors")
        assert (answer.status, answer.json()) == (200, [])


@virtual
async def test_creating_a_connector_answers_201_with_its_location_and_no_tasks_yet() -> None:
    async with control_plane() as plane:
        answer = await plane.client.post("/connectors", {"name": "s", "config": SRC})
        assert answer.status == 201
        assert answer.headers["location"] == "http://worker:8083/connectors/s"
        assert list(answer.json()) == ["name", "config", "tasks", "type"]
        assert answer.json() == {"name": "s", "config": src("s"), "tasks": [], "type": "source"}


@virtual
async def test_a_name_in_use_is_a_conflict_and_changes_nothing() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        other = {**SRC, "probe.topic": "other"}
        answer = await plane.client.post("/connectors", {"name": "s", "config": other})
        assert (answer.status, answer.message) == (409, "Connector s already exists")
        assert (await plane.client.get("/connectors/s/config")).json() == src("s")


@virtual
async def test_a_name_in_the_config_must_be_that_of_the_request() -> None:
    """R04, for both ways to create."""
    text = "Connector name configuration (other) doesn't match connector name in the URL (s2)"
    config = {**SRC, "name": "other"}
    async with control_plane() as plane:
        answer = await plane.client.post("/connectors", {"name": "s2", "config": config})
        assert (answer.status, answer.message) == (400, text)
        answer = await plane.client.put("/connectors/s2/config", config)
        assert (answer.status, answer.message) == (400, text)


@virtual
async def test_names_are_trimmed_in_the_body_of_a_post() -> None:
    async with control_plane() as plane:
        answer = await plane.client.post("/connectors", {"name": " x ", "config": SRC})
        assert answer.status == 201
        assert answer.json()["name"] == "x"


@pytest.mark.parametrize("name", ["", "  ", None, "\t"])
@virtual
async def test_a_blank_name_is_refused_in_words(name: str | None) -> None:
    """R02."""
    async with control_plane() as plane:
        answer = await plane.client.post("/connectors", {"name": name, "config": SRC})
        assert answer.status == 400
        assert "String may not be empty" in answer.message
        assert (await plane.client.get("/connectors")).json() == []


@virtual
async def test_problems_of_a_config_are_all_listed_with_a_hint_where_to_look() -> None:
    config = {"connector.class": PROBE_CLASS, "tasks.max": "0"}
    async with control_plane() as plane:
        answer = await plane.client.post("/connectors", {"name": "s", "config": config})
        assert answer.status == 400
        assert answer.message == (
            "Connector configuration is invalid and contains the following 2 error(s):\n"
            "Invalid value 0 for configuration tasks.max: Value must be at least 1\n"
            'Missing required configuration "probe.topic" which has no default value.\n'
            "You can also find the above list of errors at the endpoint "
            "`/connector-plugins/{connectorType}/config/validate`"
        )


@virtual
async def test_scalars_become_strings_and_keep_their_spelling() -> None:
    """R12, H24."""
    config = {**SRC, "tasks.max": 2, "x.flag": True, "x.number": 1.50}
    body = b'{"name":"q","config":' + _json(config).replace(b"1.5", b"1.50") + b"}"
    async with control_plane() as plane:
        answer = await plane.client.post("/connectors", body)
        assert answer.status == 201
        stored = answer.json()["config"]
        assert (stored["tasks.max"], stored["x.flag"], stored["x.number"]) == ("2", "true", "1.50")


def _json(content: object) -> bytes:
    return json.dumps(content).encode()


@virtual
async def test_a_null_value_is_refused_with_the_key_known() -> None:
    async with control_plane() as plane:
        config = {**SRC, "probe.size": None}
        answer = await plane.client.post("/connectors", {"name": "s", "config": config})
        assert answer.status == 400
        assert "Null value can not be supplied as the configuration value." in answer.message


@pytest.mark.parametrize(
    ("initial", "states"),
    [
        ("RUNNING", ("RUNNING", ["RUNNING"])),
        ("paused", ("PAUSED", [])),
        ("STOPPED", ("STOPPED", [])),
    ],
)
@virtual
async def test_a_connector_may_begin_in_another_state(
    initial: str, states: tuple[str, list[str]]
) -> None:
    """H20, H21."""
    async with control_plane() as plane:
        body = {"name": "s", "config": SRC, "initial_state": initial}
        assert (await plane.client.post("/connectors", body)).status == 201
        await plane.settle()
        assert await plane.states("s") == states
        assert plane.probes["s"].calls["start"] == (1 if initial == "RUNNING" else 0)


@virtual
async def test_what_is_unknown_is_404_in_the_words_of_each_endpoint() -> None:
    async with control_plane() as plane:
        for target in ("", "/config", "/tasks", "/offsets"):
            answer = await plane.client.get(f"/connectors/none{target}")
            assert (answer.status, answer.message) == (404, "Connector none not found")
        answer = await plane.client.get("/connectors/none/status")
        assert (answer.status, answer.message) == (404, "No status found for connector none")
        answer = await plane.client.delete("/connectors/none")
        assert (answer.status, answer.message) == (404, "Connector none not found")
        for verb in ("pause", "resume", "stop"):
            answer = await plane.client.put(f"/connectors/none/{verb}")
            assert (answer.status, answer.message) == (404, "Unknown connector none")
        answer = await plane.client.patch("/connectors/none/config", {})
        assert (answer.status, answer.message) == (404, "Connector none not found")
        for target in ("restart", "restart?includeTasks=true"):
            answer = await plane.client.post(f"/connectors/none/{target}")
            assert (answer.status, answer.message) == (404, "Unknown connector: none")


@virtual
async def test_the_status_shows_connector_and_tasks_and_no_trace_while_all_is_well() -> None:
    async with control_plane() as plane:
        await plane.create("s", tasks_max="2")
        answer = await plane.client.get("/connectors/s/status")
        running = {"state": "RUNNING", "worker_id": WORKER_ID, "version": "1.0"}
        assert answer.json() == {
            "name": "s",
            "connector": running,
            "tasks": [{"id": 0, **running}, {"id": 1, **running}],
            "type": "source",
        }
        assert list(answer.json()) == ["name", "connector", "tasks", "type"]
        assert list(answer.json()["tasks"][0]) == ["id", "state", "worker_id", "version"]


@virtual
async def test_the_list_can_be_expanded() -> None:
    """H31, H32, kafbat/kafka-ui and Redpanda Console."""
    async with control_plane() as plane:
        await plane.create("s")
        info = (await plane.client.get("/connectors/s")).json()
        status = (await plane.client.get("/connectors/s/status")).json()
        for query, members in [
            ("expand=status&expand=info", {"status": status, "info": info}),
            ("expand=info", {"info": info}),
            ("expand=status", {"status": status}),
            ("expand=foo", {}),
        ]:
            answer = await plane.client.get(f"/connectors?{query}")
            assert answer.json() == {"s": members}


@virtual
async def test_a_connector_without_a_status_is_left_out_of_the_expanded_list() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        plane.statuses.put_connector("s", None)
        assert (await plane.client.get("/connectors?expand=status")).json() == {}
        assert "s" in (await plane.client.get("/connectors?expand=info")).json()


@virtual
async def test_putting_a_config_creates_with_201_and_replaces_with_200() -> None:
    async with control_plane() as plane:
        answer = await plane.client.put("/connectors/n/config", SRC)
        assert answer.status == 201
        assert answer.headers["location"] == "http://worker:8083/connectors/n"
        answer = await plane.client.put("/connectors/n/config", {**SRC, "probe.size": "10"})
        assert answer.status == 200
        assert "location" not in answer.headers
        assert answer.json()["config"] == {**src("n"), "probe.size": "10"}


@virtual
async def test_a_patch_overwrites_and_removes_keys() -> None:
    """H36."""
    async with control_plane() as plane:
        await plane.create("n", probe_size="10", probe_secret="x")
        patch = {"probe.size": 20, "probe.secret": None}
        answer = await plane.client.patch("/connectors/n/config", patch)
        assert answer.status == 200
        assert answer.json()["config"] == {**src("n"), "probe.size": "20"}
        answer = await plane.client.patch("/connectors/n/config", {"probe.topic": None})
        assert answer.status == 400
        assert 'Missing required configuration "probe.topic"' in answer.message
        assert (await plane.client.get("/connectors/n/config")).json()["probe.topic"] == "t1"


@virtual
async def test_the_config_comes_back_as_it_was_put() -> None:
    """R14, R15: the Terraform provider counts keys; secrets are not masked, as in Kafka."""
    config = {**SRC, "probe.secret": "hunter2", "not.declared": "é ☃"}
    async with control_plane() as plane:
        await plane.client.put("/connectors/n/config", config)
        await plane.settle()
        answer = await plane.client.get("/connectors/n/config")
        assert answer.json() == {**config, "name": "n"}
        assert set((await plane.client.get("/connectors/n")).json()) == {
            "name",
            "config",
            "tasks",
            "type",
        }


@virtual
async def test_a_deleted_connector_is_gone_at_once_and_may_come_back_smaller() -> None:
    """H72, R25, O01."""
    async with control_plane() as plane:
        await plane.create("s", tasks_max="6")
        answer = await plane.client.delete("/connectors/s")
        assert (answer.status, answer.body) == (204, b"")
        await plane.settle()
        for target in ("/connectors/s", "/connectors/s/status", "/connectors/s/tasks"):
            assert (await plane.client.get(target)).status == 404
        assert plane.probes["s"].alive() == []
        await plane.create("s", tasks_max="1")
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])
        assert len((await plane.client.get("/connectors/s/tasks")).json()) == 1


@pytest.mark.parametrize("name", ["a/b", "a b", "a%2Fb", "ä☃", "a?b", "a#b", "..", "a;b", "a+b"])
@virtual
async def test_every_route_works_with_a_name_of_any_characters(name: str) -> None:
    """R01: percent-encoded, and decoded exactly once."""
    escaped = quote(name, safe="")
    async with control_plane() as plane:
        answer = await plane.client.post("/connectors", {"name": name, "config": SRC})
        assert answer.status == 201
        location = answer.headers["location"].removeprefix("http://worker:8083")
        await plane.settle()
        assert (await plane.client.get(location)).json()["name"] == name
        for target in (
            "",
            "/config",
            "/status",
            "/tasks",
            "/topics",
            "/offsets",
            "/tasks/0/status",
        ):
            assert (await plane.client.get(f"/connectors/{escaped}{target}")).status == 200
        for verb, status in (("pause", 202), ("resume", 202), ("stop", 204)):
            answer = await plane.client.put(f"/connectors/{escaped}/{verb}")
            assert answer.status == status
        assert (await plane.client.get("/connectors")).json() == [name]
        assert (await plane.client.delete(f"/connectors/{escaped}")).status == 204
        assert (await plane.client.get("/connectors")).json() == []


@virtual
async def test_a_broker_that_does_not_take_the_record_is_an_error_in_kafkas_words() -> None:
    async def refuse(*args: object, **kwargs: object) -> None:
        raise RetriableError("no leader for connect-configs-0")

    async with control_plane() as plane:
        await plane.create("s")
        plane.configs.put_connector = refuse  # type: ignore[method-assign]
        plane.configs.delete_connector = refuse  # type: ignore[method-assign]
        plane.configs.put_target = refuse  # type: ignore[method-assign]
        writing = "Error writing connector configuration to Kafka"
        for answer, text in [
            (await plane.client.post("/connectors", {"name": "t", "config": SRC}), writing),
            (await plane.client.put("/connectors/s/config", SRC), writing),
            (await plane.client.patch("/connectors/s/config", {}), writing),
            (
                await plane.client.delete("/connectors/s"),
                "Error removing connector configuration from Kafka",
            ),
            (
                await plane.client.put("/connectors/s/pause"),
                "Error writing target state to Kafka",
            ),
        ]:
            told = f"{text}: no leader for connect-configs-0"
            assert (answer.status, answer.message) == (500, told)
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])


@virtual
async def test_two_who_create_the_same_name_at_once_do_not_both_succeed() -> None:
    async with control_plane() as plane:
        put = plane.configs.put_connector

        async def slow_put(*args: object, **kwargs: object) -> None:
            await asyncio.sleep(1.0)
            await put(*args, **kwargs)  # type: ignore[arg-type]

        plane.configs.put_connector = slow_put  # type: ignore[method-assign]
        statuses: list[int] = []

        async def create() -> None:
            answer = await plane.client.post("/connectors", {"name": "s", "config": SRC})
            statuses.append(answer.status)

        jobs = JobGroup("test")
        for number in range(5):
            jobs.spawn(str(number), create())
        assert await jobs.join(deadline_s=30.0)
        assert sorted(statuses) == [201, 409, 409, 409, 409]


@virtual
async def test_two_patches_at_once_are_both_kept() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        put = plane.configs.put_connector

        async def slow_put(*args: object, **kwargs: object) -> None:
            await asyncio.sleep(1.0)
            await put(*args, **kwargs)  # type: ignore[arg-type]

        plane.configs.put_connector = slow_put  # type: ignore[method-assign]
        jobs = JobGroup("test")
        for number in range(3):
            patch = plane.client.patch("/connectors/s/config", {f"extra.{number}": "x"})
            jobs.spawn(str(number), patch)
        assert await jobs.join(deadline_s=30.0)
        config = (await plane.client.get("/connectors/s/config")).json()
        assert {"extra.0", "extra.1", "extra.2"} <= config.keys()
