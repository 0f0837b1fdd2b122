"""The worker itself, and what every endpoint has in common."""

from __future__ import annotations

import asyncio

import pytest

from connectd.aio.jobs import JobGroup
from connectd.errors import ConfigError
from tests.kit.control_plane import SRC, control_plane, src
from tests.kit.virtual import virtual

READY = "Worker has completed startup and is ready to handle requests."


@virtual
async def test_the_root_tells_version_commit_and_cluster() -> None:
    async with control_plane() as plane:
        answer = await plane.client.get("/")
        assert answer.status == 200
        assert list(answer.json().items()) == [
            ("version", "4.0.0"),
            ("commit", "c0ffee"),
            ("kafka_cluster_id", "cluster-1"),
        ]
        assert answer.headers["content-type"] == "application/json"


@virtual
async def test_a_ready_worker_is_healthy() -> None:
    async with control_plane() as plane:
        answer = await plane.client.get("/health")
        assert answer.status == 200
        assert answer.json() == {"status": "healthy", "message": READY}


@virtual
async def test_a_worker_without_its_brokers_is_starting_and_its_root_answers_at_once() -> None:
    """H3, R19: requests wait for the start, the root does not."""
    started = asyncio.Event()

    async def wait_for_the_broker() -> None:
        await started.wait()

    async with control_plane(opens=wait_for_the_broker) as plane:
        loop = asyncio.get_running_loop()
        before_s = loop.time()
        assert (await plane.client.get("/")).status == 200
        assert loop.time() == before_s
        health = await plane.client.get("/health")
        assert loop.time() - before_s == pytest.approx(10.0)
        assert health.status == 503
        assert health.json()["status"] == "starting"
        assert health.json()["message"].startswith(
            "Worker is still starting up. The worker is currently initializing and reading to the "
            "end of internal topics, which began at 20"
        )
        answer = await plane.client.get("/connectors")
        assert answer.status == 500
        assert answer.message.startswith(
            "Request timed out. The worker is currently initializing and reading"
        )
        started.set()
        await plane.settle()
        assert (await plane.client.get("/connectors")).json() == []


@virtual
async def test_a_worker_that_ends_says_so() -> None:
    async with control_plane() as plane:
        plane.herder.stop()
        health = await plane.client.get("/health")
        assert health.status == 500
        assert health.json()["status"] == "unhealthy"
        answer = await plane.client.get("/connectors")
        assert (answer.status, answer.message) == (500, "Worker is shutting down")


@pytest.mark.parametrize(
    "target",
    ["/nope", "/connectors/a/nope", "/./connectors", "/admin", "/docs", "/openapi.json", "/redoc"],
)
@virtual
async def test_unknown_paths_have_the_error_body(target: str) -> None:
    async with control_plane() as plane:
        answer = await plane.client.get(target)
        assert (answer.status, answer.message) == (404, "HTTP 404 Not Found")


@pytest.mark.parametrize(
    ("method", "target", "allowed"),
    [
        ("POST", "/", "HEAD,GET,OPTIONS"),
        ("TRACE", "/", "HEAD,GET,OPTIONS"),
        ("get", "/", "HEAD,GET,OPTIONS"),
        ("DELETE", "/connectors", "HEAD,POST,GET,OPTIONS"),
        ("PUT", "/connectors/a", "HEAD,DELETE,GET,OPTIONS"),
        ("POST", "/connectors/a/config", "HEAD,GET,OPTIONS,PUT,PATCH"),
        ("PUT", "/connectors/a/offsets", "HEAD,DELETE,GET,OPTIONS,PATCH"),
        ("DELETE", "/connectors/a/tasks", "HEAD,POST,GET,OPTIONS"),
        ("GET", "/connectors/a/pause", "OPTIONS,PUT"),
        ("GET", "/connectors/a/fence", "OPTIONS,PUT"),
        ("PUT", "/connectors/a/restart", "POST,OPTIONS"),
        ("POST", "/admin/loggers/root", "HEAD,GET,OPTIONS,PUT"),
    ],
)
@virtual
async def test_other_methods_are_refused_and_the_right_ones_are_named(
    method: str, target: str, allowed: str
) -> None:
    async with control_plane() as plane:
        answer = await plane.client.request(method, target)
        assert (answer.status, answer.message) == (405, "HTTP 405 Method Not Allowed")
        assert answer.headers["allow"] == allowed
        options = await plane.client.request("OPTIONS", target)
        assert (options.status, options.headers["allow"]) == (200, allowed)
        assert options.headers["content-type"] == "text/plain"
        assert options.body.decode() == allowed.replace(",", ", ")


