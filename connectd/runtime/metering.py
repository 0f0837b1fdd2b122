"""What the worker says of itself, its connectors, tasks and tables when somebody scrapes.

Nothing is remembered here but the assignments that came into force: everything is asked of those
who know it, at that moment. A plugin that fails to answer is left out, with a line in the log; it
must not take the numbers of all others away. Used on the event loop, and gives way to others after
every few tables: what is told of two of them may be some milliseconds apart.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import structlog

from connectd.aio import clock as clocks
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import State
from connectd.observe import metrics_connect, metrics_own
from connectd.observe.metrics import Exposition, Numbers, Value, label_text
from connectd.runtime import degradation
from connectd.runtime.connector_life import ConnectorLife
from connectd.runtime.membership import Membership
from connectd.runtime.supervisor import Supervisor
from connectd.runtime.task_life import TaskLife
from connectd.runtime.views import ConnectorType
from connectd.runtime.worker import Worker

_log = structlog.get_logger(__name__)

_Row = Mapping[str, object]

_BREATH_TABLES = 100
"""Tables that are looked at without a pause: about two milliseconds."""

_TABLE_MEMBERS = {
    "progress_age_seconds": "progress_age_s",
    "lag_seconds": "lag_s",
    "last_read_age_seconds": "last_read_age_s",
    "shards_open": "shards_open",
    "shards_waiting": "shards_waiting",
    "shards_closed": "shards_closed",
    "gaps_total": "gaps",
    "throttles_total": "throttles",
    "records_sent_total": "records_sent",
    "items_scanned": "items_scanned",
    "items_estimated": "items_estimated",
}
_SCAN_MEMBERS = {
    "segments": "segments",
    "segments_finished": "segments_finished",
    "items_per_second": "items_per_s",
    "left_seconds": "left_s",
}


class Metering:
    """See the module's docstring. ``still_s``: see ``degradation``."""

    def __init__(
        self,
        worker: Worker,
        membership: Membership,
        clock: clocks.Clock,
        connector_type: ConnectorType,
        *,
        still_s: float,
    ) -> None:
        self._worker = worker
        self._membership = membership
        self._clock = clock
        self._connector_type = connector_type
        self._still_s = still_s
        self._generation: int | None = None
        self._rebalances = 0
        self._rebalanced_s: float | None = None

    def observe(self, generation: int) -> None:
        """An assignment of that generation is in force."""
        if generation != self._generation:
            self._generation = generation
            self._rebalances += 1
            self._rebalanced_s = self._clock.monotonic()

    def tables_degraded(self) -> int:
        """How many tables on this worker make no progress although they should."""
        return sum(
            degradation.is_degraded(row, self._still_s)
            for supervisor in self._worker.supervisors()
            for _, row in _rows(supervisor)
        )

    # -- the worker -----------------------------------------------------------------------------

    async def add_to(self, exposition: Exposition) -> None:
        """Add everything."""
        supervisors = self._worker.supervisors()
        self._add_worker(exposition, supervisors)
        recoveries = self._worker.statistics().recoveries
        degraded = 0
        for supervisor in supervisors:
            name = supervisor.connector
            instance = supervisor.connector_life()
            if instance is not None:
                self._add_connector(exposition, name, instance)
            tasks = supervisor.task_lives()
            if tasks:
                _add_task_states(exposition, name, tasks)
            for task, life in tasks.items():
                recovery = recoveries.get(task)
                attempts = 0 if recovery is None else recovery.attempts
                self._add_task(exposition, task, life, attempts)
            degraded += await self._add_tables(exposition, supervisor)
        exposition.add(metrics_own.WORKER["tables_degraded"], "", degraded)

    def _add_worker(self, exposition: Exposition, supervisors: Sequence[Supervisor]) -> None:
        connectors = sum(each.connector_life() is not None for each in supervisors)
        tasks = sum(len(each.task_lives()) for each in supervisors)
        counts = {"connector-count": connectors, "task-count": tasks}
        exposition.add_all(metrics_connect.WORKER, "", {**counts, **self._worker.starts.metrics()})
        assigned = self._membership.assignment
        exposition.add_all(
            metrics_connect.COORDINATOR,
            label_text(client_id=self._membership.worker_id),
            {
                "assigned-connectors": len(assigned.connectors),
                "assigned-tasks": len(assigned.tasks),
            },
        )
        since_ms = math.inf
        if self._rebalanced_s is not None:
            since_ms = (self._clock.monotonic() - self._rebalanced_s) * 1000
        exposition.add_all(
            metrics_connect.REBALANCE,
            "",
            {
                "epoch": assigned.generation,
                "rebalancing": int(self._membership.is_rebalancing),
                "completed-rebalances-total": self._rebalances,
                "time-since-last-rebalance-ms": since_ms,
            },
        )
        waiting = self._membership.waiting_work
        exposition.add(metrics_own.WORKER["waiting_work"], "", waiting)
        leader = label_text(leader_name=self._membership.leader_url or "")
        exposition.add(metrics_connect.LEADER_NAME, leader, 1)

    # -- connectors and tasks -------------------------------------------------------------------

    def _add_connector(self, exposition: Exposition, name: str, life: ConnectorLife) -> None:
        status = life.state.value.lower()
        class_name = life.config.get("connector.class", "")
        kind, version = self._connector_type(class_name), life.version or ""
        everything = label_text(
            connector=name,
            status=status,
            connector_type=kind,
            connector_class=class_name,
            connector_version=version,
        )
        add, connect = exposition.add, metrics_connect
        add(connect.CONNECTOR_STATUS, everything, 1)
        add(connect.CONNECTOR_STATUS_STRIMZI, label_text(connector=name, status=status), 1)
        add(connect.CONNECTOR_CLASS, label_text(connector=name, connector_class=class_name), 1)
        add(connect.CONNECTOR_TYPE, label_text(connector=name, connector_type=kind), 1)
        add(connect.CONNECTOR_VERSION, label_text(connector=name, connector_version=version), 1)
        restarts = {"restarts_total": self._worker.starts.restarts(name)}
        exposition.add_all(metrics_own.CONNECTOR, label_text(connector=name), restarts)

    def _add_task(
        self, exposition: Exposition, task: ConnectorTaskId, life: TaskLife, attempts: int
    ) -> None:
        status = life.state.value.lower()
        exposition.add(
            metrics_connect.TASK_STATUS,
            label_text(connector=task.connector, task=task.task, status=status),
            1,
        )
        labels = label_text(connector=task.connector, task=task.task)
        for group, numbers in _numbers_told(life).items():
            exposition.add_all(group, labels, numbers)
        counts = {
            "restarts_total": self._worker.starts.restarts(task),
            "auto_restart_attempts": attempts,
        }
        exposition.add_all(metrics_own.TASK, labels, counts)

    # -- tables ---------------------------------------------------------------------------------

    async def _add_tables(self, exposition: Exposition, supervisor: Supervisor) -> int:
        """Returns how many are degraded."""
        connector = supervisor.connector
        states: Counter[str] = Counter()
        degraded = 0
        seen: set[str] = set()
        for number, (task, row) in enumerate(_rows(supervisor), 1):
            if number % _BREATH_TABLES == 0:
                await asyncio.sleep(0)
            table, state = row.get("table"), str(row.get("state", "")).lower()
            if not isinstance(table, str):
                continue
            labels = label_text(connector=connector, task=task, table=table)
            if labels in seen:
                continue
            seen.add(labels)
            states[state] += 1
            is_degraded = degradation.is_degraded(row, self._still_s)
            degraded += is_degraded
            with_state = label_text(connector=connector, task=task, table=table, state=state)
            exposition.add(metrics_own.TABLE_STATE, with_state, 1)
            if task != "" or "progress_age_s" in row:  # else its connector has judged it for good
                numbers = {"degraded": int(is_degraded), **_numbers(row, _TABLE_MEMBERS)}
                exposition.add_all(metrics_own.TABLE, labels, numbers)
                _add_scan(exposition, labels, row)
        for state, count in states.items():
            labels = label_text(connector=connector, state=state)
            exposition.add(metrics_own.CONNECTOR_TABLES, labels, count)
        exposition.add(metrics_own.CONNECTOR_DEGRADED, label_text(connector=connector), degraded)
        return degraded


