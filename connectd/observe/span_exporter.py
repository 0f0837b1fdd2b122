"""Sends spans to a collector, and says once that it is away, and once that it is back.

The library's exporter writes a line for each attempt, several a minute for as long as the collector
is away: those are heard at DEBUG of its logger alone. Spans that could not be sent are dropped, as
``tracing`` says; records are none of its business. Loaded only where somebody asks to trace.

``ToldOnceExporter`` is called by the one thread of the library that sends.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import structlog
from opentelemetry.exporter.otlp.proto.http import trace_exporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from connectd.observe import redaction

_log = structlog.get_logger(__name__)

_CAUSE_MAX = 500

LIBRARY = logging.getLogger(trace_exporter.__name__)


class _Hushed(logging.Filter):
    """Keeps the first thing that the library says of an attempt, and passes it on at DEBUG only."""

    def __init__(self) -> None:
        super().__init__()
        self.cause = ""

    def filter(self, record: logging.LogRecord) -> bool:
        self.cause = self.cause or record.getMessage()
        return LIBRARY.isEnabledFor(logging.DEBUG)


class ToldOnceExporter(SpanExporter):
    """See the module's docstring. ``exporter`` is this object's from now on."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._hushed = _Hushed()
        self._is_away = False
        LIBRARY.addFilter(self._hushed)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send them; what cannot be sent within the library's deadline is dropped."""
        self._hushed.cause = ""
        result = self._exporter.export(spans)
        is_away = result is not SpanExportResult.SUCCESS
        if is_away and not self._is_away:
            cause = redaction.redact_text(self._hushed.cause)[:_CAUSE_MAX]
            _log.warning("spans cannot be sent, they are dropped until they can", cause=cause)
        elif self._is_away and not is_away:
            _log.info("spans are sent again")
        self._is_away = is_away
        return result

    def shutdown(self) -> None:
        """Send nothing any more."""
        self._exporter.shutdown()
        LIBRARY.removeFilter(self._hushed)
