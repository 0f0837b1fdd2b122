"""``make bench NAME=spark``: the scan of a table by the worker itself, and by a local Spark.

Both copy the same table of the scripted DynamoDB, one after the other, each with a worker of its
own that is started as a user would. The scan on Spark is the real hand-off: the worker runs
spark-submit with ``local[2]``, follows the driver, and stores the positions. The fake, the broker
and both scans share the machine's cores, which favours nobody and limits everybody.

When the first page is asked for is told by the fake, so that start-up and rate can be told apart.
With ``--page-ms`` a page takes so long to come, as it does over a network: what a scan does with
that time shows in its rate.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from benchmarks import rig, scan_plan
from benchmarks.rig import Rig, say
from benchmarks.sizes import size
from tests.harness.processes import HarnessError
from tests.harness.spark import spark_environment
from tests.harness.topics import TopicReader
from tests.harness.worker import WorkerProcess

ITEM_BYTES: Final = 400
POLL_S: Final = 0.2
TABLE: Final = "bench"


@dataclass(frozen=True)
class ScanRun:
    """What one scan took. Moments are seconds after the connector's creation.

    ``submitted_s`` is None in the daemon. ``first_progress_s``, ``sent_s`` and ``following_s`` are
    when the worker's REST API first told of records, of all of them, and of the stream.
    ``keys`` is a checksum of all keys in the topic, in whatever order, ``record_bytes`` the size of
    all keys and values. ``cpu_s``, of which ``start_cpu_s`` before the first page, and
    ``peak_rss_mib`` are of the worker and, on Spark, of the driver, its JVM and the
    Python workers together; memory is the sum of what each had at most.
    """

    items: int
    records: int
    record_bytes: int
    keys: int
    submitted_s: float | None
    first_page_s: float
    first_progress_s: float
    sent_s: float
    following_s: float
    cpu_s: float
    start_cpu_s: float
    peak_rss_mib: float

    @property
    def cpu_us_per_item(self) -> float:
        """CPU of the scan itself: what start-up takes is not in it."""
        return (self.cpu_s - self.start_cpu_s) / self.items * 1e6

    @property
    def items_per_second(self) -> float:
        """The rate of the scan itself, from the first page on."""
        return self.items / (self.sent_s - self.first_page_s)

    @property
    def items_per_second_in_all(self) -> float:
        """What a user sees: from the creation of the connector until it follows the stream."""
        return self.items / self.following_s

    @property
    def start_s(self) -> float:
        """From spark-submit to the first page that is asked for."""
        return self.first_page_s - (self.submitted_s or 0.0)

    @property
    def progress_s(self) -> float:
        """From spark-submit to the first position that is told, which a chunk comes before."""
        return self.first_progress_s - (self.submitted_s or 0.0)

    @property
    def fixed_s(self) -> float:
        """What a table of any size has to wait for: before the first page, behind the last one."""
        return self.first_page_s + self.following_s - self.sent_s

    def result(self) -> dict[str, object]:
        """For the last line."""
        return {
            "items_per_second": round(self.items_per_second),
            "items_per_second_in_all": round(self.items_per_second_in_all),
            "cpu_us_per_item": round(self.cpu_us_per_item, 2),
            "cpu_s": round(self.cpu_s, 2),
            "start_cpu_s": round(self.start_cpu_s, 2),
            "seconds_to_first_page": round(self.first_page_s, 2),
            "seconds_in_all": round(self.following_s, 2),
            "peak_rss_mib": round(self.peak_rss_mib, 1),
            "records": self.records,
        }


@dataclass
class Processes:
    """CPU and memory of a worker and of the drivers that it starts, as last seen of each."""

    worker_pid: int
    cpu_s: dict[int, float] = field(default_factory=dict)
    peak_rss_mib: dict[int, float] = field(default_factory=dict)
    course: list[tuple[float, float]] = field(default_factory=list)

    def look(self) -> bool:
        """Read what there is now; whether a driver has been seen so far."""
        found = dict(_processes())
        drivers = {pid for pid, stat in found.items() if stat.parent == self.worker_pid}
        for pid, stat in found.items():
            if pid == self.worker_pid or stat.session in drivers:
                with contextlib.suppress(OSError, HarnessError):  # it has ended meanwhile
                    self.cpu_s[pid] = rig.cpu_s(pid)
                    self.peak_rss_mib[pid] = rig.peak_rss_mib(pid)
        self.course.append((time.time(), sum(self.cpu_s.values())))
        return len(self.cpu_s) > 1


def value_at(course: Sequence[tuple[float, float]], moment: float) -> float:
    """What grew along ``course`` (moment, value) had grown to at a moment: linear in between."""
    before = course[0]
    for after in course:
        if after[0] >= moment:
            length = after[0] - before[0]
            part = (moment - before[0]) / length if length > 0 else 1.0
            return before[1] + (after[1] - before[1]) * max(0.0, part)
        before = after
    return before[1]


@dataclass(frozen=True)
class _Stat:
    """Of ``/proc/<pid>/stat``. A driver leads the session that all of its processes are in."""

    parent: int
    session: int


def _processes() -> Iterator[tuple[int, _Stat]]:
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            with contextlib.suppress(OSError):
                fields = (path / "stat").read_text(errors="replace").rpartition(")")[2].split()
                yield int(path.name), _Stat(parent=int(fields[1]), session=int(fields[3]))


def main() -> None:
    """Measure both, and print the result as the last line."""
    options = _parse()
    segments = {"init.sync.segments": str(options.segments)}
    with rig.rig() as parts:
        parts.load_items("warm-up", max(1, options.items // 10))
        parts.load_items(TABLE, options.items)
        if options.page_ms:
            parts.fake.control.latency(operation="Scan", delay_s=options.page_ms / 1000)
        parts.run_connectd("scan", "warm-up", max(1, options.items // 10), segments)
        daemon = _run(parts, options.items, {**segments, "init.sync.engine": "daemon"}, {})
        say(f"daemon: {daemon}")
        spark = _run(
            parts,
            options.items,
            {**segments, "init.sync.engine": "spark"},
            _spark_keys(options.chunk_seconds),
        )
        say(f"spark: {spark}")
    print(json.dumps(result(daemon, spark, segments=options.segments, page_ms=options.page_ms)))


def _spark_keys(chunk_s: int) -> dict[str, str]:
    return {
        "spark.master": "local[2]",
        "spark.java.home": spark_environment()["JAVA_HOME"],
        "spark.chunk.seconds": str(chunk_s),
    }


def _run(
    parts: Rig, items: int, config: Mapping[str, str], properties: Mapping[str, str]
) -> ScanRun:
    """Let a fresh worker scan the table and follow it to its stream."""
    parts.fake.control.clear_journal()
    with parts.worker(f"bench-{config['init.sync.engine']}", properties) as worker:
        processes = Processes(worker.pid)
        processes.look()
        connector = parts.connector_config(TABLE, config)
        began_s = time.time()  # as the fake has it
        parts.create_connector(worker, connector)
        moments = _follow(parts, worker, processes, items)
        pages = parts.fake.control.journal(operation="Scan", table=TABLE)
        topic = f"{connector['kafka.topic.prefix']}{TABLE}"
        records = _records(parts.broker.bootstrap, topic)
        first_page = min(page["at_s"] for page in pages)
        (_, cpu_before_s), (_, cpu_after_s) = processes.course[0], processes.course[-1]
        return ScanRun(
            items=items,
            records=records.count,
            record_bytes=records.size,
            keys=records.keys,
            submitted_s=None if moments.submitted is None else moments.submitted - began_s,
            first_page_s=first_page - began_s,
            first_progress_s=moments.progress - began_s,
            sent_s=moments.sent - began_s,
            following_s=moments.following - began_s,
            cpu_s=cpu_after_s - cpu_before_s,
            start_cpu_s=value_at(processes.course, first_page) - cpu_before_s,
            peak_rss_mib=sum(processes.peak_rss_mib.values()),
        )


@dataclass
class _Moments:
    submitted: float | None = None
    progress: float = 0.0
    sent: float = 0.0
    following: float = 0.0


def _follow(parts: Rig, worker: WorkerProcess, processes: Processes, items: int) -> _Moments:
    """Look at the worker until it follows the stream of the table."""
    moments = _Moments()
    row: dict[str, Any] = {}
    give_up_at_s = time.monotonic() + rig.DONE_DEADLINE_S
    while time.monotonic() < give_up_at_s and row.get("state") != "FAILED":
        time.sleep(POLL_S)
        row, now_s = parts.row(worker, TABLE), time.time()
        if processes.look() and moments.submitted is None:
            moments.submitted = now_s
        sent = int(row.get("records_sent") or 0)
        if sent and not moments.progress:
            moments.progress = now_s
        if sent >= items and not moments.sent:
            moments.sent = now_s
        if moments.sent and row.get("state") == "SYNC":
            moments.following = now_s
            return moments
    raise HarnessError(f"{items} items did not arrive: {row}\n{worker.log_tail()}")


@dataclass(frozen=True)
class _Records:
    count: int
    size: int
    keys: int


def _records(bootstrap: str, topic: str) -> _Records:
    """What a topic holds, all of it read."""
    count = size = keys = 0
    with TopicReader(bootstrap, [topic]) as reader:
        for record in reader.read_to_end(deadline_s=rig.DONE_DEADLINE_S):
            key, value = record.key or b"", record.value or b""
            count += 1
            size += len(key) + len(value)
            keys += zlib.crc32(key)
    return _Records(count, size, keys)


def result(
    daemon: ScanRun, spark: ScanRun, *, segments: int, page_ms: int = 0
) -> dict[str, object]:
    """The last line.

    Raises:
        HarnessError: the two topics do not hold the same.
    """
    found = (daemon.records, daemon.keys), (spark.records, spark.keys)
    if found[0] != found[1] or daemon.records != daemon.items:
        raise HarnessError(
            f"{daemon.items} items, and records with checksums of their keys {found[0]} by the "
            f"daemon, {found[1]} by Spark: expected as many records as items, with the same keys"
        )
    pays_from = scan_plan.break_even_items(
        fixed_s=spark.fixed_s - daemon.fixed_s,
        daemon_per_s=daemon.items_per_second,
        spark_per_s=spark.items_per_second,
    )
    return {
        "bench": "spark",
        "ratio_to_daemon": round(spark.items_per_second / daemon.items_per_second, 2),
        "cpu_ratio_to_daemon": round(spark.cpu_us_per_item / daemon.cpu_us_per_item, 2),
        "pays_from_items": None if pays_from is None else round(pays_from),
        "pays_from_bytes": None if pays_from is None else round(pays_from * ITEM_BYTES),
        "spark_start_s": round(spark.start_s, 2),
        "spark_to_first_progress_s": round(spark.progress_s, 2),
        "daemon": daemon.result(),
        "spark": spark.result(),
        "items": daemon.items,
        "item_bytes": ITEM_BYTES,
        "record_bytes": round(spark.record_bytes / spark.records),
        "segments": segments,
        "page_ms": page_ms,
        "versions": {
            name: version(name)
            for name in ("connectd", "pyspark", "confluent-kafka", "aiohttp", "msgspec", "orjson")
        },
        "machine": rig.machine(),
    }


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make bench NAME=spark",
        description="Scans a table by the worker itself and by a local Spark of two slots.",
    )
    parser.add_argument("--items", type=size, default=2_000_000, help="items (2,000,000)")
    parser.add_argument("--segments", type=size, default=8, help="init.sync.segments (8)")
    parser.add_argument("--page-ms", type=int, default=0, help="what a page takes to come (0)")
    parser.add_argument("--chunk-seconds", type=size, default=5, help="spark.chunk.seconds (5)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
