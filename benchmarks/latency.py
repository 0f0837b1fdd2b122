"""``make bench NAME=latency``: from a change to Kafka, while 20 tables run at full speed.

One worker follows ``--tables`` tables. Twenty of them have a long stream to catch up with; fifty
get changes at random moments, one a second on average; fifty more, one in twenty seconds. Of these
two kinds it is measured how long a change takes from its write to its append to the log of the
broker (``LogAppendTime``, the same machine's clock), as long as the twenty are not done; and, for
comparison, before they begin.

Meanwhile another client asks for the worker's health. The worker is asked for nothing else: that
the twenty are done is seen from the ends of their topics, and how often its event loop was late
from /metrics before and after.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.fleet import Fleet, is_followed
from benchmarks.pulses import Pulses
from benchmarks.rest_rig import Latencies, quantile
from benchmarks.rig import Rig, core_wait_s, cpu_s, machine, peak_rss_mib, rig, say, versions
from benchmarks.sizes import size
from tests.harness.processes import HarnessError
from tests.harness.worker import WorkerProcess

BUSY_TABLES = 20
KINDS = {"regular": 1.0, "seldom": 20.0}
"""Seconds between two changes of a table, on average."""
TABLES_OF_A_KIND = 50
_CYCLE = 16
"""The fake fills four shards in cycles of four records."""
SETTLE_S, TAIL_S = 15.0, 10.0
"""Quiet tables are read every five seconds; after that, all are known to be awake."""
LOOK_S = 0.5
_PROPERTIES = {"offset.flush.interval.ms": "10000"}


class Ends:
    """How many records some topics have, as the broker counts them."""

    def __init__(self, bootstrap: str, topics: Sequence[str]) -> None:
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "ends"})
        self._topics = topics

    def records(self) -> int:
        """Of all partitions of those that are there by now."""
        known = self._consumer.list_topics(timeout=30).topics
        return sum(
            self._consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)[1]
            for topic in self._topics
            if topic in known
            for partition in known[topic].partitions
        )


@dataclass
class Probes:
    """Writes that are watched: by table and number, when each began."""

    fleet: Fleet
    tables: Mapping[str, Sequence[str]]
    written_s: dict[tuple[str, int], float] = field(default_factory=dict)
    ended: threading.Event = field(default_factory=threading.Event)

    def write(self) -> None:
        """Write until the end, each table at random moments."""
        dice, numbers, due = random.Random(7), dict[str, int](), list[tuple[float, str, float]]()
        now = time.monotonic()
        for kind, names in self.tables.items():
            due += [(now + dice.uniform(0, KINDS[kind]), each, KINDS[kind]) for each in names]
        while not self.ended.is_set():
            due.sort()
            when, table, mean_s = due.pop(0)
            if self.ended.wait(max(0.0, when - time.monotonic())):
                return
            number = numbers[table] = numbers.get(table, 0) + 1
            self.written_s[table, number] = time.time()
            item = {"id": {"S": f"k{dice.randrange(100)}"}, "n": {"N": str(number)}}
            self.fleet.control.put(table=table, item=item)
            due.append((time.monotonic() + dice.expovariate(1 / mean_s), table, mean_s))


def main(arguments: list[str]) -> None:
    """Measure, and print the result as the last line."""
    options = _parse(arguments)
    with rig() as parts:
        fleet = Fleet(parts, options.tables)
        names = fleet.tables
        busy, rest = names[:BUSY_TABLES], names[BUSY_TABLES:]
        probed = {
            kind: rest[at * TABLES_OF_A_KIND : (at + 1) * TABLES_OF_A_KIND]
            for at, kind in enumerate(KINDS)
        }
        _create_topics(parts, [table for tables in probed.values() for table in tables])
        with parts.worker("bench-latency", _PROPERTIES) as worker:
            began_s = time.monotonic()
            fleet.configure(
                worker,
                options.tasks,
                **{"init.sync.skip": "true", "stream.start.position": "TRIM_HORIZON"},
            )
            followed_s = fleet.wait_until(worker, is_followed, "followed", began_s=began_s)
            say(f"all {len(names)} tables are followed after {followed_s:.0f} s")
            result = _measure(parts, fleet, worker, busy, probed, options)
    print(json.dumps(result))


def _measure(
    parts: Rig,
    fleet: Fleet,
    worker: WorkerProcess,
    busy: Sequence[str],
    probed: Mapping[str, Sequence[str]],
    options: argparse.Namespace,
) -> dict[str, Any]:
    probes = Probes(fleet, probed)
    writer = threading.Thread(target=probes.write, name="probes")
    health = Latencies()
    asker = threading.Thread(target=_ask, args=(worker, health, probes.ended), name="health")
    writer.start()
    time.sleep(SETTLE_S)
    alone_from = time.time()
    time.sleep(options.alone)
    records = options.records // BUSY_TABLES // _CYCLE * _CYCLE
    before = Pulses.of(worker)
    for table in busy:
        fleet.control.bulk_stream(table=table, count=records, item_bytes=400)
    used_s, began_s, began = cpu_s(worker.pid), time.monotonic(), time.time()
    waited_s = core_wait_s(worker.pid)
    asker.start()
    ends = Ends(parts.broker.bootstrap, [f"{fleet.topic_prefix}{table}" for table in busy])
    # Every fourth change has a tombstone, so a fourth more will come: until then all are at work.
    while (sent := ends.records()) < records * BUSY_TABLES:
        parts.demand_fake()
        if time.monotonic() - began_s > options.limit:
            raise HarnessError(f"the busy tables have sent {sent} records\n{worker.log_tail()}")
        time.sleep(LOOK_S)
    busy_until, busy_s = time.time(), time.monotonic() - began_s
    used_s = cpu_s(worker.pid) - used_s
    waited_s = core_wait_s(worker.pid) - waited_s
    pulses = Pulses.of(worker).since(before)
    probes.ended.set()
    writer.join()
    asker.join()
    time.sleep(TAIL_S)
    arrived_s = _arrivals(parts, [table for tables in probed.values() for table in tables])
    return {
        "bench": "latency",
        "tables": options.tables,
        "busy_tables": BUSY_TABLES,
        "busy_records": sent,
        "busy_records_per_s": round(sent / busy_s),
        "busy_s": round(busy_s, 1),
        "cpu_share_of_a_core": round(used_s / busy_s, 2),
        "alone": {
            kind: _summary(probes, tables, arrived_s, between=(alone_from, began))
            for kind, tables in probed.items()
        },
        **{
            kind: _summary(probes, tables, arrived_s, between=(began, busy_until))
            for kind, tables in probed.items()
        },
        "health": health.summary_ms(),
        "loop_late_share": pulses.late_share,
        "loop_core_wait_share": round(waited_s / busy_s, 3),
        "peak_rss_mib": round(peak_rss_mib(worker.pid), 1),
        "versions": versions(),
        "machine": machine(),
    }


def _summary(
    probes: Probes,
    tables: Sequence[str],
    arrived_s: Mapping[tuple[str, int], float],
    *,
    between: tuple[float, float],
) -> dict[str, float]:
    """Latencies of the writes that began and, at the latest, waited while others were busy."""
    first, last = between
    written = {
        name: at
        for name, at in probes.written_s.items()
        if name[0] in tables and first <= at < last
    }
    missing = [name for name in written if name not in arrived_s]
    if missing or not written:
        raise HarnessError(f"{len(missing)} of {len(written)} changes are missing: {missing[:3]}")
    latencies = sorted(arrived_s[name] - at for name, at in written.items())
    return {
        "changes": len(latencies),
        **{
            f"p{part:g}_ms": round(quantile(latencies, part / 100) * 1000, 1)
            for part in (50, 90, 99)
        },
        "max_ms": round(latencies[-1] * 1000, 1),
    }


def _create_topics(parts: Rig, tables: Sequence[str]) -> None:
    admin = AdminClient({"bootstrap.servers": parts.broker.bootstrap})
    topics = [
        NewTopic(
            f"{Fleet.topic_prefix}{table}",
            num_partitions=1,
            replication_factor=1,
            config={"message.timestamp.type": "LogAppendTime"},
        )
        for table in tables
    ]
    for created in admin.create_topics(topics, operation_timeout=60).values():
        created.result(60)


def _arrivals(parts: Rig, tables: Sequence[str]) -> dict[tuple[str, int], float]:
    """When each change was appended to the log for the first time."""
    consumer = Consumer(
        {
            "bootstrap.servers": parts.broker.bootstrap,
            "group.id": "latency",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(f"{Fleet.topic_prefix}{table}", 0, 0) for table in tables])
    arrived: dict[tuple[str, int], float] = {}
    ends = 0
    give_up_s = time.monotonic() + 60
    while ends < len(tables):
        if time.monotonic() > give_up_s:
            raise HarnessError(f"reading the topics: {ends} of {len(tables)} read to the end")
        for message in consumer.consume(10_000, 0.2):
            if message.error() is not None:
                ends += 1
                continue
            table = str(message.topic()).removeprefix(Fleet.topic_prefix)
            document = json.loads(json.loads(message.value() or b"")["document"])
            arrived.setdefault((table, int(document["n"]["n"])), message.timestamp()[1] / 1000)
    consumer.close()
    return arrived


def _ask(worker: WorkerProcess, health: Latencies, ended: threading.Event) -> None:
    while not ended.wait(0.02):
        began_s = time.perf_counter()
        with urllib.request.urlopen(
            f"{worker.rest_url}/connectd/health/live", timeout=30
        ) as answer:
            answer.read()
        health.times_s.append(time.perf_counter() - began_s)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench NAME=latency", description=__doc__)
    parser.add_argument("--tables", type=size, default=1000, help="tables in all (default 1000)")
    parser.add_argument("--tasks", type=size, default=1, help="tasks that share them (default 1)")
    parser.add_argument(
        "--records", type=size, default=800_000, help="of the busy tables together (800,000)"
    )
    parser.add_argument("--alone", type=float, default=30.0, help="seconds before (30)")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds at most (600)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
