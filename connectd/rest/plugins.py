"""Installed plugins, their keys, and the check of a config (spec A.7, A.8)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from connectd.rest import bodies
from connectd.rest.resource import connector_of, is_set, json_response, resource
from connectd.runtime.herder import Herder


def routes(herder: Herder) -> list[Route]:
    """Everything under ``/connector-plugins``."""

    async def get_plugins(request: Request) -> Response:
        connectors_only = is_set(request, "connectorsOnly", default=True)
        return json_response(herder.validation.list_plugins(connectors_only=connectors_only))

    async def get_config(request: Request) -> Response:
        version = request.query_params.get("version")
        return json_response(herder.validation.config_keys(connector_of(request), version))

    async def put_validate(request: Request) -> Response:
        config = await bodies.read_config(request)
        return json_response(await herder.validation.validate(connector_of(request), config))

    return [
        resource("/connector-plugins", {"GET": get_plugins}),
        resource("/connector-plugins/{name}/config", {"GET": get_config}),
        resource("/connector-plugins/{name}/config/validate", {"PUT": put_validate}),
    ]
