"""Headers that the configuration asks for, on every answer."""

from __future__ import annotations

import pytest

from connectd.aio.clock import LoopClock
from connectd.configdef.worker import RestSettings, WorkerConfig
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


@virtual
async def test_cors_is_answered_only_for_origins_that_are_named() -> None:
    origin = {"origin": "https://ui.example"}
    preflight = {**origin, "access-control-request-method": "POST"}
    async with control_plane() as plane:
        client = _client(plane, access_control_allow_origin="https://ui.example")
        answer = await client.get("/connectors", headers=origin)
        assert answer.headers["access-control-allow-origin"] == "https://ui.example"
        answer = await client.request("OPTIONS", "/connectors", headers=preflight)
        assert answer.status == 200
        assert "POST" in answer.headers["access-control-allow-methods"]
        answer = await client.get("/connectors", headers={"origin": "https://other.example"})
        assert "access-control-allow-origin" not in answer.headers
        answer = await plane.client.get("/connectors", headers=origin)
        assert "access-control-allow-origin" not in answer.headers
