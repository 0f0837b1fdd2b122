"""What all jobs of one table share: collaborators, and the picture that people see of the table.

``TableScope`` is handed down from ``table_job`` to the scan and the readers. ``TableProgress`` is
written by whoever does the work and read by ``SourceTask.tables``: a table that makes no progress
says why (DESIGN promise 5). Both are owned by one event loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

import structlog

from connectd.aio import backoff
from connectd.aio.clock import Clock
from connectd.aio.scheduler import PollScheduler
from connectd.connectors.dynamodb.config import DynamoDbConfig
from connectd.connectors.dynamodb.emission_queue import EmissionQueue
from connectd.connectors.dynamodb.scan_progress import ScanProgress
from connectd.connectors.dynamodb.service_time import ServiceTime
from connectd.connectors.dynamodb.source_api import SourceApi
from connectd.connectors.dynamodb.spark_engine import HandOff
from connectd.errors import RetriableError
from connectd.model.record import Acked

_log = structlog.get_logger(__name__)

T = TypeVar("T")

CONTROL_BACKOFF: Final = backoff.Backoff(initial_s=0.5, max_s=30.0)
"""For DescribeTable and DescribeStream, which AWS limits to about ten calls per second."""

_LOG_FROM_ATTEMPT: Final = 4
"""Throttling that a retry or two settles is an ordinary day (field case P08)."""


READ_AGE_USUAL_S: Final = 10.0
"""Shards are polled every few seconds at most; a longer silence adds to the lag that is shown."""


@dataclass
class ShardProgress:
    """The picture of one shard that is being read; ``last_read_s`` is monotonic."""

    last_read_s: float
    lag_s: float | None = None


@dataclass(frozen=True)
class Trouble:
    """Something that is being retried, and how often it was."""

    text: str
    attempt: int


@dataclass
class TableProgress:
    """The picture of one table; counters are since the start of the task, except ``items_scanned``,
    which counts the whole scan.

    ``records_sent`` are in Kafka, tombstones among them; ``records_skipped`` failed and were left
    out, as ``errors.tolerance=all`` asks. ``why_whole`` says why the table is read whole after a
    gap, until it is followed again; ``troubles`` are what is being retried right now, by what it
    is ("shard …", "scan …");
    ``last_read_s`` (monotonic) is the last successful read of any shard.
    """

    table: str
    topic: str
    state: str = "DISCOVERY"
    note: str = ""
    why_whole: str = ""
    items_scanned: int = 0
    items_estimated: int = 0
    records_sent: int = 0
    records_skipped: int = 0
    shards: dict[str, ShardProgress] = field(default_factory=dict)
    shards_waiting: int = 0
    gaps: int = 0
    last_read_s: float | None = None
    troubles: dict[str, Trouble] = field(default_factory=dict)
    scan: ScanProgress | None = None
    """Of the scan that is under way."""

    def enter(self, state: str, note: str = "") -> None:
        """Show another state; troubles of the one before are over, and so is its scan."""
        self.state = state
        self.note = note
        if state == "SYNC":
            self.why_whole = ""
        self.troubles.clear()
        self.scan = None

    def count(self, acked: Acked) -> None:
        """Records have reached Kafka, or were skipped."""
        self.records_sent += acked.records
        self.records_skipped += acked.skipped

    def reason(self) -> str:
        """Why the table is not where it should be, or "" when nothing is wrong."""
        parts = [self.note, self.why_whole]
        if self.troubles:
            first = next(iter(self.troubles.values()))
            others = len(self.troubles) - 1
            more = f" and {others} more" if others else ""
            parts.append(f"{first.text} (attempt {first.attempt}){more}")
        return "; ".join(filter(None, parts))

    def lag_s(self) -> float | None:
        """Age of the newest record read, of the shard that is furthest behind; 0 at the tip."""
        return max(
            (each.lag_s for each in self.shards.values() if each.lag_s is not None), default=None
        )

    def last_read_age_s(self, now_s: float) -> float | None:
        """Time since the last successful read, of the shard that has waited longest.

        A shard that cannot be read shows although others can (field case P07).
        """
        if self.shards:
            return now_s - min(each.last_read_s for each in self.shards.values())
        return None if self.last_read_s is None else now_s - self.last_read_s

    def row(self, *, task: int, now_s: float, is_blocked: bool) -> dict[str, object]:
        """For people to look at: JSON-able. ``is_blocked``: the task's buffer is full."""
        age_s = self.last_read_age_s(now_s)
        lag_s = self.lag_s()
        if lag_s is not None and age_s is not None and age_s > READ_AGE_USUAL_S:
            lag_s += age_s  # what has not been read cannot be known to be at the tip
        return {
            "table": self.table,
            "task": task,
            "state": self.state,
            "reason": self.reason() or ("waiting for Kafka: buffer is full" if is_blocked else ""),
            "topic": self.topic,
            "items_scanned": self.items_scanned,
            "items_estimated": self.items_estimated,
            "records_sent": self.records_sent,
            "records_skipped": self.records_skipped,
            "lag_s": None if lag_s is None else round(lag_s, 3),
            "shards_open": len(self.shards),
            "shards_waiting": self.shards_waiting,
            "gaps": self.gaps,
            "last_read_age_s": None if age_s is None else round(age_s, 3),
            "scan": None if self.scan is None else self.scan.row(now_s),
        }


@dataclass(frozen=True)
class TableScope:
    """Collaborators of the jobs of one table."""

    config: DynamoDbConfig
    api: SourceApi
    clock: Clock
    time: ServiceTime
    scheduler: PollScheduler
    queue: EmissionQueue
    progress: TableProgress
    hand_off: HandOff | None = None
    """To Spark; None: this worker has no way there."""

    @property
    def table(self) -> str:
        """The table's name."""
        return self.progress.table

    async def insist(
        self,
        what: str,
        call: Callable[[], Awaitable[T]],
        *,
        policy: backoff.Backoff = CONTROL_BACKOFF,
    ) -> T:
        """Call until it works, showing ``what`` is in the way; fatal errors pass at once."""

        def on_retry(error: RetriableError, attempt: int, wait_s: float) -> None:
            self.report_trouble(what, error, attempt)

        async def attempt() -> T:
            return await call()

        result = await backoff.retry(attempt, clock=self.clock, policy=policy, on_retry=on_retry)
        self.clear_trouble(what)
        return result

    def report_trouble(self, what: str, error: Exception, attempt: int) -> None:
        """Show that something is being retried; logged when it lasts: attempts 4, 8, 16 …"""
        self.progress.troubles[what] = Trouble(f"{what}: {error}", attempt)
        if attempt >= _LOG_FROM_ATTEMPT and attempt & (attempt - 1) == 0:
            _log.warning("retrying", table=self.table, what=what, attempt=attempt, error=str(error))

    def clear_trouble(self, what: str) -> None:
        """It works (again)."""
        trouble = self.progress.troubles.pop(what, None)
        if trouble is not None and trouble.attempt >= _LOG_FROM_ATTEMPT:
            _log.info("recovered", table=self.table, what=what, attempts=trouble.attempt)
