"""Who asks for spans gets them, who does not pays nothing, and who asks wrongly is told."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from connectd.errors import ConfigError
from connectd.observe import redaction, spans, tracing
from tests.harness.worker import ROOT
from tests.kit.recorded_spans import RecordedSpans

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}


@pytest.fixture(autouse=True)
def _forget_secrets() -> Iterator[None]:
    yield
    redaction.forget_secrets()


@pytest.mark.parametrize(
    ("environ", "is_wanted"),
    [
        ({}, False),
        ({"OTEL_SERVICE_NAME": "orders"}, False),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", **ENDPOINT}, False),
        (ENDPOINT, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, True),
        ({"OTEL_SDK_DISABLED": "true", **ENDPOINT}, False),
        ({"OTEL_SDK_DISABLED": "True", "OTEL_TRACES_EXPORTER": "otlp"}, False),
    ],
)
def test_naming_an_exporter_or_an_endpoint_is_asking(
    environ: dict[str, str], is_wanted: bool
) -> None:
    assert tracing.is_wanted(environ) is is_wanted


def test_a_worker_that_nobody_asked_loads_neither_sdk_nor_exporter() -> None:
    program = (
        "import sys, connectd.app.process as p;"
        "assert p.tracing.start({}, version='0') is None;"
        "heavy = ('opentelemetry.sdk', 'opentelemetry.exporter');"
        "print([each for each in sys.modules if each.startswith(heavy)])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert answer.stdout == "[]\n", answer.stderr


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "found zipkin, expected otlp or none"),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", **ENDPOINT}, "found grpc, expected http/protobuf"),
    ],
)
def test_what_is_not_known_here_is_refused(environ: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        tracing.start(environ, version="0")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "-5", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT must be"),
        ("OTEL_BSP_SCHEDULE_DELAY", "-5", "schedule_delay_millis must be positive"),
    ],
)
def test_a_number_that_the_library_refuses_is_told_with_its_words(
    name: str, value: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {**ENDPOINT, name: value}
    for each in environ:
        monkeypatch.setenv(each, environ[each])
    with pytest.raises(ConfigError, match=f"not as the library takes it: .*{said}.*; correct"):
        tracing.start(environ, version="0")


def test_a_missing_library_is_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(ConfigError, match=r"install connectd\[tracing\]"):
        tracing.start(ENDPOINT, version="0")


def test_the_token_for_the_collector_is_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {**ENDPOINT, "OTEL_EXPORTER_OTLP_HEADERS": "api-key=t0ken-of-collector,x=abcdef"}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    started = tracing.start(environ, version="0")
    assert started is not None
    started.close(deadline_s=10.0)
    assert redaction.redact_text("sent t0ken-of-collector") == "sent [hidden]"


def test_ending_does_not_wait_longer_than_it_may() -> None:
    recorded, released = RecordedSpans(), threading.Event()
    recorded.tracing._provider.shutdown = released.wait  # type: ignore[method-assign, assignment]
    recorded.tracing.close(deadline_s=0.01)
    released.set()


def test_a_caller_is_the_parent_and_nonsense_is_nobody() -> None:
    recorded = RecordedSpans()
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    for header in (f"00-{trace}-00f067aa0ba902b7-01", "nonsense"):
        parent = recorded.tracing.parent_of({"traceparent": header})
        recorded.tracing.begin(spans.REQUEST, "GET", {}, parent=parent).end()
    called, alone = recorded.ended
    assert called.parent is not None
    assert f"{called.parent.trace_id:032x}" == trace
    assert alone.parent is None


def test_attributes_are_described_once_and_by_conventions_or_our_own_prefix() -> None:
    for spec in spans.SPANS:
        names = [each.name for each in spec.attributes]
        assert len(names) == len(set(names))
        for each in spec.attributes:
            prefix = each.name.partition(".")[0]
            assert prefix in {
                "connectd", "messaging", "http", "url", "server", "client", "network", "error"
            }  # fmt: skip
            assert each.meaning.endswith(".")
