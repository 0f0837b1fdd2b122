"""The producer of a Python worker, against librdkafka's mock cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest
from confluent_kafka import KafkaError

from connectd.errors import (
    BrokerUnavailableError,
    ConfigError,
    ProduceError,
    RecordTooLargeError,
)
from connectd.kafka import clientconf
from connectd.model.record import EncodedPage, EncodedRecord, RoutedPage, RoutedRecord
from spark_jobs.chunk_lease import ChunkLease, LeaseOverError
from spark_jobs.chunk_sending import ChunkSender
from tests.unit.kafka.mock_cluster import INIT_PRODUCER_ID, PRODUCE, MockCluster, mock_cluster

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with mock_cluster() as cluster:
        cluster.create_topic("orders", 1)
        yield cluster


def _sender(cluster: MockCluster, *, delivery_s: float = 60.0, **settings: str) -> ChunkSender:
    names = {key.replace("_", "."): value for key, value in settings.items()}
    conf = clientconf.producer_conf({**cluster.settings, **names}, client_id="test")
    return ChunkSender(conf, delivery_s=delivery_s)


def _page(count: int, *, size: int = 10) -> EncodedPage:
    return EncodedPage("orders", [(b"k%d" % n, b"%0*d" % (size, n)) for n in range(count)])


def test_pages_arrive_whole_and_in_order(cluster: MockCluster) -> None:
    sender = _sender(cluster)
    pages = [sender.send(_page(100)) for _ in range(3)]
    sender.wait_delivered(pages)
    assert [page.left for page in pages] == [0, 0, 0]
    values = [message.value() for message in cluster.records("orders", 1, 300)]
    assert values == [b"%010d" % n for n in range(100)] * 3


def test_records_that_say_where_they_go_arrive_there(cluster: MockCluster) -> None:
    cluster.create_topic("routed", 4)
    sender = _sender(cluster)
    record = RoutedRecord("routed", b"k", None, 3, 1_234_567, [("name", b"text"), ("none", None)])
    sender.wait_delivered([sender.send(RoutedPage([record]))])
    (message,) = cluster.records("routed", 4, 1)
    assert message.partition() == 3
    assert message.timestamp()[1] == 1_234_567
    assert message.value() is None
    assert message.headers() == [("name", b"text"), ("none", None)]


def test_a_full_buffer_is_waited_out(cluster: MockCluster) -> None:
    sender = _sender(cluster, buffer_memory="65536")
    page = sender.send(_page(1000, size=1000))
    sender.wait_delivered([page])
    assert page.failure_count == 0
    assert len(cluster.records("orders", 1, 1000)) == 1000


def test_a_buffer_that_stays_full_is_not_waited_for_for_ever(cluster: MockCluster) -> None:
    cluster.go_away()
    sender = _sender(cluster, delivery_s=0.5, buffer_memory="65536")
    with pytest.raises(BrokerUnavailableError, match=r"acknowledged nothing for 0\.5 s"):
        sender.send(_page(1000, size=1000))
    sender.discard()


def test_a_broker_that_is_away_is_told_with_what_the_client_says(cluster: MockCluster) -> None:
    cluster.go_away()
    sender = _sender(cluster, delivery_s=3.0)
    page = sender.send(_page(1))
    with pytest.raises(BrokerUnavailableError, match=r"the client says: .*(refused|down)"):
        sender.wait_delivered([page])
    assert page.left == 1
    sender.discard()


def test_a_broker_that_comes_back_in_time_is_no_failure(cluster: MockCluster) -> None:
    cluster.fail_requests(PRODUCE, *[KafkaError.NOT_LEADER_FOR_PARTITION] * 2)
    sender = _sender(cluster)
    page = sender.send(_page(5))
    sender.wait_delivered([page])
    assert page.failure_count == 0


def test_a_record_that_is_too_large_is_counted_and_named(cluster: MockCluster) -> None:
    sender = _sender(cluster, max_request_size="2000")
    records: list[EncodedRecord] = [(b"small", b"x"), (b"large", b"x" * 5000), (b"small", b"y")]
    page = sender.send(EncodedPage("orders", records))
    sender.wait_delivered([page])
    assert page.failure_count == 1
    assert isinstance(page.failure, RecordTooLargeError)
    assert "the record with key large to orders" in str(page.failure)
    assert len(cluster.records("orders", 1, 2)) == 2


def test_a_producer_that_may_not_be_idempotent_has_failed_for_good(cluster: MockCluster) -> None:
    cluster.fail_requests(INIT_PRODUCER_ID, KafkaError.CLUSTER_AUTHORIZATION_FAILED)
    sender = _sender(cluster)
    with pytest.raises(ProduceError):
        sender.wait_delivered([sender.send(_page(1))])
    sender.discard()


def test_what_is_discarded_never_arrives(cluster: MockCluster) -> None:
    cluster.go_away()
    sender = _sender(cluster, delivery_s=0.3)
    page = sender.send(_page(3))
    with pytest.raises(BrokerUnavailableError):
        sender.wait_delivered([page])
    sender.discard()
    cluster.come_back()
    fresh = _sender(cluster)
    fresh.wait_delivered([fresh.send(_page(1))])
    assert [message.key() for message in cluster.records("orders", 1, 1)] == [b"k0"]


def test_settings_that_librdkafka_refuses_are_a_config_error() -> None:
    for settings in ({"no.such.setting": "1"}, {"message.timeout.ms": "soon"}):
        with pytest.raises(ConfigError, match="creating a producer"):
            ChunkSender(settings)


class Lease:
    """It is over after so many looks."""

    def __init__(self, looks: int) -> None:
        self.left = looks

    def check(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise LeaseOverError("too late")


def test_nothing_is_sent_after_the_lease_and_what_was_not_sent_never_arrives(
    cluster: MockCluster,
) -> None:
    sender = _sender(cluster, linger_ms="1000")
    sender.begin(cast("ChunkLease", Lease(3)))
    with pytest.raises(LeaseOverError):
        sender.send(_page(1000))
    sender.discard()
    fresh = _sender(cluster)
    fresh.wait_delivered([fresh.send(EncodedPage("orders", [(b"last", b"x")]))])
    keys = [message.key() for message in cluster.records("orders", 1, 1)]
    assert keys == [b"last"]


def test_the_lease_ends_the_wait_for_a_broker_that_is_away(cluster: MockCluster) -> None:
    cluster.go_away()
    sender = _sender(cluster)
    sender.begin(cast("ChunkLease", Lease(3)))
    page = sender.send(_page(1))
    with pytest.raises(LeaseOverError):
        sender.wait_delivered([page])
    sender.discard()


def test_a_record_that_the_client_gives_up_is_no_record_that_kafka_refuses(
    cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spark_jobs.chunk_sending.DELIVERY_S", 0.5)
    cluster.go_away()
    sender = _sender(cluster)
    page = sender.send(_page(3))
    with pytest.raises(BrokerUnavailableError):
        sender.wait_delivered([page])
    assert (page.given_up, page.failure_count) == (3, 0)
    sender.discard()


def test_records_that_the_connector_lets_fail_after_a_time_fail(cluster: MockCluster) -> None:
    cluster.go_away()
    sender = _sender(cluster, delivery_timeout_ms="300", linger_ms="0")
    page = sender.send(_page(3))
    sender.wait_delivered([page])
    assert (page.given_up, page.failure_count) == (0, 3)
    assert isinstance(page.failure, ProduceError)
    sender.discard()
