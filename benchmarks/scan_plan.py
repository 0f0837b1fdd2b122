"""What a large scan on Spark takes, on paper: capacity, money, executors, Kafka, hours.

``python -m benchmarks.scan_plan`` prints the tables that ``docs/spark.md`` contains; a test
compares them. Nothing is measured here: ``MEASURED`` is from ``make bench NAME=spark``, everything
about AWS from its documentation, and the rest is assumed and says so. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from connectd.connectors.dynamodb.scan import segments_for

UNIT_BYTES: Final = 4096
UNITS_PER_READ: Final = 0.5
"""Of a read that is not strongly consistent, for each 4 KB."""

TABLE_UNITS_PER_S: Final = 40_000
"""AWS's default quota of a table, either capacity mode."""

DOLLARS_PER_MILLION_UNITS: Final = 0.125
"""On demand, US East (N. Virginia), as reported on 21 July 2025 (source in ``docs/spark.md``)."""

PARTITION_UNITS_PER_S: Final = 3_000
"""What one partition of a table gives at most."""

STREAM_HOURS: Final = 24.0
"""How far back a stream reaches."""


@dataclass(frozen=True)
class Measured:
    """One core's work, from one run of the benchmark; bytes are of items as JSON."""

    item_bytes: int
    record_bytes: int
    daemon_cpu_us_per_item: float
    spark_cpu_us_per_item: float

    @property
    def slot_bytes_per_s(self) -> float:
        """What a core of an executor scans, converts and sends."""
        return self.item_bytes / self.spark_cpu_us_per_item * 1e6

    @property
    def daemon_bytes_per_s(self) -> float:
        """The same of a worker, which is one process."""
        return self.item_bytes / self.daemon_cpu_us_per_item * 1e6

    @property
    def growth(self) -> float:
        """Bytes of a record, key and value, for each byte of its item."""
        return self.record_bytes / self.item_bytes


MEASURED: Final = Measured(
    item_bytes=400, record_bytes=694, daemon_cpu_us_per_item=5.67, spark_cpu_us_per_item=7.47
)


STARTS_S: Final = (30.0, 120.0)
"""What a Spark takes to start: at once, and where a cluster has to find room first."""

THRESHOLD_SLOTS: Final = 4
"""One executor; two slots were no quicker than the worker alone."""


@dataclass(frozen=True)
class ScanPlan:
    """A table and what one has for it. The last four are assumptions; ``slot_use``, the part of the
    time that a slot is at work, is what it was in the benchmark."""

    table_bytes: float = 10e12
    items: float = 10e9
    units_per_s: float = TABLE_UNITS_PER_S
    measured: Measured = MEASURED
    slot_use: float = 0.62
    slots_per_executor: int = 4
    partition_bytes_per_s: float = 10e6
    replicas: int = 3
    chunk_s: float = 5.0

    @property
    def units(self) -> float:
        """Read units in all. A page of 1 MB rounds up by half a unit at most, which is nothing."""
        return self.table_bytes / UNIT_BYTES * UNITS_PER_READ

    @property
    def dollars(self) -> float:
        """For reading, with on-demand capacity."""
        return self.units / 1e6 * DOLLARS_PER_MILLION_UNITS

    @property
    def hours(self) -> float:
        """As long as read capacity is what there is least of."""
        return self.units / self.units_per_s / 3600

    @property
    def bytes_per_s(self) -> float:
        """What is read."""
        return self.units_per_s / UNITS_PER_READ * UNIT_BYTES

    @property
    def items_per_s(self) -> float:
        """What is read, in items."""
        return self.items / self.hours / 3600

    @property
    def segments(self) -> int:
        """As ``scan.segments_for`` has it without ``init.sync.segments``."""
        return segments_for(int(self.table_bytes), 0, on_spark=True)

    @property
    def slots(self) -> int:
        """Cores that keep up with the capacity."""
        return math.ceil(self.bytes_per_s / (self.measured.slot_bytes_per_s * self.slot_use))

    @property
    def executors(self) -> int:
        """Of ``slots_per_executor`` cores each."""
        return math.ceil(self.slots / self.slots_per_executor)

    @property
    def partitions_read(self) -> int:
        """Partitions of DynamoDB that have to be at work at a time."""
        return math.ceil(self.units_per_s / PARTITION_UNITS_PER_S)

    @property
    def jobs_per_s(self) -> float:
        """Chunks that end, and positions that the worker stores, in a second."""
        return self.slots / self.chunk_s

    @property
    def replayed_items(self) -> float:
        """What is sent a second time at most when everything crashes: one chunk of each slot."""
        return self.items_per_s * self.chunk_s

    @property
    def kafka_bytes_per_s(self) -> float:
        """What the producers send, before compression."""
        return self.bytes_per_s * self.measured.growth

    @property
    def partitions(self) -> int:
        """Of the topic."""
        return math.ceil(self.kafka_bytes_per_s / self.partition_bytes_per_s)

    @property
    def kafka_bytes(self) -> float:
        """What the brokers store, before compression."""
        return self.table_bytes * self.measured.growth * self.replicas

    @property
    def daemon_hours(self) -> float:
        """What one worker without Spark would take, were it alone on its core."""
        return self.table_bytes / self.measured.daemon_bytes_per_s / 3600


def break_even_items(*, fixed_s: float, daemon_per_s: float, spark_per_s: float) -> float | None:
    """The number of items (or bytes) from which on Spark is done sooner; None: it never is.

    ``fixed_s``: how much longer Spark takes for a table of any size, above all to start.
    """
    if spark_per_s <= daemon_per_s:
        return None
    return max(0.0, fixed_s) / (1 / daemon_per_s - 1 / spark_per_s)


