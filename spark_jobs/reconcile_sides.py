"""Both sides of a comparison, as rows that Python workers of Spark yield.

A row is a key's digest with what belongs to it; what is counted beside the rows (items without a
record, records of other tables) goes along as rows of its own, ``tally``, so that a task that Spark
does twice is counted once. Items themselves never leave the worker.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from connectd.aio.clock import LoopClock
from connectd.app.expected_records import ExpectedRecords
from connectd.connectors.dynamodb import reconciling, scan_job
from connectd.connectors.dynamodb.reconcile_job import ReconcileJob
from connectd.connectors.dynamodb.reconciling import Compared, StateReader
from connectd.connectors.dynamodb.scan_job import ScanJob
from connectd.errors import BrokerUnavailableError, ConfigError
from connectd.kafka import errors
from spark_jobs import chunk_tools
from spark_jobs.table_pages import Segment, TablePlace, read_pages

EXPECTED_SCHEMA: Final = (
    "key_id binary, topic string, key binary, item_key binary, expected binary, tally string, "
    "amount bigint"
)
FOUND_SCHEMA: Final = (
    "key_id binary, topic string, key binary, found binary, kafka_partition int, "
    "kafka_offset bigint, timestamp_ms bigint, tally string, amount bigint"
)

STILL_S: Final = 60.0
"""How long a partition may give nothing before its end."""

_NO_PARTITION: Final = -1
_POLL_S: Final = 1.0
_BATCH: Final = 1000


@dataclass(frozen=True)
class Sides:
    """What both sides need; pickles. ``aws_keys`` are those of the driver's environment."""

    job: bytes
    reconcile: bytes
    aws_keys: dict[str, str]

    def expected(self, segments: Iterable[int]) -> Iterator[tuple[Any, ...]]:
        """The records that there should be of some segments.

        Raises:
            ConfigError: one goes to a topic that is not read.
            RetriableError, FatalTaskError: the table cannot be read.
        """
        job = ScanJob.from_json(self.job)
        topics = ReconcileJob.from_json(self.reconcile).ends
        place = TablePlace(
            job.table,
            scan_job.with_aws_keys(job.aws, self.aws_keys),
            job.consistent_read,
            job.page_size,
        )
        converters = chunk_tools.make_converters(job)
        expected = ExpectedRecords(
            job.plan, job.state.info(), converters, _states(job), LoopClock()
        )
        share = None if job.units_per_s is None else job.units_per_s / job.total_segments
        compared: dict[Compared, int] = {}
        with asyncio.Runner() as runner:
            for number in segments:
                segment = Segment(number, job.total_segments, share, job.item_bytes)
                for page in read_pages(place, segment):
                    for each in runner.run(expected.of_items(page.items)):
                        topic, way = each.row.topic, each.compared
                        if way is not None:
                            if topic not in topics:
                                raise ConfigError(
                                    f"records of table {job.table} go to topic {topic}, which is "
                                    "not read; name every topic with --topic"
                                )
                            compared[way] = compared.get(way, 0) + 1
                        yield *each.row, None, None
                tallies = {"skipped": expected.skipped}
                tallies |= {each.value: amount for each, amount in compared.items()}
                for name, amount in tallies.items():
                    mark = f"{name}/{number}".encode()
                    yield mark, None, None, None, None, name, amount
                expected.skipped, compared = 0, {}

    def found(self, places: Iterable[tuple[str, int, int]]) -> Iterator[tuple[Any, ...]]:
        """The records of some partitions: topic, partition, and the offset to read up to.

        Raises:
            BrokerUnavailableError: one gives nothing for ``STILL_S``.
            ConnectdError: one cannot be read.
        """
        job = ScanJob.from_json(self.job)
        consumer = ReconcileJob.from_json(self.reconcile).consumer
        states = _states(job)
        for topic, partition, end in places:
            records = foreign = 0
            for record in _records(dict(consumer), topic, partition, end):
                records += 1
                state = states.found(topic, record.value())
                foreign += states.is_foreign(state)
                key, (_, timestamp_ms) = record.key(), record.timestamp()
                yield (
                    reconciling.key_id(topic, key), topic, key, state.digest,
                    partition, record.offset(), timestamp_ms, None, None,
                )  # fmt: skip
            for name, amount in (("records", records), ("foreign", foreign)):
                mark = f"{name}/{topic}/{partition}".encode()
                yield mark, None, None, None, _NO_PARTITION, 0, 0, name, amount


def _states(job: ScanJob) -> StateReader:
    converter = chunk_tools.make_converters(job).value
    return StateReader(
        reconciling.decoder(converter),
        job.table,
        plain_documents=job.envelope.document == "plain",
    )


def _records(conf: dict[str, str], topic: str, partition: int, end: int) -> Iterator[Any]:
    if end <= 0:
        return
    consumer = Consumer({**conf, "log_level": "0"})
    try:
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
        moved_s = time.monotonic()
        while True:
            messages = consumer.consume(_BATCH, timeout=_POLL_S)
            has_moved = False
            for message in messages:
                error, offset = message.error(), message.offset() or 0
                if error is not None:
                    if error.code() == KafkaError._PARTITION_EOF:
                        return
                    if not error.retriable():
                        doing = f"reading topic {topic}"
                        raise errors.translate(KafkaException(error), doing)
                    continue  # what librdkafka tries again is no record
                if offset >= end:
                    return
                has_moved = True
                yield message
                if offset + 1 >= end:
                    return
            if has_moved:  # however long who takes them takes
                moved_s = time.monotonic()
            elif time.monotonic() - moved_s > STILL_S:
                raise BrokerUnavailableError(
                    f"reading topic {topic}, partition {partition}: nothing came for {STILL_S:g} s"
                )
    finally:
        consumer.close()
