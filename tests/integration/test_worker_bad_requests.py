"""Requests that cannot be meant get a clear answer from a real worker, and change nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.kafka import KafkaBroker
from tests.integration.worker_rig import Rig, prefix_of

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def rig(kafka_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with Rig(kafka_broker, prefix_of(__name__), tmp_path_factory.mktemp("worker")) as rig:
        yield rig
        assert [record.key for record in rig.internal("configs")] == [b"session-key"]


@pytest.fixture(autouse=True)
def _nothing_is_left(rig: Rig) -> Iterator[None]:
    yield
    assert rig.expect(200, "GET", "/connectors").body == []
    assert rig.expect(200, "GET", "/health").body["status"] == "healthy"


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/connectors"), ("PUT", "/connectors/c/config")]
)
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"name": "c", "aws.secret.key": "s3cret"', "Malformed JSON at line 1 column"),
        (b"\xff\xfe{}", "not valid UTF-8"),
        (b"", "no body"),
        (b"[1]", "found an array"),
    ],
    ids=["broken", "not-utf8", "empty", "array"],
)
def test_a_malformed_body_is_answered_with_its_fault(
    rig: Rig, method: str, path: str, body: bytes, text: str
) -> None:
    answer = rig.send(method, path, body)

    assert answer.status == 400
    assert answer.body["error_code"] == 400
    assert text in answer.body["message"]
    assert "s3cret" not in answer.body["message"]


def test_an_unknown_class_is_answered_with_those_there_are(rig: Rig) -> None:
    config = {**rig.config(), "connector.class": "org.example.NoSuchSource"}

    answers = [
        rig.expect(400, "POST", "/connectors", {"name": "c", "config": config}),
        rig.expect(400, "PUT", "/connectors/c/config", config),
    ]

    for answer in answers:
        assert "org.example.NoSuchSource" in answer.body["message"]
        assert "connectd.DynamoDBSource" in answer.body["message"]
        assert "an-ordinary-secret" not in answer.body["message"]


def test_a_missing_class_is_named_without_a_value_of_the_config(rig: Rig) -> None:
    config = rig.config()
    del config["connector.class"]

    message = rig.expect(400, "PUT", "/connectors/c/config", config).body["message"]

    assert "contains no connector type" in message
    assert "an-ordinary-secret" not in message


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("tasks.max", "many", "Invalid value many for configuration tasks.max"),
        ("init.sync.segments", "x", "Invalid value x for configuration init.sync.segments"),
        ("gap.policy", "maybe", "String must be one of: resync, fail, skip"),
        ("init.sync.delay.period", "-3", "Value must be at least 0"),
        ("value.converter", "no.Such", "Class no.Such could not be found"),
        ("errors.tolerance", "some", "errors.tolerance"),
    ],
)
def test_a_mistyped_property_is_named(rig: Rig, key: str, value: str, text: str) -> None:
    config = {**rig.config(), key: value}

    answer = rig.expect(400, "PUT", "/connectors/c/config", config)

    assert text in answer.body["message"]


def test_a_missing_name_is_refused(rig: Rig) -> None:
    answer = rig.expect(400, "POST", "/connectors", {"name": "  ", "config": rig.config()})

    assert "name" in answer.body["message"]


def test_several_faults_are_told_at_once(rig: Rig) -> None:
    config = {**rig.config(), "init.sync.page.size": "x", "stream.page.limit": "none"}

    message = rig.expect(400, "PUT", "/connectors/c/config", config).body["message"]

    assert "init.sync.page.size" in message
    assert "stream.page.limit" in message


def test_a_misspelt_key_is_only_warned_of(rig: Rig) -> None:
    config = {**rig.config(), "name": "c", "dynamodb.table.env.tag.vale": "prod"}
    path = "/connector-plugins/connectd.DynamoDBSource/config/validate"

    answer = rig.expect(200, "PUT", path, config)

    assert answer.body["error_count"] == 0
    hints = [line["hint"] for line in rig.log_lines() if "hint" in line]
    assert any("did you mean 'dynamodb.table.env.tag.value'" in hint for hint in hints)
