"""What the scan and stream benchmarks share: real parts as processes, and the kernel's accounting.

The worker is a process of its own, started as a user would, so that its CPU and memory are all of
what a user pays: the interpreter, librdkafka's threads, the REST API, discovery.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from connectd.connectors.dynamodb import tiers
from connectd.connectors.dynamodb.tiers import Tier
from tests.fakes.process import FakeProcess
from tests.harness.kafka import KafkaBroker
from tests.harness.processes import HarnessError
from tests.harness.worker import WorkerProcess

DataPath = Literal["scan", "stream"]
ROOT = Path(__file__).resolve().parents[1]
DONE_DEADLINE_S = 900.0
POLL_S = 1.0
"""A look at the table's row costs the worker some milliseconds, which count."""
HASH_KEY = "id"


@dataclass(frozen=True)
class Usage:
    """What one load cost the worker."""

    items: int
    cpu_s: float
    wall_s: float
    peak_rss_mib: float

    @property
    def cpu_us_per_item(self) -> float:
        return self.cpu_s / self.items * 1e6


def cpu_s(pid: int) -> float:
    """User and system time of a process with all of its threads, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_rss_mib(pid: int) -> float:
    """High-water mark of a process's resident memory."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise HarnessError(f"/proc/{pid}/status has no VmHWM")


def table_row(worker: WorkerProcess, table: str) -> dict[str, Any]:
    """What the worker tells about a table; empty before it has found it."""
    answer = worker.request("GET", "/connectd/connectors/bench/tables")
    rows = answer.body["tables"] if answer.status == 200 else []
    return next((each for each in rows if each["table"] == table), {})


@dataclass
class Rig:
    """The scripted DynamoDB and a broker, for as long as the benchmark runs."""

    fake: FakeProcess
    broker: KafkaBroker

    def load_items(self, table: str, count: int) -> None:
        """A table with ``count`` items of 400 bytes and an empty stream."""
        self._create(table)
        self.fake.control.bulk_load(table=table, count=count, item_bytes=400)

    def load_stream(self, table: str, count: int) -> None:
        """A table whose stream has ``count`` records: half modified, the rest inserts, removals."""
        self._create(table)
        self.fake.control.bulk_stream(table=table, count=count, item_bytes=400, mix=(25, 50, 25))

    def _create(self, table: str) -> None:
        self.fake.control.create_table(table=table, hash_key=HASH_KEY)

    @contextlib.contextmanager
    def worker(
        self, name: str, properties: Mapping[str, str] | None = None, tier: Tier | None = None
    ) -> Iterator[WorkerProcess]:
        """A worker with internal topics of its own; ``properties`` are further settings.

        ``tier`` says what encodes pages; None: what is installed.
        """
        prefix = f"{name}-{time.time_ns()}-"
        worker = WorkerProcess(
            self.broker.bootstrap,
            group_id=f"{prefix}group",
            topics_prefix=prefix,
            properties={"offset.flush.interval.ms": "5000", **(properties or {})},
            env={tiers.SWITCH_ENV: "off"} if tier is Tier.PORTABLE else None,
        )
        with contextlib.closing(worker):
            worker.start()
            yield worker

    def run_connectd(
        self,
        path: DataPath,
        table: str,
        count: int,
        config: Mapping[str, str] | None = None,
        *,
        tier: Tier | None = None,
    ) -> Usage:
        """Let a fresh worker copy a table; returns what it cost. ``config`` is the connector's."""
        with self.worker(f"bench-{path}", tier=tier) as worker:
            before, started = cpu_s(worker.pid), time.monotonic()
            self.create_connector(worker, self.connector_config(table, config or {}))
            self._wait_sent(worker, table, count)
            return Usage(
                items=count,
                cpu_s=cpu_s(worker.pid) - before,
                wall_s=time.monotonic() - started,
                peak_rss_mib=peak_rss_mib(worker.pid),
            )

    def create_connector(self, worker: WorkerProcess, config: Mapping[str, str]) -> None:
        """Create the connector ``bench``."""
        answer = worker.request("PUT", "/connectors/bench/config", config)
        if answer.status != 201:
            raise HarnessError(f"creating the connector: {answer.status} {answer.body}")

    def connector_config(self, table: str, extra: Mapping[str, str]) -> dict[str, str]:
        """The configuration that copies a table of the fake to a topic of its own."""
        return {
            "connector.class": "connectd.DynamoDBSource",
            "aws.access.key.id": "bench",
            "aws.secret.key": "bench",
            "dynamodb.service.endpoint": self.fake.url,
            "resource.tagging.service.endpoint": self.fake.url,
            "dynamodb.table.whitelist": table,
            "kafka.topic.prefix": f"connectd-{time.time_ns()}-",
            "init.sync.delay.period": "0",
            **extra,
        }

    def _wait_sent(self, worker: WorkerProcess, table: str, count: int) -> None:
        give_up_at = time.monotonic() + DONE_DEADLINE_S
        row: dict[str, Any] = {}
        while time.monotonic() < give_up_at:
            row = table_row(worker, table)
            if int(row.get("records_sent") or 0) >= count:
                return
            if row.get("state") == "FAILED":
                break
            time.sleep(POLL_S)
        raise HarnessError(f"{count} items did not arrive: {row}\n{worker.log_tail()}")

    def run_loop(self, module: str, path: DataPath, table: str, count: int) -> Usage:
        """A yardstick, in a process of its own: ``boto3_loop`` or ``push_loop``."""
        command = [sys.executable, "-m", f"benchmarks.{module}", path]
        options = {
            "--endpoint": self.fake.url,
            "--bootstrap": self.broker.bootstrap,
            "--table": table,
            "--topic": f"{module.replace('_', '-')}-{time.time_ns()}",
            "--key": HASH_KEY,
            "--count": str(count),
        }
        for name, value in options.items():
            command += [name, value]
        done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise HarnessError(f"{module} failed: {done.stderr[-2000:]}")
        result = json.loads(done.stdout.splitlines()[-1])
        return Usage(result["items"], result["cpu_s"], result["wall_s"], 0.0)


