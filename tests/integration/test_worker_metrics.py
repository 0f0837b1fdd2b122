"""/metrics and the probes of a real worker: what the catalogue says, no less and no more.

One worker follows a table and is held in the middle of the scan of another, so that every metric
there is has a value; its producer is its own.
"""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from connectd.observe import metrics_own
from connectd.observe.metrics import CONTENT_TYPE, Kind
from tests.harness.kafka import KafkaBroker
from tests.harness.worker import RestAnswer
from tests.integration.worker_rig import DEADLINE_S, Rig, prefix_of

pytestmark = pytest.mark.kafka("exact", "control")

RIDES_OVER = {"session.timeout.ms": "300000"}
"""An outage of the brokers ends no task, or what has been counted would begin anew with it."""

HELD_AFTER = 3
"""Pages of one item; then the scan is throttled until somebody lifts that."""


@pytest.fixture(scope="module")
def rig(kafka_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    home = tmp_path_factory.mktemp("worker")
    with Rig(kafka_broker, prefix_of(__name__), home, properties=RIDES_OVER) as rig:
        rig.create_table("followed", items=4)
        rig.create_table("held", items=40)
        rig.control.inject(
            operation="Scan",
            error="ProvisionedThroughputExceededException",
            table="held",
            after=HELD_AFTER,
            times=None,
        )
        rig.create(init__sync__page__size="1", tasks__max="2", producer__override__linger__ms="6")
        rig.wait_following("followed")
        rig.wait(lambda: rig.row("held").get("items_scanned") == HELD_AFTER, "some of the scan")
        rig.wait_equal("followed")
        yield rig


def scraped(rig: Rig) -> str:
    with urllib.request.urlopen(f"{rig.worker.rest_url}/metrics", timeout=DEADLINE_S) as answer:
        assert answer.headers["Content-Type"] == CONTENT_TYPE
        text: str = answer.read().decode()
        return text


def families(rig: Rig) -> dict[str, Metric]:
    """By the name in the answer."""
    found = {}
    for family in text_string_to_metric_families(scraped(rig)):
        (name,) = {sample.name for sample in family.samples}
        found[name] = family
    return found


def value(rig: Rig, name: str, **labels: str) -> float:
    """The one sample of these labels."""
    (only,) = [
        float(sample.value)
        for sample in families(rig)[name].samples
        if labels.items() <= sample.labels.items()
    ]
    return only


def test_every_metric_of_the_catalogue_is_in_the_answer_and_nothing_else_is(rig: Rig) -> None:
    wanted = set(metrics_own.all_names())
    found: set[str] = set()

    def has_all() -> bool:  # rates of the scan and of commits take a moment to be known
        found.clear()
        found.update(families(rig))
        return found >= wanted

    rig.wait(has_all, "every metric")
    assert found == wanted


def test_the_answer_has_the_kinds_and_labels_that_the_catalogue_says(rig: Rig) -> None:
    declared = {
        name: metric
        for group in metrics_own.CATALOGUE
        for metric in group.metrics.values()
        for name in (metric.name, *(alias for _, alias in metric.aliases))
    }
    for name, family in families(rig).items():
        metric = declared[name]
        is_counter = metric.kind is Kind.COUNTER and name.endswith("_total")
        kinds = {Kind.GAUGE: "gauge", Kind.COUNTER: "counter" if is_counter else "unknown"}
        assert family.type == kinds.get(metric.kind, "unknown"), name
        assert family.documentation == metric.help
        series = [tuple(sample.labels.items()) for sample in family.samples]
        assert len(set(series)) == len(series), name
        for sample in family.samples:
            assert tuple(sample.labels) == metric.labels, name


def test_records_are_counted_as_kafka_connect_counts_them(rig: Rig) -> None:
    prefix = "kafka_connect_source_task_metrics_source_record"
    task = str(rig.row("followed")["task"])
    written = value(rig, f"{prefix}_write_total", task=task)
    polled = value(rig, f"{prefix}_poll_total", task=task)
    rig.put("followed", 100)
    rig.put("followed", 101)
    rig.wait(
        lambda: value(rig, f"{prefix}_write_total", task=task) == written + 2, "two more records"
    )
    assert value(rig, f"{prefix}_poll_total", task=task) == polled + 2
    assert value(rig, f"{prefix}_poll_rate", task=task) > 0
    assert value(rig, f"{prefix}_active_count", task=task) == 0
    row = rig.row("followed")
    assert value(rig, "connectd_table_records_sent_total", table="followed") == row["records_sent"]
    assert value(rig, "kafka_connect_connector_task_metrics_running_ratio", task=task) > 0.5


def test_a_scan_that_is_held_shows_how_far_it_is_and_why(rig: Rig) -> None:
    assert value(rig, "connectd_table_state", table="held", state="init_sync") == 1
    assert value(rig, "connectd_table_scan_progress_ratio", table="held") == HELD_AFTER / 40
    assert value(rig, "connectd_table_throttles_total", table="held") >= 1
    assert value(rig, "connectd_aws_throttles_total", operation="dynamodb:Scan") >= 1
    calls = value(rig, "connectd_aws_calls_total", operation="dynamodb:Scan")
    assert calls >= HELD_AFTER + 1
    assert value(rig, "connectd_aws_calls_total", operation="dynamodb:GetRecords") >= 1


def test_no_secret_is_in_the_answer(rig: Rig) -> None:
    secrets = {rig.config()["aws.secret.key"], rig.config()["aws.access.key.id"]}
    text = scraped(rig)
    assert [secret for secret in secrets if secret in text] == []


def test_a_worker_is_ready_as_long_as_its_brokers_answer(rig: Rig) -> None:
    def ready() -> RestAnswer:
        return rig.worker.request("GET", "/connectd/health/ready")

    assert ready().status == 200
    with rig.broker.away():
        rig.wait(lambda: ready().status == 503, "a worker that is not ready")
        assert ready().body["reasons"][0].startswith("Kafka does not answer the reader of the ")
        rig.expect(200, "GET", "/connectd/health/live")
        rig.wait(lambda: value(rig, "connectd_worker_ready") == 0, "the metric of that")
        own = "connectd_connector_kafka_available"
        rig.wait(lambda: value(rig, own, connector=rig.name) == 0, "the metric of its producer")
    rig.wait(lambda: ready().status == 200, "a worker that is ready again")
    rig.wait(lambda: value(rig, "connectd_worker_ready") == 1, "the metric of that")
