"""What the benchmarks of many tables share: a fleet of tables, and a worker that follows it.

The fake enforces what AWS allows one account on the control plane: calls that are too many are
turned away with the error that AWS answers, so a worker that is not careful shows in the counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.rig import Rig, cpu_s
from tests.harness.processes import HarnessError
from tests.harness.worker import WorkerProcess

DESCRIBE_STREAM_PER_S = 10.0
GET_RESOURCES_PER_S = 5.0
DEADLINE_S = 900.0
_LOOK_S = 0.5
_ENV = "fleet"

EVERY_SECOND = {"stream.poll.interval.ms": "1000", "stream.poll.interval.max.ms": "1000"}
"""Each shard is read once a second, whether it has records or not."""


@dataclass(frozen=True)
class IdleCost:
    """What a worker used while nothing happened."""

    cpu_share: float
    polls_per_s: float
    rss_mib: float

    @property
    def cpu_us_per_poll(self) -> float:
        """Everything that the worker did, over its polls."""
        return self.cpu_share / self.polls_per_s * 1e6


class Fleet:
    """``count`` tables with four open shards each, found by their tags."""

    topic_prefix = "fleet-"

    def __init__(self, rig: Rig, count: int) -> None:
        self._rig = rig
        self.control = rig.fake.control
        self.tables = [f"table-{number:05d}" for number in range(count)]
        tags = {"environment": _ENV, "datalake-ingest": "yes"}
        for table in self.tables:
            self.control.create_table(table=table, tags=tags, partitions=4)
        self.control.rate_limit(operation="DescribeStream", per_s=DESCRIBE_STREAM_PER_S)
        self.control.rate_limit(operation="GetResources", per_s=GET_RESOURCES_PER_S)

    def configure(self, worker: WorkerProcess, tasks: int, **extra: str) -> None:
        """Create or change the connector; ``extra`` with points as underscores."""
        config = {
            **self._rig.connector_config("", {}),
            "dynamodb.table.env.tag.value": _ENV,
            "kafka.topic.prefix": self.topic_prefix,
            "tasks.max": str(tasks),
            **{name.replace("_", "."): value for name, value in extra.items()},
        }
        del config["dynamodb.table.whitelist"]
        answer = worker.request("PUT", "/connectors/bench/config", config)
        if answer.status not in (200, 201):
            raise HarnessError(f"configuring the connector: {answer.status} {answer.body}")

    def wait_until(
        self,
        worker: WorkerProcess,
        holds: Callable[[Mapping[str, Any]], bool],
        what: str,
        *,
        began_s: float,
    ) -> float:
        """Seconds since ``began_s`` until it holds for every table."""
        while True:
            rows = self._rig.rows(worker)
            late = len(self.tables) - sum(map(holds, rows))
            elapsed_s = time.monotonic() - began_s
            if not late:
                return elapsed_s
            if elapsed_s > DEADLINE_S:
                first = next((row for row in rows if not holds(row)), None)
                raise HarnessError(f"{late} tables are not {what}: {first}\n{worker.log_tail()}")
            time.sleep(_LOOK_S)

    def counts(self) -> dict[str, int]:
        """Calls since the start of the fake, and those that were turned away."""
        counts: dict[str, int] = self.control.counts()
        return counts

    def idle_cost(self, worker: WorkerProcess, for_s: float) -> IdleCost:
        """Watch for a while; nobody writes, and nobody asks the worker anything."""
        polls, used_s, began_s = self._polls(), cpu_s(worker.pid), time.monotonic()
        time.sleep(for_s)
        polls, used_s = self._polls() - polls, cpu_s(worker.pid) - used_s
        elapsed_s = time.monotonic() - began_s
        return IdleCost(used_s / elapsed_s, polls / elapsed_s, rss_mib(worker.pid))

    def _polls(self) -> int:
        return self.counts().get("GetRecords", 0)


def is_at_work(row: Mapping[str, Any]) -> bool:
    """The table is scanned or followed."""
    return row["state"] in ("INIT_SYNC", "SYNC")


def is_followed(row: Mapping[str, Any]) -> bool:
    """Every open shard is read, and has been."""
    return row["state"] == "SYNC" and row["shards_open"] == 4 and row["lag_s"] is not None


def rss_mib(pid: int) -> float:
    """Resident memory of a process now."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise HarnessError(f"/proc/{pid}/status has no VmRSS")
