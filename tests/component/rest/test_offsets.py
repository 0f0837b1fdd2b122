"""Offsets over REST (spec kafka-connect A.6, H 43-49, field cases O02, O04)."""

from __future__ import annotations

import asyncio

import pytest

from connectd.errors import ConfigError, RetriableError
from connectd.model.record import SourceOffset, SourcePartition
from tests.kit.control_plane import Plane, control_plane
from tests.kit.virtual import virtual

T1 = SourcePartition.of({"table_name": "t1", "shard_id": "s-1"})
T2 = SourcePartition.of({"table_name": "t2", "shard_id": "s-2"})
NOT_STOPPED = (
    "Connectors must be in the STOPPED state before their offsets can be modified. This can be "
    "done for the specified connector by issuing a 'PUT' request to the '/connectors/s/stop' "
    "endpoint"
)


async def _prepare(plane: Plane, *, stops: bool = True) -> None:
    await plane.create("s")
    await plane.offsets.put("s", {T1: {"position": 7}, T2: {"position": None, "done": True}})
    if stops:
        assert (await plane.client.put("/connectors/s/stop")).status == 204
        await plane.settle()


@virtual
async def test_offsets_are_shown_as_they_are_stored() -> None:
    """H43."""
    async with control_plane() as plane:
        await _prepare(plane, stops=False)
        answer = await plane.client.get("/connectors/s/offsets")
        assert answer.status == 200
        assert answer.json() == {
            "offsets": [
                {"partition": {"table_name": "t1", "shard_id": "s-1"}, "offset": {"position": 7}},
                {
                    "partition": {"table_name": "t2", "shard_id": "s-2"},
                    "offset": {"position": None, "done": True},
                },
            ]
        }


@virtual
async def test_altering_writes_what_is_given_and_removes_what_is_null() -> None:
    """H46; the connector's own hook has seen it, so the short sentence is true."""
    async with control_plane() as plane:
        await _prepare(plane)
        body = {
            "offsets": [
                {"partition": T1.to_dict(), "offset": {"position": 0}},
                {"partition": T2.to_dict(), "offset": None},
            ]
        }
        answer = await plane.client.patch("/connectors/s/offsets", body)
        assert answer.status == 200
        assert answer.json() == {
            "message": "The offsets for this connector have been altered successfully"
        }
        assert plane.offsets.all("s") == {T1: {"position": 0}}
        assert plane.probes["s"].altered == [{T1: {"position": 0}, T2: None}]


@virtual
async def test_a_connector_that_keeps_more_outside_says_so() -> None:
    async with control_plane() as plane:
        await _prepare(plane)
        plane.probes["s"].alter_result = False
        body = {"offsets": [{"partition": T1.to_dict(), "offset": None}]}
        for done, answer in [
            ("altered", await plane.client.patch("/connectors/s/offsets", body)),
            ("reset", await plane.client.delete("/connectors/s/offsets")),
        ]:
            assert answer.json()["message"] == (
                f"The Connect framework-managed offsets for this connector have been {done} "
                "successfully. However, if this connector manages offsets externally, they will "
                f"need to be manually {done} in the system that the connector uses."
            )


@virtual
async def test_resetting_removes_everything_and_may_be_repeated() -> None:
    """H48, H49, R31."""
    async with control_plane() as plane:
        await _prepare(plane)
        for _ in range(2):
            answer = await plane.client.delete("/connectors/s/offsets")
            assert answer.status == 200
            assert answer.json() == {
                "message": "The offsets for this connector have been reset successfully"
            }
            assert (await plane.client.get("/connectors/s/offsets")).json() == {"offsets": []}
        assert plane.probes["s"].altered == [{T1: None, T2: None}, {}]


@virtual
async def test_offsets_of_other_connectors_stay() -> None:
    async with control_plane() as plane:
        await _prepare(plane)
        await plane.offsets.put("other", {T1: {"position": 1}})
        await plane.client.delete("/connectors/s/offsets")
        assert plane.offsets.all("other") == {T1: {"position": 1}}


@pytest.mark.parametrize("verb", [None, "pause"])
@virtual
async def test_offsets_change_only_while_the_connector_is_stopped(verb: str | None) -> None:
    """H44, O02."""
    body = {"offsets": [{"partition": T1.to_dict(), "offset": None}]}
    async with control_plane() as plane:
        await _prepare(plane, stops=False)
        if verb is not None:
            await plane.client.put(f"/connectors/s/{verb}")
            await plane.settle()
        for answer in (
            await plane.client.patch("/connectors/s/offsets", body),
            await plane.client.delete("/connectors/s/offsets"),
        ):
            assert (answer.status, answer.message) == (400, NOT_STOPPED)
        assert len(plane.offsets.all("s")) == 2


@virtual
async def test_a_stopped_connector_whose_tasks_are_still_ending_is_waited_for() -> None:
    """O02: a zombie's last commit must not come after the change."""
    async with control_plane() as plane:
        await _prepare(plane, stops=False)
        plane.probes["s"].ignores_stop = True
        await plane.client.put("/connectors/s/stop")
        before_s = asyncio.get_running_loop().time()
        answer = await plane.client.delete("/connectors/s/offsets")
        assert answer.status == 200
        assert asyncio.get_running_loop().time() - before_s == pytest.approx(5.0)
        assert plane.probes["s"].alive() == []


