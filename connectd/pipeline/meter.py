"""What one life of a task measures of itself: Kafka Connect's task metrics (spec G.2, G.3).

The runner tells what happens, once per page and once per commit: nothing here is paid per record.
Who scrapes asks for the numbers. Owned by the runner, on the event loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from connectd.aio.clock import Clock
from connectd.observe.metrics import Value
from connectd.observe.metrics_windows import Window, WindowSettings


class Activity(Enum):
    """What a task does; its time is told apart by it."""

    BEGINNING = "beginning"
    RUNNING = "running"
    PAUSED = "paused"


class TaskMeter:
    """See the module's docstring. Times are seconds of the clock's monotonic scale."""

    def __init__(self, clock: Clock, settings: WindowSettings) -> None:
        self._clock = clock
        self._began_s = self._since_s = now_s = clock.monotonic()
        self._activity = Activity.BEGINNING
        self._spent_s = dict.fromkeys(Activity, 0.0)
        self._polled = self._written = self._active = 0
        self._polls = Window(settings, now_s)
        self._poll_times = Window(settings, now_s)
        self._writes = Window(settings, now_s)
        self._actives = Window(settings, now_s)
        self._commit_times = Window(settings, now_s)
        self._commits = Window(settings, now_s)

    # -- what happens ---------------------------------------------------------------------------

    def turn(self, activity: Activity) -> None:
        """The task does something else from now on."""
        now_s = self._clock.monotonic()
        self._spent_s[self._activity] += now_s - self._since_s
        self._activity, self._since_s = activity, now_s

    def polled(self, records: int, waited_s: float) -> None:
        """A poll has given so many records, after so long."""
        now_s = self._clock.monotonic()
        self._polled += records
        self._polls.record(records, now_s)
        self._poll_times.record(waited_s, now_s)

    def handed_over(self, records: int) -> None:
        """Records are on their way."""
        self._active += records
        self._actives.record(self._active, self._clock.monotonic())

    def settled(self, records: int) -> None:
        """They are not any more, whatever became of them."""
        self._active -= records
        self._actives.record(self._active, self._clock.monotonic())

    def written(self, records: int) -> None:
        """Kafka has acknowledged so many."""
        self._written += records
        self._writes.record(records, self._clock.monotonic())

    def committed(self, took_s: float, *, is_durable: bool) -> None:
        """A commit of offsets has ended."""
        now_s = self._clock.monotonic()
        self._commits.record(float(is_durable), now_s)
        if is_durable:
            self._commit_times.record(took_s, now_s)

    # -- what is told ---------------------------------------------------------------------------

    def connector_task(self) -> Mapping[str, Value]:
        """Attributes of ``connector-task-metrics``."""
        now_s = self._clock.monotonic()
        commits = self._commits.count(now_s)
        success = self._commits.total(now_s) / commits if commits else 0.0
        return {
            "running-ratio": self._ratio(Activity.RUNNING, now_s),
            "pause-ratio": self._ratio(Activity.PAUSED, now_s),
            "offset-commit-max-time-ms": self._commit_times.maximum(now_s) * 1000,
            "offset-commit-avg-time-ms": self._commit_times.average(now_s) * 1000,
            "offset-commit-success-percentage": success,
            "offset-commit-failure-percentage": 1.0 - success if commits else 0.0,
            "batch-size-max": self._polls.maximum(now_s),
            "batch-size-avg": self._polls.average(now_s),
        }

    def source_task(self) -> Mapping[str, Value]:
        """Attributes of ``source-task-metrics``."""
        now_s = self._clock.monotonic()
        return {
            "source-record-poll-rate": self._polls.rate(now_s),
            "source-record-poll-total": self._polled,
            "source-record-write-rate": self._writes.rate(now_s),
            "source-record-write-total": self._written,
            "poll-batch-max-time-ms": self._poll_times.maximum(now_s) * 1000,
            "poll-batch-avg-time-ms": self._poll_times.average(now_s) * 1000,
            "source-record-active-count": self._active,
            "source-record-active-count-max": self._actives.maximum(now_s),
            "source-record-active-count-avg": self._actives.average(now_s),
        }

    def _ratio(self, activity: Activity, now_s: float) -> float:
        spent_s = self._spent_s[activity]
        if activity is self._activity:
            spent_s += now_s - self._since_s
        lived_s = now_s - self._began_s
        return spent_s / lived_s if lived_s > 0 else 0.0
