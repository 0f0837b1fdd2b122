"""The floor: the same pages read and their items pushed to Kafka, with no work on them at all.

Every item or image goes to Kafka as the bytes that it is in its page: no key, no envelope, no
document, no tombstone, no position, and no acknowledgement is looked at. Requests are connectd's
own (signed, pooled, checked), pages are split by its parser, and the producer has the settings of
the boto3 loop. What connectd costs beyond this is what it does with a record, and what it promises.

``python -m benchmarks.push_loop scan|stream ...`` takes the arguments of ``benchmarks.boto3_loop``
and prints the same.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import uvloop
from confluent_kafka import KafkaError, Message, Producer

from benchmarks import boto3_loop
from connectd.aio.clock import LoopClock
from connectd.aws.clients import AwsClients
from connectd.aws.settings import AwsSettings
from connectd.connectors.dynamodb.decode import Raw, decode_records_page, decode_scan_page
from connectd.connectors.dynamodb.tiers import Tier
from connectd.kafka.batches import BATCH_RECORDS


class _Pusher:
    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic = topic
        self._failed = 0
        self._producer = Producer(
            {
                **boto3_loop.producer_conf(bootstrap),
                "delivery.report.only.error": True,
                "on_delivery": self._on_failure,
            }
        )

    def _on_failure(self, error: KafkaError | None, message: Message) -> None:
        self._failed += error is not None

    def push(self, values: Sequence[Raw]) -> int:
        for start in range(0, len(values), BATCH_RECORDS):
            some = values[start : start + BATCH_RECORDS]
            messages: list[dict[str, Any]] = [{"value": bytes(each)} for each in some]
            taken = self._producer.produce_batch(self._topic, messages)
            while taken < len(messages):
                left = messages[taken:]
                if any(each["_error"].code() != KafkaError._QUEUE_FULL for each in left):
                    sys.exit(f"push loop: a record is refused: {left[0]['_error']}")
                messages = [{"value": each["value"]} for each in left]
                self._producer.poll(0.05)
                taken = self._producer.produce_batch(self._topic, messages)
        self._producer.poll(0)
        return len(values)

    def close(self) -> None:
        left = self._producer.flush(120)
        if left or self._failed:
            sys.exit(f"push loop: {left} messages not delivered, {self._failed} failed")


async def _scan(clients: AwsClients, table: str) -> AsyncIterator[Sequence[Raw]]:
    start: bytes | None = None
    while True:
        answer = await clients.dynamodb.scan(
            table, segment=0, total_segments=1, exclusive_start_key=start, limit=None
        )
        page = decode_scan_page(answer.body, Tier.PORTABLE)
        yield page.items
        start = page.last_evaluated_key
        if start is None:
            return


async def _stream(clients: AwsClients, table: str) -> AsyncIterator[list[Raw]]:
    arn = (await clients.dynamodb.describe_table(table)).stream_arn or ""
    for shard in (await clients.streams.describe_stream(arn)).shards:
        iterator: str | None = await clients.streams.shard_iterator(
            arn, shard.shard_id, "TRIM_HORIZON", None
        )
        while iterator is not None:
            page = decode_records_page((await clients.streams.get_records(iterator, 1000)).body)
            if not page.records:
                break
            yield [each.new_image or each.keys for each in page.records]
            iterator = page.next_iterator


async def _run(arguments: argparse.Namespace) -> int:
    settings = AwsSettings(
        region="eu-west-1",
        access_key_id="bench",
        secret_access_key="bench",
        dynamodb_endpoint=arguments.endpoint,
    )
    clients = AwsClients(settings, LoopClock())
    await clients.open()
    pusher = _Pusher(arguments.bootstrap, arguments.topic)
    pages = (_scan if arguments.path == "scan" else _stream)(clients, arguments.table)
    count = 0
    async for page in pages:
        count += pusher.push(page)
        if count >= arguments.count:
            break
    pusher.close()
    await clients.close()
    return count


def main() -> None:
    arguments = boto3_loop.parse("The floor of the scan and stream benchmarks.")
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        items = runner.run(_run(arguments))
    result = {
        "items": items,
        "cpu_s": time.process_time() - cpu_s,
        "wall_s": time.perf_counter() - wall_s,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
