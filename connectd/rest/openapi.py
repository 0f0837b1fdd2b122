"""An OpenAPI 3.1 description of the whole API, for tools that read one.

Kafka Connect has no such document, so it is served under connectd's own prefix. It is made of three
things and holds nothing else: the route table (which paths and methods there are), ``operations``
(what each takes and answers) and ``entities`` (shapes of bodies). A path that is not routed is not
described; an operation that nobody described is a bug, found by the tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from connectd.rest.entities import ENTITIES, Schema, reference
from connectd.rest.operations import OPERATIONS, Answer, Operation
from connectd.rest.resource import json_response, methods_of, resource

PATH: Final = "/connectd/openapi.json"

_EVERYWHERE: Final = (400, 401, 406, 415, 500)
"""A path or type that is not legal, a login where one is asked for, types that are not served, a
request that could not be done."""
_WITH_A_BODY: Final = (408, 413)
_PARAMETER: Final = re.compile(r"{(\w+)}")
_PATH_PARAMETERS: Final[dict[str, tuple[Schema, str]]] = {
    "name": ({"type": "string", "minLength": 1}, "The connector, or the plugin's class or alias."),
    "task": ({"type": "integer", "minimum": 0}, "The number of a task."),
    "logger": ({"type": "string", "minLength": 1}, "A logger's name, or root."),
}
_INTRODUCTION: Final = (
    "The REST API of Kafka Connect as connectd serves it. "
    "Every answer of 400 and above has an ErrorMessage as its body, but for those of /health."
)


def route(others: Iterable[Route], *, version: str) -> Route:
    """``GET /connectd/openapi.json``, which describes the other routes and itself."""
    described = [*others]

    async def get_description(request: Request) -> Response:
        return json_response(document)

    own = resource(PATH, {"GET": get_description})
    document = describe([*described, own], version=version)
    return own


def describe(routes: Iterable[Route], *, version: str) -> dict[str, Any]:
    """The document for these routes.

    Raises:
        KeyError: ``operations`` does not know one of them.
    """
    paths: dict[str, dict[str, Any]] = {}
    for each in routes:
        paths[each.path] = {
            method.lower(): _operation(each.path, OPERATIONS[method, each.path])
            for method in methods_of(each)
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "connectd", "version": version, "description": _INTRODUCTION},
        "paths": paths,
        "components": {
            "schemas": ENTITIES,
            "securitySchemes": {"basic": {"type": "http", "scheme": "basic"}},
        },
        "security": [{}, {"basic": []}],
    }


def _operation(path: str, operation: Operation) -> dict[str, Any]:
    area = path.split("/")[1]
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": ["internal" if operation.is_internal else area or "worker"],
        "parameters": _parameters(path, operation),
        "responses": _responses(operation),
    }
    if operation.body is not None:
        content = {"application/json": {"schema": reference(operation.body)}}
        described["requestBody"] = {"required": True, "content": content}
    return described


def _parameters(path: str, operation: Operation) -> list[dict[str, Any]]:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": schema, "description": meaning}
        for name in _PARAMETER.findall(path)
        for schema, meaning in [_PATH_PARAMETERS[name]]
    ]
    in_query = [
        {"name": each.name, "in": "query", "schema": each.schema, "description": each.meaning}
        for each in operation.query
    ]
    in_headers = [
        {"name": name, "in": "header", "schema": {"type": "string"}} for name in operation.headers
    ]
    return [*in_path, *in_query, *in_headers]


def _responses(operation: Operation) -> dict[str, Any]:
    errors = {*_EVERYWHERE, *operation.errors}
    if operation.body is not None:
        errors.update(_WITH_A_BODY)
    responses: dict[int, dict[str, Any]] = {status: _error(status) for status in errors}
    responses |= {status: _success(answer) for status, answer in operation.answers.items()}
    return {str(status): responses[status] for status in sorted(responses)}


def _error(status: int) -> dict[str, Any]:
    return {"description": HTTPStatus(status).phrase, "content": _json(reference("ErrorMessage"))}


def _success(answer: Answer) -> dict[str, Any]:
    described: dict[str, Any] = {"description": answer.meaning}
    if len(answer.entities) == 1:
        described["content"] = _json(reference(answer.entities[0]))
    elif answer.entities:
        described["content"] = _json({"oneOf": [reference(each) for each in answer.entities]})
    if answer.text_type is not None:
        described["content"] = {answer.text_type: {"schema": {"type": "string"}}}
    if answer.has_location:
        schema = {"type": "string", "format": "uri"}
        described["headers"] = {"Location": {"description": "Its URL", "schema": schema}}
    return described


def _json(schema: Schema) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
