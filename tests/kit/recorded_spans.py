"""Spans kept in memory, and held against the list of those that there may be."""

from __future__ import annotations

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from connectd.observe import spans
from connectd.observe.tracing import Tracing

_TYPES = {"string": str, "int": int}


class RecordedSpans:
    """``tracing`` makes spans; ``ended`` are those that have ended, in that order."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracing = Tracing(provider, version="0")

    @property
    def ended(self) -> tuple[ReadableSpan, ...]:
        """All of them; each must be as ``spans.SPANS`` describes its kind."""
        ended = self._exporter.get_finished_spans()
        for span in ended:
            _check(span)
        return ended

    def named(self, name: str) -> list[ReadableSpan]:
        """Those of this name."""
        return [span for span in self.ended if span.name == name]

    def names(self) -> list[str]:
        """Their names, in the order of their ends."""
        return [span.name for span in self.ended]


def attributes_of(span: ReadableSpan) -> dict[str, object]:
    """Its facts."""
    return dict(span.attributes or {})


def _check(span: ReadableSpan) -> None:
    spec = _spec_of(span)
    assert span.kind.name == spec.kind.name, span.name
    known = {each.name: _TYPES[each.type] for each in spec.attributes}
    for name, value in attributes_of(span).items():
        assert type(value) is known.get(name), f"{span.name}: {name} is not of {spec.name}"


def _spec_of(span: ReadableSpan) -> spans.SpanSpec:
    first = span.name.partition(" ")[0]
    return next((each for each in spans.SPANS if each.name == first), spans.REQUEST)
