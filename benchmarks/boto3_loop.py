"""The loop that everybody writes first: boto3 client, json, confluent-kafka.

The yardstick of the scan and stream benchmarks. It reads the same endpoint, writes the same
envelope to the same broker with the same producer settings, keeps no position and tracks no
acknowledgement beyond a shared callback: less than what connectd promises.

``python -m benchmarks.boto3_loop scan|stream --endpoint URL --bootstrap HOST:PORT --table T
--topic T
--count N`` prints ``{"items": n, "cpu_s": s, "wall_s": s}``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import boto3
from botocore.config import Config
from confluent_kafka import KafkaError, Message, Producer

_CONFIG = Config(region_name="eu-west-1", retries={"total_max_attempts": 3, "mode": "standard"})
_OPS = {"INSERT": "c", "MODIFY": "u", "REMOVE": "d"}


def producer_conf(bootstrap: str) -> dict[str, Any]:
    """What connectd sets, and librdkafka's defaults."""
    return {
        "bootstrap.servers": bootstrap,
        "acks": "all",
        "enable.idempotence": True,
        "partitioner": "murmur2_random",
        "compression.type": "lz4",
        "linger.ms": 40,
        "queue.buffering.max.kbytes": 32768,
    }


def _lowered(value: dict[str, Any]) -> dict[str, Any]:
    """One attribute value with lower-case type letters and base64 text for binary."""
    ((kind, inner),) = value.items()
    if kind == "M":
        return {"m": {name: _lowered(member) for name, member in inner.items()}}
    if kind == "L":
        return {"l": [_lowered(member) for member in inner]}
    return {kind.lower(): inner}


class _Sender:
    def __init__(self, bootstrap: str, topic: str, table: str) -> None:
        self._topic = topic
        self._source = {
            "version": "0.1",
            "table_name": table,
            "init_sync": "RUNNING",
            "init_sync_start": 1557387726273,
            "init_sync_end": None,
        }
        self.failed = 0
        self._producer = Producer(producer_conf(bootstrap))

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed += 1

    def send(self, keys: dict[str, Any], item: dict[str, Any] | None, op: str, ts_ms: int) -> None:
        key = json.dumps({name: next(iter(value.values())) for name, value in keys.items()})
        document = (
            json.dumps({name: _lowered(value) for name, value in item.items()}) if item else ""
        )
        value = json.dumps(
            {
                "version": "0.1",
                "document": document,
                "source": self._source,
                "op": op,
                "ts_ms": ts_ms,
            }
        )
        self._produce(key, value)
        if op == "d":
            self._produce(key, None)

    def _produce(self, key: str, value: str | None) -> None:
        while True:
            try:
                self._producer.produce(
                    self._topic, value=value, key=key, on_delivery=self._on_delivery
                )
                break
            except BufferError:
                self._producer.poll(0.05)
        self._producer.poll(0)

    def close(self) -> None:
        left = self._producer.flush(120)
        if left or self.failed:
            sys.exit(f"boto3 loop: {left} messages not delivered, {self.failed} failed")


def _client(service: str, endpoint: str) -> Any:
    session: Any = boto3.session.Session(aws_access_key_id="bench", aws_secret_access_key="bench")
    return session.client(service, endpoint_url=endpoint, config=_CONFIG)


def _scan(endpoint: str, table: str) -> Iterator[dict[str, Any]]:
    client = _client("dynamodb", endpoint)
    start: dict[str, Any] = {}
    while True:
        page = client.scan(TableName=table, ReturnConsumedCapacity="TOTAL", **start)
        yield from page["Items"]
        if "LastEvaluatedKey" not in page:
            return
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def _stream(endpoint: str, table: str) -> Iterator[dict[str, Any]]:
    tables = _client("dynamodb", endpoint)
    client = _client("dynamodbstreams", endpoint)
    arn = tables.describe_table(TableName=table)["Table"]["LatestStreamArn"]
    for shard in client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
        iterator: str | None = client.get_shard_iterator(
            StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        while iterator is not None:
            page = client.get_records(ShardIterator=iterator, Limit=1000)
            if not page["Records"]:
                break
            yield from page["Records"]
            iterator = page.get("NextShardIterator")


def _run(arguments: argparse.Namespace) -> int:
    sender = _Sender(arguments.bootstrap, arguments.topic, arguments.table)
    count = 0
    if arguments.path == "scan":
        for item in _scan(arguments.endpoint, arguments.table):
            sender.send({arguments.key: item[arguments.key]}, item, "r", 1557387726273)
            count += 1
            if count == arguments.count:
                break
    else:
        for record in _stream(arguments.endpoint, arguments.table):
            change = record["dynamodb"]
            created_ms = int(change["ApproximateCreationDateTime"].timestamp() * 1000)
            sender.send(
                change["Keys"], change.get("NewImage"), _OPS[record["eventName"]], created_ms
            )
            count += 1
            if count == arguments.count:
                break
    sender.close()
    return count


def parse(description: str) -> argparse.Namespace:
    """The arguments of a yardstick."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("path", choices=["scan", "stream"])
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--table", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--key", default="id", help="name of the table's hash key")
    parser.add_argument("--count", type=int, required=True, help="items after which to stop")
    return parser.parse_args()


def main() -> None:
    arguments = parse((__doc__ or "").splitlines()[0])
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    items = _run(arguments)
    result = {
        "items": items,
        "cpu_s": time.process_time() - cpu_s,
        "wall_s": time.perf_counter() - wall_s,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
