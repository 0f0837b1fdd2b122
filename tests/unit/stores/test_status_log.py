"""The status topic: bytes, and who may overwrite whom (spec kafka-connect C.4)."""

from __future__ import annotations

import pytest

from connectd.model.ids import ConnectorTaskId
from connectd.model.states import State
from connectd.model.status import Status, TopicStatus
from connectd.stores import status_log
from connectd.stores.status_log import StatusTable, TopicKey

_TASK = ConnectorTaskId("a-b", 2)


def _status(state: State, worker: str = "w1:8083", generation: int = 3) -> Status:
    return Status(state, worker, generation)


def test_records_have_the_bytes_of_kafka_connect() -> None:
    assert status_log.subject_key("a-b") == b"status-connector-a-b"
    assert status_log.subject_key(_TASK) == b"status-task-a-b-2"
    assert status_log.status_value(Status(State.RUNNING, "host:8083", 7)) == (
        b'{"state":"RUNNING","trace":null,"worker_id":"host:8083","generation":7,"version":null}'
    )
    versioned = Status(State.PAUSED, "host:8083", 7, version="4.3.1")
    assert status_log.status_value(versioned).endswith(b',"generation":7,"version":"4.3.1"}')
    topic = TopicStatus("t", "c", 0, 1700000000000)
    assert status_log.topic_key(TopicKey("t", "c")) == b"status-topic-t:connector-c"
    assert status_log.topic_value(topic) == (
        b'{"topic":{"name":"t","connector":"c","task":0,"discoverTimestamp":1700000000000}}'
    )


def test_what_is_written_is_read_back() -> None:
    table = StatusTable()
    failed = Status(State.FAILED, "w1:8083", 4, trace="ConfigError: no region", version="1.2")
    assert table.apply(status_log.subject_key(_TASK), status_log.status_value(failed)) is None
    assert table.get(_TASK) == failed
    topic = TopicStatus("t:1", "c", 0, 5)
    # A topic's name has no colon in Kafka; the first one ends it.
    plain = TopicStatus("t", "c", 0, 5)
    table.apply(status_log.topic_key(TopicKey("t", "c")), status_log.topic_value(plain))
    assert table.topics("c") == (plain,)
    assert topic not in table.topics("c")


@pytest.mark.parametrize(
    ("current", "ours", "allowed"),
    [
        (None, _status(State.FAILED), True),
        (_status(State.RUNNING, "w2:8083", 9), _status(State.FAILED, "w1:8083", 3), False),
        (_status(State.RUNNING, "w2:8083", 3), _status(State.FAILED, "w1:8083", 3), True),
        (_status(State.RUNNING, "w1:8083", 9), _status(State.FAILED, "w1:8083", 3), True),
    ],
)
def test_a_safe_write_never_overrules_a_later_generation(
    current: Status | None, ours: Status, allowed: bool
) -> None:
    table = StatusTable()
    if current is not None:
        table.put("c", current)
    assert table.may_write("c", ours, safe=True) is allowed
    assert table.may_write("c", ours, safe=False)


def test_a_late_unassigned_does_not_hide_the_running_of_the_new_owner() -> None:
    table = StatusTable()
    key = status_log.subject_key(_TASK)
    table.apply(key, status_log.status_value(_status(State.RUNNING, "w2:8083", 5)))
    table.apply(key, status_log.status_value(_status(State.UNASSIGNED, "w1:8083", 4)))
    current = table.get(_TASK)
    assert current is not None
    assert current.state is State.RUNNING


def test_a_removed_connector_takes_its_tasks_along() -> None:
    table = StatusTable()
    table.put("a-b", _status(State.RUNNING))
    table.put(_TASK, _status(State.RUNNING))
    table.put(ConnectorTaskId("other", 0), _status(State.RUNNING))
    table.apply(status_log.subject_key("a-b"), None)
    assert table.connectors() == {"other"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"{}"),
        (b"nonsense", b"{}"),
        (b"status-task-c-x", b"{}"),
        (b"status-connector-c", b"not json"),
        (b"status-connector-c", b'{"state":"FLYING","worker_id":"w","generation":1}'),
        (b"status-connector-c", b"{}"),
        (b"status-topic-t", b"{}"),
        ("status-task-c-²".encode(), b"{}"),
        (b"status-connector-c", b"[" * 100_000),
        (
            b"status-connector-c",
            b'{"state":"RUNNING","worker_id":"w","generation":Infinity}',
        ),
    ],
)
def test_garbage_is_skipped_and_said(key: bytes | None, value: bytes) -> None:
    table = StatusTable()
    assert table.apply(key, value)
    assert table.connectors() == frozenset()
