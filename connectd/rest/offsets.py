"""The stored offsets of a connector (spec A.6)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from connectd.rest import bodies, schemas
from connectd.rest.resource import connector_of, json_response, resource
from connectd.runtime.herder import Herder


def routes(herder: Herder) -> list[Route]:
    """``/connectors/C/offsets``."""

    async def get_offsets(request: Request) -> Response:
        return json_response(schemas.offsets(await herder.offsets.read(connector_of(request))))

    async def patch_offsets(request: Request) -> Response:
        entries = await bodies.read_offsets(request)
        message = await herder.offsets.alter(connector_of(request), entries)
        return json_response({"message": message})

    async def delete_offsets(request: Request) -> Response:
        return json_response({"message": await herder.offsets.reset(connector_of(request))})

    handlers = {"GET": get_offsets, "PATCH": patch_offsets, "DELETE": delete_offsets}
    return [resource("/connectors/{name}/offsets", handlers)]
