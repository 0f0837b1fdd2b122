"""How fast the fake serves: ``python -m tests.fakes.measure`` prints one JSON object.

The fake runs in its own process; this one reads pages over one raw connection, without parsing
more of them than the next position. Rates are items (records) per second of wall time, and per
second of the fake's CPU.
"""

from __future__ import annotations

import http.client
import json
import re
import time
from pathlib import Path
from typing import Any

from tests.fakes.process import FakeProcess
from tests.fakes.requests import TARGETS

ITEMS = 500_000
IDLE_POLLS = 5_000
_KEY = re.compile(rb'"LastEvaluatedKey":(\{.*?\}\})')
_COUNT = re.compile(rb'"Count":(\d+)')
_NEXT = re.compile(rb'"NextShardIterator":"([^"]+)"')


class _Client:
    def __init__(self, url: str) -> None:
        host, port = url.removeprefix("http://").split(":")
        self._connection = http.client.HTTPConnection(host, int(port), timeout=30)

    def post(self, service: str, operation: str, payload: dict[str, Any]) -> bytes:
        headers = {"X-Amz-Target": f"{TARGETS[service]}.{operation}"}
        self._connection.request("POST", "/", json.dumps(payload), headers)
        answer = self._connection.getresponse()
        body = answer.read()
        assert answer.status == 200, body
        return body

    def close(self) -> None:
        self._connection.close()


def scan(client: _Client, table: str) -> int:
    """Read a table to its end; how many items."""
    items, payload = 0, {"TableName": table}
    while True:
        page = client.post("dynamodb", "Scan", payload)
        count = _COUNT.search(page)
        assert count is not None
        items += int(count[1])
        key = _KEY.search(page, len(page) - 200)
        if key is None:
            return items
        payload["ExclusiveStartKey"] = json.loads(key[1])


def first_iterator(client: _Client, arn: str, shard: str, kind: str) -> str:
    """An iterator at one end of a shard."""
    page = client.post(
        "streams",
        "GetShardIterator",
        {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": kind},
    )
    return str(json.loads(page)["ShardIterator"])


def read_shard(client: _Client, iterator: str) -> int:
    """Read a shard to its tip; how many records."""
    records = 0
    while True:
        page = client.post("streams", "GetRecords", {"ShardIterator": iterator})
        found = page.count(b',"eventName":')
        records += found
        following = _NEXT.search(page, len(page) - 400)
        if not found or following is None:
            return records
        iterator = following[1].decode()


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def main() -> None:
    """Measure and print."""
    rates: dict[str, float] = {}
    with FakeProcess() as fake:
        control, client = fake.control, _Client(fake.url)
        control.create_table(table="scanned", view_type=None)
        control.bulk_load(table="scanned", count=ITEMS)
        arn = control.create_table(table="streamed")
        control.bulk_stream(table="streamed", count=ITEMS // 2)
        (shard,) = control.open_shards(table="streamed")

        def measured(name: str, expected: int, found: int, began: tuple[float, float]) -> None:
            assert found == expected, f"{name}: found {found}, expected {expected}"
            rates[f"{name}_per_s"] = round(found / (time.perf_counter() - began[0]))
            rates[f"{name}_per_cpu_s"] = round(found / (_cpu_s(fake.pid) - began[1]))

        def now() -> tuple[float, float]:
            return time.perf_counter(), _cpu_s(fake.pid)

        began = now()
        measured("scan_items", ITEMS, scan(client, "scanned"), began)
        began = now()
        iterator = first_iterator(client, arn, shard, "TRIM_HORIZON")
        measured("stream_records", ITEMS // 2, read_shard(client, iterator), began)
        idle = first_iterator(client, arn, shard, "LATEST")
        began = now()
        for _ in range(IDLE_POLLS):
            client.post("streams", "GetRecords", {"ShardIterator": idle})
        measured("idle_polls", IDLE_POLLS, IDLE_POLLS, began)
        peak = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{fake.pid}/status").read_text())
        assert peak is not None
        rates["peak_rss_mib"] = int(peak[1]) // 1024
        client.close()
    print(json.dumps(rates))


if __name__ == "__main__":
    main()
