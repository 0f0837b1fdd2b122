"""Optional tracing: spans through OpenTelemetry, if it is installed and asked for.

``start`` reads the standard variables (``OTEL_TRACES_EXPORTER``, ``OTEL_EXPORTER_OTLP_*``, …) and
answers None in a worker that nobody asked to trace; such a worker loads neither the library's SDK
nor an exporter, and its data plane pays for one comparison per page. Only this module and
``span_exporter`` know the library; which spans there are stands in ``spans``, who makes them in
``pipeline.tracing`` and ``rest.tracing``.

Spans go out in batches from a thread of the library. A collector that is away costs spans, never
records: the library's queue is bounded, and what does not fit is dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NewType

from connectd.errors import ConfigError
from connectd.observe import redaction
from connectd.observe.spans import ERROR_TYPE, Kind, SpanSpec

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span as LibrarySpan

SERVICE_NAME: Final = "connectd"

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_HEADERS: Final = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
_HTTP: Final = "http/protobuf"
_DESCRIPTION_MAX: Final = 500

Value = str | int

Parent = NewType("Parent", object)
"""What makes another span a child."""


class Span:
    """One span under way. ``end`` it once, from any thread; one that is not ended is not told."""

    __slots__ = ("_api", "_span")

    def __init__(self, span: LibrarySpan, api: Any) -> None:
        """``api`` is the module ``opentelemetry.trace``."""
        self._span = span
        self._api = api

    def rename(self, name: str) -> None:
        """Its name, once it is known what it is about."""
        self._span.update_name(name)

    def set(self, attributes: Mapping[str, Value]) -> None:
        """Further facts."""
        self._span.set_attributes(attributes)

    def fail(self, error_type: str, description: str = "") -> None:
        """It ends in a failure; ``description`` is freed of secrets."""
        text = redaction.redact_text(description)[:_DESCRIPTION_MAX] or None
        self._span.set_attribute(ERROR_TYPE, error_type)
        self._span.set_status(self._api.StatusCode.ERROR, text)

    def end(self, *, at_s: float | None = None) -> None:
        """Now, or at a time in epoch seconds."""
        self._span.end(None if at_s is None else _nanoseconds(at_s))

    @property
    def parent(self) -> Parent:
        """What its children are told; it may have ended by then."""
        return Parent(self._api.set_span_in_context(self._span))


class Tracing:
    """Makes spans for one worker; see the module's docstring."""

    def __init__(self, provider: TracerProvider, *, version: str) -> None:
        """``provider`` is this object's from now on."""
        from opentelemetry import trace
        from opentelemetry.context import Context
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = provider
        self._tracer = provider.get_tracer(SERVICE_NAME, version)
        self._api = trace
        self._nowhere = Context()
        self._propagator = TraceContextTextMapPropagator()
        self._kinds = {each: trace.SpanKind[each.name] for each in Kind}

    def begin(
        self,
        spec: SpanSpec,
        name: str,
        attributes: Mapping[str, Value],
        *,
        parent: Parent | None = None,
        at_s: float | None = None,
    ) -> Span:
        """A span that begins now, or at a time in epoch seconds. Without ``parent`` a new trace."""
        context: Any = self._nowhere if parent is None else parent
        span = self._tracer.start_span(
            name,
            context,
            self._kinds[spec.kind],
            attributes,
            start_time=None if at_s is None else _nanoseconds(at_s),
        )
        return Span(span, self._api)

    def parent_of(self, headers: Mapping[str, str]) -> Parent:
        """The caller's span, out of ``traceparent`` and ``tracestate``; names in lower case."""
        return Parent(self._propagator.extract(headers, self._nowhere))

    def close(self, *, deadline_s: float) -> None:
        """Send what is left, but not for longer than that (blocking)."""
        ending = threading.Thread(target=self._provider.shutdown, name="tracing-end", daemon=True)
        ending.start()
        ending.join(deadline_s)


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Whether the environment asks for tracing: an exporter or an endpoint is named."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporter = environ.get("OTEL_TRACES_EXPORTER", "").strip()
    if exporter:
        return exporter != "none"
    return any(environ.get(name, "").strip() for name in _ENDPOINTS)


def start(environ: Mapping[str, str], *, version: str) -> Tracing | None:
    """Begin to trace, if ``environ`` asks for it (the library reads the process's environment).

    Raises:
        ConfigError: it asks for what is not installed or not known here, or with a number that is
            none.
    """
    if not is_wanted(environ):
        return None
    exporter = environ.get("OTEL_TRACES_EXPORTER", "").strip() or "otlp"
    if exporter != "otlp":
        raise ConfigError(
            f"OTEL_TRACES_EXPORTER: found {exporter}, expected otlp or none; a collector can pass "
            "spans on to anything else"
        )
    protocol = next((environ[name] for name in _PROTOCOLS if environ.get(name)), _HTTP)
    if protocol.strip() != _HTTP:
        raise ConfigError(
            f"OTEL_EXPORTER_OTLP_PROTOCOL: found {protocol}, expected {_HTTP}; collectors listen "
            "for it on port 4318"
        )
    for secret in _header_values(environ):
        redaction.register_secret(secret)
    try:
        provider = _provider(environ, version)
    except ValueError as error:  # the library's, for numbers that it cannot take
        raise ConfigError(
            f"tracing is asked for (OTEL_…), but not as the library takes it: {error}; correct "
            "or unset the variable, or set OTEL_TRACES_EXPORTER=none"
        ) from error
    return Tracing(provider, version=version)


def _provider(environ: Mapping[str, str], version: str) -> TracerProvider:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        from connectd.observe.span_exporter import ToldOnceExporter
    except ImportError as error:
        raise ConfigError(
            f"tracing is asked for (OTEL_…), but {error.name} is not installed; install "
            "connectd[tracing], or set OTEL_TRACES_EXPORTER=none"
        ) from error
    resource = Resource.create({"service.version": version})
    named_by = (environ.get("OTEL_SERVICE_NAME"), environ.get("OTEL_RESOURCE_ATTRIBUTES"))
    if not named_by[0] and "service.name=" not in (named_by[1] or ""):
        resource = resource.merge(Resource({"service.name": SERVICE_NAME}))
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(ToldOnceExporter(OTLPSpanExporter())))
    return provider


def _header_values(environ: Mapping[str, str]) -> list[str]:
    """What the headers of requests to the collector hold: a token, as a rule."""
    pairs = ",".join(environ.get(name, "") for name in _HEADERS).split(",")
    return [value.strip() for value in (each.partition("=")[2] for each in pairs) if value.strip()]


def _nanoseconds(epoch_s: float) -> int:
    return int(epoch_s * 1_000_000_000)
