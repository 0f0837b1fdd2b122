"""Internal topics as they are found: with garbage, half compacted, or written by another worker."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.kafka import KafkaBroker
from tests.integration.worker_rig import Rig, partition_text

pytestmark = pytest.mark.kafka

ADMIN_DEADLINE_S = 60.0

GARBAGE: dict[str, list[tuple[bytes | None, bytes | None]]] = {
    "configs": [
        (b"\xff\xfe", b"{}"),
        (b"connector-x", b"[" * 20_000),
        (b"connector-y", b'{"no":"properties"}'),
        ("task-c-²".encode(), b'{"properties":{}}'),
        (b"commit-c", b'{"tasks":"many"}'),
        (b"target-state-c", b'{"state":"FLYING"}'),
        (b"left-by-somebody", b"hello"),
    ],
    "offsets": [
        (b"not json", b"{}"),
        (b'{"an":"object"}', b"{}"),
        (b'["c"]', b"{}"),
        (b'["c",{"table_name":["t"]}]', b"{}"),
        (b'["c",{"table_name":"t"}]', b"\x00\xff\x00"),
        (b'["c",{"table_name":"t"}]', b'["an array"]'),
        (b'["c",{"left":"over"}]', b'{"by":"another version"}'),
        (b"[" * 20_000, b"{}"),
    ],
    "status": [
        (b"nonsense", b"{}"),
        (b"status-connector-c", b"not json"),
        (b"status-task-c-0", b'{"state":"FLYING","worker_id":"w","generation":1}'),
        (b"status-task-c-0", b'{"state":"RUNNING","worker_id":"w","generation":Infinity}'),
        (b"status-topic-t", b"{}"),
        (b"status-connector-gone", b"[" * 20_000),
    ],
}
"""What must be passed over; but for one offset of a partition that the connector does not know."""


@pytest.fixture
def rig(kafka_broker: KafkaBroker, kafka_prefix: str, tmp_path: Path) -> Iterator[Rig]:
    with Rig(kafka_broker, kafka_prefix, tmp_path, starts_worker=False) as rig:
        yield rig


def topics_without_a_connector(rig: Rig) -> None:
    """Let a worker create the topics and go."""
    rig.worker.start()
    assert rig.expect(200, "GET", "/connectors").body == []  # answered once all has been read
    assert rig.worker.sigterm() == 0


def test_garbage_in_all_three_topics_is_passed_over_with_a_word_and_nothing_is_lost(
    rig: Rig,
) -> None:
    rig.worker.start()
    rig.create_table("t", items=4)
    rig.create()
    rig.wait_following("t")
    rig.wait_equal("t")
    before = rig.offsets()
    assert rig.worker.sigterm() == 0
    for kind, records in GARBAGE.items():
        for key, value in records:
            rig.append(kind, key, value)
    rig.put("t", 5)

    rig.worker.start()

    rig.wait_states("RUNNING", "RUNNING")
    rig.wait_following("t")
    rig.wait_equal("t")
    assert sorted(rig.ops("t")) == ["c"] + ["r"] * 4
    left_over = partition_text({"left": "over"})
    assert rig.offsets().keys() == before.keys() | {left_over}
    assert rig.expect(200, "GET", "/connectors").body == ["c"]
    skipped = [line for line in rig.log_lines() if "record skipped" in line["event"]]
    assert {line["level"] for line in skipped} == {"warning"}
    told = Counter(line["topic"].rpartition("-")[2] for line in skipped if line["reason"])
    # One record of the offsets is well-formed.
    assert told == {"configs": 7, "offsets": 7, "status": 6}


def test_a_config_topic_with_the_connector_behind_its_tasks_heals_itself(rig: Rig) -> None:
    """O09: compaction keeps the newest record of each key, where it is."""
    topics_without_a_connector(rig)
    rig.create_table("t", items=3)
    config = {**rig.config(), "name": "c"}
    task = {**config, "tables": "t", "table": "t", "task.id": "task-1"}
    for key, value in (
        ("task-c-0", {"properties": task}),
        ("commit-c", {"tasks": 1}),
        ("connector-c", {"properties": config}),
    ):
        rig.append("configs", key.encode(), json.dumps(value).encode())

    rig.worker.start()

    rig.wait_states("RUNNING", "RUNNING")
    rig.wait_equal("t")


def test_a_commit_that_counts_tasks_which_are_not_there_heals_itself(rig: Rig) -> None:
    topics_without_a_connector(rig)
    rig.create_table("t", items=3)
    config = {**rig.config(), "name": "c"}
    rig.append("configs", b"connector-c", json.dumps({"properties": config}).encode())
    rig.append("configs", b"commit-c", b'{"tasks":2}')

    rig.worker.start()

    rig.wait_states("RUNNING", "RUNNING")
    rig.wait_equal("t")


def test_a_connector_of_a_class_that_is_not_installed_fails_alone(rig: Rig) -> None:
    """Left by a Java worker of the same group, or by a version that knew it."""
    topics_without_a_connector(rig)
    rig.create_table("t", items=3)
    config = {"name": "other", "connector.class": "org.example.JdbcSource", "tasks.max": "1"}
    rig.append("configs", b"connector-other", json.dumps({"properties": config}).encode())
    rig.worker.start()

    rig.create()

    rig.wait_equal("t")
    answer = rig.expect(200, "GET", "/connectors/other/status")
    assert answer.body["connector"]["state"] == "FAILED"
    assert "org.example.JdbcSource" in answer.body["connector"]["trace"]
    rig.expect(204, "DELETE", "/connectors/other")


@pytest.mark.kafka("exact")
def test_positions_that_cannot_be_written_any_more_show_at_their_table(
    kafka_broker: KafkaBroker, kafka_prefix: str, tmp_path: Path
) -> None:
    """Somebody deletes the offsets topic: records flow, but a crash would repeat them all."""
    limits = {
        "offset.flush.timeout.ms": "500",
        "task.shutdown.graceful.timeout.ms": "500",
        "connectd.shutdown.grace.ms": "2000",
    }
    with Rig(kafka_broker, kafka_prefix, tmp_path, properties=limits) as rig:
        rig.create_table("t", items=2)
        rig.create()
        rig.wait_following("t")
        rig.wait_equal("t")
        assert rig.row("t")["reason"] == ""
        topic = f"{rig.prefix}connect-offsets"
        admin = kafka_broker.admin()
        admin.delete_topics([topic])[topic].result(ADMIN_DEADLINE_S)

        rig.put("t", 5)

        rig.wait_equal("t")
        rig.wait(lambda: "offsets are not committed" in rig.row("t")["reason"], "a word about it")
        assert topic in rig.row("t")["reason"]
        assert rig.worker.sigterm() == 3


@pytest.mark.kafka("exact")
def test_a_config_topic_that_was_deleted_is_told_until_its_connectors_are_created_again(
    kafka_broker: KafkaBroker, kafka_prefix: str, tmp_path: Path
) -> None:
    """The worker would be ready, with nothing to do, and every pipeline would stand still."""
    with Rig(kafka_broker, kafka_prefix, tmp_path) as rig:
        rig.create_table("t", items=2)
        rig.create()
        rig.wait_following("t")
        rig.wait_equal("t")
        assert rig.worker.sigterm() == 0
        topic = f"{rig.prefix}connect-configs"
        admin = kafka_broker.admin()
        admin.delete_topics([topic])[topic].result(ADMIN_DEADLINE_S)

        for life in (1, 2):  # a restart does not settle it
            rig.worker.start()
            assert rig.expect(200, "GET", "/connectors").body == []
            answer = rig.expect(503, "GET", "/connectd/health/ready")
            (reason,) = answer.body["reasons"]
            assert reason.startswith("The config topic is new, but the offsets or status topic")
            assert "knows connectors (1), which do not run" in reason, life
            if life == 1:
                assert rig.worker.sigterm() == 0
        told = [line for line in rig.log_lines() if line["event"].startswith("config topic is new")]
        assert [(line["level"], line["connectors"]) for line in told] == [("error", ["c"])] * 2

        rig.create()

        rig.expect(200, "GET", "/connectd/health/ready")
        rig.wait_following("t")
        rig.put("t", 5)
        rig.wait_equal("t")
        assert sorted(rig.ops("t")) == ["c", "r", "r"], "it went on where it was"
