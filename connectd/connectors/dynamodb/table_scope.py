"""What all jobs of one table share: collaborators, and the picture that people see of the table.

``TableScope`` is handed down from ``table_job`` to the scan and the readers. ``TableProgress`` is
written by whoever does the work and read by ``SourceTask.tables``: a table that makes no progress
says why (DESIGN promise 5). Both are owned by one event loop.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar
from weakref import WeakValueDictionary

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
from connectd.errors import RetriableError, ThrottledError
from connectd.model.record import Acked

_log = structlog.get_logger(__name__)

T = TypeVar("T")

CONTROL_BACKOFF: Final = backoff.Backoff(initial_s=0.5, max_s=30.0)
"""For DescribeTable and DescribeStream, which AWS limits to about ten calls per second."""

_LOG_FROM_ATTEMPT: Final = 4
"""Throttling that a retry or two settles is an ordinary day (field case P08)."""


USUAL_S: Final = 10.0
"""Reads follow each other, and are acknowledged, within a few seconds. A silence that is longer,
beside the pause that the reader makes on purpose, adds to the lag that is shown."""


@dataclass(frozen=True)
class Unacked:
    """A page that Kafka has not acknowledged: when its oldest record was made, and when the page
    was emitted. Both monotonic.
    """

    born_s: float
    emitted_s: float


@dataclass
class ShardProgress:
    """The picture of one shard that is being read; times are monotonic.

    ``last_read_s`` is None until a read has succeeded, and ``behind_s`` is how old the newest
    record of that read was, 0 at the tip. ``pause_s`` is how long the reader waits on purpose
    before the next one. ``unacked`` are its pages under way, oldest first.
    """

    started_s: float
    last_read_s: float | None = None
    behind_s: float = 0.0
    pause_s: float = 0.0
    unacked: deque[Unacked] = field(default_factory=deque)

    def lag_s(self, now_s: float) -> float | None:
        """Age of the oldest change that Kafka may not have; 0 at the tip, None: never read.

        What was read and not acknowledged is behind, however new the last read is.
        """
        if self.last_read_s is None:
            return None
        read_age_s = now_s - self.last_read_s
        is_silent = read_age_s > USUAL_S + self.pause_s  # nobody knows that it is at the tip
        lag_s = self.behind_s + (read_age_s if is_silent else 0.0)
        return max(lag_s, now_s - self.unacked[0].born_s) if self.unacked else lag_s

    def unacked_age_s(self, now_s: float) -> float:
        """How long the oldest page under way has waited for Kafka."""
        return now_s - self.unacked[0].emitted_s if self.unacked else 0.0

    def progress_age_s(self, now_s: float) -> float:
        """Time since the last read, or since the start; longer if what was read is stuck."""
        since_s = self.started_s if self.last_read_s is None else self.last_read_s
        return max(now_s - since_s, self.unacked_age_s(now_s))


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
    is ("shard …", "scan …"); ``last_read_s`` (monotonic) is the last successful read of any shard,
    ``moved_s`` (monotonic) the last time that the scan or a question about the table got an
    answer, and ``rest_s`` how long the table rests on purpose just now (``TableScope.rest``).
    """

    table: str
    topic: str
    state: str = "DISCOVERY"
    note: str = ""
    why_whole: str = ""
    items_scanned: int = 0
    items_estimated: int | None = None
    """As DynamoDB or a manifest told at the last scan; None: not asked in this life."""
    records_sent: int = 0
    records_skipped: int = 0
    shards: dict[str, ShardProgress] = field(default_factory=dict)
    unacked: WeakValueDictionary[str, deque[Unacked]] = field(default_factory=WeakValueDictionary)
    """See ``under_way``. They go with the last reader or acknowledgement that holds them."""
    shards_waiting: int = 0
    shards_closed: int = 0
    gaps: int = 0
    throttles: int = 0
    last_read_s: float | None = None
    moved_s: float | None = None
    rest_s: float = 0.0
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

    def under_way(self, shard_id: str) -> deque[Unacked]:
        """Pages and seals of a shard that are under way, oldest first.

        A reader inherits those of the one before it, and does not overtake them.
        """
        return self.unacked.setdefault(shard_id, deque())

    def newest_under_way(self) -> list[tuple[deque[Unacked], Unacked]]:
        """Of each shard that has pages or seals under way: all of them, and the newest."""
        return [(each, each[-1]) for each in self.unacked.values() if each]

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

    def lag_s(self, now_s: float) -> float | None:
        """That of the shard that is furthest behind; see ``ShardProgress``."""
        lags_s = (each.lag_s(now_s) for each in self.shards.values())
        return max((lag_s for lag_s in lags_s if lag_s is not None), default=None)

    def last_read_age_s(self, now_s: float) -> float | None:
        """Time since the last successful read, of the shard that has waited longest for another.

        Shards that have never been read are none of them (``progress_age_s`` is about them too);
        where that is all there are, it is the last read of the table. None: there was none.
        """
        read_s = [each.last_read_s for each in self.shards.values() if each.last_read_s is not None]
        last_s = min(read_s, default=self.last_read_s)
        return None if last_s is None else now_s - last_s

    def progress_age_s(self, now_s: float) -> float | None:
        """Time since the table moved last; in SYNC, of the open shard that stands still longest.

        A shard that cannot be read shows although others can (field case P07), and so does one
        whose records Kafka does not acknowledge.
        """
        if self.state == "SYNC":
            if self.shards:
                return max(each.progress_age_s(now_s) for each in self.shards.values())
            if self.last_read_s is not None:
                return now_s - self.last_read_s
        return None if self.moved_s is None else now_s - self.moved_s

    def row(self, *, task: int, now_s: float, is_blocked: bool) -> dict[str, object]:
        """For people to look at: JSON-able. ``is_blocked``: the task's buffer is full."""
        shards = self.shards.values()
        return {
            "table": self.table,
            "task": task,
            "state": self.state,
            "reason": self.reason() or self._waits_for(now_s, is_blocked=is_blocked),
            "topic": self.topic,
            "items_scanned": self.items_scanned,
            "items_estimated": self.items_estimated,
            "records_sent": self.records_sent,
            "records_skipped": self.records_skipped,
            "lag_s": _rounded(self.lag_s(now_s)),
            "shards_open": len(self.shards),
            "shards_waiting": self.shards_waiting,
            "shards_closed": self.shards_closed,
            "gaps": self.gaps,
            "throttles": self.throttles,
            "last_read_age_s": _rounded(self.last_read_age_s(now_s)),
            "progress_age_s": _rounded(self.progress_age_s(now_s)),
            "pause_s": max((each.pause_s for each in shards), default=self.rest_s),
            "scan": None if self.scan is None else self.scan.row(now_s),
        }

    def _waits_for(self, now_s: float, *, is_blocked: bool) -> str:
        if is_blocked:
            return "waiting for Kafka: buffer is full"
        if any(each.unacked_age_s(now_s) > USUAL_S for each in self.shards.values()):
            return "records that were read are not acknowledged yet"
        return ""


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


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
        self.move()
        return result

    def move(self) -> None:
        """Show that the table makes progress."""
        self.progress.moved_s = self.clock.monotonic()

    async def rest(self, wait_s: float) -> None:
        """Wait on purpose, which is no standing still."""
        self.progress.rest_s = wait_s
        try:
            await self.clock.sleep(wait_s)
            self.move()
        finally:
            self.progress.rest_s = 0.0

    def report_trouble(self, what: str, error: Exception, attempt: int) -> None:
        """Show that something is being retried; logged when it lasts: attempts 4, 8, 16 …"""
        self.progress.troubles[what] = Trouble(f"{what}: {error}", attempt)
        self.progress.throttles += isinstance(error, ThrottledError)
        if attempt >= _LOG_FROM_ATTEMPT and attempt & (attempt - 1) == 0:
            _log.warning("retrying", table=self.table, what=what, attempt=attempt, error=str(error))

    def clear_trouble(self, what: str) -> None:
        """It works (again)."""
        trouble = self.progress.troubles.pop(what, None)
        if trouble is not None and trouble.attempt >= _LOG_FROM_ATTEMPT:
            _log.info("recovered", table=self.table, what=what, attempts=trouble.attempt)
