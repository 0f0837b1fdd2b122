"""Requests wait until the worker is ready, end in time, and say what they waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

import pytest

from connectd.aio.clock import LoopClock
from connectd.aio.jobs import JobGroup
from connectd.errors import RecordTooLargeError, RetriableError, WorkerError
from connectd.runtime.requests import (
    RequestFailedError,
    RequestGate,
    RequestTimeoutError,
    failing_with,
    stage,
)
from tests.kit.virtual import virtual


def _gate(*, deadline_s: float = 90.0, is_open: bool = True) -> RequestGate:
    gate = RequestGate(LoopClock(wall_anchor_s=1_714_557_600.0), deadline_s=deadline_s)
    if is_open:
        gate.open()
    return gate


async def _hang() -> None:
    await asyncio.Event().wait()


async def _request(gate: RequestGate, work: Coroutine[None, None, None]) -> None:
    async with gate.request():
        await work


async def _timed_out(gate: RequestGate, work: Coroutine[None, None, None]) -> str:
    """The text of the request that does this work and comes to no end."""
    with pytest.raises(RequestTimeoutError) as caught:
        await _request(gate, work)
    return str(caught.value)


@virtual
async def test_a_request_that_hangs_ends_at_its_deadline_and_names_its_stage() -> None:
    async def work() -> None:
        with stage("reading to the end of the config topic"):
            await _hang()

    text = await _timed_out(_gate(), work())
    assert asyncio.get_running_loop().time() == pytest.approx(90.0)
    assert text == (
        "Request timed out. The worker is currently reading to the end of the config topic, "
        "which began at 2024-05-01T10:00:00.000Z."
    )


@virtual
async def test_between_stages_the_last_one_is_told() -> None:
    async def work() -> None:
        with stage("looking"):
            await asyncio.sleep(4.0)
        await _hang()

    assert await _timed_out(_gate(deadline_s=10.0), work()) == (
        "Request timed out. The last operation the worker completed was looking, which began at "
        "2024-05-01T10:00:00.000Z and completed at 2024-05-01T10:00:04.000Z."
    )


@virtual
async def test_without_any_stage_the_sentence_is_short() -> None:
    assert await _timed_out(_gate(), _hang()) == "Request timed out"


@virtual
async def test_a_stage_that_failed_has_ended() -> None:
    async def work() -> None:
        with pytest.raises(ValueError, match="x"), stage("trying"):
            raise ValueError("x")
        await _hang()

    assert "The last operation the worker completed was trying" in await _timed_out(_gate(), work())


@virtual
async def test_before_the_worker_is_ready_requests_wait_and_tell_how_far_it_is() -> None:
    gate = _gate(is_open=False)
    jobs = JobGroup("test")

    async def start() -> None:
        with gate.stages.stage("initializing and reading to the end of internal topics"):
            await asyncio.sleep(120.0)
        gate.open()

    jobs.spawn("start", start())
    await asyncio.sleep(0)
    with pytest.raises(RequestTimeoutError, match="initializing and reading to the end of"):
        async with gate.request():
            pytest.fail("must not be let in")
    async with gate.request():
        assert asyncio.get_running_loop().time() == pytest.approx(120.0)
    assert gate.was_opened


@virtual
async def test_a_worker_that_shuts_down_refuses_what_waits_and_what_comes() -> None:
    gate = _gate(is_open=False)
    jobs = JobGroup("test")
    refused: list[str] = []

    async def ask() -> None:
        with pytest.raises(RequestFailedError, match="Worker is shutting down") as caught:
            async with gate.request():
                pytest.fail("must not be let in")
        refused.append(str(caught.value))

    jobs.spawn("early", ask())
    await asyncio.sleep(1.0)
    gate.close()
    jobs.spawn("late", ask())
    assert await jobs.join(deadline_s=1.0)
    assert len(refused) == 2
    assert not gate.was_opened


@virtual
async def test_a_timeout_inside_of_a_request_is_not_mistaken_for_its_deadline() -> None:
    with pytest.raises(TimeoutError, match="the other side"):
        async with _gate().request():
            raise TimeoutError("the other side")


@virtual
async def test_a_failed_service_is_told_to_the_herder() -> None:
    gate = _gate()
    told: list[WorkerError] = []
    gate.on_failure = told.append
    with pytest.raises(WorkerError):
        async with gate.request():
            raise WorkerError("log lost")
    assert [str(error) for error in told] == ["log lost"]


@virtual
async def test_changes_of_one_connector_take_turns_those_of_others_do_not_wait() -> None:
    gate = _gate()
    jobs = JobGroup("test")
    order: list[str] = []

    async def change(connector: str, label: str) -> None:
        async with gate.request(), gate.turn(connector):
            order.append(f"{label} in")
            await asyncio.sleep(1.0)
            order.append(f"{label} out")

    for connector, label in [("a", "a1"), ("a", "a2"), ("b", "b1")]:
        jobs.spawn(label, change(connector, label))
    assert await jobs.join(deadline_s=10.0)
    assert order == ["a1 in", "b1 in", "a1 out", "b1 out", "a2 in", "a2 out"]
    assert len(gate._turns) == 0


@virtual
async def test_who_gives_up_while_waiting_for_a_turn_does_not_keep_it() -> None:
    gate = _gate(deadline_s=5.0)
    jobs = JobGroup("test")

    async def hold() -> None:
        async with gate.turn("a"):
            await asyncio.sleep(20.0)

    jobs.spawn("hold", hold())
    await asyncio.sleep(0)
    with pytest.raises(RequestTimeoutError, match="waiting for another change of connector a"):
        async with gate.request(), gate.turn("a"):
            pytest.fail("must not get it")
    assert await jobs.join(deadline_s=30.0)
    async with gate.request(), gate.turn("a"):
        pass


def test_temporary_errors_of_a_store_get_the_text_that_clients_know_and_their_own() -> None:
    with (
        pytest.raises(RequestFailedError, match=r"^Error writing: no broker$") as caught,
        failing_with("Error writing"),
    ):
        raise RetriableError("no broker")
    assert isinstance(caught.value.__cause__, RetriableError)
    with (
        pytest.raises(RequestFailedError, match=r"^Error writing x to Kafka$"),
        failing_with("Error writing x"),
    ):
        raise RetriableError("Error writing x to Kafka")
    with pytest.raises(ValueError, match="other"), failing_with("Error writing"):
        raise ValueError("other")


@virtual
async def test_a_stage_outside_of_a_request_is_nobodys_business() -> None:
    with stage("alone"):
        pass


def test_a_config_too_large_for_kafka_is_told_what_limits_it() -> None:
    with (
        pytest.raises(RequestFailedError, match=r"^Error writing x: .*max\.message\.bytes"),
        failing_with("Error writing x"),
    ):
        raise RecordTooLargeError("raise producer.override.max.request.size on the connector")
