"""Levels of loggers through the API (spec kafka-connect A.10, H74-77). Facts: Kafka 4.3."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.kit.control_plane import WALL_ANCHOR_S, control_plane
from tests.kit.virtual import virtual

ANCHOR_MS = int(WALL_ANCHOR_S * 1000)


@pytest.fixture(autouse=True)
def _levels_as_they_were() -> Iterator[None]:
    known = logging.getLogger().manager.loggerDict
    before = {name: each.level for name, each in known.items() if isinstance(each, logging.Logger)}
    root_level = logging.getLogger().level
    yield
    logging.getLogger().setLevel(root_level)
    for name, each in list(known.items()):
        if isinstance(each, logging.Logger):
            each.setLevel(before.get(name, logging.NOTSET))
            if name.startswith("lib."):
                del known[name]


@virtual
async def test_all_loggers_and_one_of_them() -> None:
    async with control_plane() as plane:
        listed = (await plane.client.get("/admin/loggers/")).json()
        assert list(listed) == sorted(listed)
        assert listed["root"] == {"level": "WARN", "last_modified": None}
        assert "connectd.rest.loggers" in listed
        for name in ("root", "ROOT"):
            answer = await plane.client.get(f"/admin/loggers/{name}")
            assert (answer.status, answer.json()) == (200, listed["root"])
        answer = await plane.client.get("/admin/loggers/nope")
        assert (answer.status, answer.message) == (404, "Logger nope not found.")


@pytest.mark.parametrize("query", ["", "?scope=worker", "?scope=WORKER", "?scope=bogus"])
@virtual
async def test_a_level_is_set_on_this_worker(query: str) -> None:
    async with control_plane() as plane:
        logging.getLogger("lib.x.deep")
        target = f"/admin/loggers/lib.x{query}"
        answer = await plane.client.put(target, {"level": " debug ", "other": 1})
        assert (answer.status, answer.json()) == (200, ["lib.x", "lib.x.deep"])
        shown = (await plane.client.get("/admin/loggers/lib.x")).json()
        assert shown["level"] == "DEBUG"
        assert shown["last_modified"] >= ANCHOR_MS
        assert logging.getLogger("lib.x.deep").isEnabledFor(logging.DEBUG)
        answer = await plane.client.put(target, {"level": "DEBUG"})
        assert answer.json() == []


@virtual
async def test_a_level_for_the_cluster_comes_back_through_the_config_topic() -> None:
    async with control_plane() as plane:
        answer = await plane.client.put("/admin/loggers/lib.x?scope=Cluster", {"level": "trace"})
        assert (answer.status, answer.body) == (204, b"")
        assert (await plane.client.get("/admin/loggers/lib.x")).json()["level"] == "TRACE"


@pytest.mark.parametrize("scope", ["worker", "cluster"])
@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({}, 400, "Desired 'level' parameter was not specified in request."),
        ({"level": None}, 400, "Desired 'level' parameter was not specified in request."),
        ({"levels": "x"}, 400, "Desired 'level' parameter was not specified in request."),
        ({"level": ""}, 400, "Illegal null or empty Level name."),
        ({"level": "HIGH"}, 404, "invalid log level 'HIGH'."),
        ({"level": "WARNING"}, 404, "invalid log level 'WARNING'."),
        ({"level": 5}, 404, "invalid log level '5'."),
        ({"level": ["a"]}, 400, "The value of 'level' is an array, expected a string"),
        ([], 400, "Expected the request body to be a JSON object, found an array"),
    ],
)
@virtual
async def test_what_is_no_level_is_refused(
    scope: str, body: object, status: int, message: str
) -> None:
    async with control_plane() as plane:
        answer = await plane.client.put(f"/admin/loggers/lib.x?scope={scope}", body)
        assert (answer.status, answer.message) == (status, message)
        assert (await plane.client.get("/admin/loggers/lib.x")).status == 404


@virtual
async def test_levels_are_answered_while_the_worker_waits_for_its_broker() -> None:
    async def never() -> None:
        raise AssertionError

    async with control_plane() as plane:
        plane.herder.stop()
        answer = await plane.client.put("/admin/loggers/lib.x", {"level": "DEBUG"})
        assert answer.status == 200
        answer = await plane.client.put("/admin/loggers/lib.x?scope=cluster", {"level": "DEBUG"})
        assert (answer.status, answer.message) == (500, "Worker is shutting down")
