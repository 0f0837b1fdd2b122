"""Config providers from end to end: what runs has the values, and nobody else ever sees them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import pytest

from connectd.errors import ConfigError
from connectd.observe import redaction
from connectd.plugins.lookups import DEADLINE_S, Lookups
from connectd.plugins.resolving import ConfigResolver
from connectd.runtime.reloads import WAIT_MIN_S
from tests.kit import providers
from tests.kit.control_plane import Plane, control_plane, src
from tests.kit.providers import ProbeProvider
from tests.kit.virtual import virtual

SECRET = "hunter2-and-more"
REFERENCE = "${file:/s:pw}"


@pytest.fixture(autouse=True)
def _no_secrets_left() -> Iterator[None]:
    yield
    redaction.forget_secrets()


def _file() -> ProbeProvider:
    values = {("/s", "pw"): SECRET, ("/s", "class"): "tests.ProbeSource", ("/s", "n"): "2"}
    return ProbeProvider(values, errors={"/gone": ConfigError("Could not read /gone")})


async def _everything_shown(plane: Plane, name: str) -> str:
    """Every answer of the API about a connector, and every record of the config topic."""
    paths = ["", "/config", "/tasks", "/status", "/topics", "/offsets", "/tasks/0/status"]
    shown = [(await plane.client.get(f"/connectors/{name}{path}")).body.decode() for path in paths]
    shown.append((await plane.client.get("/connectors?expand=info&expand=status")).body.decode())
    snapshot = plane.configs.snapshot()
    stored = [*snapshot.connectors.values(), *snapshot.task_configs.values()]
    return "\n".join([*shown, *(json.dumps(dict(config)) for config in stored)])


async def _validate(plane: Plane, config: Mapping[str, str]) -> tuple[int, str]:
    answer = await plane.client.put("/connector-plugins/ProbeSource/config/validate", config)
    return answer.status, answer.body.decode()


@virtual
async def test_what_runs_has_the_value_and_everybody_else_the_reference() -> None:
    """Case 90, X01."""
    more = {"probe.secret": REFERENCE, "probe.topic": f"t-{REFERENCE}", "unknown": REFERENCE}
    async with control_plane(resolve=providers.resolver(file=_file())) as plane:
        answer = await plane.client.put("/connectors/s/config", {**src("s"), **more})
        assert answer.status == 201
        assert SECRET not in answer.body.decode()
        await plane.settle()
        spec = plane.probes["s"].latest().spec
        for config in (plane.probes["s"].connector_config, spec.task_config, spec.connector_config):
            assert config["probe.secret"] == SECRET
            assert config["probe.topic"] == f"t-{SECRET}"
        shown = await _everything_shown(plane, "s")
        assert SECRET not in shown
        assert REFERENCE in shown


@virtual
async def test_validation_checks_the_value_and_shows_the_reference() -> None:
    """Kafka shows the value; here that is a listed difference (X01)."""
    more = {
        "probe.topic": REFERENCE,
        "probe.size": REFERENCE,
        "tasks.max": "${file:/s:n}",
        "probe.secret": REFERENCE,
    }
    async with control_plane(resolve=providers.resolver(file=_file())) as plane:
        status, body = await _validate(plane, {**src("s"), **more})
        assert status == 200
        assert SECRET not in body
        values = {each["value"]["name"]: each["value"] for each in json.loads(body)["configs"]}
        assert values["probe.topic"]["value"] == REFERENCE
        assert values["tasks.max"]["value"] == "${file:/s:n}"
        assert values["probe.secret"]["value"] == "[hidden]"
        assert values["probe.size"]["errors"][0] == (
            f"Invalid value {REFERENCE} for configuration probe.size: Not a number of type INT"
        )
        assert values["tasks.max"]["errors"] == []

        refused = await plane.client.put("/connectors/s/config", {**src("s"), **more})
        assert refused.status == 400
        assert f"Invalid value {REFERENCE} for" in refused.body.decode()
        assert SECRET not in refused.body.decode()


@virtual
async def test_a_class_that_cannot_be_found_is_not_told_by_its_value() -> None:
    config = {**src("s"), "connector.class": REFERENCE}
    async with control_plane(resolve=providers.resolver(file=_file())) as plane:
        answer = await plane.client.put("/connectors/s/config", config)
        assert answer.status == 400
        assert SECRET not in answer.body.decode()


@virtual
async def test_the_class_itself_may_come_from_a_provider() -> None:
    async with control_plane(resolve=providers.resolver(file=_file())) as plane:
        await plane.client.put(
            "/connectors/s/config", {**src("s"), "connector.class": "${file:/s:class}"}
        )
        await plane.settle()
        assert (await plane.states("s"))[0] == "RUNNING"


@virtual
async def test_a_provider_that_fails_refuses_the_request_as_kafka_does() -> None:
    config = {**src("s"), "probe.secret": "${file:/gone:pw}"}
    async with control_plane(resolve=providers.resolver(file=_file())) as plane:
        answer = await plane.client.put("/connectors/s/config", config)
        assert (answer.status, answer.json()["message"]) == (500, "Could not read /gone")
        status, body = await _validate(plane, config)
        assert status == 500
        assert json.loads(body)["message"] == (
            "org.apache.kafka.common.config.ConfigException: Could not read /gone"
        )


@virtual
async def test_a_provider_that_fails_later_fails_who_starts_and_nobody_else() -> None:
    probe = _file()
    async with control_plane(resolve=providers.resolver(file=probe)) as plane:
        await plane.create("s", probe_secret=REFERENCE)
        await plane.create("other", probe_secret="${file:/t:pw}")
        probe.errors["/s"] = ConfigError("Could not read properties from file /s")
        answer = await plane.client.post("/connectors/s/tasks/0/restart")
        assert (answer.status, answer.json()["message"]) == (500, "Failed to start task: s-0")
        assert await plane.states("s") == ("RUNNING", ["FAILED"])
        await plane.client.post("/connectors/s/restart")
        assert await plane.states("s") == ("FAILED", ["FAILED"])
        assert await plane.states("other") == ("RUNNING", ["RUNNING"])
        trace = (await plane.client.get("/connectors/s/status")).json()["tasks"][0]["trace"]
        assert "Could not read properties from file /s" in trace

        del probe.errors["/s"]
        probe.values["/s", "pw"] = "rotated"
        await plane.client.post("/connectors/s/restart?includeTasks=true&onlyFailed=true")
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])
        assert plane.probes["s"].latest().spec.task_config["probe.secret"] == "rotated"


# --- providers that hang ------------------------------------------------------------------------


class _Hanging:
    """Threads that do not come back until ``release``."""

    def __init__(self) -> None:
        self.is_hanging = False
        self._work: list[Callable[[], None]] = []

    def start(self, work: Callable[[], None]) -> None:
        if self.is_hanging:
            self._work.append(work)
        else:
            work()

    def release(self) -> None:
        self.is_hanging = False
        for work in self._work:
            work()
        self._work.clear()


@virtual
async def test_a_provider_that_hangs_holds_up_its_connector_only() -> None:
    threads = _Hanging()
    resolve = ConfigResolver(Lookups({"nfs": _file(), "env": _file()}, start_thread=threads.start))
    async with control_plane(resolve=resolve) as plane:
        await plane.create("s", probe_secret="${nfs:/s:pw}")
        await plane.create("plain")
        threads.is_hanging = True
        await plane.client.post("/connectors/plain/restart?includeTasks=true")
        restarting = asyncio.ensure_future(plane.client.post("/connectors/s/tasks/0/restart"))
        await plane.settle()
        assert (await plane.states("plain")) == ("RUNNING", ["RUNNING"])
        assert not restarting.done()
        assert (await restarting).status == 500
        assert asyncio.get_running_loop().time() == pytest.approx(DEADLINE_S, abs=1.0)
        assert await plane.states("s") == ("RUNNING", ["FAILED"])
        status = (await plane.client.get("/connectors/s/status")).json()
        assert "no answer for the path '/s' after 10 s" in status["tasks"][0]["trace"]


@virtual
async def test_a_task_can_be_stopped_and_paused_while_its_provider_is_asked() -> None:
    threads = _Hanging()
    resolve = ConfigResolver(Lookups({"nfs": _file()}, start_thread=threads.start))
    async with control_plane(resolve=resolve) as plane:
        await plane.create("s", probe_secret="${nfs:/s:pw}")
        for verb, states in (("pause", "PAUSED"), ("resume", "RUNNING")):
            threads.is_hanging = True
            restarting = asyncio.ensure_future(plane.client.post("/connectors/s/tasks/0/restart"))
            await plane.settle()
            await plane.client.put(f"/connectors/s/{verb}")
            await plane.settle()
            threads.release()
            assert (await restarting).status == 204
            await plane.settle()
            assert (await plane.states("s"))[1] == [states]

        threads.is_hanging = True
        began_s = asyncio.get_running_loop().time()
        restarting = asyncio.ensure_future(plane.client.post("/connectors/s/tasks/0/restart"))
        await plane.settle()
        assert (await plane.client.delete("/connectors/s")).status == 204
        await plane.settle()
        assert asyncio.get_running_loop().time() - began_s < 1.0
        assert plane.worker.statistics().supervised == 0
        assert (await restarting).status == 500
        assert plane.failures == []


# --- values that expire -------------------------------------------------------------------------


@virtual
async def test_a_value_that_expires_restarts_the_connector_and_its_tasks() -> None:
    probe = replace(_file(), ttl_ms=60_000)
    async with control_plane(resolve=providers.resolver(file=probe)) as plane:
        await plane.create("s", probe_secret=REFERENCE, tasks_max="2")
        first = plane.probes["s"].latest()
        probe.values["/s", "pw"] = "rotated-1"
        await plane.settle(59.0)
        assert plane.probes["s"].latest() is first
        await plane.settle(1.5)
        assert await plane.states("s") == ("RUNNING", ["RUNNING", "RUNNING"])
        assert plane.probes["s"].connector_config["probe.secret"] == "rotated-1"
        for task in range(2):
            assert plane.probes["s"].latest(task).spec.task_config["probe.secret"] == "rotated-1"
        starts = plane.probes["s"].calls["start"]
        await plane.settle(60.5)
        assert plane.probes["s"].calls["start"] == starts + 1


@virtual
async def test_one_restart_is_pending_and_a_new_answer_takes_its_place() -> None:
    probe = replace(_file(), ttl_ms=60_000)
    async with control_plane(resolve=providers.resolver(file=probe)) as plane:
        await plane.create("s", probe_secret=REFERENCE)
        await plane.settle(40.0)
        await plane.client.post("/connectors/s/restart")
        await plane.settle(40.0)
        assert plane.probes["s"].calls["start"] == 2
        await plane.settle(21.0)
        assert plane.probes["s"].calls["start"] == 3


@virtual
async def test_without_reload_and_without_connector_nothing_is_restarted() -> None:
    probe = replace(_file(), ttl_ms=60_000)
    async with control_plane(resolve=providers.resolver(file=probe)) as plane:
        await plane.create("s", probe_secret=REFERENCE, config_action_reload="none")
        await plane.create("gone", probe_secret=REFERENCE)
        await plane.client.delete("/connectors/gone")
        await plane.settle(3600.0)
        assert plane.probes["s"].calls["start"] == 1
        assert plane.probes["gone"].calls["start"] == 1


@virtual
async def test_a_value_without_any_life_time_does_not_make_a_tight_loop() -> None:
    probe = replace(_file(), ttl_ms=0)
    async with control_plane(resolve=providers.resolver(file=probe)) as plane:
        await plane.create("s", probe_secret=REFERENCE)
        await plane.settle(10 * WAIT_MIN_S)
        assert 8 <= plane.probes["s"].calls["start"] <= 12
