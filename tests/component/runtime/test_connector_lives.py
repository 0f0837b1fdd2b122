"""Connectors on their worker: failing, hanging, changing (spec kafka-connect D.1.2, R18)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from connectd.errors import ConfigError
from connectd.model.states import State
from connectd.observe import redaction
from connectd.plugins.resolving import ConfigResolver
from connectd.runtime.statuses import LATE_S
from tests.kit import providers
from tests.kit.control_plane import Plane, control_plane, src
from tests.kit.providers import ProbeProvider
from tests.kit.virtual import virtual


@pytest.fixture(autouse=True)
def _no_secrets_of_other_tests() -> Iterator[None]:
    redaction.forget_secrets()
    yield
    redaction.forget_secrets()


def _trace(plane: Plane, name: str) -> str:
    status = plane.status(name)
    assert status is not None
    assert status.state is State.FAILED
    assert status.trace is not None
    return status.trace


@virtual
async def test_a_start_that_fails_shows_its_cause_and_no_tasks() -> None:
    async with control_plane() as plane:
        plane.probes["s"].start_error = ConfigError("aws.region is missing; set it")
        await plane.create("s")
        assert await plane.states("s") == ("FAILED", [])
        assert _trace(plane, "s").splitlines()[0] == (
            "connectd.errors.ConfigError: aws.region is missing; set it"
        )
        assert plane.probes["s"].calls["stop"] == 1, "what half a start has opened is released"


@virtual
async def test_a_hanging_start_holds_up_nobody_else() -> None:
    async with control_plane() as plane:
        plane.probes["slow"].start_gate = gate = asyncio.Event()
        await plane.create("slow")
        for name in ("a", "b"):
            await plane.create(name)
            assert await plane.states(name) == ("RUNNING", ["RUNNING"])
        assert (await plane.client.get("/connectors/slow/status")).status == 404
        await plane.settle(LATE_S)
        assert await plane.states("slow") == ("UNASSIGNED", [])
        gate.set()
        await plane.settle()
        assert await plane.states("slow") == ("RUNNING", ["RUNNING"])


@virtual
async def test_a_start_that_never_ends_fails_in_the_end() -> None:
    async with control_plane() as plane:
        plane.probes["s"].start_gate = asyncio.Event()
        await plane.create("s")
        await plane.settle(299.0)
        assert await plane.states("s") == ("UNASSIGNED", [])
        await plane.settle(2.0)
        assert "not done after 300 s, gave up" in _trace(plane, "s")


@virtual
async def test_a_hanging_connector_can_be_deleted_and_created_anew() -> None:
    async with control_plane() as plane:
        probe = plane.probes["s"]
        probe.start_gate = asyncio.Event()
        await plane.create("s")
        assert (await plane.client.delete("/connectors/s")).status == 204
        await plane.settle()
        assert (await plane.client.get("/connectors/s/status")).status == 404
        probe.start_gate = None
        await plane.create("s")
        await plane.settle(6.0)
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])
        assert probe.calls["start"] == 2


@virtual
async def test_a_connector_that_was_deleted_and_created_in_one_breath_has_tasks() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        assert (await plane.client.delete("/connectors/s")).status == 204
        assert (await plane.client.put("/connectors/s/config", src("s"))).status == 201
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])
        assert len(plane.probes["s"].alive()) == 1


@virtual
async def test_deleting_and_creating_while_something_stops_starts_a_new_life() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        probe = plane.probes["s"]
        probe.ignores_stop = True
        await plane.client.post("/connectors/s/restart?includeTasks=true&onlyFailed=false")
        await plane.settle(1.0)
        await plane.client.delete("/connectors/s")
        await plane.settle(1.0)
        await plane.client.put("/connectors/s/config", src("s"))
        await plane.settle(30.0)
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])
        assert len(probe.alive()) == 1


@virtual
async def test_an_error_that_the_connector_raises_stops_it_and_shows() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        context = plane.probes["s"].context
        assert context is not None
        context.raise_error(ValueError("role refused"))
        await plane.settle()
        assert await plane.states("s") == ("FAILED", ["RUNNING"])
        assert _trace(plane, "s").startswith("ValueError: role refused\n")
        assert plane.probes["s"].calls["stop"] == 1
        context.request_task_reconfiguration()
        await plane.settle()
        assert plane.probes["s"].calls["task_configs"] == 1, "a failed connector is not asked"


@virtual
async def test_only_stopping_or_a_restart_leads_out_of_failed() -> None:
    async with control_plane() as plane:
        probe = plane.probes["s"]
        probe.start_error = ValueError("not yet")
        await plane.create("s")
        probe.start_error = None
        for verb in ("pause", "resume"):
            await plane.client.put(f"/connectors/s/{verb}")
            await plane.settle()
            assert await plane.states("s") == ("FAILED", [])
        await plane.client.put("/connectors/s/stop")
        await plane.settle()
        assert await plane.states("s") == ("STOPPED", [])
        await plane.client.put("/connectors/s/resume")
        await plane.settle()
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])


@virtual
async def test_stopping_never_ends_in_failed_but_pausing_may() -> None:
    async with control_plane() as plane:
        for name, verb, state in [("a", "stop", "STOPPED"), ("b", "pause", "FAILED")]:
            await plane.create(name)
            plane.probes[name].stop_error = ValueError("stuck")
            await plane.client.put(f"/connectors/{name}/{verb}")
            await plane.settle()
            assert (await plane.states(name))[0] == state


@virtual
async def test_the_latest_of_several_wanted_states_wins() -> None:
    async with control_plane() as plane:
        probe = plane.probes["s"]
        probe.start_gate = asyncio.Event()
        await plane.create("s")
        for verb in ("pause", "resume", "pause", "stop", "resume", "pause"):
            await plane.client.put(f"/connectors/s/{verb}")
        probe.start_gate.set()
        await plane.settle()
        assert (await plane.states("s"))[0] == "PAUSED"
        assert probe.calls["start"] == 1


@virtual
async def test_a_new_config_is_a_new_instance_and_new_tasks() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        await plane.create("s", probe_topic="t2")
        probe = plane.probes["s"]
        assert probe.calls["start"] == 2
        assert probe.calls["stop"] == 1
        assert probe.connector_config["probe.topic"] == "t2"
        assert probe.latest().spec.task_config["probe.topic"] == "t2"
        assert len(probe.alive()) == 1
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])


@virtual
async def test_a_new_config_restarts_the_tasks_even_if_theirs_are_equal() -> None:
    """As Kafka 3.9 does: the tasks see the connector's config too."""
    async with control_plane() as plane:
        await plane.create("s")
        await plane.create("s", errors_tolerance="all")
        probe = plane.probes["s"]
        assert len(probe.runners) == 2
        assert probe.latest().spec.connector_config["errors.tolerance"] == "all"


