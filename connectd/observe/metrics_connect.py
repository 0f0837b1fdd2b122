"""The catalogue, first part: Kafka Connect's own metrics under the names that dashboards know.

A Java worker shows them by JMX, and people read them with Prometheus' JMX exporter. The names here
are those that the exporter gives without rules of one's own, and with those of Confluent's
monitoring stack: ``kafka_connect_<type>_<attribute>`` for the attribute of
``kafka.connect:type=<type>``, dashes as underscores, and ``connector`` and ``task`` as labels (spec
kafka-connect G). Two other sets of rules are common; their names are aliases of the same numbers:
those of Strimzi, which are the exporter's example for Kafka Connect too, and of Debezium's example.
So are those of the exporter's version 1, which drops ``_total`` where a rule names no type.

All that was compared with the exporter's answer for a worker of Apache Kafka 4.3.1.

Values are Connect's: rates, averages and maxima over a window (``metrics_windows``), ratios from 0
to 1, NaN for an average of nothing. ``LEFT_OUT`` names what is not here, and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connectd.observe.metrics import Dialect, Kind, Metric, MetricGroup

_G, _C, _U = Kind.GAUGE, Kind.COUNTER, Kind.UNTYPED

_Row = tuple[str, Kind, str, str, str]
"""Attribute, kind, unit, help, what it is computed from."""

_TASK: Final = ("connector", "task")
_CONNECTOR: Final = ("connector",)

_STATUSES: Final = "the status, as in GET /connectors/{name}/status"
_METER: Final = "the task's meter, once per page"
_REPORTS: Final = "what the task reports of failed records, once per page"


def _snake(text: str) -> str:
    return text.replace("-", "_")


def _group(kind: str, labels: tuple[str, ...], rows: tuple[_Row, ...]) -> MetricGroup:
    """The metrics of one type of MBean."""
    metrics = {}
    for attribute, metric_kind, unit, text, source in rows:
        short = kind.removesuffix("-metrics").removeprefix("connect-")
        aliases = [(Dialect.STRIMZI, f"kafka_connect_{_snake(short)}_{_snake(attribute)}")]
        if kind == "connect-worker-metrics" and not labels:
            aliases.append((Dialect.DEBEZIUM, f"kafka_connect_worker_metrics_{_snake(attribute)}"))
        name = f"kafka_connect_{_snake(kind)}_{_snake(attribute)}"
        if metric_kind is Kind.COUNTER:
            aliases.append((Dialect.JMX1, name.removesuffix("_total")))
        metrics[attribute] = Metric(name, metric_kind, labels, unit, text, source, tuple(aliases))
    return MetricGroup(f"{kind} of Kafka Connect", labels, metrics)


def _startups(subject: str) -> tuple[_Row, ...]:
    source = f"counted when a life of a {subject} begins, and when it shows its first state"
    return (
        (f"{subject}-startup-attempts-total", _C, "", f"Starts of a {subject}.", source),
        (f"{subject}-startup-success-total", _C, "", "Those that succeeded.", source),
        (f"{subject}-startup-failure-total", _C, "", "Those that failed.", source),
        (f"{subject}-startup-success-percentage", _G, "0..1", "Part that succeeded.", source),
        (f"{subject}-startup-failure-percentage", _G, "0..1", "Part that failed.", source),
    )


CONNECTOR_STATUS: Final = Metric(
    "kafka_connect_connector_metrics",
    _G,
    ("connector", "status", "connector_type", "connector_class", "connector_version"),
    "1",
    "A connector whose instance runs on this worker: its state and its plugin, as labels.",
    _STATUSES,
)
CONNECTOR_STATUS_STRIMZI: Final = Metric(
    "kafka_connect_connector_status",
    _G,
    ("connector", "status"),
    "1",
    "The state of a connector whose instance runs on this worker, in lower case.",
    _STATUSES,
)
CONNECTOR_CLASS: Final = Metric(
    "kafka_connect_connector_connector_class",
    _G,
    ("connector", "connector_class"),
    "1",
    "The class of such a connector.",
    "its config",
)
CONNECTOR_TYPE: Final = Metric(
    "kafka_connect_connector_connector_type",
    _G,
    ("connector", "connector_type"),
    "1",
    "Its type: source, sink or unknown.",
    "the plugin of its class",
)
CONNECTOR_VERSION: Final = Metric(
    "kafka_connect_connector_connector_version",
    _G,
    ("connector", "connector_version"),
    "1",
    "The version of its plugin.",
    "the plugin of its class",
)
TASK_STATUS: Final = Metric(
    "kafka_connect_connector_task_status",
    _G,
    ("connector", "task", "status"),
    "1",
    "The state of a task on this worker, in lower case.",
    _STATUSES,
)
APP_INFO: Final = Metric(
    "kafka_connect_app_info",
    _G,
    ("client_id", "version", "commit_id", "start_time_ms"),
    "1",
    "What runs here, and since when.",
    "as GET / says",
    ((Dialect.JMX1, "kafka_connect_app"),),
)
START_TIME: Final = Metric(
    "kafka_connect_start_time_seconds",
    _G,
    (),
    "epoch seconds",
    "When the worker was started.",
    "the clock",
)

STATES: Final = MetricGroup(
    "States of connectors and tasks",
    (),
    {
        metric.name: metric
        for metric in (
            CONNECTOR_STATUS,
            CONNECTOR_STATUS_STRIMZI,
            CONNECTOR_CLASS,
            CONNECTOR_TYPE,
            CONNECTOR_VERSION,
            TASK_STATUS,
            APP_INFO,
            START_TIME,
        )
    },
)

# The declarations below read as tables.
# fmt: off

CONNECTOR_TASK: Final = _group("connector-task-metrics", _TASK, (
    ("running-ratio", _G, "0..1", "Part of this life in which the task ran.", _METER),
    ("pause-ratio", _G, "0..1", "Part of this life in which it was paused.", _METER),
    ("offset-commit-max-time-ms", _G, "ms", "Longest commit of offsets.", _METER),
    ("offset-commit-avg-time-ms", _G, "ms", "Average time of a commit.", _METER),
    ("offset-commit-success-percentage", _G, "0..1", "Part of the commits that succeeded; 0 when "
     "there were none.", _METER),
    ("offset-commit-failure-percentage", _G, "0..1", "Part of the commits that failed.", _METER),
    ("batch-size-max", _G, "records", "Most records of a page.", _METER),
    ("batch-size-avg", _G, "records", "Average records of a page.", _METER),
))

SOURCE_TASK: Final = _group("source-task-metrics", _TASK, (
    ("source-record-poll-rate", _G, "records/s", "Records polled, before transforms.", _METER),
    ("source-record-poll-total", _C, "records", "Records polled in this life.", _METER),
    ("source-record-write-rate", _G, "records/s", "Records that Kafka has acknowledged.", _METER),
    ("source-record-write-total", _C, "records", "Records acknowledged in this life, without those "
     "that transforms dropped or that failed.", _METER),
    ("poll-batch-max-time-ms", _G, "ms", "Longest wait of a poll for something to emit.", _METER),
    ("poll-batch-avg-time-ms", _G, "ms", "Average wait of a poll; on a quiet table it is long, and "
     "nothing is wrong.", _METER),
    ("source-record-active-count", _G, "records", "Records polled and not yet acknowledged.",
     _METER),
    ("source-record-active-count-max", _G, "records", "Most of them.", _METER),
    ("source-record-active-count-avg", _G, "records", "Average number of them.", _METER),
))

TASK_ERROR: Final = _group("task-error-metrics", _TASK, (
    ("total-record-failures", _U, "attempts", "Attempts that failed, retries among them.",
     _REPORTS),
    ("total-record-errors", _U, "records", "Records that finally failed.", _REPORTS),
    ("total-records-skipped", _U, "records", "Those of them that errors.tolerance=all let pass.",
     _REPORTS),
    ("total-retries", _U, "attempts", "Retries of an operation on a record.", _REPORTS),
    ("total-errors-logged", _U, "records", "Failures that errors.log.enable wrote to the log.",
     _REPORTS),
    ("deadletterqueue-produce-requests", _U, "records", "Always 0: sources have no dead letter "
     "queue.", "nothing"),
    ("deadletterqueue-produce-failures", _U, "records", "Always 0, likewise.", "nothing"),
    ("last-error-timestamp", _G, "epoch ms", "When a record failed last; 0: never.", _REPORTS),
))

WORKER: Final = _group("connect-worker-metrics", (), (
    ("connector-count", _G, "", "Connectors whose instance is on this worker.", "the assignment"),
    ("task-count", _G, "", "Tasks on this worker.", "the assignment"),
    *_startups("connector"),
    *_startups("task"),
))

WORKER_TASKS: Final = _group("connect-worker-metrics", _CONNECTOR, tuple(
    (f"connector-{state}-task-count", _G, "", text, "the states of the connector's tasks here")
    for state, text in (
        ("total", "Tasks of a connector on this worker."),
        ("running", "Those that run."),
        ("paused", "Those that are paused."),
        ("failed", "Those that have failed."),
        ("unassigned", "Those that have not started, or have ended."),
        ("destroyed", "Always 0: a task that is gone has no status here."),
        ("restarting", "Those that are being restarted."),
    )
))

REBALANCE: Final = _group("connect-worker-rebalance-metrics", (), (
    ("epoch", _G, "", "Generation of the assignment.", "the membership"),
    ("rebalancing", _G, "0 or 1", "Whether the group rebalances now.", "the membership"),
    ("completed-rebalances-total", _C, "", "Assignments that came into force.",
     "generations that the herder has seen"),
    ("time-since-last-rebalance-ms", _G, "ms", "Age of the assignment in force; +Inf before the "
     "first.", "the same"),
))

LEADER_NAME: Final = Metric(
    "kafka_connect_connect_worker_rebalance_metrics_leader_name", _G, ("leader_name",), "1",
    "The URL of the leader.", "the membership",
    ((Dialect.STRIMZI, "kafka_connect_worker_rebalance_leader_name"),),
)
PROTOCOL: Final = Metric(
    "kafka_connect_connect_worker_rebalance_metrics_connect_protocol", _G, ("connect_protocol",),
    "1", "How workers share the work.", "connect.protocol",
    ((Dialect.STRIMZI, "kafka_connect_worker_rebalance_connect_protocol"),),
)
GROUP: Final = MetricGroup("The group", (), {
    "leader-name": LEADER_NAME, "connect-protocol": PROTOCOL,
})

COORDINATOR: Final = _group("connect-coordinator-metrics", ("client_id",), (
    ("assigned-connectors", _G, "", "Connectors assigned to this worker.", "the assignment"),
    ("assigned-tasks", _G, "", "Tasks assigned to this worker.", "the assignment"),
))

# fmt: on


def _producer(name: str, kind: Kind, unit: str, text: str) -> Metric:
    full = f"kafka_producer_producer_metrics_{_snake(name)}"
    aliases = (
        (Dialect.STRIMZI, f"kafka_producer_{_snake(name)}"),
        (Dialect.JMX1, full.removesuffix("_total")),
    )
    return Metric(full, kind, ("client_id",), unit, text, "the producers' statistics", aliases)


PRODUCER: Final = MetricGroup(
    "Producers of connectors",
    ("client_id",),
    {
        "record-send-total": _producer(
            "record-send-total", _C, "records", "Records acknowledged by Kafka."
        ),
        "record-error-total": _producer(
            "record-error-total", _C, "records", "Records that could not be delivered."
        ),
    },
)

GROUPS: Final[tuple[MetricGroup, ...]] = (
    STATES,
    WORKER,
    WORKER_TASKS,
    CONNECTOR_TASK,
    SOURCE_TASK,
    TASK_ERROR,
    GROUP,
    REBALANCE,
    COORDINATOR,
    PRODUCER,
)

LEFT_OUT: Final[Mapping[str, str]] = {
    "sink-task-metrics": "there are no sinks yet",
    "source-task-metrics transaction-size-*": "there is no exactly-once yet",
    "connect-worker-rebalance-metrics rebalance-max-time-ms, rebalance-avg-time-ms": (
        "the worker is the only one of its group: nobody waits for a rebalance"
    ),
    "connect-coordinator-metrics heartbeat-*, join-*, sync-*, rebalance-*": (
        "there is no group client yet whose numbers they would be"
    ),
    "connect-metrics, connect-node-metrics": (
        "numbers of the Java client's selector; librdkafka has none of that form"
    ),
    "kafka.producer byte rates, batch sizes, request latencies": (
        "librdkafka tells them in a report per topic and partition, megabytes of JSON per producer "
        "with 1,000 tables; the broker knows them too"
    ),
    "kafka.consumer, kafka.admin.client": "no connector has a consumer; admin clients are idle",
    "task-error-metrics deadletterqueue-*": "present, and 0: sources have no dead letter queue",
}
"""What a Java worker shows and this one does not (or not really), with the reason."""
