"""Reading to the end, on whatever broker this machine has."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from tests.harness.kafka import KafkaBroker
from tests.harness.topics import TopicReader, read_topic
from tests.harness.transactions import transactional_producer


def produce(broker: KafkaBroker, topic: str, *values: str | None) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    for value in values:
        producer.produce(topic, key=b"k", value=value and value.encode(), headers=[("h", b"1")])
    assert producer.flush(20) == 0


@pytest.mark.kafka
def test_a_reader_gives_each_record_once_and_goes_on_where_it_stopped(
    kafka_broker: KafkaBroker, kafka_prefix: str
) -> None:
    topic = f"{kafka_prefix}topic"
    produce(kafka_broker, topic, "a", "b")
    with TopicReader(kafka_broker.bootstrap, [topic]) as reader:
        assert [record.value for record in reader.read_to_end()] == [b"a", b"b"]
        assert list(reader.read_to_end()) == []
        produce(kafka_broker, topic, None)
        (tombstone,) = reader.read_to_end()
    assert (tombstone.key, tombstone.value, tombstone.headers) == (b"k", None, (("h", b"1"),))


@pytest.mark.kafka
def test_a_topic_that_does_not_exist_has_no_records(
    kafka_broker: KafkaBroker, kafka_prefix: str
) -> None:
    assert read_topic(kafka_broker.bootstrap, f"{kafka_prefix}nothing") == []


@pytest.mark.kafka
def test_reading_ends_with_as_many_records_as_are_enough(
    kafka_broker: KafkaBroker, kafka_prefix: str
) -> None:
    topic = f"{kafka_prefix}endless"
    produce(kafka_broker, topic, "a", "b", "c")
    for enough, values in ((2, [b"a", b"b"]), (9, [b"a", b"b", b"c"])):
        found = read_topic(kafka_broker.bootstrap, topic, enough)
        assert [record.value for record in found] == values


@pytest.mark.kafka("exact")
def test_the_markers_of_transactions_are_no_obstacle(
    kafka_broker: KafkaBroker, kafka_prefix: str
) -> None:
    topic = f"{kafka_prefix}transactions"
    producer = transactional_producer(kafka_broker.bootstrap, topic)
    for value, end in (
        (b"kept", producer.commit_transaction),
        (b"dropped", producer.abort_transaction),
    ):
        producer.begin_transaction()
        producer.produce(topic, value)
        assert producer.flush(20) == 0  # an abort forgets what has not been sent
        end(20)
    transactional_producer(kafka_broker.bootstrap, topic)  # the markers are there
    assert [record.value for record in read_topic(kafka_broker.bootstrap, topic)] == [b"kept"]
