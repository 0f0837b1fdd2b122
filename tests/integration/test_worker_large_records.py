"""Items that become records larger than the producer or the topic allows (V10, V11).

An item of DynamoDB may have 400 KB; 399 KB of control characters are 2.7 MB of JSON in a message.
"""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from tests.integration.worker_rig import Rig

pytestmark = pytest.mark.kafka("exact")

HUGE = {"S": "\u0001" * 399 * 1024}
REQUEST_BYTES = str(4 * 1024 * 1024)
LARGER = {"producer.override.max.request.size": REQUEST_BYTES}
ADMIN_DEADLINE_S = 60.0


def in_sync(rig: Rig, **keys: str) -> None:
    rig.create_table("t", items=1)
    rig.create(**keys)
    rig.wait_following("t")
    rig.wait_equal("t")


def allow_large_messages(rig: Rig, topic: str) -> None:
    admin = rig.broker.admin()
    entry = ConfigEntry(
        "max.message.bytes", REQUEST_BYTES, incremental_operation=AlterConfigOpType.SET
    )
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(ADMIN_DEADLINE_S)


def task_trace(rig: Rig) -> str:
    trace: str = rig.status()["tasks"][0]["trace"]
    return trace


def assert_names_the_record(trace: str, rig: Rig, key: str) -> None:
    first = "connectd.errors.FatalTaskError: Unrecoverable exception from producer send callback"
    assert trace.startswith(f"{first}\n")
    assert "connectd.errors.RecordTooLargeError: " in trace
    assert f'{{"id":"{key}"}}' in trace
    assert "table_name=t," in trace
    assert rig.topic("t") in trace
    assert "producer.override.max.request.size" in trace
    assert "\\u0001\\u0001" not in trace


def failures(rig: Rig) -> list[dict[str, Any]]:
    return [
        line
        for line in rig.log_lines()
        if line["event"] == "failed" and line["connector"] == rig.name and "task" in line
    ]


def test_a_record_that_is_too_large_fails_the_task_once_until_producer_and_topic_allow_it(
    rig: Rig,
) -> None:
    in_sync(rig)
    rig.put("t", 10)
    rig.put("t", 11, huge=HUGE)
    rig.put("t", 12)

    rig.wait_states("RUNNING", "FAILED")

    assert_names_the_record(task_trace(rig), rig, "k11")
    assert len(failures(rig)) == 1
    rig.expect(204, "POST", f"{rig.path}/tasks/0/restart")
    rig.wait(lambda: len(failures(rig)) == 2, "the same failure: nothing was passed over")

    # The producer counts what it is given, the topic what is left of it by compression.
    plain = {"producer.override.compression.type": "none"}
    rig.expect(200, "PUT", f"{rig.path}/config", {**rig.config(), **LARGER, **plain})

    rig.wait(lambda: len(failures(rig)) == 3, "the topic to refuse it")
    assert_names_the_record(task_trace(rig), rig, "k11")
    assert "max.message.bytes" in task_trace(rig)

    allow_large_messages(rig, rig.topic("t"))
    rig.expect(204, "POST", f"{rig.path}/tasks/0/restart")

    rig.wait_states("RUNNING", "RUNNING")
    rig.wait_equal("t")
    assert len(failures(rig)) == 3


def test_with_tolerance_it_is_skipped_and_said_and_the_others_flow(rig: Rig) -> None:
    in_sync(rig, errors__tolerance="all", errors__log__enable="true")

    rig.put("t", 10)
    rig.put("t", 11, huge=HUGE)
    rig.put("t", 12)

    def skipped() -> list[str]:
        return [
            line["error"]
            for line in rig.log_lines()
            if "stage 'KAFKA_PRODUCE'" in line["event"] and line.get("connector") == rig.name
        ]

    rig.wait(lambda: len(skipped()) == 1, "a word about the skipped record")
    (error,) = skipped()
    assert '{"id":"k11"}' in error
    assert "larger than allowed" in error
    rig.wait(lambda: keys(rig) == ["k0", "k10", "k12"], "the others")
    assert rig.states() == ("RUNNING", "RUNNING")

    rig.expect(204, "POST", f"{rig.path}/tasks/0/restart")
    rig.wait_states("RUNNING", "RUNNING")
    rig.wait_following("t")
    rig.put("t", 13)
    rig.wait(lambda: "k13" in keys(rig), "the next record")
    assert keys(rig) == ["k0", "k10", "k12", "k13"]
    assert len(skipped()) == 1


def keys(rig: Rig) -> list[str]:
    return sorted(record.key_json["id"] for record in rig.records("t"))


def test_a_scan_that_meets_one_fails_and_does_not_call_itself_finished(rig: Rig) -> None:
    rig.create_table("t", items=3, view_type=None)
    rig.put("t", 11, huge=HUGE)
    rig.control.enable_stream(table="t")  # it tells nothing of the items that are there
    rig.create()

    rig.wait_states("RUNNING", "FAILED")

    assert_names_the_record(task_trace(rig), rig, "k11")
    states = [offset.get("init_sync_state") for offset in rig.offsets().values()]
    assert "FINISHED" not in states
    rig.expect(200, "PUT", f"{rig.path}/config", {**rig.config(), **LARGER})
    rig.wait_equal("t")