@virtual
async def test_an_instance_that_hangs_in_stop_is_cut_off_after_its_grace() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        probe = plane.probes["s"]
        probe.stop_gate = asyncio.Event()
        before_s = asyncio.get_running_loop().time()
        assert (await plane.client.post("/connectors/s/restart")).status == 204
        assert asyncio.get_running_loop().time() - before_s == pytest.approx(5.0)
        assert await plane.states("s") == ("RUNNING", ["RUNNING"])
        probe.stop_gate = None


@virtual
async def test_a_class_that_is_not_installed_any_more_fails_its_connector_alone() -> None:
    async with control_plane() as plane:
        config = {**src("s"), "connector.class": "gone.Connector"}
        await plane.configs.put_connector("s", config)
        await plane.create("good")
        assert _trace(plane, "s").startswith(
            "connectd.errors.ConfigError: Failed to find any class"
        )
        assert (await plane.client.get("/connectors/s/status")).json()["type"] == "unknown"
        assert (await plane.states("good"))[0] == "RUNNING"


def _providers() -> ConfigResolver:
    return providers.resolver(
        file=ProbeProvider({("/s", "k"): "hunter2"}),
        vault=ProbeProvider(errors={"": ConfigError("vault does not answer")}),
    )


@virtual
async def test_secrets_are_resolved_for_plugins_only() -> None:
    """X01: the placeholder everywhere else, the config topic included."""
    placeholder = "${file:/s:k}"
    async with control_plane(resolve=_providers()) as plane:
        await plane.create("s", probe_secret=placeholder)
        probe = plane.probes["s"]
        assert probe.connector_config["probe.secret"] == "hunter2"
        assert probe.latest().spec.task_config["probe.secret"] == "hunter2"
        assert probe.latest().spec.connector_config["probe.secret"] == "hunter2"
        snapshot = plane.configs.snapshot()
        stored = [*snapshot.connectors.values(), *snapshot.task_configs.values()]
        assert {config["probe.secret"] for config in stored} == {placeholder}
        for target in ("", "/config", "/tasks", "/status"):
            assert b"hunter2" not in (await plane.client.get(f"/connectors/s{target}")).body


@virtual
async def test_a_secret_that_cannot_be_resolved_fails_who_needs_it() -> None:
    async with control_plane(resolve=_providers()) as plane:
        await plane.configs.put_connector("s", src("s", probe_secret="${vault:down}"))
        await plane.settle()
        assert "vault does not answer" in _trace(plane, "s")
        assert plane.failures == []


@virtual
async def test_traces_do_not_tell_the_secrets_of_a_connector() -> None:
    """Promise 8, X01: whether declared, named like one, or resolved from a placeholder."""
    more = {"probe.secret": "declared-1", "my.password": "named-2", "plain": "${file:/s:k}"}
    async with control_plane(resolve=_providers()) as plane:
        error = ValueError("tried declared-1 with named-2 and hunter2 for table orders")
        plane.probes["s"].start_error = error
        assert (await plane.client.put("/connectors/s/config", {**src("s"), **more})).status == 201
        await plane.settle()
        trace = _trace(plane, "s")
        assert "tried [hidden] with [hidden] and [hidden] for table orders" in trace
        for secret in ("declared-1", "named-2", "hunter2"):
            assert secret not in trace
