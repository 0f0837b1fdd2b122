"""A worker that is asked to trace sends its spans to a collector, and lives without one too."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.harness.kafka import KafkaBroker
from tests.integration.worker_rig import Rig
from tests.kit.local_http import LocalHttp, Quiet

pytestmark = pytest.mark.kafka

TOKEN = "t0ken-for-the-collector"


class Collector(LocalHttp):
    """Takes spans over OTLP/HTTP and keeps them."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.services: set[str] = set()
        self.tokens: set[str | None] = set()
        collector = self

        class Handler(Quiet, BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector._take(self.path, self.headers.get("api-key"), body)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

        super().__init__(Handler)

    def _take(self, path: str, token: str | None, body: bytes) -> None:
        assert path == "/v1/traces"
        self.tokens.add(token)
        for part in ExportTraceServiceRequest.FromString(body).resource_spans:
            for attribute in part.resource.attributes:
                if attribute.key == "service.name":
                    self.services.add(attribute.value.string_value)
            self.spans += [span for scope in part.scope_spans for span in scope.spans]

    def names(self) -> set[str]:
        """Of the spans so far."""
        return {span.name for span in self.spans}


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


def test_spans_of_pages_and_requests_arrive_at_the_collector_and_the_last_ones_too(
    kafka_broker: KafkaBroker,
    kafka_prefix: str,
    tmp_path: Path,
    collector: Collector,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"api-key={TOKEN}")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "200")
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    headers = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    with Rig(kafka_broker, kafka_prefix, tmp_path, headers=headers) as rig:
        rig.create_table("t", items=5)
        rig.create()
        rig.wait_equal("t")
        topic = rig.topic("t")
        pages = {"poll c", "convert c", f"send {topic}"}
        rig.wait(lambda: pages <= collector.names(), "spans of pages")
        assert rig.worker.sigterm() == 0

        assert "commit c" in collector.names()
        assert collector.services == {"connectd"}
        assert collector.tokens == {TOKEN}
        puts = [each for each in collector.spans if each.name == "PUT /connectors/{name}/config"]
        assert {each.trace_id.hex() for each in puts} == {trace}
        assert TOKEN not in rig.log_text()


def test_a_collector_that_is_away_costs_spans_and_nothing_else(
    kafka_broker: KafkaBroker,
    kafka_prefix: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    with Rig(kafka_broker, kafka_prefix, tmp_path) as rig:
        rig.create_table("t", items=5)
        rig.create()
        rig.wait_equal("t")
        assert rig.states() == ("RUNNING", "RUNNING")
        assert rig.worker.sigterm() == 0