@virtual
async def test_head_is_get_without_looking_at_the_body() -> None:
    async with control_plane() as plane:
        assert (await plane.client.request("HEAD", "/connectors")).status == 200


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "application/xml",
        "application/vnd.x+json",
        "*/*",
    ],
)
@virtual
async def test_a_body_of_another_type_is_refused(kind: str) -> None:
    async with control_plane() as plane:
        answer = await plane.client.post(
            "/connectors", {"name": "s", "config": SRC}, headers={"content-type": kind}
        )
        assert (answer.status, answer.message) == (415, "HTTP 415 Unsupported Media Type")


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "POST"])
@virtual
async def test_the_type_counts_even_where_there_is_no_body(method: str) -> None:
    target = {"PUT": "/connectors/a/pause", "POST": "/connectors/a/restart"}
    async with control_plane() as plane:
        answer = await plane.client.request(
            method, target.get(method, "/connectors/a"), headers={"content-type": "text/plain"}
        )
        assert (answer.status, answer.message) == (415, "HTTP 415 Unsupported Media Type")


@virtual
async def test_a_type_that_is_none_is_a_bad_request() -> None:
    async with control_plane() as plane:
        answer = await plane.client.get("/connectors", headers={"content-type": "json"})
        assert (answer.status, answer.message) == (400, "HTTP 400 Bad Request")


@virtual
async def test_a_body_without_a_type_is_refused_where_it_is_read() -> None:
    async with control_plane() as plane:
        bare = {"content-type": None}
        answer = await plane.client.put("/connectors/s/config", b"{}", headers=bare)
        assert (answer.status, answer.message) == (415, "HTTP 415 Unsupported Media Type")
        answer = await plane.client.put("/connectors/s/pause", b"{}", headers=bare)
        assert (answer.status, answer.message) == (404, "Unknown connector s")


@virtual
async def test_a_charset_that_is_asked_for_is_named_in_the_answer() -> None:
    accept = {"accept": "application/json; charset=UTF-8"}
    async with control_plane() as plane:
        answer = await plane.client.get("/", headers=accept)
        assert answer.headers["content-type"] == "application/json;charset=utf-8"
        answer = await plane.client.get("/", headers={"accept": "application/json"})
        assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "APPLICATION/JSON"])
@virtual
async def test_json_may_be_declared_in_several_ways(kind: str) -> None:
    async with control_plane() as plane:
        answer = await plane.client.put(
            "/connectors/s/config", src("s"), headers={"content-type": kind}
        )
        assert answer.status == 201


@pytest.mark.parametrize("accept", ["text/html", "application/*+json", "image/*, text/*"])
@virtual
async def test_a_client_that_takes_no_json_gets_an_error_in_json(accept: str) -> None:
    async with control_plane() as plane:
        answer = await plane.client.get("/connectors", headers={"accept": accept})
        assert (answer.status, answer.message) == (406, "HTTP 406 Not Acceptable")


@pytest.mark.parametrize(
    "accept",
    ["*/*", "application/*", "text/html, application/json;q=0.1", "", "text/html,*/*;q=0.8"],
)
@virtual
async def test_a_client_that_takes_json_among_others_gets_it(accept: str) -> None:
    async with control_plane() as plane:
        assert (await plane.client.get("/connectors", headers={"accept": accept})).status == 200


@pytest.mark.parametrize("target", ["/connectors/", "/connectors/s/status/", "/connector-plugins/"])
@virtual
async def test_a_trailing_slash_makes_no_difference(target: str) -> None:
    """kcctl and the Strimzi operator send one."""
    async with control_plane() as plane:
        await plane.create("s")
        assert (await plane.client.get(target)).status == 200


@virtual
async def test_a_bug_is_answered_without_its_text_and_costs_nothing_but_that_request() -> None:
    async with control_plane() as plane:

        def explode() -> None:
            raise ZeroDivisionError("password=hunter2")

        plane.herder.describe = explode  # type: ignore[assignment]
        answer = await plane.client.get("/")
        assert answer.status == 500
        assert answer.message == (
            "Unexpected ZeroDivisionError; the log of this worker has the details"
        )
        assert (await plane.client.get("/connectors")).status == 200


@virtual
async def test_requests_do_not_wait_for_each_other() -> None:
    """R18: a check that takes for ever fails in bounded time, and only the one that asked."""

    async def slow(call: object, group: str) -> object:
        await asyncio.sleep(120.0)
        raise ConfigError("too late")

    async with control_plane(run_blocking=slow) as plane:
        jobs = JobGroup("test")
        messages: list[str] = []

        async def create() -> None:
            answer = await plane.client.put("/connectors/slow/config", src("slow"))
            assert answer.status == 500
            messages.append(answer.message)

        jobs.spawn("create", create())
        await plane.settle()
        for target in ("/", "/health", "/connectors", "/connector-plugins"):
            before_s = asyncio.get_running_loop().time()
            assert (await plane.client.get(target)).status == 200
            assert asyncio.get_running_loop().time() == before_s
        assert await jobs.join(deadline_s=100.0)
        assert messages[0].startswith(
            "Request timed out. The worker is currently validating the configuration of connector "
            "slow, which began at "
        )
