"""Many records with one call: what the client takes of them, and what it says of the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from confluent_kafka import KafkaError, Message, Producer

from connectd.kafka import clientconf
from connectd.kafka.batches import BATCH_RECORDS, NEAR_TOPICS, Batches, Outcome
from connectd.model.record import EncodedRecord
from tests.unit.kafka.mock_cluster import MockCluster

_LARGE = 1_000_000


class Acks:
    """What was heard of records."""

    def __init__(self) -> None:
        self.errors: list[KafkaError | None] = []

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        self.errors.append(error)


def _client(cluster: MockCluster, **settings: str) -> Producer:
    names = {key.replace("_", "."): value for key, value in settings.items()}
    return Producer(clientconf.producer_conf({**cluster.settings, **names}, client_id="test"))


def _far(producer: Producer, *, bytes_max: int = _LARGE) -> Batches:
    """As a client writes once it knows many topics."""
    chooser = Batches(producer, bytes_max=bytes_max)
    for number in range(NEAR_TOPICS):
        chooser.produce(f"other-{number}", [], Acks())
    return chooser


def _near(producer: Producer) -> Batches:
    return Batches(producer, bytes_max=_LARGE)


WAYS = pytest.mark.parametrize("way", [_near, _far])
Way = Callable[[Producer], Batches]


def _records(count: int) -> list[EncodedRecord]:
    return [(b"key", b"%06d" % number) for number in range(count)]


@WAYS
def test_records_arrive_in_their_order_and_each_is_answered(cluster: MockCluster, way: Way) -> None:
    records: list[EncodedRecord] = [(b"a", b"1"), (b"a", None), (None, b"2"), (b"", b"")]
    acks = Acks()
    producer = _client(cluster)
    assert way(producer).produce("orders", records, acks) == Outcome(4)
    assert producer.flush(20) == 0
    assert acks.errors == [None] * 4
    assert [(m.key(), m.value()) for m in cluster.records("orders", 1, 4)] == records


@WAYS
def test_a_page_of_several_batches_keeps_its_order(cluster: MockCluster, way: Way) -> None:
    records = _records(3 * BATCH_RECORDS + 1)
    acks = Acks()
    producer = _client(cluster)
    assert way(producer).produce("orders", records, acks) == Outcome(len(records))
    assert producer.flush(20) == 0
    assert acks.errors == [None] * len(records)
    assert [(m.key(), m.value()) for m in cluster.records("orders", 1, len(records))] == records


@WAYS
@pytest.mark.parametrize("room", [7, BATCH_RECORDS + 7])
def test_a_full_buffer_takes_the_first_of_them_and_none_behind(
    cluster: MockCluster, way: Way, room: int
) -> None:
    cluster.go_away()
    acks = Acks()
    producer = _client(cluster, queue_buffering_max_messages=str(room))
    chooser = way(producer)
    assert chooser.produce("orders", _records(2 * BATCH_RECORDS), acks) == Outcome(room)
    assert chooser.produce("orders", _records(3), acks) == Outcome(0)
    producer.purge()
    producer.flush(20)
    assert len(acks.errors) == room


def test_one_that_is_refused_is_named_when_others_have_passed_it(cluster: MockCluster) -> None:
    records = _records(BATCH_RECORDS + 5)
    records[BATCH_RECORDS + 1] = records[BATCH_RECORDS + 4] = (b"large", b"x" * 5000)
    acks = Acks()
    producer = _client(cluster, max_request_size="2000")
    taken, ((place, error),) = _far(producer).produce("orders", records, acks)
    # The last one has none behind it: it may be tried again.
    assert (taken, place) == (BATCH_RECORDS + 4, BATCH_RECORDS + 1)
    assert error.code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert producer.flush(20) == 0
    sent = [value for _, value in records if value and len(value) < 2000]
    assert [m.value() for m in cluster.records("orders", 1, len(sent))] == sent
    assert acks.errors == [None] * len(sent)


def test_one_by_one_it_ends_with_the_first_that_is_refused(cluster: MockCluster) -> None:
    records = _records(5)
    records[3] = (b"large", b"x" * 5000)
    producer = _client(cluster, max_request_size="2000")
    assert _near(producer).produce("orders", records, Acks()) == Outcome(3)
    assert len(producer) == 3
    assert producer.flush(20) == 0


@WAYS
def test_a_topic_of_an_impossible_name_takes_none(cluster: MockCluster, way: Way) -> None:
    producer = _client(cluster)
    assert way(producer).produce("x" * 600, _records(3), Acks()) == Outcome(0)
    assert len(producer) == 0


def test_a_batch_with_a_value_above_the_limit_is_left_to_its_caller(cluster: MockCluster) -> None:
    records = _records(2 * BATCH_RECORDS)
    records[BATCH_RECORDS + 3] = (b"k" * 51, b"x" * 50)
    producer = _client(cluster)
    chooser = _far(producer, bytes_max=100)
    assert chooser.produce("orders", records, Acks()) == Outcome(BATCH_RECORDS)
    assert producer.flush(20) == 0


@WAYS
def test_what_the_client_cannot_take_is_a_defect(cluster: MockCluster, way: Way) -> None:
    records: list[Any] = [(b"key", [1]), *_records(2)]
    producer = _client(cluster)
    with pytest.raises(TypeError):
        way(producer).produce("orders", records, Acks())
    assert len(producer) == 0


def test_a_topic_is_looked_for_once_in_a_batch_when_there_are_many_before_it() -> None:
    producer = mock.create_autospec(Producer, instance=True)
    producer.produce_batch.return_value = BATCH_RECORDS
    chooser = _near(producer)
    for number in range(NEAR_TOPICS + 1):
        for _ in range(2):
            chooser.produce(f"topic-{number}", _records(BATCH_RECORDS), Acks())
    assert {call.args[0] for call in producer.produce_batch.call_args_list} == {
        f"topic-{NEAR_TOPICS}"
    }
    assert producer.produce_batch.call_count == 2
    assert producer.produce.call_count == 2 * NEAR_TOPICS * BATCH_RECORDS
