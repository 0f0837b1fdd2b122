"""Restart plans: the table of spec D.3.1, in full."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from connectd.model.cluster import RestartRequest
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import State
from connectd.model.status import Status
from connectd.runtime.restart import plan_restart, stronger
from connectd.runtime.views import ConnectorStatusInfo


def _status(state: State) -> Status:
    return Status(state, "w:1", 3, "trace" if state is State.FAILED else None)


@pytest.mark.parametrize(
    ("only_failed", "include_tasks", "connector", "task"),
    list(itertools.product([True, False], [True, False], State, State)),
)
def test_the_flags_decide_what_is_restarted(
    only_failed: bool, include_tasks: bool, connector: State, task: State
) -> None:
    request = RestartRequest("a", only_failed=only_failed, include_tasks=include_tasks)
    tasks = (
        (ConnectorTaskId("a", 0), _status(task)),
        (ConnectorTaskId("a", 1), _status(State.RUNNING)),
    )
    plan = plan_restart(request, ConnectorStatusInfo("a", _status(connector), tasks, "source"))
    restarts_connector = not only_failed or connector is State.FAILED
    concerned = {
        each.task
        for each, status in tasks
        if include_tasks and (not only_failed or status.state is State.FAILED)
    }
    assert plan.restarts_connector == restarts_connector
    assert {each.task for each in plan.tasks} == concerned
    shown = plan.status
    if restarts_connector:
        assert shown.connector == replace(_status(connector), state=State.RESTARTING)
    else:
        assert shown.connector == _status(connector)
    for (each, status), (_, before) in zip(shown.tasks, tasks, strict=True):
        is_concerned = each.task in concerned
        assert status == (replace(before, state=State.RESTARTING) if is_concerned else before)


def test_the_stronger_of_two_pending_requests_wins() -> None:
    ranked = [
        RestartRequest("a", only_failed=True, include_tasks=False),
        RestartRequest("a", only_failed=True, include_tasks=True),
        RestartRequest("a", only_failed=False, include_tasks=False),
        RestartRequest("a", only_failed=False, include_tasks=True),
    ]
    for (low, one), (high, other) in itertools.product(enumerate(ranked), repeat=2):
        assert stronger(one, other) == ranked[max(low, high)]
    assert stronger(None, ranked[0]) == ranked[0]