def table(whole: ScanPlan, half: ScanPlan) -> str:
    """The plan as a table of Markdown: with all of the table's quota, and with half of it."""
    rows: list[tuple[str, str, Callable[[ScanPlan], str]]] = [
        ("read units", "bytes / 4,096 * 0.5", lambda p: f"{p.units / 1e9:.2f} billion"),
        ("reading, on demand", "units * price / 1,000,000", lambda p: f"${p.dollars:,.0f}"),
        ("bytes per second", "units/s / 0.5 * 4,096", lambda p: f"{p.bytes_per_s / 1e6:.0f} MB"),
        ("**hours**", "units / units/s / 3,600", lambda p: f"**{p.hours:.1f}**"),
        ("items per second", "items / hours / 3,600", lambda p: f"{p.items_per_s:,.0f}"),
        ("segments", "bytes / 2 GiB", lambda p: f"{p.segments:,}"),
        (
            "slots (cores)",
            f"bytes/s / ({whole.measured.slot_bytes_per_s / 1e6:.1f} MB/s * {whole.slot_use})",
            lambda p: f"{p.slots}",
        ),
        ("executors", f"slots / {whole.slots_per_executor}", lambda p: f"{p.executors}"),
        ("chunks and positions per second", "slots / 5 s", lambda p: f"{p.jobs_per_s:.1f}"),
        (
            "sent twice after a crash, at most",
            "items/s * 5 s",
            lambda p: f"{p.replayed_items:,.0f}",
        ),
        (
            "into Kafka per second",
            f"bytes/s * {whole.measured.growth:.2f}",
            lambda p: f"{p.kafka_bytes_per_s / 1e6:.0f} MB",
        ),
        ("partitions of the topic", "that / 10 MB/s", lambda p: f"{p.partitions}"),
        (
            "stored by the brokers",
            f"bytes * {whole.measured.growth:.2f} * {whole.replicas} replicas",
            lambda p: f"{p.kafka_bytes / 1e12:.0f} TB",
        ),
        (
            "one worker without Spark, hours",
            f"bytes / {whole.measured.daemon_bytes_per_s / 1e6:.1f} MB/s / 3,600",
            lambda p: f"{p.daemon_hours:.0f}",
        ),
    ]
    lines = [
        "| figure | formula "
        f"| {whole.units_per_s:,.0f} units/s | {half.units_per_s:,.0f} units/s |",
        "|---|---|---|---|",
    ]
    lines += [f"| {name} | `{how}` | {show(whole)} | {show(half)} |" for name, how, show in rows]
    return "\n".join(lines) + "\n"


def pays_table(plan: ScanPlan, *, starts_s: tuple[float, ...], scanned_bytes: float) -> str:
    """Where Spark pays by its slots and its start, and what a table of a given size takes then."""
    measured = plan.measured
    shown = [f"pays from, {start_s:.0f} s to start" for start_s in starts_s]
    lines = [
        f"| slots | together | {' | '.join(shown)} | {scanned_bytes / 1e9:.0f} GB take |",
        f"|---|---|{'---|' * len(shown)}---|",
    ]
    for slots in (*(each for each in (2, 4, 8, 16) if each < plan.slots), plan.slots):
        rate = min(slots * measured.slot_bytes_per_s * plan.slot_use, plan.bytes_per_s)
        sizes = [
            _size(
                break_even_items(
                    fixed_s=start_s,
                    daemon_per_s=measured.daemon_bytes_per_s,
                    spark_per_s=rate,
                )
            )
            for start_s in starts_s
        ]
        minutes = (starts_s[-1] + scanned_bytes / rate) / 60
        lines.append(
            f"| {slots} | {rate / 1e6:.0f} MB/s | {' | '.join(sizes)} | {minutes:.0f} min |"
        )
    alone = scanned_bytes / measured.daemon_bytes_per_s
    nothing = " | ".join(" " for _ in starts_s)
    lines.append(
        f"| the worker | {measured.daemon_bytes_per_s / 1e6:.0f} MB/s | {nothing} "
        f"| {alone / 60:.0f} min |"
    )
    return "\n".join(lines) + "\n"


def _size(size_bytes: float | None) -> str:
    return "never" if size_bytes is None else f"{size_bytes / 1e9:.1f} GB"


def threshold_bytes() -> float:
    """From which size on the smallest Spark that is quicker than the worker pays, slow to start.

    The default of ``init.sync.spark.threshold.bytes`` is the next whole GB, that of
    ``init.sync.spark.threshold.items`` as many items of the benchmark, in whole millions.
    """
    pays_from = break_even_items(
        fixed_s=STARTS_S[-1],
        daemon_per_s=MEASURED.daemon_bytes_per_s,
        spark_per_s=THRESHOLD_SLOTS * MEASURED.slot_bytes_per_s * ScanPlan().slot_use,
    )
    assert pays_from is not None
    return pays_from


def the_pays_table() -> str:
    """The other one of ``docs/spark.md``."""
    return pays_table(ScanPlan(), starts_s=STARTS_S, scanned_bytes=50e9)


def the_table() -> str:
    """The one of ``docs/spark.md``."""
    return table(ScanPlan(), ScanPlan(units_per_s=TABLE_UNITS_PER_S / 2))


if __name__ == "__main__":
    print(the_table(), the_pays_table(), sep="\n", end="")
