"""What a real worker says of tables that it cannot copy, and of a service that refuses it.

Promise 5: RUNNING means running; what does not go on says so, with its reason, and alone.
"""

from __future__ import annotations

import pytest

from tests.fakes.process import FakeProcess
from tests.harness.processes import free_ports
from tests.integration.worker_rig import Rig

pytestmark = pytest.mark.kafka


def test_a_table_that_does_not_exist_is_listed_and_picked_up_when_it_appears(rig: Rig) -> None:
    rig.create_table("there", items=3)
    rig.create(dynamodb__table__whitelist="there,later")
    rig.wait_table("there", "SYNC")
    rig.wait_table("later", "SKIPPED")
    assert rig.row("later")["reason"] == "the table does not exist"
    assert rig.states() == ("RUNNING", "RUNNING")

    rig.create_table("later", items=4)

    rig.wait_table("later", "SYNC")
    rig.wait_equal("later")
    rig.assert_topic_equals_table("there")
    # The other table's positions have outlived the new task set: it is not scanned again.
    assert rig.ops("there").count("r") == 3


def test_only_tables_that_do_not_exist_leave_a_connector_without_tasks_that_says_why(
    rig: Rig,
) -> None:
    rig.create(dynamodb__table__whitelist="nowhere")

    rig.wait_table("nowhere", "SKIPPED")
    assert rig.row("nowhere")["reason"] == "the table does not exist"
    assert rig.states() == ("RUNNING",)


@pytest.mark.parametrize(
    ("view_type", "reason"),
    [
        ("KEYS_ONLY", "carries KEYS_ONLY, expected NEW_IMAGE or NEW_AND_OLD_IMAGES"),
        ("OLD_IMAGE", "carries OLD_IMAGE, expected NEW_IMAGE or NEW_AND_OLD_IMAGES"),
        (None, "its stream is not enabled"),
    ],
)
def test_a_stream_without_new_images_is_skipped_until_it_is_mended(
    rig: Rig, view_type: str | None, reason: str
) -> None:
    rig.create_table("t", items=2, view_type=view_type)
    rig.create()
    rig.wait_table("t", "SKIPPED")
    assert reason in rig.row("t")["reason"]
    lines = [line for line in rig.log_lines() if line["event"] == "table skipped"]
    told = [(line["level"], line["table"]) for line in lines if line["connector"] == rig.name]
    assert told == [("warning", "t")]

    if view_type is not None:
        rig.control.disable_stream(table="t")
    rig.control.enable_stream(table="t")

    rig.wait_table("t", "SYNC")
    rig.wait_equal("t")


@pytest.mark.parametrize(
    ("access_key_id", "secret"), [("AKIAUNKNOWN", "whatever"), ("AKIATEST", "a-wrong-secret")]
)
def test_refused_credentials_fail_the_connector_naming_the_action(
    rig: Rig, access_key_id: str, secret: str
) -> None:
    rig.create_table("t", items=2)
    rig.control.require_credentials(access_key_id="AKIATEST", secret="an-ordinary-secret")
    rig.control.verify_signatures()
    rig.create(aws__access__key__id=access_key_id, aws__secret__key=secret)

    rig.wait(lambda: rig.states()[:1] == ("FAILED",), "the connector to fail")

    trace = rig.status()["connector"]["trace"]
    assert trace.startswith("connectd.errors.AccessDeniedError: ")
    assert "tag:GetResources" in trace
    assert secret not in trace


def test_a_connector_that_was_refused_recovers_by_a_restart_once_it_is_allowed(rig: Rig) -> None:
    rig.create_table("t", items=2)
    rig.control.deny(action="tag:GetResources")
    rig.create()
    rig.wait(lambda: rig.states()[:1] == ("FAILED",), "the connector to fail")
    assert "tag:GetResources" in rig.status()["connector"]["trace"]

    rig.control.allow(action="tag:GetResources")
    rig.expect(204, "POST", f"{rig.path}/restart")

    rig.wait_states("RUNNING", "RUNNING")
    rig.wait_equal("t")


