"""Plugins that call ``sys.exit``, or raise what is no error: who fails, and who does not."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from connectd.errors import FatalTaskError, TransformError
from connectd.model.ids import ConnectorTaskId
from connectd.runtime.statuses import summary_of
from tests.kit.control_plane import Plane, control_plane
from tests.kit.probes import PROBE_CLASS, ProbeConnector
from tests.kit.virtual import virtual

TITLE = f"connector bad ({PROBE_CLASS})"
ESCAPES = [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()]


def _trace(plane: Plane, task: ConnectorTaskId | None = None) -> str:
    status = plane.status("bad") if task is None else plane.statuses.task(task)
    assert status is not None
    return (status.trace or "").splitlines()[0]


async def _create_both(plane: Plane) -> None:
    await plane.create("good")
    await plane.create("bad")


async def _assert_good_runs(plane: Plane) -> None:
    assert await plane.states("good") == ("RUNNING", ["RUNNING"])
    assert plane.failures == []


@pytest.mark.parametrize("error", ESCAPES)
@pytest.mark.parametrize(
    ("call", "doing"),
    [("start", f"starting {TITLE}"), ("task_configs", f"computing task configs of {TITLE}")],
)
@virtual
async def test_a_connector_that_would_end_the_worker_fails(
    call: str, doing: str, error: BaseException
) -> None:
    async with control_plane() as plane:
        setattr(plane.probes["bad"], f"{call}_error", error)
        with capture_logs() as lines:
            await _create_both(plane)
        assert await plane.states("bad") == ("FAILED", [])
        found = f"{doing}: {error!r} in tests.kit.probes.ProbeConnector.{call} ("
        assert found in _trace(plane)
        assert any(found in line["error"] for line in lines if line["event"] == "failed")
        await _assert_good_runs(plane)


@pytest.mark.parametrize("error", ESCAPES)
@virtual
async def test_one_that_would_end_it_while_it_stops_is_stopped(error: BaseException) -> None:
    async with control_plane() as plane:
        await _create_both(plane)
        plane.probes["bad"].stop_error = error
        await plane.client.put("/connectors/bad/stop")
        await plane.settle()
        assert await plane.states("bad") == ("STOPPED", [])
        await _assert_good_runs(plane)


@pytest.mark.parametrize("error", ESCAPES)
@pytest.mark.parametrize(
    ("what", "doing"),
    [("runner", f"creating task bad-0 of {PROBE_CLASS}: "), ("task_start", "running task bad-0: ")],
)
@virtual
async def test_a_task_that_would_end_the_worker_fails(
    what: str, doing: str, error: BaseException
) -> None:
    async with control_plane() as plane:
        setattr(plane.probes["bad"], f"{what}_error", error)
        await _create_both(plane)
        assert await plane.states("bad") == ("RUNNING", ["FAILED"])
        assert f"{doing}{error!r} in tests.kit." in _trace(plane, ConnectorTaskId("bad", 0))
        await _assert_good_runs(plane)


@virtual
async def test_offsets_that_a_plugin_does_not_check_but_exits_are_an_answer() -> None:
    async with control_plane() as plane:
        await _create_both(plane)
        await plane.client.put("/connectors/bad/stop")
        await plane.settle()
        plane.probes["bad"].alter_error = SystemExit(3)
        entry = {"partition": {"t": "1"}, "offset": {"n": 1}}
        answer = await plane.client.patch("/connectors/bad/offsets", {"offsets": [entry]})
        assert answer.status == 500
        assert f"checking offsets of {TITLE}: SystemExit(3) in " in answer.json()["message"]
        await _assert_good_runs(plane)


@virtual
async def test_keys_that_a_plugin_does_not_tell_but_exits_are_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def leave(cls: type) -> None:
        raise SystemExit(3)

    async with control_plane() as plane:
        await _create_both(plane)
        with monkeypatch.context() as patched:
            patched.setattr(ProbeConnector, "config_def", classmethod(leave))
            answer = await plane.client.get(f"/connector-plugins/{PROBE_CLASS}/config")
        assert answer.status == 500
        assert f"asking {PROBE_CLASS} for its keys: SystemExit(3) in " in answer.json()["message"]
        await _assert_good_runs(plane)


@virtual
async def test_task_configs_that_are_none_fail_the_connector_instead_of_being_tried_for_ever() -> (
    None
):
    async with control_plane() as plane:
        await _create_both(plane)
        life_config = plane.probes["bad"].connector_config
        life_config["probe.size"] = 7  # type: ignore[index]  # what is tested
        context = plane.probes["bad"].context
        assert context is not None
        context.request_task_reconfiguration()
        await plane.settle()
        assert _trace(plane).endswith(
            f"{PROBE_CLASS}.task_configs gave 'probe.size' with an int, expected a list of dicts "
            "with texts as keys and values"
        )


@virtual
async def test_the_tables_of_a_failed_task_show_the_cause() -> None:
    async with control_plane() as plane:
        await plane.create("bad")
        error = FatalTaskError("Tolerance exceeded in error handler")
        error.__cause__ = TransformError("transforms.x (com.acme.Mask) failed with KeyError: 'to'")
        error.__cause__.__cause__ = KeyError("to")
        plane.probes["bad"].latest().fail(error)
        await plane.settle()
        rows = (await plane.client.get("/connectd/connectors/bad/tables")).json()["tables"]
        assert [row["reason"] for row in rows if row.get("state") == "FAILED"] == [
            "the task has failed: Tolerance exceeded in error handler: transforms.x "
            "(com.acme.Mask) failed with KeyError: 'to'"
        ]


def test_a_summary_has_what_each_cause_adds() -> None:
    error = ValueError("")
    assert summary_of(error) == "ValueError"
    error.__cause__ = OSError("disk full")
    assert summary_of(error) == "ValueError: OSError: disk full"
    error.__cause__.__cause__ = KeyError()
    assert summary_of(error) == "ValueError: OSError: disk full: KeyError"
