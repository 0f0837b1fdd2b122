"""The description of the API: complete, legal, and true of what the API answers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from starlette.routing import Route

from connectd.rest import openapi, resource
from connectd.rest.api import create_api
from connectd.rest.operations import OPERATIONS
from tests.kit.asgi_client import Answer
from tests.kit.control_plane import Plane, control_plane, src
from tests.kit.probes import PROBE_CLASS
from tests.kit.virtual import virtual


async def described(plane: Plane) -> dict[str, Any]:
    answer = await plane.client.get(openapi.PATH)
    assert answer.status == 200
    document: dict[str, Any] = answer.json()
    return document


def routes_of(plane: Plane) -> list[Route]:
    """Every path of the application."""
    routes = create_api(plane.herder).routes
    found = [route for route in routes if isinstance(route, Route)]
    assert len(found) == len(routes)
    return found


@virtual
async def test_it_is_a_legal_document() -> None:
    async with control_plane() as plane:
        document = await described(plane)
        errors = [str(error) for error in OpenAPIV31SpecValidator(document).iter_errors()]
        assert errors == []
        assert document["openapi"] == "3.1.0"


@virtual
async def test_every_route_is_in_it_with_all_methods_and_nothing_else_is() -> None:
    async with control_plane() as plane:
        routed = {
            (method, route.path)
            for route in routes_of(plane)
            for method in resource.methods_of(route)
        }
        in_document = {
            (method.upper(), path)
            for path, operations in (await described(plane))["paths"].items()
            for method in operations
        }
        assert in_document == routed
        assert set(OPERATIONS) == routed


@virtual
async def test_operations_have_names_of_their_own() -> None:
    names = [operation.name for operation in OPERATIONS.values()]
    assert sorted(set(names)) == sorted(names)


def test_a_route_that_nobody_described_is_found() -> None:
    unknown = resource.resource("/connectd/new", {"GET": never})
    with pytest.raises(KeyError):
        openapi.describe([unknown], version="1")


async def never(request: object) -> Any:
    raise AssertionError(request)


LIFE: list[tuple[str, str, object]] = [
    ("GET", "/", None),
    ("GET", "/health", None),
    ("POST", "/connectors", {"name": "a", "config": src("a"), "initial_state": "STOPPED"}),
    ("POST", "/connectors", {"name": "a", "config": src("a")}),
    ("PUT", "/connectors/b/config", {**src("b"), "tasks.max": 2, "probe.flag": True}),
    ("PUT", "/connectors/b/config", src("b")),
    ("PATCH", "/connectors/b/config", {"tasks.max": "2", "probe.flag": None}),
    ("GET", "/connectors", None),
    ("GET", "/connectors?expand=info", None),
    ("GET", "/connectors?expand=info&expand=status", None),
    ("GET", "/connectors/b", None),
    ("GET", "/connectors/b/config", None),
    ("GET", "/connectors/b/status", None),
    ("GET", "/connectors/b/tasks", None),
    ("GET", "/connectors/b/tasks/0/status", None),
    ("GET", "/connectors/b/tasks/x/status", None),
    ("POST", "/connectors/b/tasks/0/restart", None),
    ("POST", "/connectors/b/tasks/77/restart", None),
    ("POST", "/connectors/b/restart", None),
    ("POST", "/connectors/b/restart?includeTasks=true", None),
    ("POST", "/connectors/none/restart", None),
    ("PUT", "/connectors/b/pause", None),
    ("PUT", "/connectors/b/resume", None),
    ("GET", "/connectors/b/topics", None),
    ("PUT", "/connectors/b/topics/reset", None),
    ("GET", "/connectors/b/offsets", None),
    ("PATCH", "/connectors/b/offsets", {"offsets": []}),
    ("DELETE", "/connectors/b/offsets", None),
    ("DELETE", "/connectors/a/offsets", None),
    ("PUT", "/connectors/b/stop", None),
    ("PUT", "/connectors/b/fence", None),
    ("POST", "/connectors/b/tasks", []),
    ("GET", "/connector-plugins", None),
    ("GET", "/connector-plugins?connectorsOnly=false", None),
    ("GET", f"/connector-plugins/{PROBE_CLASS}/config", None),
    ("GET", "/connector-plugins/none/config", None),
    ("PUT", f"/connector-plugins/{PROBE_CLASS}/config/validate", {"tasks.max": "x", "extra": "1"}),
    ("GET", "/admin/loggers", None),
    ("GET", "/admin/loggers/root", None),
    ("GET", "/admin/loggers/none", None),
    ("PUT", "/admin/loggers/some.logger", {"level": "DEBUG"}),
    ("PUT", "/admin/loggers/some.logger?scope=cluster", {"level": "WARN"}),
    ("PUT", "/admin/loggers/some.logger", {"level": "LOUD"}),
    ("GET", "/connectd/connectors/b/tables", None),
    ("GET", "/connectd/health/live", None),
    ("GET", "/connectd/health/ready", None),
    ("GET", "/metrics", None),
    ("GET", "/connectd/openapi.json", None),
    ("DELETE", "/connectors/b", None),
    ("DELETE", "/connectors/b", None),
]
"""A life of two connectors that asks every operation, with answers of many kinds."""


@pytest.fixture
def _levels_are_forgotten() -> Iterator[None]:
    yield
    logging.getLogger("some.logger").setLevel(logging.NOTSET)


@pytest.mark.usefixtures("_levels_are_forgotten")
@virtual
async def test_all_answers_are_as_described() -> None:
    async with control_plane() as plane:
        document = await described(plane)
        asked = set()
        for method, target, body in LIFE:
            answer = await plane.client.request(method, target, body)
            operation = operation_of(document, method, target.partition("?")[0])
            asked.add(operation["operationId"])
            check(document, operation, answer, f"{method} {target}")
            await plane.settle()
        assert asked == {operation.name for operation in OPERATIONS.values()}


def operation_of(document: dict[str, Any], method: str, path: str) -> dict[str, Any]:
    """The operation that answers a request: of the path with the fewest parameters."""
    parts = path.split("/")
    fitting = [
        (template.count("{"), operations)
        for template, operations in document["paths"].items()
        if len(parts) == len(template.split("/"))
        and all(
            "{" in wanted or wanted == found
            for wanted, found in zip(template.split("/"), parts, strict=True)
        )
    ]
    operation: dict[str, Any] = min(fitting, key=lambda each: each[0])[1][method.lower()]
    return operation


def check(document: dict[str, Any], operation: dict[str, Any], answer: Answer, what: str) -> None:
    """The status is foreseen, and the body is what was said of it."""
    assert str(answer.status) in operation["responses"], f"{what}: {answer.status} {answer.body!r}"
    response = operation["responses"][str(answer.status)]
    content = response.get("content")
    if content is None:
        assert answer.body == b"", what
        return
    media_type = answer.headers["content-type"].partition(";")[0]
    assert media_type in content, what
    if media_type != "application/json":
        return
    schema = {**content["application/json"]["schema"], "components": document["components"]}
    jsonschema.Draft202012Validator(schema).validate(answer.json())
    for name in response.get("headers", {}):
        assert name.lower() in answer.headers, what
