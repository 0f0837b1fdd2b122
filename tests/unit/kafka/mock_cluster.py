"""librdkafka's own mock cluster, with its faults: brokers that go away, requests that fail.

It lives inside this process and needs no broker; the functions are exported by the library that
confluent_kafka brings along. What it cannot do (administration, more than 5 MB a partition) is
tested on a real broker instead.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

PRODUCE = 0
INIT_PRODUCER_ID = 22

_CONF_BYTES = 512
_PRODUCER = 0


@functools.cache
def _library() -> ctypes.CDLL:
    package = Path(confluent_kafka.__file__).parent
    (path,) = (package.parent / "confluent_kafka.libs").glob("librdkafka*.so*")
    library = ctypes.CDLL(str(path))
    for name in ("rd_kafka_new", "rd_kafka_conf_new", "rd_kafka_mock_cluster_new"):
        getattr(library, name).restype = ctypes.c_void_p
    library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    return library


class MockCluster:
    """One broker. Topics appear when they are written to, with four partitions unless created."""

    def __init__(self) -> None:
        library = _library()
        conf = ctypes.c_void_p(library.rd_kafka_conf_new())
        error = ctypes.create_string_buffer(_CONF_BYTES)
        library.rd_kafka_conf_set(conf, b"log_level", b"0", error, _CONF_BYTES)
        self._client = ctypes.c_void_p(library.rd_kafka_new(_PRODUCER, conf, error, _CONF_BYTES))
        self._cluster = ctypes.c_void_p(library.rd_kafka_mock_cluster_new(self._client, 1))
        self.bootstrap = library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()

    @property
    def settings(self) -> dict[str, str]:
        """Client settings that reach it."""
        return {"bootstrap.servers": self.bootstrap}

    def create_topic(self, topic: str, partitions: int) -> None:
        """A topic with that many partitions."""
        _library().rd_kafka_mock_topic_create(self._cluster, topic.encode(), partitions, 1)

    def go_away(self) -> None:
        """Close all connections and refuse new ones."""
        _library().rd_kafka_mock_broker_set_down(self._cluster, 1)

    def come_back(self) -> None:
        """Accept connections again."""
        _library().rd_kafka_mock_broker_set_up(self._cluster, 1)

    def fail_requests(self, api: int, *codes: int) -> None:
        """The next requests of that kind are answered with these errors, one each."""
        _library().rd_kafka_mock_push_request_errors_array(
            self._cluster,
            ctypes.c_int16(api),
            ctypes.c_size_t(len(codes)),
            (ctypes.c_int * len(codes))(*codes),
        )

    def records(self, topic: str, partitions: int, count: int) -> list[Message]:
        """Read until ``count`` records have come, in the order of each partition."""
        consumer = Consumer({**self.settings, "group.id": "reader", "log_level": 0})
        try:
            consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(partitions)])
            found: list[Message] = []
            while len(found) < count:
                messages = consumer.consume(count - len(found), timeout=10)
                assert messages, f"only {len(found)} of {count} records came"
                for message in messages:
                    error = message.error()
                    assert error is None or error.code() == KafkaError._PARTITION_EOF
                    if error is None:
                        found.append(message)
            return found
        finally:
            consumer.close()

    def close(self) -> None:
        """Take the cluster down for good."""
        _library().rd_kafka_mock_cluster_destroy(self._cluster)
        _library().rd_kafka_destroy(self._client)


@contextlib.contextmanager
def mock_cluster() -> Iterator[MockCluster]:
    """A cluster for the length of a block."""
    cluster = MockCluster()
    try:
        yield cluster
    finally:
        cluster.close()
