"""Pictures of the config topic and restart requests."""

from __future__ import annotations

import pytest

from connectd.model.cluster import ClusterConfigState, RestartRequest
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import TargetState


def test_tasks_are_numbered_from_zero_to_the_committed_count() -> None:
    snapshot = ClusterConfigState(connectors={"a": {}}, task_counts={"a": 2})
    assert snapshot.tasks("a") == (ConnectorTaskId("a", 0), ConnectorTaskId("a", 1))
    assert snapshot.tasks("b") == ()


def test_an_inconsistent_connector_has_no_tasks() -> None:
    snapshot = ClusterConfigState(
        connectors={"a": {}}, task_counts={"a": 2}, inconsistent=frozenset({"a"})
    )
    assert snapshot.tasks("a") == ()


def test_a_connector_is_to_run_unless_somebody_said_otherwise() -> None:
    snapshot = ClusterConfigState(targets={"a": TargetState.STOPPED})
    assert snapshot.target("a") is TargetState.STOPPED
    assert snapshot.target("b") is TargetState.STARTED


@pytest.mark.parametrize(
    ("only_failed", "include_tasks", "rank"),
    [(True, False, 0), (True, True, 1), (False, False, 2), (False, True, 3)],
)
def test_restart_requests_rank_by_how_much_they_restart(
    only_failed: bool, include_tasks: bool, rank: int
) -> None:
    request = RestartRequest("a", only_failed=only_failed, include_tasks=include_tasks)
    assert request.rank == rank
