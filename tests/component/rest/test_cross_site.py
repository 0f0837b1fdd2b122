"""What pages of other sites may do with what a browser reaches and remembers: nothing new."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from connectd.configdef.worker import WorkerConfig
from connectd.rest.api import create_api
from tests.kit.asgi_client import AsgiClient
from tests.kit.control_plane import WORKER_PROPERTIES, Plane, control_plane
from tests.kit.virtual import virtual

LOGIN = {"authorization": "Basic YWRtaW46eA=="}
ELSEWHERE = {"origin": "https://evil.example"}
HERE = {"origin": "http://worker:8083"}

RESTART = "/connectors/a/restart"
"""What a browser sends to other sites without asking first: a POST without a body."""


def client_of(plane: Plane, host: str = "worker:8083", **properties: str) -> AsgiClient:
    more = {name.replace("_", "."): text for name, text in properties.items()}
    config = WorkerConfig.from_properties({**WORKER_PROPERTIES, **more})
    return AsgiClient(create_api(plane.herder, config.rest), host=host)


@pytest.mark.parametrize(
    "headers",
    [
        {**ELSEWHERE, "sec-fetch-site": "cross-site"},
        {**ELSEWHERE, "sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site"},
        ELSEWHERE,  # http to a name that is not this machine's: browsers send nothing else
        {"origin": "null"},
        {"origin": "worker:8083"},
        {"origin": "http://worker:eight"},
        {"origin": "http://worker"},
        {**ELSEWHERE, **LOGIN},
        {"origin": "null", **LOGIN},
        {"origin": "http://worker:9000", **LOGIN},
    ],
)
@pytest.mark.parametrize(
    ("method", "target"),
    [("POST", RESTART), ("PUT", "/connectors/a/pause"), ("DELETE", "/connectors/a")],
)
@virtual
async def test_a_change_for_a_page_of_another_site_is_refused(
    method: str, target: str, headers: Mapping[str, str]
) -> None:
    async with control_plane() as plane:
        await plane.create("a")
        answer = await client_of(plane).request(method, target, headers=headers)
        assert answer.status == 403
        assert "access.control.allow.origin" in answer.message
        assert (await plane.states("a"))[0] == "RUNNING"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        LOGIN,
        {**HERE, "sec-fetch-site": "same-origin"},
        {**HERE, "sec-fetch-site": "same-origin", **LOGIN},
        {"origin": "https://behind.proxy", "sec-fetch-site": "same-origin", **LOGIN},
        {"sec-fetch-site": "none"},
        {**HERE, **LOGIN},
        {"origin": "http://WORKER:8083", **LOGIN},
        HERE,
        {"origin": "https://worker:8083"},  # TLS ended before
    ],
)
@virtual
async def test_the_own_page_and_other_clients_are_served(headers: Mapping[str, str]) -> None:
    async with control_plane() as plane:
        await plane.create("a")
        assert (await client_of(plane).post(RESTART, headers=headers)).status == 204


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("https://connect.example", "connect.example:443"),
        ("https://connect.example:443", "connect.example"),
        ("http://connect.example", "connect.example"),
        ("http://[::1]", "[::1]:80"),
    ],
)
@virtual
async def test_the_usual_port_may_be_left_out(origin: str, host: str) -> None:
    async with control_plane() as plane:
        await plane.create("a")
        headers = {"origin": origin, **LOGIN}
        assert (await client_of(plane, host).post(RESTART, headers=headers)).status == 204


@virtual
async def test_an_origin_that_is_allowed_may_without_a_login_too() -> None:
    async with control_plane() as plane:
        await plane.create("a")
        client = client_of(plane, access_control_allow_origin="https://ui.example")
        assert (await client.post(RESTART, headers={"origin": "https://ui.example"})).status == 204
        assert (await client.post(RESTART, headers=ELSEWHERE)).status == 403


@virtual
async def test_reading_and_asking_first_are_for_cors_to_judge() -> None:
    async with control_plane() as plane:
        client = client_of(plane)
        foreign = {**ELSEWHERE, "sec-fetch-site": "cross-site", **LOGIN}
        assert (await client.get("/connectors", headers=foreign)).status == 200
        asks = {**foreign, "access-control-request-method": "PUT"}
        answer = await client.request("OPTIONS", "/connectors/a/pause", headers=asks)
        assert answer.status == 200
        assert "access-control-allow-origin" not in answer.headers


@virtual
async def test_an_origin_that_is_allowed_may_and_a_refused_one_gets_no_cors_headers() -> None:
    async with control_plane() as plane:
        await plane.create("a")
        client = client_of(plane, access_control_allow_origin="https://ui.example")
        allowed = {"origin": "https://ui.example", "sec-fetch-site": "cross-site", **LOGIN}
        answer = await client.post(RESTART, headers=allowed)
        assert answer.status == 204
        assert answer.headers["access-control-allow-origin"] == "https://ui.example"
        refused = await client.post(RESTART, headers={**ELSEWHERE, "sec-fetch-site": "cross-site"})
        assert refused.status == 403
        assert "access-control-allow-origin" not in refused.headers
