"""What the benchmarks of the data path share: real parts as processes, the kernel's accounting.

The worker is a process of its own, started as a user would, so that its CPU and memory are all of
what a user pays: the interpreter, librdkafka's threads, the REST API, discovery.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from benchmarks.pulses import Pulses
from connectd.connectors.dynamodb import tiers
from connectd.connectors.dynamodb.tiers import Tier
from tests.fakes.process import FakeProcess
from tests.harness.kafka import KafkaBroker
from tests.harness.processes import HarnessError, sigterm_is_ctrl_c
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
    late_share: float = 0.0
    """Of the pulses of the event loop (``pulses``)."""

    @property
    def cpu_us_per_item(self) -> float:
        return self.cpu_s / self.items * 1e6


def cpu_s(pid: int) -> float:
    """User and system time of a process with all of its threads, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def core_wait_s(pid: int) -> float:
    """How long the main thread, whose is the event loop, was ready to run and had no core."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[1]) / 1e9


def peak_rss_mib(pid: int) -> float:
    """High-water mark of a process's resident memory."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise HarnessError(f"/proc/{pid}/status has no VmHWM")


@dataclass
class Rig:
    """The scripted DynamoDB and a broker, for as long as the benchmark runs."""

    fake: FakeProcess
    broker: KafkaBroker
    is_over_tls: bool = False
    """Whether the worker and the yardsticks ask DynamoDB over https."""

    def over_tls(self) -> Rig:
        """The same parts, asked over https; the fake must serve it."""
        return replace(self, is_over_tls=True)

    @property
    def endpoint(self) -> str:
        """Where DynamoDB is."""
        return self.fake.tls_url if self.is_over_tls else self.fake.url

    @property
    def trust(self) -> dict[str, str]:
        """The environment that makes a worker, or boto3, trust the fake."""
        return {"AWS_CA_BUNDLE": str(self.fake.ca_bundle)} if self.is_over_tls else {}

    def demand_fake(self) -> None:
        """Raise HarnessError if the scripted DynamoDB has ended: nothing more would come of it."""
        if not self.fake.running:
            raise HarnessError(
                "the scripted DynamoDB has ended, by a signal or for want of memory: measure again"
            )

    def rows(self, worker: WorkerProcess) -> Sequence[dict[str, Any]]:
        """What the worker tells of each table of ``bench``; nothing before it has found them.

        Raises HarnessError if the scripted DynamoDB has ended (``demand_fake``).
        """
        self.demand_fake()
        answer = worker.request("GET", "/connectd/connectors/bench/tables")
        return answer.body["tables"] if answer.status == 200 else []

    def row(self, worker: WorkerProcess, table: str) -> dict[str, Any]:
        """The same of one table; empty before it is found."""
        return next((each for each in self.rows(worker) if each["table"] == table), {})

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
            env=self.trust | ({tiers.SWITCH_ENV: "off"} if tier is Tier.PORTABLE else {}),
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
            pulses = Pulses.of(worker)
            before, started = cpu_s(worker.pid), time.monotonic()
            self.create_connector(worker, self.connector_config(table, config or {}))
            self._wait_sent(worker, table, count)
            return Usage(
                items=count,
                cpu_s=cpu_s(worker.pid) - before,
                wall_s=time.monotonic() - started,
                peak_rss_mib=peak_rss_mib(worker.pid),
                late_share=Pulses.of(worker).since(pulses).late_share,
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
            "dynamodb.service.endpoint": self.endpoint,
            "resource.tagging.service.endpoint": self.endpoint,
            "dynamodb.table.whitelist": table,
            "kafka.topic.prefix": f"connectd-{time.time_ns()}-",
            "init.sync.delay.period": "0",
            **extra,
        }

    def _wait_sent(self, worker: WorkerProcess, table: str, count: int) -> None:
        give_up_at = time.monotonic() + DONE_DEADLINE_S
        row: dict[str, Any] = {}
        while time.monotonic() < give_up_at:
            row = self.row(worker, table)
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
            "--endpoint": self.endpoint,
            "--bootstrap": self.broker.bootstrap,
            "--table": table,
            "--topic": f"{module.replace('_', '-')}-{time.time_ns()}",
            "--key": HASH_KEY,
            "--count": str(count),
        }
        for name, value in options.items():
            command += [name, value]
        env = os.environ | self.trust
        done = subprocess.run(
            command, cwd=ROOT, env=env, check=False, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise HarnessError(f"{module} failed: {done.stderr[-2000:]}")
        result = json.loads(done.stdout.splitlines()[-1])
        return Usage(result["items"], result["cpu_s"], result["wall_s"], 0.0)


@contextlib.contextmanager
def rig(*, serves_tls: bool = False) -> Iterator[Rig]:
    """Start the parts, and end them."""
    sigterm_is_ctrl_c()
    with FakeProcess(tls=serves_tls) as fake, KafkaBroker() as broker:
        say(f"broker: {broker.kind} at {broker.bootstrap}; DynamoDB: scripted fake at {fake.url}")
        yield Rig(fake, broker)


def say(line: str) -> None:
    """Progress for people; the result is the last line alone."""
    print(line, flush=True)


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
