"""Headers that the configuration asks for, on every answer."""

from __future__ import annotations

import pytest

from connectd.aio.clock import LoopClock
from connectd.configdef.rest_settings import RestSettings
from connectd.configdef.worker import WorkerConfig
from connectd.errors import ConfigError
from connectd.rest.api import create_api
from tests.kit.asgi_client import AsgiClient
from tests.kit.control_plane import WALL_ANCHOR_S, WORKER_PROPERTIES, Plane, control_plane
from tests.kit.virtual import virtual


def _client(plane: Plane, **properties: str) -> AsgiClient:
    more = {name.replace("_", "."): value for name, value in properties.items()}
    settings: RestSettings = WorkerConfig.from_properties({**WORKER_PROPERTIES, **more}).rest
    clock = LoopClock(wall_anchor_s=WALL_ANCHOR_S)
    return AsgiClient(create_api(plane.herder, settings, clock))


@virtual
async def test_configured_headers_are_on_every_answer_errors_included() -> None:
    rules = 'set X-Frame-Options:DENY, "add Cache-Control:no-cache, no-store", setDate Expires:1000'
    async with control_plane() as plane:
        client = _client(plane, response_http_headers_config=rules)
        for target, status in [("/", 200), ("/nope", 404), ("/connectors/none", 404)]:
            answer = await client.get(target)
            assert answer.status == status
            assert answer.headers["x-frame-options"] == "DENY"
            assert answer.headers["cache-control"] == "no-cache, no-store"
            assert answer.headers["expires"].startswith("Tue, 14 Nov 2023 22:13:2")
            assert answer.headers["content-type"] == "application/json"


@virtual
async def test_a_date_that_is_none_is_refused_at_the_start() -> None:
    async with control_plane() as plane:
        with pytest.raises(ConfigError, match="expected milliseconds from now"):
            _client(plane, response_http_headers_config="setDate Expires:tomorrow")


ORIGINS = r"http://good.example, https://[a-z]+\.wild\.example"


@pytest.mark.parametrize(
    ("origin", "is_allowed"),
    [
        ("http://good.example", True),
        ("HTTP://GOOD.example", True),
        ("https://ui.wild.example", True),
        ("https://a.b.wild.example", False),
        ("http://bad.example", False),
        ("http://good-example", False),
        ("http://good.example:80", False),
        ("null", False),
    ],
)
@pytest.mark.parametrize(("target", "status"), [("/", 200), ("/nope", 404)])
@virtual
async def test_cors_is_answered_only_for_origins_that_are_named(
    origin: str, is_allowed: bool, target: str, status: int
) -> None:
    async with control_plane() as plane:
        client = _client(plane, access_control_allow_origin=ORIGINS)
        answer = await client.get(target, headers={"origin": origin})
        assert (answer.status, answer.headers["vary"]) == (status, "Origin")
        assert ("access-control-allow-origin" in answer.headers) is is_allowed
        assert answer.headers.get("access-control-allow-origin", origin) == origin
        answer = await plane.client.get(target, headers={"origin": origin})
        assert "vary" not in answer.headers
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    ("methods", "allowed"), [("", "GET,POST,HEAD"), ("GET, PUT,DELETE", "GET,PUT,DELETE")]
)
@virtual
async def test_a_preflight_is_told_the_methods_and_goes_on_to_the_resource(
    methods: str, allowed: str
) -> None:
    preflight = {"origin": "http://any.example", "access-control-request-method": "DELETE"}
    async with control_plane() as plane:
        client = _client(
            plane, access_control_allow_origin="*", access_control_allow_methods=methods
        )
        answer = await client.request("OPTIONS", "/connectors", headers=preflight)
        assert (answer.status, answer.headers["allow"]) == (200, "HEAD,POST,GET,OPTIONS")
        assert answer.headers["access-control-allow-origin"] == "http://any.example"
        assert answer.headers["access-control-allow-methods"] == allowed
        assert answer.headers["access-control-allow-headers"] == "Content-Type"
        assert answer.headers["access-control-max-age"] == "60"
        answer = await client.request("OPTIONS", "/nope", headers=preflight)
        assert answer.status == 404
        del preflight["access-control-request-method"]
        answer = await client.request("OPTIONS", "/connectors", headers=preflight)
        assert answer.headers["access-control-allow-origin"] == "http://any.example"
        assert "access-control-allow-methods" not in answer.headers


@virtual
async def test_an_origin_that_is_no_regular_expression_is_refused_at_the_start() -> None:
    async with control_plane() as plane:
        with pytest.raises(ConfigError, match=r"access.control.allow.origin has http://\(a"):
            _client(plane, access_control_allow_origin="http://(a")
