"""The broker of the test session: what other tests rely on when they break it."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from tests.harness.kafka import KafkaBroker
from tests.harness.kafka_launch import Existing
from tests.harness.processes import NotOursError

DEADLINE_S = 20.0


def produce(broker: KafkaBroker, topic: str, value: str, *, wait_s: float = DEADLINE_S) -> int:
    """Send one record; returns how many are unacknowledged after ``wait_s``."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    producer.produce(topic, value.encode())
    return producer.flush(wait_s)


def read(broker: KafkaBroker, topic: str) -> list[str]:
    """Every value of partition 0, read to its end."""
    config = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": "unused",
        "enable.partition.eof": True,
        "log_level": 0,
    }
    consumer = Consumer(config)
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: list[str] = []
    try:
        while (message := consumer.poll(DEADLINE_S)) is not None:
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                return values
            values.append((message.value() or b"").decode())
    finally:
        consumer.close()
    raise AssertionError(f"{topic} gave neither a record nor its end within {DEADLINE_S:g} s")


@pytest.mark.kafka("control", "durable")
def test_acknowledged_records_survive_a_kill_and_a_restart(
    kafka_broker: KafkaBroker, kafka_prefix: str
) -> None:
    topic = f"{kafka_prefix}kept"
    assert produce(kafka_broker, topic, "before") == 0
    bootstrap = kafka_broker.bootstrap
    with kafka_broker.away():
        assert not kafka_broker.running
        assert produce(kafka_broker, topic, "lost", wait_s=0.3) == 1
    assert kafka_broker.bootstrap == bootstrap
    assert produce(kafka_broker, topic, "after") == 0
    assert read(kafka_broker, topic) == ["before", "after"]


@pytest.mark.kafka("control")
def test_a_paused_broker_acknowledges_nothing_until_it_is_resumed(
    kafka_broker: KafkaBroker, kafka_prefix: str
) -> None:
    topic = f"{kafka_prefix}paused"
    assert produce(kafka_broker, topic, "first") == 0
    with kafka_broker.paused():
        assert produce(kafka_broker, topic, "unanswered", wait_s=0.3) == 1
    assert produce(kafka_broker, topic, "second") == 0


@pytest.mark.kafka
def test_an_existing_broker_is_used_and_never_stopped(
    kafka_broker: KafkaBroker, kafka_prefix: str
) -> None:
    with KafkaBroker(Existing(kafka_broker.bootstrap)) as guest:
        for refused in (guest.stop, guest.kill, guest.pause, guest.resume, guest.restart):
            with pytest.raises(NotOursError, match="Unset KAFKA_BOOTSTRAP"):
                refused()
    assert produce(kafka_broker, f"{kafka_prefix}alive", "yes") == 0
