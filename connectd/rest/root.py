"""The worker itself: what it is, and whether it works."""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from connectd.rest import schemas
from connectd.rest.resource import json_response, resource
from connectd.runtime.health import HealthState
from connectd.runtime.herder import Herder

_STATUS_BY_HEALTH = {
    HealthState.HEALTHY: HTTPStatus.OK,
    HealthState.STARTING: HTTPStatus.SERVICE_UNAVAILABLE,
    HealthState.UNHEALTHY: HTTPStatus.INTERNAL_SERVER_ERROR,
}


def routes(herder: Herder) -> list[Route]:
    """``/`` answers at once, whatever the herder does; ``/health`` asks the herder."""

    async def get_root(request: Request) -> Response:
        return json_response(schemas.worker_info(herder.describe()))

    async def get_health(request: Request) -> Response:
        health = await herder.health()
        body = {"status": health.state.value, "message": health.message}
        return json_response(body, status=_STATUS_BY_HEALTH[health.state])

    return [resource("/", {"GET": get_root}), resource("/health", {"GET": get_health})]
