"""Requests as spans: named by their route, children of their caller, and nothing of their query."""

from __future__ import annotations

from opentelemetry.trace import StatusCode

from connectd.rest.api import create_api
from connectd.rest.tracing import traced
from tests.kit.asgi_client import AsgiClient
from tests.kit.control_plane import control_plane
from tests.kit.recorded_spans import RecordedSpans, attributes_of
from tests.kit.virtual import virtual

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@virtual
async def test_a_request_is_named_by_its_route_and_belongs_to_its_caller() -> None:
    recorded = RecordedSpans()
    async with control_plane() as plane:
        client = AsgiClient(traced(create_api(plane.herder), recorded.tracing))
        caller = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
        await client.request("GET", "/connectors/a%2Fb/status?secret=x", headers=caller)

    (span,) = recorded.ended
    assert span.name == "GET /connectors/{name}/status"
    assert span.parent is not None
    assert f"{span.parent.trace_id:032x}" == TRACE
    facts = attributes_of(span)
    assert facts["http.route"] == "/connectors/{name}/status"
    assert facts["http.response.status_code"] == 404
    assert facts["http.request.method"] == "GET"
    assert "secret" not in str(facts)
    assert span.status.status_code is StatusCode.UNSET


@virtual
async def test_what_no_route_takes_has_the_name_of_its_method_alone() -> None:
    recorded = RecordedSpans()
    async with control_plane() as plane:
        client = AsgiClient(traced(create_api(plane.herder), recorded.tracing))
        await client.request("GET", "/nothing/here")
        await client.request("BREW", "/")
        await client.request("GET", "//connectors")

    assert recorded.names() == ["GET", "HTTP /", "GET"]
    assert [attributes_of(span).get("http.route") for span in recorded.ended] == [None, "/", None]


@virtual
async def test_an_untraced_application_is_the_application_itself() -> None:
    async with control_plane() as plane:
        api = create_api(plane.herder)
        assert traced(api, None) is api
