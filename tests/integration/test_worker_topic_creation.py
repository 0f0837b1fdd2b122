"""Topics as the connector's groups say, on a broker that creates none by itself (KIP-158)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from confluent_kafka import TopicCollection
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, but not marked so
    ConfigResource,
    NewTopic,
    ResourceType,
)

from tests.harness import kafka_launch
from tests.harness.kafka import KafkaBroker
from tests.integration.worker_rig import Rig, prefix_of

pytestmark = [pytest.mark.kafka("exact", "control"), pytest.mark.timeout(180)]

_DEADLINE_S = 20.0

_SIZES = {
    "topic__creation__default__partitions": "2",
    "topic__creation__default__replication__factor": "1",
}


@pytest.fixture(scope="module")
def strict_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A second broker, whose topics somebody has to create."""
    launch = kafka_launch.choose()
    assert isinstance(launch, kafka_launch.ApacheKafka)
    launch = replace(launch, settings={"auto.create.topics.enable": "false"})
    with KafkaBroker(launch, home=tmp_path_factory.mktemp("strict-kafka")) as broker:
        yield broker


@pytest.fixture(scope="module")
def shared(strict_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with Rig(strict_broker, prefix_of(__name__), tmp_path_factory.mktemp("worker")) as rig:
        yield rig


@pytest.fixture
def rig(shared: Rig) -> Iterator[Rig]:
    with shared.lent() as rig:
        yield rig


def _partitions(rig: Rig, topic: str) -> int:
    admin = rig.broker.admin()
    described = admin.describe_topics(TopicCollection([topic]))[topic].result(_DEADLINE_S)
    return len(described.partitions)


def _setting(rig: Rig, topic: str, name: str) -> str:
    admin = rig.broker.admin()
    resource = ConfigResource(ResourceType.TOPIC, topic)
    return str(admin.describe_configs([resource])[resource].result(_DEADLINE_S)[name].value)


def _trace(rig: Rig) -> str:
    status = rig.status()
    failed = [each for each in (status["connector"], *status["tasks"]) if each["state"] == "FAILED"]
    return str(failed[0]["trace"])


def test_each_topic_is_created_as_the_first_group_that_it_belongs_to(rig: Rig) -> None:
    rig.create_table("plain", items=3)
    rig.create_table("log", items=3)

    rig.create(
        **_SIZES,
        topic__creation__groups="logs",
        topic__creation__logs__include=".*-log",
        topic__creation__logs__partitions="3",
        topic__creation__logs__cleanup__policy="compact",
    )

    rig.wait_equal("plain")
    rig.wait_equal("log")
    assert (_partitions(rig, rig.topic("plain")), _partitions(rig, rig.topic("log"))) == (2, 3)
    assert _setting(rig, rig.topic("plain"), "cleanup.policy") == "delete"
    assert _setting(rig, rig.topic("log"), "cleanup.policy") == "compact"
    created = [
        (line["topic"], line["group"])
        for line in rig.log_lines()
        if line["event"] == "topic created" and line["connector"] == rig.name
    ]
    assert sorted(created) == [
        (rig.topic("log"), "logs"),
        (rig.topic("plain"), "default"),
    ]


def test_a_topic_that_exists_stays_as_it_is(rig: Rig) -> None:
    topic = NewTopic(rig.topic("t"), 5, 1)
    admin = rig.broker.admin()
    admin.create_topics([topic])[topic.topic].result(_DEADLINE_S)
    rig.create_table("t", items=3)

    rig.create(**_SIZES)

    rig.wait_equal("t")
    assert _partitions(rig, rig.topic("t")) == 5


def test_a_topic_that_the_cluster_cannot_have_fails_the_task_and_nothing_is_passed_over(
    rig: Rig,
) -> None:
    rig.create_table("t", items=3)

    rig.create(**{**_SIZES, "topic__creation__default__replication__factor": "3"})

    rig.wait_states("RUNNING", "FAILED")
    assert f"Unable to create topic(s) '{rig.topic('t')}': " in _trace(rig).splitlines()[0]
    rig.expect(200, "PUT", f"{rig.path}/config", rig.config(**_SIZES))
    rig.wait_states("RUNNING", "RUNNING")
    rig.wait_equal("t")


def test_a_connector_that_does_not_say_how_large_its_topics_are_fails_when_it_starts(
    rig: Rig,
) -> None:
    rig.create(topic__creation__default__partitions="1")

    rig.wait_states("FAILED")
    assert _trace(rig).splitlines()[0] == (
        "connectd.errors.ConfigError: Missing required configuration "
        '"topic.creation.default.replication.factor" which has no default value.'
    )


def test_a_topic_name_that_a_transform_makes_up_is_explained(rig: Rig) -> None:
    rig.create_table("t", items=1)

    rig.create(
        **_SIZES,
        transforms="route",
        transforms__route__type="org.apache.kafka.connect.transforms.RegexRouter",
        transforms__route__regex=".*",
        transforms__route__replacement="not a topic",
    )

    rig.wait_states("RUNNING", "FAILED")
    assert "sending records to topic 'not a topic': the name contains ' '" in _trace(rig)


def test_the_workers_own_topics_are_not_written_to(rig: Rig) -> None:
    rig.create_table("t", items=1)

    rig.create(
        transforms="route",
        transforms__route__type="org.apache.kafka.connect.transforms.RegexRouter",
        transforms__route__regex=".*",
        transforms__route__replacement=f"{rig.prefix}connect-offsets",
    )

    rig.wait_states("RUNNING", "FAILED")
    assert f"{rig.prefix}connect-offsets: it is one of the worker's own topics" in _trace(rig)
    values = [record.value or b"" for record in rig.internal("offsets")]
    assert not any(b"document" in value for value in values)
