"""A scan's job and its reports survive the way between two processes, and nothing else passes."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from connectd.aws.settings import AwsSettings
from connectd.connectors.dynamodb import scan_job, scan_reports
from connectd.connectors.dynamodb.envelope import EnvelopeSettings, InitSyncState
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.connectors.dynamodb.offsets import SegmentPosition, TableState
from connectd.connectors.dynamodb.scan_job import ErrorRules, ScanJob
from connectd.connectors.dynamodb.scan_reports import (
    Failed,
    Finished,
    ScanReport,
    SegmentMoved,
    Started,
    Trouble,
)
from connectd.errors import ConfigError, InvariantError
from connectd.model.record import ConverterSpec

_JSON = ConverterSpec("org.apache.kafka.connect.json.JsonConverter", (("schemas.enable", "false"),))


def _job(**changes: Any) -> ScanJob:
    job = ScanJob(
        connector="copy",
        table="orders",
        topic="dynamodb-orders",
        key=KeySchema((KeyAttribute("id", "S"), KeyAttribute("at", "N"))),
        envelope=EnvelopeSettings("1.0", "plain", old_image=True, user_identity=True),
        state=TableState(
            "orders", InitSyncState.RUNNING, 1_700_000_000_000, stream_arn="a", total_segments=3
        ),
        segments=(
            SegmentPosition(0, 3, 1_700_000_000_000, b'{"id":{"S":"x"},"at":{"N":"1.50"}}', 7),
            SegmentPosition(2, 3, 1_700_000_000_000),
        ),
        key_converter=_JSON,
        value_converter=_JSON,
        header_converter=ConverterSpec("org.apache.kafka.connect.storage.SimpleHeaderConverter"),
        connector_config={"transforms": "r", "transforms.r.type": "RegexRouter"},
        errors=ErrorRules(tolerates_all=True, retry_timeout_s=3.5, logs_failures=True),
        producer={"bootstrap.servers": "127.0.0.1:9092", "sasl.password": "hunter2"},
        admin={"bootstrap.servers": "127.0.0.1:9092"},
        creates_topics=True,
        reserved_topics=("connect-configs",),
        aws=AwsSettings(region="eu-west-1", dynamodb_endpoint="http://127.0.0.1:8000"),
        consistent_read=True,
        page_size=100,
        units_per_s=50.5,
        item_bytes=412.0,
        chunk_s=2.5,
        chunk_items=1000,
        parallelism=4,
    )
    return dataclasses.replace(job, **changes)


def _members(job: ScanJob) -> dict[str, Any]:
    members: dict[str, Any] = json.loads(job.to_json())
    return members


def test_a_job_is_the_same_on_the_other_side() -> None:
    job = _job()
    assert ScanJob.from_json(job.to_json()) == job


def test_what_may_be_absent_may_be_absent() -> None:
    job = _job(
        units_per_s=None, item_bytes=None, chunk_items=None, parallelism=None, errors=ErrorRules()
    )
    assert ScanJob.from_json(job.to_json()) == job


def test_aws_keys_are_not_in_the_file() -> None:
    aws = AwsSettings("eu-west-1", "AKIA-ours", "the-secret", "the-token")
    text = _job(aws=aws).to_json()
    assert not any(secret in text for secret in (b"AKIA-ours", b"the-secret", b"the-token"))
    assert ScanJob.from_json(text).aws == AwsSettings("eu-west-1")


def test_aws_keys_travel_in_the_environment() -> None:
    aws = AwsSettings("eu-west-1", "AKIA-ours", "the-secret", "the-token")
    environment = scan_job.aws_environment(aws)
    assert environment == {
        "AWS_ACCESS_KEY_ID": "AKIA-ours",
        "AWS_SECRET_ACCESS_KEY": "the-secret",
        "AWS_SESSION_TOKEN": "the-token",
    }
    assert scan_job.with_aws_keys(AwsSettings("eu-west-1"), environment) == aws


def test_without_keys_of_its_own_the_environment_is_left_alone() -> None:
    aws = AwsSettings("eu-west-1")
    assert scan_job.aws_environment(aws) == {}
    assert scan_job.with_aws_keys(aws, {"AWS_ACCESS_KEY_ID": "half a pair"}) == aws


def test_a_job_shows_no_password() -> None:
    assert "hunter2" not in repr(_job())


def test_only_what_spark_reads_of_a_configuration_goes_along() -> None:
    config = {
        "name": "copy",
        "aws.secret.key": "secret",
        "transforms": "r",
        "transforms.r.type": "RegexRouter",
        "predicates": "p",
        "predicates.p.type": "TopicNameMatches",
        "topic.creation.default.partitions": "3",
    }
    assert scan_job.plugin_config(config).keys() == config.keys() - {"name", "aws.secret.key"}


def test_topics_are_created_by_the_connectors_rules_if_the_worker_allows_it() -> None:
    config = {
        "topic.creation.default.partitions": "3",
        "topic.creation.default.replication.factor": "1",
    }
    rules = _job(connector_config=config).topic_rules()
    assert rules is not None
    assert rules.group_of("dynamodb-orders").partitions == 3
    assert _job(connector_config=config, creates_topics=False).topic_rules() is None


def test_segments_of_another_scan_are_a_defect() -> None:
    with pytest.raises(InvariantError, match="scan of 3"):
        _job(segments=(SegmentPosition(0, 4, 0),))


@pytest.mark.parametrize(
    ("member", "value", "words"),
    [
        ("connector", 1, "connector is a int, expected text"),
        ("key", [["id", "BOOL"]], "key is .*, expected one or two pairs"),
        ("key", [], "key is .*, expected one or two pairs"),
        ("envelope", None, "envelope is null, expected a JSON object"),
        ("segments", [{"segment": 0}], r"segments\[0\]: offset is missing"),
        ("segments", [7], r"segments\[0\] is a int"),
        ("state", {"init_sync_state": "HALF"}, "init_sync_state is 'HALF'"),
        ("producer", {"linger.ms": 5}, "producer is a dict, expected an object of texts"),
        ("reserved_topics", [1], "reserved_topics is a list, expected a list of texts"),
        ("creates_topics", "yes", "creates_topics is a str, expected true or false"),
        ("page_size", -1, "page_size is a int, expected a whole number of 0 or more"),
        ("chunk_s", "5", "chunk_s is a str, expected a number"),
        ("chunk_s", None, "chunk_s is null, expected a number"),
        ("parallelism", 1.5, "parallelism is a float"),
        ("aws", {"region": "eu-west-1", "secret_access_key": "s"}, "found secret_access_key"),
        ("aws", {}, "aws: .*region"),
    ],
)
def test_a_wrong_member_is_named(member: str, value: Any, words: str) -> None:
    text = json.dumps({**_members(_job()), member: value}).encode()
    with pytest.raises(ConfigError, match=words):
        ScanJob.from_json(text)


def test_every_member_has_to_be_there() -> None:
    members = _members(_job())
    for name in members:
        lacking = {key: value for key, value in members.items() if key != name}
        with pytest.raises(ConfigError, match=f"{name} is missing"):
            ScanJob.from_json(json.dumps(lacking).encode())


def test_a_member_of_another_release_is_not_overlooked() -> None:
    text = json.dumps({**_members(_job()), "surprise": 1}).encode()
    with pytest.raises(ConfigError, match="surprise, which nobody reads"):
        ScanJob.from_json(text)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"7"])
def test_what_is_no_object_is_no_job(text: bytes) -> None:
    with pytest.raises(ConfigError, match="scan job: found"):
        ScanJob.from_json(text)


_MOVED = SegmentMoved(
    SegmentPosition(3, 4, 17, b'{"id":{"B":"AP8="}}', 1234), 1234, 1200, 34, ("a", "b"), 128.5
)


@pytest.mark.parametrize(
    "report",
    [
        Started("4.0.1", "local[2]", 2),
        _MOVED,
        SegmentMoved(SegmentPosition(0, 1, 17, None, 9, is_finished=True), ended_ms=99),
        Trouble(3, "ThrottledError: too fast", 2),
        Trouble(None, "no executor answers", 1),
        Failed("no master", retriable=False),
        Finished(),
    ],
)
def test_a_report_is_the_same_on_the_other_side(report: ScanReport) -> None:
    line = scan_reports.to_line(report)
    assert line.endswith("\n")
    assert line.count("\n") == 1
    assert scan_reports.from_line(line) == report


def test_the_line_of_a_segment_is_as_agreed() -> None:
    assert json.loads(scan_reports.to_line(_MOVED)) == {
        "connectd": "segment",
        "segment": 3,
        "offset": dict(_MOVED.position.to_offset()),
        "items": 1234,
        "records": 1200,
        "skipped": 34,
        "topics": ["a", "b"],
        "consumed": 128.5,
    }


@pytest.mark.parametrize("line", ["", "WARN something\n", '{"level":"info"}\n', "{}\n"])
def test_every_other_line_is_log_text(line: str) -> None:
    assert scan_reports.from_line(line) is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"connectd":"begun"}', "expected one of started, segment"),
        ('{"connectd":"finished","why":1}', "why, which nobody reads"),
        ('{"connectd":"failed","error":"x"}', "retriable is missing"),
        ('{"connectd":"started","spark', "expected JSON"),
    ],
)
def test_a_line_that_looks_like_a_report_has_to_be_one(line: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        scan_reports.from_line(line)