@contextlib.contextmanager
def rig() -> Iterator[Rig]:
    """Start the parts, and end them."""
    with FakeProcess() as fake, KafkaBroker() as broker:
        say(f"broker: {broker.kind} at {broker.bootstrap}; DynamoDB: scripted fake at {fake.url}")
        yield Rig(fake, broker)


def say(line: str) -> None:
    """Progress for people; the result is the last line alone."""
    print(line, flush=True)


def measure(path: DataPath, arguments: list[str]) -> None:
    """Run one benchmark and print its result; ``arguments`` as in ``--help``."""
    options = _parse(path, arguments)
    with rig() as parts:
        load = parts.load_items if path == "scan" else parts.load_stream
        load("bench-tenth", options.items // 10)
        load("bench-whole", options.items)
        config = {} if path == "scan" else _STREAM_ONLY
        tenth = parts.run_connectd(path, "bench-tenth", options.items // 10, config)
        say(f"connectd, a tenth: {tenth}")
        by_tier: dict[Tier, Usage] = {}
        for tier in dict.fromkeys((tiers.active(), Tier.PORTABLE)):
            used = parts.run_connectd(path, "bench-whole", options.items, config, tier=tier)
            say(f"connectd, {tier.value}: {used}")
            by_tier[tier] = used
        boto3 = parts.run_loop("boto3_loop", path, "bench-whole", options.boto3_items)
        say(f"boto3 loop: {boto3}")
        push = parts.run_loop("push_loop", path, "bench-whole", options.items)
        say(f"push loop: {push}")
    print(json.dumps(_result(path, tenth, by_tier, boto3, push)))


_STREAM_ONLY = {"init.sync.skip": "true", "stream.start.position": "TRIM_HORIZON"}


def _parse(path: DataPath, arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=f"make bench NAME={path}",
        description=f"Copies a table through the {path} path and compares it with a boto3 loop.",
    )
    parser.add_argument("--items", type=int, default=1_000_000, help="items (default 1,000,000)")
    parser.add_argument(
        "--boto3-items", type=int, default=100_000, help="items of the yardstick (default 100,000)"
    )
    return parser.parse_args(arguments)


def _result(
    path: DataPath, tenth: Usage, by_tier: Mapping[Tier, Usage], boto3: Usage, push: Usage
) -> dict[str, Any]:
    tier, whole = next(iter(by_tier.items()))
    return {
        "bench": path,
        "tier": tier.value,
        "ratio_to_boto3": round(boto3.cpu_us_per_item / whole.cpu_us_per_item, 2),
        "portable_ratio_to_boto3": round(
            boto3.cpu_us_per_item / by_tier[Tier.PORTABLE].cpu_us_per_item, 2
        ),
        "ratio_to_push": round(push.cpu_us_per_item / whole.cpu_us_per_item, 2),
        "items_per_cpu_second": round(whole.items / whole.cpu_s),
        "items_per_second": round(whole.items / whole.wall_s),
        "cpu_us_per_item": round(whole.cpu_us_per_item, 2),
        "portable_cpu_us_per_item": round(by_tier[Tier.PORTABLE].cpu_us_per_item, 2),
        "boto3_cpu_us_per_item": round(boto3.cpu_us_per_item, 2),
        "push_cpu_us_per_item": round(push.cpu_us_per_item, 2),
        "peak_rss_mib": round(whole.peak_rss_mib, 1),
        "peak_rss_mib_tenth": round(tenth.peak_rss_mib, 1),
        "items": whole.items,
        "versions": versions(),
        "machine": machine(),
    }


def versions() -> dict[str, str]:
    """What the hot path is made of."""
    return {
        name: version(name)
        for name in ("connectd", "confluent-kafka", "boto3", "aiohttp", "msgspec", "orjson")
    }


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    return {
        "cores": os.cpu_count(),
        "cpu": _cpu_model(),
        "python": platform.python_version(),
    }


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
