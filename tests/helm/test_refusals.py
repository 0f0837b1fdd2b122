"""What cannot work is refused before anything is installed, with what to do instead."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.helm import RenderError
from tests.helm.value_sets import chart

SECRET = "hunter2hunter2"
CONNECTOR = {"connector.class": "connectd.DynamoDBSource"}

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"replicaCount": 2}, "replicaCount is 2, expected at most 1"),
    ({"autoscaling": {"enabled": True}}, "autoscaling.maxReplicas is 3, expected at most 1"),
    ({"worker": {"config": {"listeners": "http://:1"}}}, "set rest.port and rest.scheme instead"),
    ({"connectors": {"unlisted": "delete"}}, "would delete every connector of the group"),
    ({"terminationGracePeriodSeconds": 34}, "expected at least 35"),
    (
        {"worker": {"config": {"connectd.shutdown.grace.ms": "${env::GRACE}"}}},
        "set terminationGracePeriodSeconds",
    ),
    ({"worker": {"config": {"ssl.key.password": SECRET}}}, "has a secret in ssl.key.password"),
    (
        {"worker": {"config": {"producer.sasl.jaas.config": f'x password="{SECRET}";'}}},
        "worker.config has a secret in producer.sasl.jaas.config",
    ),
    (
        {"connectors": {"items": {"o": {"config": {**CONNECTOR, "aws.secret.key": SECRET}}}}},
        "connectors.items.o.config has a secret in aws.secret.key",
    ),
]

NOT_IN_THE_SCHEMA: list[tuple[dict[str, Any], str]] = [
    ({"replicas": 1}, "replicas"),
    ({"image": {"tagg": "x"}}, "tagg"),
    ({"image": {"pullPolicy": "Sometimes"}}, "pullPolicy"),
    ({"rest": {"port": 0}}, "port"),
    ({"connectors": {"items": {"o": {"config": {}}}}}, "connector.class"),
    ({"connectors": {"items": {"o": {"config": CONNECTOR, "state": "x"}}}}, "state"),
    ({"worker": {"config": {"offset.flush.interval.ms": 0}}}, "offset.flush.interval.ms"),
    ({"worker": {"config": {"connect.protocol": "lazy"}}}, "connect.protocol"),
    ({"worker": {"config": {"topic.creation.enable": "perhaps"}}}, "topic.creation.enable"),
    ({"worker": {"config": {"bootstrap.servers": ["a:1"]}}}, "bootstrap.servers"),
]


@pytest.mark.parametrize(("values", "words"), REFUSED)
def test_what_cannot_work_is_refused_with_a_way_out(values: dict[str, Any], words: str) -> None:
    with pytest.raises(RenderError) as refusal:
        chart.render(values)
    assert words in str(refusal.value)
    assert SECRET not in str(refusal.value)


@pytest.mark.parametrize(("values", "name"), NOT_IN_THE_SCHEMA)
def test_the_schema_names_what_it_does_not_know(values: dict[str, Any], name: str) -> None:
    with pytest.raises(RenderError) as refusal:
        chart.render(values)
    assert name in str(refusal.value)


def test_a_secret_by_reference_is_no_secret() -> None:
    jaas = 'x required password="${directory:/etc/connectd/secrets/kafka:password}";'
    chart.render({"worker": {"config": {"sasl.jaas.config": jaas}}})


def test_a_longer_grace_period_is_taken() -> None:
    chart.render({"terminationGracePeriodSeconds": 35})
