"""Plugins and validation over REST (spec kafka-connect A.7, A.8, H 10-19, 59-67)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from connectd.aio.jobs import JobGroup
from tests.kit.control_plane import SRC, Plane, control_plane, src
from tests.kit.probes import PROBE_CLASS
from tests.kit.virtual import virtual

SECRET = "hunter2"

T = TypeVar("T")


class Checks:
    """Runs checks at once, or, while ``is_hanging``, after what a client takes for ever."""

    def __init__(self) -> None:
        self.is_hanging = False

    async def __call__(self, call: Callable[[], T], group: str = "") -> T:
        if self.is_hanging:
            await asyncio.sleep(120.0)
        return call()


async def _validate(plane: Plane, config: dict[str, Any], plugin: str = PROBE_CLASS) -> Any:
    answer = await plane.client.put(f"/connector-plugins/{plugin}/config/validate", config)
    assert answer.status == 200, answer.body
    return answer.json()


def _errors(infos: Any) -> dict[str, list[str]]:
    values = [entry["value"] for entry in infos["configs"]]
    return {value["name"]: value["errors"] for value in values if value["errors"]}


@virtual
async def test_connectors_are_listed_and_other_plugins_on_request() -> None:
    """H59."""
    async with control_plane() as plane:
        connectors = [{"class": PROBE_CLASS, "type": "source", "version": "1.0"}]
        for query in ("", "?connectorsOnly=true", "?connectorsOnly=TRUE", "?connectorsOnly="):
            answer = await plane.client.get(f"/connector-plugins{query}")
            assert (answer.status, answer.json()) == (200, connectors)
        answer = await plane.client.get("/connector-plugins?connectorsOnly=false")
        assert [plugin["type"] for plugin in answer.json()] == ["source", "converter"]


@pytest.mark.parametrize("name", [PROBE_CLASS, "ProbeSource", "tests%2EProbeSource"])
@virtual
async def test_the_keys_of_a_plugin_come_before_those_of_the_framework(name: str) -> None:
    """H60."""
    async with control_plane() as plane:
        answer = await plane.client.get(f"/connector-plugins/{name}/config")
        assert answer.status == 200
        names = [key["name"] for key in answer.json()]
        assert names[:3] == ["probe.topic", "probe.secret", "probe.size"]
        assert {"name", "tasks.max", "errors.tolerance"} <= set(names)
        assert list(answer.json()[0]) == [
            "name",
            "type",
            "required",
            "default_value",
            "importance",
            "documentation",
            "group",
            "order_in_group",
            "width",
            "display_name",
            "dependents",
        ]


@virtual
async def test_unknown_plugins_have_no_keys() -> None:
    """H61."""
    async with control_plane() as plane:
        answer = await plane.client.get("/connector-plugins/Nope/config")
        assert (answer.status, answer.message) == (404, "Unknown plugin Nope.")


@virtual
async def test_a_valid_config_has_no_errors_and_hides_its_password() -> None:
    """H62, X02."""
    async with control_plane() as plane:
        infos = await _validate(plane, src("s", probe_secret=SECRET))
        assert list(infos) == ["name", "error_count", "groups", "configs"]
        assert (infos["name"], infos["error_count"]) == (PROBE_CLASS, 0)
        for entry in infos["configs"]:
            assert list(entry) == ["definition", "value"]
            assert list(entry["value"]) == [
                "name",
                "value",
                "recommended_values",
                "errors",
                "visible",
            ]
        values = {entry["value"]["name"]: entry["value"]["value"] for entry in infos["configs"]}
        assert values["probe.secret"] == "[hidden]"
        assert values["probe.size"] == "10"


@virtual
async def test_every_problem_stands_at_its_key() -> None:
    """R06, R07, R09, H16, H64, H65, H66."""
    config = {
        "connector.class": PROBE_CLASS,
        "tasks.max": "abc",
        "transforms": "a",
        "value.converter": "tests.ProbeConverter",
        "value.converter.schemas.enable": "maybe",
    }
    async with control_plane() as plane:
        infos = await _validate(plane, config)
        errors = _errors(infos)
        assert errors["name"][0] == (
            'Missing required configuration "name" which has no default value.'
        )
        assert errors["tasks.max"] == [
            "Invalid value abc for configuration tasks.max: Not a number of type INT",
            "Invalid value null for configuration tasks.max: Value must be non-null",
        ]
        assert errors["probe.topic"] == [
            'Missing required configuration "probe.topic" which has no default value.'
        ]
        assert "Missing required configuration" in errors["transforms.a.type"][0]
        assert (
            "Expected value to be either true or false"
            in (errors["value.converter.schemas.enable"][0])
        )
        assert infos["error_count"] >= 6


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"probe.secret": SECRET},
        {"connector.class": "", "probe.secret": SECRET},
        {"connector.class": None, "probe.secret": SECRET},
        {"connector.class": "Nope", "probe.secret": SECRET, "aws.secret.access.key": SECRET},
    ],
)
@virtual
async def test_without_a_usable_class_the_answer_is_structured_and_tells_no_secrets(
    config: dict[str, Any],
) -> None:
    """R05."""
    plugin = config.get("connector.class") or "Nope"
    async with control_plane() as plane:
        answer = await plane.client.put(f"/connector-plugins/{plugin}/config/validate", config)
        assert answer.status == 200
        assert answer.json()["error_count"] >= 1
        assert "connector.class" in _errors(answer.json())
        assert SECRET.encode() not in answer.body


@pytest.mark.parametrize(
    "config", [{"name": "s", "probe.secret": SECRET}, {"probe.secret": SECRET}]
)
@virtual
async def test_creating_without_a_class_is_refused_without_telling_secrets(
    config: dict[str, Any],
) -> None:
    """H10, X05: the text begins and ends as clients know it, all values are hidden."""
    async with control_plane() as plane:
        for answer in (
            await plane.client.post("/connectors", {"name": "s", "config": config}),
            await plane.client.put("/connectors/s/config", config),
        ):
            assert answer.status == 400
            assert answer.message.startswith("Connector config {")
            assert answer.message.endswith("} contains no connector type")
            assert SECRET not in answer.message


@virtual
async def test_creating_with_an_unknown_class_names_those_that_exist() -> None:
    """H11, as of Kafka 4.1: 400."""
    async with control_plane() as plane:
        config = {**SRC, "connector.class": "Nope", "probe.secret": SECRET}
        answer = await plane.client.post("/connectors", {"name": "s", "config": config})
        assert answer.status == 400
        assert answer.message.startswith(
            "Failed to find any class that implements Connector and which name matches Nope, "
            "available connectors are: "
        )
        assert PROBE_CLASS in answer.message
        assert SECRET not in answer.message


@pytest.mark.parametrize(
    ("plugin", "named", "fits"),
    [
        (PROBE_CLASS, PROBE_CLASS, True),
        ("ProbeSource", PROBE_CLASS, True),
        ("ProbeSourceConnector", PROBE_CLASS, True),
        (PROBE_CLASS, "ProbeSource", False),
        ("FileStreamSource", PROBE_CLASS, False),
    ],
)
@virtual
async def test_the_class_must_be_that_of_the_path(plugin: str, named: str, fits: bool) -> None:
    """H63."""
    async with control_plane() as plane:
        config = {**src("s"), "connector.class": named}
        answer = await plane.client.put(f"/connector-plugins/{plugin}/config/validate", config)
        if fits:
            assert answer.status == 200
        else:
            assert (answer.status, answer.message) == (
                400,
                f"Included connector type {named} does not match request type {plugin}",
            )


@virtual
async def test_control_characters_in_a_name_are_refused_with_their_codes() -> None:
    """H19, R02."""
    async with control_plane() as plane:
        answer = await plane.client.post("/connectors", {"name": "a\tb", "config": SRC})
        assert answer.status == 400
        assert (
            "String may not contain control sequences but had the following ASCII chars: 9"
            in answer.message
        )


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        ("1.0", 200, ""),
        ("latest", 200, ""),
        ("%5B1.0,2)", 200, ""),
        (
            "2.0",
            400,
            f"Plugin {PROBE_CLASS} not found that matches the version range [2.0,2.0], available "
            "versions: [1.0]",
        ),
        ("%5B%5B", 400, "Invalid version specification: [["),
    ],
)
@virtual
async def test_keys_may_be_asked_for_by_version(query: str, status: int, text: str) -> None:
    """KIP-891."""
    async with control_plane() as plane:
        answer = await plane.client.get(f"/connector-plugins/ProbeSource/config?version={query}")
        assert answer.status == status
        assert status == 200 or answer.message == text
        unknown = await plane.client.get(f"/connector-plugins/Nope/config?version={query}")
        assert unknown.status == (400 if query == "%5B%5B" else 404)


@virtual
async def test_a_plugin_of_the_worker_itself_has_no_keys_to_show() -> None:
    async with control_plane() as plane:
        answer = await plane.client.get("/connector-plugins/FileConfigProvider/config")
        assert (answer.status, answer.message) == (
            400,
            "Invalid plugin class FileConfigProvider. Valid types are sink, source, converter, "
            "header_converter, transformation, predicate.",
        )


@virtual
async def test_a_config_that_kafka_answers_with_a_bare_error_is_answered_by_key() -> None:
    """R05: versions that cannot be read, settings of clients that do not fit."""
    async with control_plane() as plane:
        config = src("s", connector_plugin_version="[[", producer_override_linger_ms="abc")
        infos = await _validate(plane, config)
        expected = {
            "connector.plugin.version": ["Unbounded range: [["],
            "producer.override.linger.ms": [
                "Invalid value abc for configuration linger.ms: Not a number of type LONG"
            ],
        }
        assert _errors(infos) == expected
        answer = await plane.client.put("/connectors/s/config", config)
        assert answer.status == 400
        for (message,) in expected.values():
            assert message in answer.message.split("\n")


@virtual
async def test_a_check_that_hangs_delays_only_those_who_asked_for_it() -> None:
    """R18: whatever others ask for meanwhile, checks included, is answered at once."""
    checks = Checks()
    async with control_plane(run_blocking=checks) as plane:
        await plane.create("other")
        jobs = JobGroup("hanging")
        answers = []

        async def put(target: str) -> None:
            answers.append(await plane.client.put(target, src("slow")))

        checks.is_hanging = True
        jobs.spawn("create", put("/connectors/slow/config"))
        jobs.spawn("check", put(f"/connector-plugins/{PROBE_CLASS}/config/validate"))
        await plane.settle()
        checks.is_hanging = False
        began_s = asyncio.get_running_loop().time()
        assert (await plane.client.put("/connectors/new/config", src("new"))).status == 201
        assert (await plane.client.put("/connectors/other/config", src("other"))).status == 200
        assert (await _validate(plane, src("third")))["error_count"] == 0
        assert (await plane.client.put("/connectors/other/pause")).status == 202
        assert (await plane.client.post("/connectors/other/restart")).status == 204
        assert (await plane.client.delete("/connectors/other")).status == 204
        assert (await plane.client.get("/connectors")).json() == ["new"]
        assert asyncio.get_running_loop().time() - began_s < 1.0
        assert answers == []
        assert await jobs.join(deadline_s=100.0)
        assert [answer.status for answer in answers] == [500, 500]
        for answer in answers:
            assert answer.message.startswith(
                "Request timed out. The worker is currently validating the configuration of "
                "connector slow, which began at "
            )
        assert (await plane.client.get("/connectors/slow")).status == 404


@virtual
async def test_validating_keeps_nothing() -> None:
    async with control_plane() as plane:
        await _validate(plane, src("s"))
        assert (await plane.client.get("/connectors")).json() == []
        assert plane.configs.snapshot().offset == -1
