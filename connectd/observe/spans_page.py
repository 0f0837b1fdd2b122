"""The page about tracing, ``docs/tracing.md``, generated from the list of spans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from connectd.observe.spans import SPANS, SpanSpec

_INTRODUCTION: Final = """\
# Tracing

Generated from the list of spans by `connectd reference --spans`; do not edit.

A worker tells of its pages and requests as spans of OpenTelemetry where it is asked to. It needs
the extra `tracing` (`pip install connectd[tracing]`) and the standard variables of its environment:

| Variable | Meaning |
|---|---|
| `OTEL_EXPORTER_OTLP_ENDPOINT` | Where the collector is, for example `http://collector:4318`. \
Naming one turns tracing on |
| `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` | The same with its path, for traces alone |
| `OTEL_TRACES_EXPORTER` | `otlp` turns tracing on, `none` off |
| `OTEL_SDK_DISABLED` | `true` turns it off, whatever else is set |
| `OTEL_EXPORTER_OTLP_HEADERS` | Headers for the collector, `api-key=...`; their values are kept \
out of logs |
| `OTEL_EXPORTER_OTLP_PROTOCOL` | `http/protobuf`, the only one that is spoken |
| `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` | Who tells; the name is `connectd` if \
none is set |
| `OTEL_TRACES_SAMPLER`, `OTEL_TRACES_SAMPLER_ARG` | Which share, for example \
`parentbased_traceidratio` and `0.01` |
| `OTEL_BSP_...`, `OTEL_SPAN_...` | Sizes of batches and spans, as the library has them |

Without them a worker loads neither the library's SDK nor an exporter, and a page costs one
comparison more (30 ns). With them there are three spans per page of up to 1 MB (0.14 ms of a core)
and one per commit; nothing is told per record. A collector that is away costs spans, never records:
the library's queue is bounded, and what does not fit in it is dropped. What is left at the end of a
worker is sent within its grace period (`connectd.shutdown.grace.ms`).

A poll begins a trace; what becomes of its pages belongs to it. Commits have traces of their own,
since one makes many pages durable. A request belongs to the trace of its caller (`traceparent`, W3C
Trace Context). The description of a failure is freed of secrets as lines of the log are. Names and
attributes follow OpenTelemetry's semantic conventions where there are any; connectd's own begin
with `connectd.`.

## Spans
"""


def render() -> str:
    """The whole page."""
    return "\n".join([_INTRODUCTION, *(line for spec in SPANS for line in _section(spec))])


def _section(spec: SpanSpec) -> Iterator[str]:
    yield f"### `{spec.name} {{{spec.subject}}}`"
    yield ""
    yield spec.meaning
    yield ""
    yield f"Kind: {spec.kind.value}. Parent: {spec.parent}."
    yield ""
    yield "| Attribute | Type | Meaning |"
    yield "|---|---|---|"
    for each in spec.attributes:
        yield f"| `{each.name}` | {each.type} | {each.meaning} |"
    yield ""