def test_a_service_that_is_away_is_waited_for_and_the_table_says_so(rig: Rig) -> None:
    port = free_ports(1)[0]
    url = f"http://127.0.0.1:{port}"
    rig.create(dynamodb__service__endpoint=url, resource__tagging__service__endpoint=url)
    rig.wait(lambda: "Could not connect" in rig.row("*").get("reason", ""), "a word about it")

    with FakeProcess(port=port) as service:
        tags = {"datalake-ingest": "yes", "environment": "dev"}
        service.control.create_table(table="late", tags=tags)
        service.control.put(table="late", item={"id": {"S": "a"}})
        rig.wait_following("late")
        assert "*" not in rig.rows()
        rig.wait(lambda: len(rig.records("late")) >= 1, "the item")
    rig.wait(lambda: "Cannot connect" in rig.row("late")["reason"], "a word about it")
    assert rig.states() == ("RUNNING", "RUNNING")


def test_a_connector_that_was_refused_recovers_by_the_right_credentials(rig: Rig) -> None:
    rig.create_table("t", items=2)
    rig.control.require_credentials(access_key_id="AKIATEST", secret="an-ordinary-secret")
    rig.create(aws__access__key__id="AKIAUNKNOWN")
    rig.wait(lambda: rig.states()[:1] == ("FAILED",), "the connector to fail")

    rig.expect(200, "PUT", f"{rig.path}/config", rig.config())

    rig.wait_states("RUNNING", "RUNNING")
    rig.wait_equal("t")


@pytest.mark.parametrize(
    ("action", "fails"),
    [
        ("dynamodb:DescribeTable", "connector"),
        ("dynamodb:DescribeStream", "task"),
        ("dynamodb:Scan", "task"),
        ("dynamodb:GetShardIterator", "task"),
        ("dynamodb:GetRecords", "task"),
    ],
)
def test_a_refused_action_is_named_in_the_trace_and_not_tried_for_ever(
    rig: Rig, action: str, fails: str
) -> None:
    rig.create_table("t", items=2)
    rig.control.clear_journal()
    rig.control.deny(action=action)
    rig.create()

    if fails == "connector":
        rig.wait(lambda: rig.states()[:1] == ("FAILED",), "the connector to fail")
        trace = rig.status()["connector"]["trace"]
    else:
        rig.wait_states("RUNNING", "FAILED")
        trace = rig.status()["tasks"][0]["trace"]

    assert action in trace
    assert "t" in trace
    calls = rig.control.counts().get(action.removeprefix("dynamodb:"), 0)
    assert 1 <= calls <= 5


def test_access_that_is_taken_away_later_fails_the_task(rig: Rig) -> None:
    rig.create_table("t", items=2)
    rig.create()
    rig.wait_table("t", "SYNC")
    rig.wait_equal("t")

    rig.control.deny(action="dynamodb:GetRecords")

    rig.wait_states("RUNNING", "FAILED")
    trace = rig.status()["tasks"][0]["trace"]
    assert "dynamodb:GetRecords" in trace
    assert "table t" in trace
    rig.control.allow(action="dynamodb:GetRecords")
    rig.put("t", 7)
    rig.expect(204, "POST", f"{rig.path}/tasks/0/restart")
    rig.wait_equal("t")


def test_one_bad_table_fails_alone_and_a_restart_heals_it(rig: Rig) -> None:
    for table in ("bad", "good"):
        rig.create_table(table, items=3)
    rig.control.deny(action="dynamodb:Scan", table="bad")
    rig.create()

    rig.wait_table("bad", "FAILED")
    rig.wait_table("good", "SYNC")
    assert "dynamodb:Scan" in rig.row("bad")["reason"]
    rig.wait_states("RUNNING", "FAILED")
    assert "table bad" in rig.status()["tasks"][0]["trace"]
    rig.put("good", 9)
    rig.wait_equal("good")

    rig.control.allow(action="dynamodb:Scan")
    answer = rig.expect(202, "POST", f"{rig.path}/restart?includeTasks=true&onlyFailed=true")

    assert answer.body["tasks"][0]["state"] == "RESTARTING"
    rig.wait_states("RUNNING", "RUNNING")
    rig.wait_table("bad", "SYNC")
    rig.wait_equal("bad")
    rig.assert_topic_equals_table("good")
    assert rig.ops("good").count("r") == 3


def test_client_settings_that_cannot_be_used_fail_the_task_naming_them(rig: Rig) -> None:
    rig.create_table("t", items=1)
    rig.create(**{"producer.override.ssl.truststore.location": "/no/such/store.jks"})

    rig.wait_states("RUNNING", "FAILED")

    trace = rig.status()["tasks"][0]["trace"]
    assert "ssl.truststore.location: a JKS trust store cannot be read here" in trace
