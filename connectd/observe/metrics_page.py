"""The reference of all metrics, ``docs/metrics.md``, generated from the catalogue."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from connectd.observe import metrics_connect, metrics_own
from connectd.observe.metrics import Metric, MetricGroup

_INTRODUCTION: Final = """\
# Metrics

Generated from the catalogue by `connectd reference --metrics`; do not edit.

`GET /metrics` answers in the text format of Prometheus, on the listeners of the REST API. It asks
for a login where the API does (`basic_auth` of Prometheus' scrape configuration), because it names
connectors and tables; `connectd.rest.basic.auth.public.paths=/metrics` opens it. Where
`admin.listeners` is set it is served there as well, without a login. It never holds a value of a
configuration, but for names of connectors, tables and plugin classes.

Each worker tells of what runs on it. Numbers are gathered when somebody asks, from the state that
the worker has anyway; what has to be counted is counted once per page of records. An answer is used
again for a second. `make bench NAME=metrics` measures a scrape with 1,000 tables.

Ready-made alert rules and a Grafana dashboard: `helm/connectd/files/alerts.yaml` and
`helm/connectd/files/dashboard.json`, which the chart installs.

## Names that dashboards know

Kafka Connect's metrics have the names that Prometheus' JMX exporter gives them without rules, and
with those of Confluent's monitoring stack. The same numbers are also told under other names, so
that dashboards and alerts made for these keep working:

* `jmx1`: the exporter's version 1, which drops `_total` where a rule names no type;
* `strimzi`: Strimzi's rules, which are the JMX exporter's example for Kafka Connect as well;
* `debezium`: Debezium's example, as far as it differs.

`connectd.metrics.dialects` lists those that are wanted; empty, it halves the part of Kafka Connect.

Rates, averages and maxima look back over `metrics.num.samples` samples of
`metrics.sample.window.ms`, as in a Java worker. What Connect calls a percentage is a ratio from 0
to 1 there and here. An average or maximum of nothing is NaN. Counters of a task begin at 0 with
each of its lives, as they do there.

## Health

| Path | Answers | Use it for |
|---|---|---|
| `/health` | as Kafka Connect (KIP-1017): 200 while the herder handles requests, 503 while it \
starts, 500 if it does not answer | clients of Kafka Connect |
| `/connectd/health/live` | 200 as long as the event loop turns, no answer otherwise | liveness \
probes |
| `/connectd/health/ready` | 200, or 503 with reasons: internal topics are not read yet, the \
brokers do not answer, a topic of the worker is gone, or the config topic is new while the offsets \
or the status topic knows connectors | readiness and startup probes |

A broker that falls silent, as when its machine hangs, ends readiness after about 30 seconds, or
`request.timeout.ms` and 10 seconds more if that is set; one that closes its connections, at once.
Producers that a connector has for itself (`producer.override.*`) count in
`connectd_connector_kafka_available` alone.

The probes ask for no login and name no connector. A table that makes no progress for
`connectd.table.degraded.ms` makes nothing unready: it is `degraded` in its row
(`/connectd/connectors/{name}/tables`), in `connectd_table_degraded`, and counted in the answer of
the readiness probe. An internal topic that is deleted under a worker is noticed within about 20
seconds, which ends its readiness; soon after, the worker ends itself, with a word in its log.

## Cardinality

13 series per table, 5 more while it is scanned; with all dialects 61 per task (34 without), 22 per
connector (15; one more with `producer.override.*`), and about 110 for the worker (60). Shards have
no series of their own. With 1,000 tables an answer has 1.1 MB and costs 30 ms of a processor;
nothing on the event loop waits for more than a few of them at a time.
"""

_HEAD: Final = "| Name | Kind | Unit | Meaning | From |\n|---|---|---|---|---|\n"


def render() -> str:
    """The whole page."""
    parts = [_INTRODUCTION, "## Kafka Connect's metrics\n"]
    parts += [_section(group) for group in metrics_connect.GROUPS]
    parts += ["## connectd's metrics\n"]
    parts += [_section(group) for group in metrics_own.GROUPS]
    parts += ["## Left out\n", _left_out()]
    return "\n".join(parts)


def _section(group: MetricGroup) -> str:
    labels = _code(group.labels) if group.labels else ""
    heading = f"### {group.title}\n\n" + (f"Labels: {labels}.\n\n" if labels else "")
    return heading + _HEAD + "".join(_row(metric, group) for metric in group.metrics.values())


def _row(metric: Metric, group: MetricGroup) -> str:
    names = f"`{metric.name}`"
    if metric.aliases:
        names += "".join(f", {dialect.value} `{name}`" for dialect, name in metric.aliases)
    if metric.labels != group.labels:
        names += f" (labels: {_code(metric.labels)})"
    cells = (names, metric.kind.value, metric.unit, metric.help, metric.source)
    return f"| {' | '.join(_cell(cell) for cell in cells)} |\n"


def _left_out() -> str:
    rows = "".join(f"| {what} | {why} |\n" for what, why in metrics_connect.LEFT_OUT.items())
    return f"| Metrics of a Java worker | Why they are missing |\n|---|---|\n{rows}"


def _code(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
