"""Pages whose records say where they go: topics, partitions, timestamps and headers in one page."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from connectd.errors import TopicGoneError
from connectd.kafka import clientconf
from connectd.kafka.producer import PageProducer, SendJob, SendResult
from connectd.model.record import RoutedPage, RoutedRecord
from tests.unit.kafka.mock_cluster import MockCluster, mock_cluster

_DEADLINE_S = 20.0


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with mock_cluster() as cluster:
        cluster.create_topic("orders", 4)
        cluster.create_topic("items", 1)
        yield cluster


def _sent(cluster: MockCluster, *records: RoutedRecord, **settings: str) -> SendResult:
    """The answer to a page of these records."""
    names = {key.replace("_", "."): value for key, value in settings.items()}
    conf = clientconf.producer_conf({**cluster.settings, **names}, client_id="test")
    answers: list[SendResult] = []

    async def work() -> None:
        producer = PageProducer(conf, name="test")
        producer.open()
        page = RoutedPage(list(records))
        await producer.send(SendJob(lambda: page, answers.append))
        assert await producer.flush(_DEADLINE_S) == 0
        await producer.close(_DEADLINE_S)

    asyncio.run(asyncio.wait_for(work(), 2 * _DEADLINE_S))
    (answer,) = answers
    return answer


def test_every_record_goes_where_it_says(cluster: MockCluster) -> None:
    answer = _sent(
        cluster,
        RoutedRecord("orders", b"a", b"1", kafka_partition=3, timestamp_ms=1_600_000_000_123),
        RoutedRecord("items", None, b"2", headers=[("h", b"x"), ("h", None), ("é", b"")]),
        RoutedRecord("orders", b"a", None, kafka_partition=2),
    )
    assert answer == SendResult(topics=("orders", "items"), records=3)
    orders = {message.partition(): message for message in cluster.records("orders", 4, 2)}
    assert {number: message.value() for number, message in orders.items()} == {3: b"1", 2: None}
    assert orders[3].timestamp()[1] == 1_600_000_000_123
    assert orders[2].timestamp()[1] > 1_700_000_000_000
    (item,) = cluster.records("items", 1, 1)
    assert item.headers() == [("h", b"x"), ("h", None), ("é", b"")]
    assert orders[3].headers() is None


def test_a_full_buffer_keeps_all_that_a_record_says(cluster: MockCluster) -> None:
    records = [
        RoutedRecord("items", b"k", b"%d" % number, 0, 1000 + number, [("n", b"%d" % number)])
        for number in range(50)
    ]
    answer = _sent(cluster, *records, queue_buffering_max_messages="7")
    assert answer.failure_count == 0
    arrived = cluster.records("items", 1, 50)
    assert [(m.value(), m.timestamp()[1], m.headers()) for m in arrived] == [
        (record.value, record.timestamp_ms, record.headers) for record in records
    ]


def test_a_partition_that_is_not_there_fails_its_record_under_its_topic(
    cluster: MockCluster,
) -> None:
    answer = _sent(
        cluster,
        RoutedRecord("items", b"good", b"1"),
        RoutedRecord("items", b"lost", b"2", kafka_partition=7),
        RoutedRecord("orders", b"good", b"3"),
    )
    assert (answer.records, answer.failure_count) == (3, 1)
    (failure,) = answer.failures
    assert (failure.topic, failure.key) == ("items", b"lost")
    assert isinstance(failure.error, TopicGoneError)


def test_a_page_of_nothing_is_answered(cluster: MockCluster) -> None:
    assert _sent(cluster) == SendResult(topics=(), records=0)


@pytest.mark.parametrize("stops", [False, True])
def test_a_refused_record_is_known_by_its_place_and_may_be_the_last(
    cluster: MockCluster, stops: bool
) -> None:
    records = [RoutedRecord("items", b"%d" % number, b"x") for number in range(5)]
    records[2] = RoutedRecord("items", b"2", b"x" * 5000)
    conf = clientconf.producer_conf(
        {**cluster.settings, "max.request.size": "2000"}, client_id="test"
    )
    answers: list[SendResult] = []

    async def work() -> None:
        producer = PageProducer(conf, name="test")
        producer.open()
        job = SendJob(lambda: RoutedPage(records), answers.append, stops_at_refusal=stops)
        await producer.send(job)
        assert await producer.flush(_DEADLINE_S) == 0
        await producer.close(_DEADLINE_S)

    asyncio.run(asyncio.wait_for(work(), 2 * _DEADLINE_S))
    (answer,) = answers
    assert (answer.records, answer.failure_count, answer.first_failed) == (3 if stops else 5, 1, 2)
    sent = 2 if stops else 4
    assert len(cluster.records("items", 1, sent)) == sent
