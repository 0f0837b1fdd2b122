"""The config topic as a state machine (spec kafka-connect C.2)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from connectd.model.cluster import LoggerChange, RestartRequest, SessionKey
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import TargetState
from connectd.stores import config_log
from connectd.stores.config_log import Applied, ConfigLog

_CONFIG = {"name": "s", "connector.class": "FileStreamSource"}


class Reader:
    """Feeds records at consecutive offsets."""

    def __init__(self) -> None:
        self.log = ConfigLog()
        self.offset = 0

    def feed(self, key: str, value: bytes | None) -> Applied:
        applied = self.log.apply(key.encode(), value, self.offset)
        self.offset += 1
        return applied

    def connector(self, name: str = "s") -> None:
        self.feed(config_log.connector_key(name), config_log.config_value(_CONFIG))

    def task_set(self, *values: str, name: str = "s", count: int | None = None) -> None:
        for number, value in enumerate(values):
            key = config_log.task_key(ConnectorTaskId(name, number))
            self.feed(key, config_log.config_value({"part": value}))
        size = len(values) if count is None else count
        self.feed(config_log.commit_key(name), config_log.commit_value(size))


def _parts(log: ConfigLog, name: str = "s") -> list[str]:
    picture = log.snapshot()
    return [picture.task_configs[task]["part"] for task in picture.tasks(name)]


def test_records_have_the_bytes_of_kafka_connect() -> None:
    assert config_log.target_value(TargetState.STOPPED) == (
        b'{"state":"PAUSED","state.v2":"STOPPED"}'
    )
    assert config_log.config_value(_CONFIG) == (
        b'{"properties":{"name":"s","connector.class":"FileStreamSource"}}'
    )
    assert config_log.commit_value(2) == b'{"tasks":2}'
    assert config_log.task_key(ConnectorTaskId("a-b", 3)) == "task-a-b-3"
    request = RestartRequest("s", only_failed=True, include_tasks=False)
    assert config_log.restart_value(request) == b'{"include-tasks":false,"only-failed":true}'
    assert config_log.session_key_value(SessionKey(b"\x00\xff", "HmacSHA256", 17)) == (
        b'{"key":"AP8=","algorithm":"HmacSHA256","creation-timestamp":17}'
    )
    assert config_log.logger_key("a.b") == "logger-cluster-a.b"
    assert config_log.logger_value("debug") == b'{"level":"debug"}'


def test_task_configs_are_invisible_until_they_are_committed() -> None:
    reader = Reader()
    reader.connector()
    key = config_log.task_key(ConnectorTaskId("s", 0))
    reader.feed(key, config_log.config_value({"part": "a"}))
    assert reader.log.snapshot().tasks("s") == ()
    reader.feed(config_log.commit_key("s"), config_log.commit_value(1))
    assert _parts(reader.log) == ["a"]


def test_a_worker_that_dies_between_tasks_and_commit_leaves_the_old_set() -> None:
    reader = Reader()
    reader.connector()
    reader.task_set("a", "b")
    key = config_log.task_key(ConnectorTaskId("s", 0))
    reader.feed(key, config_log.config_value({"part": "new"}))
    assert _parts(reader.log) == ["a", "b"]


def test_a_commit_that_lacks_task_configs_makes_the_connector_inconsistent_until_the_next() -> None:
    reader = Reader()
    reader.connector()
    reader.task_set("a", count=2)
    assert reader.log.snapshot().inconsistent == {"s"}
    assert reader.log.snapshot().tasks("s") == ()
    reader.task_set("a", "b")
    assert reader.log.snapshot().inconsistent == frozenset()
    assert _parts(reader.log) == ["a", "b"]


def test_generations_count_committed_task_sets() -> None:
    reader = Reader()
    reader.connector()
    reader.task_set()
    assert "s" not in reader.log.snapshot().generations
    for expected in (0, 1):
        reader.task_set("a")
        assert reader.log.snapshot().generations["s"] == expected
    reader.task_set()
    assert reader.log.snapshot().generations["s"] == 2


def test_after_compaction_a_connector_behind_its_tasks_has_none_and_keeps_its_config() -> None:
    """Field case O09: the tasks are then generated anew."""
    reader = Reader()
    reader.task_set("a")
    reader.connector()
    picture = reader.log.snapshot()
    assert picture.connectors["s"] == _CONFIG
    assert picture.tasks("s") == ()
    assert "s" not in picture.applied


def test_the_applied_config_is_that_of_the_last_commit() -> None:
    reader = Reader()
    reader.connector()
    reader.task_set("a")
    changed = {**_CONFIG, "topic": "t"}
    reader.feed(config_log.connector_key("s"), config_log.config_value(changed))
    assert reader.log.snapshot().applied["s"] == _CONFIG
    reader.task_set("a")
    assert reader.log.snapshot().applied["s"] == changed


def test_deleting_a_connector_forgets_its_tasks() -> None:
    reader = Reader()
    reader.connector()
    reader.task_set("a")
    reader.feed(config_log.connector_key("s"), None)
    reader.feed(config_log.target_key("s"), None)
    picture = reader.log.snapshot()
    assert (picture.connectors, picture.task_configs, picture.targets) == ({}, {}, {})


def test_tasks_of_a_connector_whose_name_continues_another_are_kept_apart() -> None:
    reader = Reader()
    reader.connector("s")
    reader.connector("s-1")
    reader.task_set("a", name="s")
    reader.task_set("b", "c", name="s-1")
    assert _parts(reader.log, "s") == ["a"]
    assert _parts(reader.log, "s-1") == ["b", "c"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b'{"state":"PAUSED","state.v2":"STOPPED"}', TargetState.STOPPED),
        (b'{"state":"PAUSED"}', TargetState.PAUSED),
        (b'{"state":"PAUSED","state.v2":7}', TargetState.PAUSED),
        (None, TargetState.STARTED),
    ],
)
def test_target_states_of_new_and_old_writers(value: bytes | None, expected: TargetState) -> None:
    reader = Reader()
    reader.connector()
    reader.feed(config_log.target_key("s"), value)
    assert reader.log.snapshot().target("s") is expected


def test_a_restart_request_is_handed_over_with_defaults_for_odd_fields() -> None:
    reader = Reader()
    applied = reader.feed("restart-connector-s", b'{"include-tasks":true,"only-failed":"yes"}')
    assert applied.restart == RestartRequest("s", only_failed=False, include_tasks=True)


_GARBAGE: Sequence[tuple[bytes | None, bytes | None]] = [
    (None, b"{}"),
    (b"\xff\xfe", b"{}"),
    (b"connector-s", b"not json"),
    (b"connector-s", b"[1]"),
    (b"connector-s", b'{"no":"properties"}'),
    (b"task-s-x", b'{"properties":{}}'),
    (b"task-s-0", None),
    ("task-s-²".encode(), b'{"properties":{}}'),
    (b"task-s-" + b"1" * 5000, b'{"properties":{}}'),
    (b"connector-s", b"[" * 100_000),
    (b"commit-s", b'{"tasks":"two"}'),
    (b"commit-s", b'{"tasks":-1}'),
    (b"commit-s", None),
    (b"target-state-s", b'{"state":"FLYING"}'),
    (b"something-else", b"{}"),
]


@pytest.mark.parametrize(("key", "value"), _GARBAGE)
def test_garbage_is_skipped_and_said_and_changes_nothing(
    key: bytes | None, value: bytes | None
) -> None:
    reader = Reader()
    reader.connector()
    reader.task_set("a")
    before = reader.log.snapshot()
    applied = reader.log.apply(key, value, reader.offset)
    assert applied.skipped
    assert reader.log.snapshot() == before


def test_a_commit_that_counts_a_trillion_tasks_costs_nothing() -> None:
    reader = Reader()
    reader.connector()
    reader.task_set("a")

    reader.feed("commit-s", b'{"tasks":1000000000000}')

    assert reader.log.snapshot().inconsistent == {"s"}
    assert reader.log.snapshot().tasks("s") == ()


def test_the_offset_is_that_of_the_next_record() -> None:
    reader = Reader()
    assert reader.log.snapshot().offset == -1
    reader.connector()
    assert reader.log.snapshot().offset == 1
    reader.log.apply(b"tasks-fencing-s", b"{}", 7)
    assert reader.log.snapshot().offset == 8


def test_the_newest_session_key_counts() -> None:
    reader = Reader()
    for created_ms in (1, 2):
        key = SessionKey(b"k" * 32, "HmacSHA256", created_ms)
        assert reader.feed(config_log.SESSION_KEY, config_log.session_key_value(key)).has_changed
        assert reader.log.snapshot().session_key == key


@pytest.mark.parametrize(
    "value",
    [
        b'{"key":"s3cret!","algorithm":"HmacSHA256","creation-timestamp":1}',
        b'{"key":"czNjcmV0","creation-timestamp":1}',
        b'{"key":17,"algorithm":"HmacSHA256","creation-timestamp":1}',
        b'{"key":"czNjcmV0","algorithm":"HmacSHA256","creation-timestamp":"now"}',
        b'{"key":"czNjcmV0","algorithm":"HmacSHA256","creation-timestamp":true}',
    ],
)
def test_a_session_key_that_is_none_is_skipped_without_showing_it(value: bytes) -> None:
    reader = Reader()
    skipped = reader.feed(config_log.SESSION_KEY, value).skipped
    assert skipped is not None
    assert "s3cret" not in skipped
    assert "czNjcmV0" not in skipped
    assert reader.log.snapshot().session_key is None


def test_a_session_key_does_not_print_its_key() -> None:
    assert "s3cret" not in repr(SessionKey(b"s3cret", "HmacSHA256", 1))


def test_levels_of_loggers_are_handed_over_and_leave_no_trace() -> None:
    reader = Reader()
    applied = reader.feed(config_log.logger_key("connectd.rest"), config_log.logger_value("DEBUG"))
    assert applied == Applied(logger=LoggerChange("connectd.rest", "DEBUG"))
    assert reader.feed("logger-cluster-x", b'{"level":5}').skipped == "level of logger x is 5"
    assert reader.feed("logger-cluster-x", None) == Applied()


def test_a_topic_with_nothing_but_what_workers_write_unasked_was_never_touched() -> None:
    log = ConfigLog()
    assert log.is_untouched(0)
    key = config_log.session_key_value(SessionKey(b"k" * 32, "HmacSHA256", 1))
    log.apply(config_log.SESSION_KEY.encode(), key, 0)
    log.apply(config_log.logger_key("root").encode(), config_log.logger_value("DEBUG"), 1)
    assert log.is_untouched(2)
    assert not log.is_untouched(3), "records are missing: nobody knows what they were about"


@pytest.mark.parametrize(
    "key",
    [
        config_log.connector_key("c").encode(),
        config_log.target_key("c").encode(),
        b"task-c-0",
        b"commit-c",
        b"restart-connector-c",
        b"tasks-fencing-c",
        b"left by somebody",
        b"\xff",
        None,
    ],
)
def test_a_topic_with_any_other_record_was_touched_and_also_by_a_tombstone(
    key: bytes | None,
) -> None:
    log = ConfigLog()
    log.apply(key, None, 0)
    assert not log.is_untouched(1)