def _add_task_states(
    exposition: Exposition, connector: str, tasks: Mapping[ConnectorTaskId, TaskLife]
) -> None:
    states = Counter(life.state for life in tasks.values())
    counts = {
        "total": len(tasks),
        "running": states[State.RUNNING],
        "paused": states[State.PAUSED],
        "failed": states[State.FAILED],
        "unassigned": states[State.UNASSIGNED],
        "destroyed": 0,
        "restarting": states[State.RESTARTING],
    }
    exposition.add_all(
        metrics_connect.WORKER_TASKS,
        label_text(connector=connector),
        {f"connector-{state}-task-count": count for state, count in counts.items()},
    )


def _add_scan(exposition: Exposition, labels: str, row: _Row) -> None:
    scan = row.get("scan")
    if not isinstance(scan, Mapping):
        return
    numbers = _numbers(scan, _SCAN_MEMBERS)
    read, estimated = row.get("items_scanned"), row.get("items_estimated")
    if isinstance(read, int) and isinstance(estimated, int) and estimated > 0:
        numbers["progress_ratio"] = min(1.0, read / estimated)
    exposition.add_all(metrics_own.SCAN, labels, numbers)


def _numbers(row: _Row, members: Mapping[str, str]) -> dict[str, Value]:
    """The members that are numbers, by the short names of their metrics."""
    found: dict[str, Value] = {}
    for name, member in members.items():
        value = row.get(member)
        if isinstance(value, int | float):
            found[name] = value
    return found


def _numbers_told(life: TaskLife) -> Numbers:
    try:
        return life.metrics()
    except Exception as error:
        _log.warning("a plugin does not tell of itself", subject=life.name, error=repr(error))
        return {}


def _rows(supervisor: Supervisor) -> Iterator[tuple[str, _Row]]:
    """Rows with the task that serves the table, "" where none does."""
    instance = supervisor.connector_life()
    if instance is not None:
        yield from (("", row) for row in _rows_of(instance))
    for task, life in supervisor.task_lives().items():
        yield from ((str(task.task), row) for row in _rows_of(life))


def _rows_of(life: ConnectorLife | TaskLife) -> Sequence[_Row]:
    try:
        return life.tables()
    except Exception as error:
        _log.warning("a plugin does not tell of its tables", subject=life.name, error=repr(error))
        return ()
