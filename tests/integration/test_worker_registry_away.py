"""A schema registry that is away: records wait in their order, the task says so, none is lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.worker_rig import Rig
from tests.kit.scripted_registry import ScriptedRegistry

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]

_AVRO = "io.confluent.connect.avro.AvroConverter"


@pytest.fixture
def away() -> Iterator[ScriptedRegistry]:
    """A registry that answers nothing useful until ``fails`` is cleared."""
    with ScriptedRegistry() as registry:
        registry.fails.extend([503] * 10_000)
        yield registry


def _avro(registry: ScriptedRegistry) -> dict[str, str]:
    return {"value.converter": _AVRO, "value.converter.schema.registry.url": registry.url}


def test_records_wait_for_the_registry_in_their_order_and_the_table_says_why(
    rig: Rig, away: ScriptedRegistry
) -> None:
    rig.create_table("t")
    rig.create(**_avro(away))
    rig.wait_following("t")
    for value in "12":
        for number in range(30):
            rig.put("t", number, v={"N": value})

    rig.wait(
        lambda: "VALUE_CONVERTER is tried again: registering a schema" in rig.row("t")["reason"],
        "the reason",
    )
    assert rig.states() == ("RUNNING", "RUNNING")
    assert rig.records("t") == []
    away.fails.clear()
    rig.wait_records("t", 60)
    records = rig.records("t")
    assert [record.key_json["id"] for record in records] == [
        f"k{number}" for number in (*range(30), *range(30))
    ]
    assert {(record.value or b"")[:1] for record in records} == {b"\x00"}
    rig.wait(lambda: rig.row("t")["reason"] == "", "no more reason")
    lines = [
        line["event"]
        for line in rig.log_lines()
        if line["event"].startswith("processing records") and line["connector"] == rig.name
    ]
    assert lines == [
        "processing records: tried again until it works, later records wait",
        "processing records: works again",
    ]


def test_a_task_that_is_not_to_wait_fails_and_passes_nothing_over(
    rig: Rig, away: ScriptedRegistry
) -> None:
    rig.create_table("t", items=3)
    rig.create(**_avro(away), errors__retry__timeout="0")

    rig.wait_states("RUNNING", "FAILED")

    trace = rig.status()["tasks"][0]["trace"]
    assert "Tolerance exceeded in error handler" in trace.splitlines()[0]
    assert "Leader not known" in trace
    away.fails.clear()
    rig.expect(204, "POST", f"{rig.path}/tasks/0/restart")
    rig.wait_records("t", 3)
    rig.wait_states("RUNNING", "RUNNING")


def test_one_connector_whose_registry_is_away_holds_up_no_other(
    rig: Rig, away: ScriptedRegistry
) -> None:
    rig.create_table("t", items=3)
    waiting = rig.config(**_avro(away), kafka__topic__prefix=rig.topic("waiting-"))
    rig.expect(201, "PUT", "/connectors/waiting/config", waiting)
    rig.create()

    rig.wait_following("t")
    for number in range(10, 40):
        rig.put("t", number)
    rig.wait_equal("t")

    rig.expect(204, "DELETE", "/connectors/waiting")