@virtual
async def test_a_task_that_never_ends_has_no_pen_when_offsets_change() -> None:
    async with control_plane() as plane:
        await _prepare(plane, stops=False)
        probe = plane.probes["s"]
        probe.ignores_stop = probe.ignores_cancel = True
        await plane.client.put("/connectors/s/stop")
        assert (await plane.client.delete("/connectors/s/offsets")).status == 200
        assert probe.latest().is_abandoned
        probe.latest().finish()


@pytest.mark.parametrize("body", [{"offsets": []}, {"offsets": None}, {}])
@virtual
async def test_there_must_be_something_to_alter(body: object) -> None:
    """H45; checked before anything else."""
    async with control_plane() as plane:
        answer = await plane.client.patch("/connectors/none/offsets", body)
        assert (answer.status, answer.message) == (
            400,
            "Partitions / offsets need to be provided for an alter offsets request",
        )


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ({"offset": {"a": 1}}, "A source partition is null"),
        ({"partition": None, "offset": {"a": 1}}, "A source partition is null"),
        ({"partition": [1], "offset": None}, "A source partition is an array"),
        ({"partition": {"a": 1}, "offset": 5}, "A source offset is a int"),
        (
            {"partition": {"a": {"b": 1}}, "offset": None},
            "Offsets may only contain primitive types as values, but field a contains an object",
        ),
        (
            {"partition": {"a": 1}, "offset": {"x": [1]}},
            "Offsets may only contain primitive types as values, but field x contains an array",
        ),
    ],
)
@virtual
async def test_partitions_and_offsets_are_flat_objects(entry: object, text: str) -> None:
    async with control_plane() as plane:
        await _prepare(plane)
        answer = await plane.client.patch("/connectors/s/offsets", {"offsets": [entry]})
        assert answer.status == 400
        assert answer.message.startswith(text)


@virtual
async def test_garbage_partitions_can_be_removed_and_the_order_of_members_is_no_matter() -> None:
    """O04."""
    async with control_plane() as plane:
        await _prepare(plane)
        swapped = {"shard_id": "s-1", "table_name": "t1"}
        body = {
            "offsets": [
                {"partition": swapped, "offset": {"position": 9}},
                {"partition": {"garbage": 1}, "offset": None},
            ]
        }
        answer = await plane.client.patch("/connectors/s/offsets", body)
        assert answer.status == 200
        assert plane.offsets.all("s")[T1] == {"position": 9}
        assert len(plane.offsets.all("s")) == 2


@virtual
async def test_what_the_connector_refuses_is_not_written() -> None:
    async with control_plane() as plane:
        await _prepare(plane)
        body = {"offsets": [{"partition": T1.to_dict(), "offset": {"position": "x"}}]}
        plane.probes["s"].alter_error = ConfigError("position is 'x', expected a number")
        answer = await plane.client.patch("/connectors/s/offsets", body)
        assert (answer.status, answer.message) == (400, "position is 'x', expected a number")
        plane.probes["s"].alter_error = ZeroDivisionError("bug")
        answer = await plane.client.patch("/connectors/s/offsets", body)
        assert (answer.status, answer.message) == (
            500,
            "Failed to modify offsets for source connector s",
        )
        assert plane.offsets.all("s")[T1] == {"position": 7}


@virtual
async def test_a_broker_that_is_away_is_told_in_kafkas_words_and_why() -> None:
    async def away(*args: object) -> None:
        raise RetriableError("no broker")

    body = {"offsets": [{"partition": T1.to_dict(), "offset": None}]}
    async with control_plane() as plane:
        await _prepare(plane)
        put = plane.offsets.put

        async def fail_to_put(
            connector: str, offsets: dict[SourcePartition, SourceOffset | None]
        ) -> None:
            raise RetriableError("no broker")

        plane.offsets.put = fail_to_put  # type: ignore[method-assign, assignment]
        answer = await plane.client.patch("/connectors/s/offsets", body)
        assert (answer.status, answer.message) == (
            500,
            "Failed to modify offsets for source connector s: no broker",
        )
        plane.offsets.put = put  # type: ignore[method-assign]
        plane.offsets.refresh = away  # type: ignore[method-assign]
        answer = await plane.client.get("/connectors/s/offsets")
        assert (answer.status, answer.message) == (
            500,
            "Failed to retrieve offsets for source connector s: no broker",
        )
        answer = await plane.client.patch("/connectors/s/offsets", body)
        assert (answer.status, answer.message) == (
            500,
            "Timed out while trying to read to the end of the offsets topic prior to modifying "
            "offsets for source connector s: no broker",
        )


@virtual
async def test_unknown_connectors_are_404() -> None:
    body = {"offsets": [{"partition": T1.to_dict(), "offset": None}]}
    async with control_plane() as plane:
        for answer in (
            await plane.client.get("/connectors/none/offsets"),
            await plane.client.patch("/connectors/none/offsets", body),
            await plane.client.delete("/connectors/none/offsets"),
        ):
            assert (answer.status, answer.message) == (404, "Connector none not found")
