"""Secrets of worker and connector stay where they were put (X01, X02, X05; promise 8).

As in Kafka Connect, a literal secret is in the connector's config and therefore in the config topic
and in ``GET …/config``; it is nowhere else: no log line at any level, no status, no other topic.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.kafka import KafkaBroker
from tests.integration.worker_rig import Rig

pytestmark = pytest.mark.kafka

AWS_SECRET = "aWsS3cr3t/planted+1"
JAAS_SECRET = "jaas-s3cret-planted"
WORKER_SECRET = "w0rker-s3cret-planted"
MISSPELT_SECRET = "misspelt-s3cret-planted"
SECRETS = [AWS_SECRET, JAAS_SECRET, WORKER_SECRET, MISSPELT_SECRET]

PLANTED = {
    "aws.secret.key": AWS_SECRET,
    "producer.override.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        f'username="u" password="{JAAS_SECRET}";'
    ),
    "aws.secret.kye": MISSPELT_SECRET,
}


@pytest.fixture
def rig(kafka_broker: KafkaBroker, kafka_prefix: str, tmp_path: Path) -> Iterator[Rig]:
    properties = {"connectd.log.level": "DEBUG", "ssl.key.password": WORKER_SECRET}
    with Rig(kafka_broker, kafka_prefix, tmp_path, properties=properties) as rig:
        yield rig


def found_in(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text or json.dumps(secret)[1:-1] in text]


def test_planted_secrets_are_in_the_config_and_nowhere_else(rig: Rig) -> None:
    rig.create_table("t", items=3)
    config = {**rig.config(), **PLANTED}
    # An error that repeats what it was given, as services do.
    message = f"bad signature by {AWS_SECRET}, not {JAAS_SECRET}"
    rig.control.inject(operation="Scan", error="ValidationException", message=message)

    rig.expect(201, "PUT", f"{rig.path}/config", config)
    rig.wait_states("RUNNING", "FAILED")

    trace = rig.status()["tasks"][0]["trace"]
    assert "bad signature by [hidden], not [hidden]" in trace
    rig.expect(204, "POST", f"{rig.path}/tasks/0/restart")
    rig.wait_equal("t")
    assert rig.expect(200, "GET", f"{rig.path}/config").body == {**config, "name": "c"}
    assert rig.expect(200, "GET", rig.path).body["config"]["aws.secret.key"] == AWS_SECRET
    for path in ("", "/connectors?expand=status", f"{rig.path}/status", f"{rig.path}/offsets",
                 f"{rig.path}/topics", f"/connectd{rig.path}/tables", "/health"):  # fmt: skip
        answer = rig.expect(200, "GET", path)
        assert found_in(json.dumps(answer.body, ensure_ascii=False)) == [], path
    assert rig.worker.sigterm() == 0
    for kind in ("offsets", "status"):
        records = rig.internal(kind)
        assert records
        assert found_in("".join(f"{record.key!r}{record.value!r}" for record in records)) == []
    assert any(line["level"] == "debug" for line in rig.log_lines())
    assert found_in(rig.log_text()) == []


def test_answers_about_a_bad_config_hide_its_secrets(rig: Rig) -> None:
    config = {**rig.config(), **PLANTED, "name": "c", "tasks.max": "many"}
    nameless = {key: value for key, value in config.items() if key != "connector.class"}
    validate = "/connector-plugins/connectd.DynamoDBSource/config/validate"

    answers = [
        rig.expect(400, "PUT", f"{rig.path}/config", config),
        rig.expect(400, "POST", "/connectors", {"name": "c", "config": nameless}),
        rig.expect(200, "PUT", validate, config),
        rig.expect(200, "PUT", validate, nameless),
        rig.send("PUT", f"{rig.path}/config", json.dumps(config).encode()[:-1]),
    ]

    for answer in answers:
        left = found_in(json.dumps(answer.body, ensure_ascii=False))
        assert left == [], answer.body
    assert found_in(rig.log_text()) == []


def test_placeholders_stay_placeholders(rig: Rig) -> None:
    """This worker has no config provider of that name: the text stays as it is, as in Kafka."""
    config = rig.config(aws__secret__key="${file:/secrets/aws.properties:key}")

    rig.expect(201, "PUT", f"{rig.path}/config", config)

    assert rig.expect(200, "GET", f"{rig.path}/config").body == {**config, "name": "c"}
