"""The catalogue, second part: what Kafka Connect has no metric for.

Tables, the buffers of a task, the worker and what it talks to, and the process. One series per
table and metric: 1,000 tables are about 14,000 series, which is why numbers per shard are missing.
Names have their unit at the end, as Prometheus wants it. See ``metrics_connect`` for the first
part, and ``CATALOGUE`` for both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from connectd.observe import metrics_connect
from connectd.observe.metrics import Kind, Metric, MetricGroup

_G, _C = Kind.GAUGE, Kind.COUNTER

_Row = tuple[str, Kind, str, str, str]
"""Short name, kind, unit, help, what it is computed from."""

_ROW: Final = "the table's row, as in GET /connectd/connectors/{name}/tables"
_RUNNER: Final = "the task's runner"
_TABLE: Final = ("connector", "task", "table")


def _group(title: str, prefix: str, labels: tuple[str, ...], rows: tuple[_Row, ...]) -> MetricGroup:
    return MetricGroup(
        title,
        labels,
        {
            name: Metric(f"{prefix}_{name}", kind, labels, unit, text, source)
            for name, kind, unit, text, source in rows
        },
    )


TABLE_STATE: Final = Metric(
    "connectd_table_state",
    _G,
    (*_TABLE, "state"),
    "1",
    "The state of a table, in lower case: discovery, delayed, init_sync, sync, resync, paused, "
    "failed, skipped. The task is empty where none serves it.",
    _ROW,
)
CONNECTOR_TABLES: Final = Metric(
    "connectd_connector_tables",
    _G,
    ("connector", "state"),
    "tables",
    "Tables of a connector on this worker, by state.",
    "the rows of its tables",
)
CONNECTOR_DEGRADED: Final = Metric(
    "connectd_connector_tables_degraded",
    _G,
    ("connector",),
    "tables",
    "Tables of a connector that make no progress although they should.",
    "the rows of its tables and connectd.table.degraded.ms",
)
TABLE_COUNTS: Final = MetricGroup(
    "Tables, counted",
    (),
    {metric.name: metric for metric in (TABLE_STATE, CONNECTOR_TABLES, CONNECTOR_DEGRADED)},
)

ENCODING_TIER: Final = Metric(
    "connectd_worker_encoding_tier",
    _G,
    ("tier",),
    "1",
    "What turns pages of DynamoDB into records of JsonConverter: compiled, or portable where the "
    "extension is not installed or is switched off (CONNECTD_ACCELERATOR=off).",
    "what is installed",
)
ENCODING: Final = MetricGroup("The worker's encoder", (), {ENCODING_TIER.name: ENCODING_TIER})

# The declarations below read as tables.
# fmt: off

TABLE: Final = _group("Tables", "connectd_table", _TABLE, (
    ("degraded", _G, "0 or 1", "Whether the table makes no progress although it should, or has "
     "failed.", f"{_ROW}, and connectd.table.degraded.ms"),
    ("progress_age_seconds", _G, "s", "Time since the table moved last: read a page, or heard that "
     "there is none. SYNC: of the shard that stands still longest, which may never have been read, "
     "or wait for Kafka to acknowledge what was read.", _ROW),
    ("lag_seconds", _G, "s", "SYNC: age of the oldest change that Kafka has not acknowledged, of "
     "the shard that is furthest behind; 0 at the tip. Absent until a read has succeeded.", _ROW),
    ("last_read_age_seconds", _G, "s", "SYNC: time since the last successful read, of the shard "
     "that has waited longest for another. Absent until one has succeeded.", _ROW),
    ("shards_open", _G, "shards", "Shards that are being read.", _ROW),
    ("shards_waiting", _G, "shards", "Shards that wait for the end of their parents.", _ROW),
    ("shards_closed", _G, "shards", "Shards read to their end whose positions are still kept.",
     _ROW),
    ("gaps_total", _C, "", "Gaps: changes of the table that were lost. Survives restarts.", _ROW),
    ("throttles_total", _C, "", "Calls for the table that AWS throttled, in this life of the "
     "task.", _ROW),
    ("records_sent_total", _C, "records", "Records acknowledged, in this life of the task.", _ROW),
    ("items_scanned", _G, "items", "INIT_SYNC: items read, in all lives of the scan.", _ROW),
    ("items_estimated", _G, "items", "Items of the table as DynamoDB tells, up to six hours old.",
     _ROW),
))

SCAN: Final = _group("Scans under way", "connectd_table_scan", _TABLE, (
    ("progress_ratio", _G, "0..1", "Part of the items estimated that is read, at most 1.", _ROW),
    ("segments", _G, "segments", "Segments of the scan.", _ROW),
    ("segments_finished", _G, "segments", "Segments that are read to their end.", _ROW),
    ("items_per_second", _G, "items/s", "Items per second over the last minute.", _ROW),
    ("left_seconds", _G, "s", "How long the scan will take yet at that rate.", _ROW),
))

TASK: Final = _group("Tasks", "connectd_task", ("connector", "task"), (
    ("frontier_entries", _G, "pages", "Pages and ends not yet acknowledged contiguously: what a "
     "crash would repeat, beside what is not committed.", "the task's frontier"),
    ("frontier_depth_max", _G, "pages", "The same, of the input that has most.",
     "the task's frontier"),
    ("sends_in_flight", _G, "pages", "Pages handed to the producer and not answered.", _RUNNER),
    ("buffer_pages", _G, "pages", "Places of the task's buffer that are taken.",
     "the task, if it has a buffer"),
    ("buffer_pages_max", _G, "pages", "Places of that buffer; full, it makes reading wait.",
     "the task, if it has a buffer"),
    ("offsets_committed_total", _C, "offsets", "Offsets made durable in this life.",
     "the task's committer"),
    ("restarts_total", _C, "", "Lives of the task on this worker after the first: by restarts, new "
     "configs and rebalances.", "counted when a life begins"),
    ("auto_restart_attempts", _G, "", "Restarts by the worker itself since the task last ran "
     "steadily (connectd.restart.attempts.max).", "the worker's recoveries"),
))

CONNECTOR: Final = _group("Connectors", "connectd_connector", ("connector",), (
    ("restarts_total", _C, "", "Lives of the instance on this worker after the first.",
     "counted when a life begins"),
    ("kafka_available", _G, "0 or 1", "Whether the brokers answer the connector's own producers. "
     "Absent without producer.override.*: then it has none of its own.", "the clients"),
))

WORKER: Final = _group("The worker", "connectd_worker", (), (
    ("ready", _G, "0 or 1", "Whether GET /connectd/health/ready says yes.", "readiness"),
    ("waiting_work", _G, "connectors and tasks", "What no worker of the group runs, since a worker "
     "is gone that may come back; only the group's leader knows, the others say 0.",
     "the leader's last round"),
    ("tables_degraded", _G, "tables", "Tables on this worker that make no progress.",
     "the rows of all tables"),
    ("connectors_lost", _G, "connectors", "Connectors that the offsets or the status topic knows, "
     "while the config topic is new: they do not run. 0 once a connector is created.",
     "the three topics, at start"),
    ("loop_lateness_max_seconds", _G, "s", "How late the event loop was at worst, over the window "
     "of metrics.sample.window.ms.", "the pulse of the loop, ten times a second"),
    ("loop_pulses_total", _C, "pulses", "Of the event loop, or loops (workers).", "the same"),
    ("loop_pulses_late_total", _C, "pulses", "Those that came more than 20 ms late.", "the same"),
    ("polls_in_flight", _G, "polls", "Polls of streams under way.", "the poll scheduler"),
    ("polls_in_flight_max", _G, "polls", "Most that may be (connectd.polls.in.flight.max).",
     "the poll scheduler"),
    ("polls_waiting", _G, "polls", "Shards that wait for the time of their next poll.",
     "the poll scheduler"),
    ("task_processes", _G, "processes", "Processes for tasks that there are to be (workers); 0: "
     "tasks run in the worker's own.", "the worker"),
    ("task_processes_running", _G, "processes", "Those that run.", "the same"),
    ("task_processes_lost_total", _C, "processes", "Those that have ended by themselves or were "
     "killed: their tasks began anew.", "the same"),
))

KAFKA: Final = _group("Kafka as the worker sees it", "connectd_kafka", ("client",), (
    ("available", _G, "0 or 1", "Whether the brokers answer, and know the topic: configs, offsets "
     "and statuses are the readers of the internal topics, producers what connectors share.",
     "the clients"),
))

PRODUCER: Final = _group("Producers", "connectd_producer", ("client_id",), (
    ("pages_outstanding", _G, "pages", "Pages without an answer.", "the producers' statistics"),
    ("pages_queued", _G, "pages", "Pages that wait for the producer's thread.",
     "the producers' statistics"),
    ("records_buffered", _G, "records", "Records in the client's buffer.",
     "the producers' statistics"),
    ("buffer_full_total", _C, "", "How often a record found no room and waited: back-pressure.",
     "the producers' statistics"),
))

AWS: Final = _group("Calls of AWS", "connectd_aws", ("operation",), (
    ("calls_total", _C, "calls", "Requests that were answered, or given up.",
     "counted with each request: once per page"),
    ("throttles_total", _C, "calls", "Those that AWS throttled.", "the same"),
    ("failures_total", _C, "calls", "Those that failed otherwise; that something does not exist is "
     "an answer.", "the same"),
    ("call_seconds_total", _C, "s", "Time that they took.", "the same"),
))

METRICS: Final = _group("This answer", "connectd_metrics", (), (
    ("collect_seconds", _G, "s", "How long it took to gather the numbers.", "the clock"),
))

_PROCESS_SOURCE: Final = "prometheus-client, from /proc"
PROCESS: Final = _group("The process", "process", (), (
    ("cpu_seconds_total", _C, "s", "Processor time used.", _PROCESS_SOURCE),
    ("resident_memory_bytes", _G, "bytes", "Memory in use.", _PROCESS_SOURCE),
    ("virtual_memory_bytes", _G, "bytes", "Address space in use.", _PROCESS_SOURCE),
    ("start_time_seconds", _G, "epoch seconds", "When it was started.", _PROCESS_SOURCE),
    ("open_fds", _G, "", "Open file descriptors.", _PROCESS_SOURCE),
    ("max_fds", _G, "", "Most that it may open.", _PROCESS_SOURCE),
))

# fmt: on

GROUPS: Final[tuple[MetricGroup, ...]] = (
    WORKER,
    ENCODING,
    KAFKA,
    CONNECTOR,
    TABLE_COUNTS,
    TABLE,
    SCAN,
    TASK,
    PRODUCER,
    AWS,
    METRICS,
    PROCESS,
)

CATALOGUE: Final[tuple[MetricGroup, ...]] = (*metrics_connect.GROUPS, *GROUPS)
"""Every metric that there is."""


def all_names() -> Iterator[str]:
    """Every name that an answer may have, aliases among them."""
    for group in CATALOGUE:
        for metric in group.metrics.values():
            yield metric.name
            yield from (alias for _, alias in metric.aliases)
