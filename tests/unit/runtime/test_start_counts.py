"""Starts of connectors and tasks, as Kafka Connect counts them."""

from __future__ import annotations

from connectd.model.ids import ConnectorTaskId
from connectd.model.states import State
from connectd.runtime.start_counts import StartCounts

TASK = ConnectorTaskId("c", 0)


def test_the_first_state_of_a_life_decides() -> None:
    counts = StartCounts()
    counts.on_begun("c")
    counts.on_state("c", State.UNASSIGNED)  # stopped before it had started
    counts.on_begun("c")
    counts.on_state("c", State.RUNNING)
    counts.on_state("c", State.FAILED)  # much later
    counts.on_begun("c")
    counts.on_state("c", State.FAILED)
    counts.on_begun(TASK)
    counts.on_state(TASK, State.PAUSED)
    told = counts.metrics()
    assert told["connector-startup-attempts-total"] == 3
    assert told["connector-startup-success-total"] == 1
    assert told["connector-startup-failure-total"] == 1
    assert told["connector-startup-success-percentage"] == 1 / 3
    assert told["task-startup-success-percentage"] == 1.0
    assert told["task-startup-failure-percentage"] == 0.0


def test_without_a_start_there_is_no_part_that_failed() -> None:
    assert set(StartCounts().metrics().values()) == {0}


def test_lives_after_the_first_are_restarts_until_the_connector_goes() -> None:
    counts = StartCounts()
    for item in ("c", TASK, TASK, TASK, "other", "other"):
        counts.on_begun(item)
    assert (counts.restarts("c"), counts.restarts(TASK)) == (0, 2)
    counts.forget("c")
    assert (counts.restarts("c"), counts.restarts(TASK), counts.restarts("other")) == (0, 0, 1)
    assert counts.metrics()["task-startup-attempts-total"] == 3  # what has happened has happened
