"""The text that Prometheus reads, and the catalogue behind it."""

from __future__ import annotations

import asyncio
import math
import re

import pytest
from prometheus_client import Metric as ParsedMetric
from prometheus_client.parser import text_string_to_metric_families

from connectd.errors import InvariantError
from connectd.observe import metrics_connect, metrics_own
from connectd.observe.metrics import (
    Dialect,
    Exposition,
    Kind,
    Metric,
    label_text,
    value_text,
)

LEGAL = re.compile(r"[a-z_][a-z0-9_]*")
LAG = metrics_own.TABLE["lag_seconds"]
POLLED = metrics_connect.SOURCE_TASK["source-record-poll-total"]


def rendered(exposition: Exposition) -> str:
    return asyncio.run(exposition.render()).decode()


def parsed(exposition: Exposition) -> list[ParsedMetric]:
    return list(text_string_to_metric_families(rendered(exposition)))


def test_a_number_is_read_as_it_was_written() -> None:
    exposition = Exposition()
    hostile = 'a"b\\c\nd'
    exposition.add(LAG, label_text(connector=hostile, task=0, table="é"), 0.1)
    (family,) = parsed(exposition)
    assert (family.name, family.type, family.documentation) == (LAG.name, "gauge", LAG.help)
    (sample,) = family.samples
    assert sample.labels == {"connector": hostile, "task": "0", "table": "é"}
    assert sample.value == 0.1


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (True, "1"), (2**63, "9223372036854775808"), (0.1, "0.1"), (1e300, "1e+300")],
)
def test_numbers_keep_their_value(value: float, text: str) -> None:
    assert value_text(value) == text
    assert float(text) == float(value)


@pytest.mark.parametrize(
    ("value", "text"), [(math.inf, "+Inf"), (-math.inf, "-Inf"), (math.nan, "NaN")]
)
def test_what_is_no_number_has_prometheus_words(value: float, text: str) -> None:
    assert value_text(value) == text


def test_the_names_of_other_rules_carry_the_same_numbers() -> None:
    exposition = Exposition()
    exposition.add(POLLED, label_text(connector="c", task=0), 7)
    families = {each.type + each.name: each for each in parsed(exposition)}
    samples = {each.samples[0].name: each.type for each in families.values()}
    assert samples == {
        "kafka_connect_source_task_metrics_source_record_poll_total": "counter",
        "kafka_connect_source_task_source_record_poll_total": "counter",
        "kafka_connect_source_task_metrics_source_record_poll": "unknown",
    }
    assert {each.samples[0].value for each in families.values()} == {7.0}


def test_they_can_be_left_out() -> None:
    exposition = Exposition([Dialect.DEBEZIUM])
    exposition.add(POLLED, label_text(connector="c", task=0), 7)
    exposition.add(metrics_connect.WORKER["task-count"], "", 1)
    assert exposition.names() == [
        "kafka_connect_source_task_metrics_source_record_poll_total",
        "kafka_connect_connect_worker_metrics_task_count",
        "kafka_connect_worker_metrics_task_count",
    ]


def test_rendering_lets_others_in() -> None:
    exposition = Exposition()
    for number in range(2_500):
        exposition.add(LAG, label_text(connector="c", task=0, table=number), number)
    exposition.add(POLLED, label_text(connector="c", task=0), 1)
    turns = 0

    async def main() -> None:
        nonlocal turns
        rendering = asyncio.ensure_future(exposition.render())
        while not rendering.done():
            turns += 1
            await asyncio.sleep(0)

    asyncio.run(main())
    assert turns >= 2


def test_a_counter_says_so_in_its_name() -> None:
    with pytest.raises(InvariantError, match="_total"):
        Metric("connectd_things", Kind.COUNTER, (), "", "Things.", "nowhere")
    with pytest.raises(InvariantError, match="_total"):
        Metric("connectd_things_total", Kind.GAUGE, (), "", "Things.", "nowhere")


def test_no_name_is_given_twice() -> None:
    names = list(metrics_own.all_names())
    assert sorted(names) == sorted(set(names))


def test_every_metric_says_what_it_is() -> None:
    for group in metrics_own.CATALOGUE:
        for metric in group.metrics.values():
            names = [metric.name, *(alias for _, alias in metric.aliases)]
            assert all(LEGAL.fullmatch(name) for name in (*names, *metric.labels)), metric
            assert metric.help.endswith("."), metric
            assert metric.source, metric
            assert metric.labels == group.labels or not group.labels, metric


def test_dashboards_of_others_find_their_names() -> None:
    """As Confluent's monitoring stack, Strimzi's dashboard and Debezium's example have them."""
    names = set(metrics_own.all_names())
    assert names >= {
        "kafka_connect_connect_worker_metrics_connector_running_task_count",
        "kafka_connect_connect_worker_metrics_task_startup_failure_total",
        "kafka_connect_connect_worker_rebalance_metrics_completed_rebalances_total",
        "kafka_connect_connector_metrics",
        "kafka_connect_connector_task_metrics_offset_commit_avg_time_ms",
        "kafka_connect_source_task_metrics_source_record_poll_rate",
        "kafka_connect_task_error_metrics_total_record_errors",
        "kafka_connect_app_info",
        "kafka_connect_app",
        "kafka_connect_connect_worker_rebalance_metrics_completed_rebalances",
        "kafka_connect_connector_status",
        "kafka_connect_connector_task_status",
        "kafka_connect_connector_connector_class",
        "kafka_connect_worker_connector_count",
        "kafka_connect_worker_connector_failed_task_count",
        "kafka_connect_worker_rebalance_rebalancing",
        "kafka_connect_task_error_total_record_failures",
        "kafka_connect_coordinator_assigned_tasks",
        "kafka_connect_worker_metrics_connector_count",
    }
