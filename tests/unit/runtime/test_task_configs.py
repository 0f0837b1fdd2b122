"""Task configs on their way into the config topic."""

from __future__ import annotations

import pytest

from connectd.errors import ConfigError
from connectd.model.cluster import ClusterConfigState
from connectd.model.ids import ConnectorTaskId
from connectd.runtime.task_configs import (
    check_task_count,
    needs_publishing,
    prepared,
    tasks_max,
)

TOO_MANY = (
    "The connector c has generated 3 tasks, which is greater than 2, the maximum number of tasks "
    "it is configured to create. This behaviour should be considered a bug and is disallowed. If "
    "necessary, it can be permitted by reconfiguring the connector with 'tasks.max.enforce' set to "
    "false; however, this option will be removed in a future release of Kafka Connect."
)


def test_more_tasks_than_allowed_are_refused_in_kafkas_words() -> None:
    with pytest.raises(ConfigError) as caught:
        check_task_count("c", 3, {"tasks.max": "2"})
    assert str(caught.value) == TOO_MANY


@pytest.mark.parametrize(
    ("count", "config"),
    [
        (2, {"tasks.max": "2"}),
        (1, {}),
        (0, {"tasks.max": "1"}),
        (3, {"tasks.max": "2", "tasks.max.enforce": "false"}),
        (3, {"tasks.max": "2", "tasks.max.enforce": " False "}),
    ],
)
def test_what_fits_or_is_not_enforced_passes(count: int, config: dict[str, str]) -> None:
    check_task_count("c", count, config)


@pytest.mark.parametrize("text", ["0", "-1", "x", "", "1.5", "9999999999", "٣"])
def test_tasks_max_is_a_positive_int(text: str) -> None:
    with pytest.raises(ConfigError, match=r"tasks\.max is"):
        tasks_max({"tasks.max": text})


def test_tasks_max_is_one_by_default_and_trimmed() -> None:
    assert tasks_max({}) == 1
    assert tasks_max({"tasks.max": " 7 "}) == 7


def test_secrets_go_back_behind_their_placeholders_before_publishing() -> None:
    raw = {"secret": "${file:/s:k}", "table": "t", "prefix": "x-${env::E}"}
    configs = [{"secret": "hush", "table": "t1", "n": "0"}, {"prefix": "x-prod"}]
    assert prepared(configs, task_class="m.Task", raw=raw) == [
        {"secret": "${file:/s:k}", "table": "t1", "n": "0", "task.class": "m.Task"},
        {"prefix": "x-${env::E}", "task.class": "m.Task"},
    ]


C0, C1 = ConnectorTaskId("c", 0), ConnectorTaskId("c", 1)
COMMITTED = ClusterConfigState(
    connectors={"c": {"x": "1"}},
    task_configs={C0: {"n": "0"}, C1: {"n": "1"}},
    task_counts={"c": 2},
    applied={"c": {"x": "1"}},
)


@pytest.mark.parametrize(
    ("snapshot", "configs", "is_needed"),
    [
        (COMMITTED, [{"n": "0"}, {"n": "1"}], False),
        (COMMITTED, [{"n": "0"}], True),
        (COMMITTED, [{"n": "0"}, {"n": "2"}], True),
        (COMMITTED, [{"n": "1"}, {"n": "0"}], True),
        (ClusterConfigState(connectors={"c": {}}), [], True),
        (ClusterConfigState(connectors={"c": {}}, applied={"c": {}}), [], False),
    ],
)
def test_a_task_set_is_published_when_anything_differs(
    snapshot: ClusterConfigState, configs: list[dict[str, str]], is_needed: bool
) -> None:
    assert needs_publishing(snapshot, "c", configs) is is_needed


def test_a_connector_config_that_changed_is_applied_by_publishing_equal_tasks_again() -> None:
    changed = ClusterConfigState(
        connectors={"c": {"x": "2"}},
        task_configs=COMMITTED.task_configs,
        task_counts=COMMITTED.task_counts,
        applied=COMMITTED.applied,
    )
    assert needs_publishing(changed, "c", [{"n": "0"}, {"n": "1"}])


def test_an_inconsistent_task_set_is_published_again() -> None:
    broken = ClusterConfigState(
        connectors=COMMITTED.connectors,
        task_counts={"c": 0},
        applied=COMMITTED.applied,
        inconsistent=frozenset({"c"}),
    )
    assert needs_publishing(broken, "c", [])
