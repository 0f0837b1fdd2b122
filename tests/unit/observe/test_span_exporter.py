"""A collector that is away: one line, however often it is tried."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from structlog.testing import capture_logs

from connectd.observe.span_exporter import LIBRARY, ToldOnceExporter


class _Collector(SpanExporter):
    """Complains as the library's exporter does."""

    def __init__(self) -> None:
        self.is_away = False
        self.is_shut_down = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if not self.is_away:
            return SpanExportResult.SUCCESS
        for wait_s in (1, 2, 4):
            LIBRARY.warning("Transient error %s, retrying in %ss.", "refused", wait_s)
        LIBRARY.error("Failed to export spans batch")
        return SpanExportResult.FAILURE

    def shutdown(self) -> None:
        self.is_shut_down = True


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else's exporter hears of it: one that is still being closed would keep the words."""
    monkeypatch.setattr(LIBRARY, "filters", [])


@pytest.fixture
def collector() -> _Collector:
    return _Collector()


@pytest.fixture
def exporter(collector: _Collector) -> Iterator[ToldOnceExporter]:
    exporter = ToldOnceExporter(collector)
    yield exporter
    exporter.shutdown()
    assert collector.is_shut_down


def test_a_collector_that_is_away_and_comes_back_is_two_lines(
    collector: _Collector, exporter: ToldOnceExporter, caplog: pytest.LogCaptureFixture
) -> None:
    with capture_logs() as lines:
        exporter.export(())
        collector.is_away = True
        results = [exporter.export(()) for _ in range(10)]
        collector.is_away = False
        exporter.export(())
        exporter.export(())
    assert set(results) == {SpanExportResult.FAILURE}
    assert [(line["log_level"], line.get("cause")) for line in lines] == [
        ("warning", "Transient error refused, retrying in 1s."),
        ("info", None),
    ]
    assert LIBRARY.name not in [each.name for each in caplog.records]


def test_who_wants_every_attempt_switches_debug_on(
    collector: _Collector, exporter: ToldOnceExporter, caplog: pytest.LogCaptureFixture
) -> None:
    collector.is_away = True
    with caplog.at_level(logging.DEBUG, LIBRARY.name):
        exporter.export(())
    assert [each.name for each in caplog.records].count(LIBRARY.name) == 4


def test_a_worker_that_traces_no_more_leaves_the_library_as_it_was(collector: _Collector) -> None:
    ToldOnceExporter(collector).shutdown()
    assert LIBRARY.filters == []
