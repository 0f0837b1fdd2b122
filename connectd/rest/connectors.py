"""Connectors: create, look at, change, delete, and say what is wanted of them (spec A.4, A.5)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from connectd.model.cluster import RestartRequest
from connectd.rest import bodies, schemas
from connectd.rest.errors import RestError
from connectd.rest.resource import (
    Handler,
    connector_of,
    empty_response,
    is_set,
    json_response,
    location_of,
    resource,
)
from connectd.runtime.herder import Herder
from connectd.runtime.views import ConnectorInfo


def routes(herder: Herder) -> list[Route]:
    """Everything under ``/connectors`` but tasks and offsets."""
    return [
        resource("/connectors", {"GET": _list(herder), "POST": _create(herder)}),
        *_configuration(herder),
        *_wanted_states(herder),
        *_topics(herder),
    ]


def _list(herder: Herder) -> Handler:
    async def get_connectors(request: Request) -> Response:
        expansions = request.query_params.getlist("expand")
        if not expansions:
            return json_response(list(await herder.views.connectors()))
        listing = await herder.views.listing(
            with_info="info" in expansions, with_status="status" in expansions
        )
        return json_response({name: schemas.listing(entry) for name, entry in listing.items()})

    return get_connectors


def _create(herder: Herder) -> Handler:
    async def post_connector(request: Request) -> Response:
        body = await bodies.read_create_request(request)
        info = await herder.changes.create(body.name, body.config, target=body.target)
        return _created(request, info)

    return post_connector


def _created(request: Request, info: ConnectorInfo) -> Response:
    response = json_response(schemas.connector_info(info), status=HTTPStatus.CREATED)
    response.headers["Location"] = location_of(request, info.name)
    return response


def _configuration(herder: Herder) -> list[Route]:
    async def get_connector(request: Request) -> Response:
        info = await herder.views.connector(connector_of(request))
        return json_response(schemas.connector_info(info))

    async def delete_connector(request: Request) -> Response:
        await herder.changes.delete(connector_of(request))
        return empty_response(HTTPStatus.NO_CONTENT)

    async def get_config(request: Request) -> Response:
        info = await herder.views.connector(connector_of(request))
        return json_response(dict(info.config))

    async def put_config(request: Request) -> Response:
        config = await bodies.read_config(request)
        is_new, info = await herder.changes.put(connector_of(request), config)
        if is_new:
            return _created(request, info)
        return json_response(schemas.connector_info(info))

    async def patch_config(request: Request) -> Response:
        patch = await bodies.read_config(request)
        info = await herder.changes.patch(connector_of(request), patch)
        return json_response(schemas.connector_info(info))

    async def get_status(request: Request) -> Response:
        status = await herder.views.status(connector_of(request))
        return json_response(schemas.connector_status(status))

    return [
        resource("/connectors/{name}", {"GET": get_connector, "DELETE": delete_connector}),
        resource(
            "/connectors/{name}/config",
            {"GET": get_config, "PUT": put_config, "PATCH": patch_config},
        ),
        resource("/connectors/{name}/status", {"GET": get_status}),
    ]


def _wanted_states(herder: Herder) -> list[Route]:
    def to(change: Callable[[str], Awaitable[None]], status: HTTPStatus) -> Handler:
        async def put_state(request: Request) -> Response:
            await change(connector_of(request))
            return empty_response(status)

        return put_state

    async def post_restart(request: Request) -> Response:
        connector = connector_of(request)
        asked = RestartRequest(
            connector,
            only_failed=is_set(request, "onlyFailed"),
            include_tasks=is_set(request, "includeTasks"),
        )
        if not asked.only_failed and not asked.include_tasks:
            await herder.restarts.restart_connector(connector)
            return empty_response(HTTPStatus.NO_CONTENT)
        status = await herder.restarts.restart(asked)
        return json_response(schemas.connector_status(status), status=HTTPStatus.ACCEPTED)

    changes = herder.changes
    return [
        resource("/connectors/{name}/pause", {"PUT": to(changes.pause, HTTPStatus.ACCEPTED)}),
        resource("/connectors/{name}/resume", {"PUT": to(changes.resume, HTTPStatus.ACCEPTED)}),
        resource("/connectors/{name}/stop", {"PUT": to(changes.stop, HTTPStatus.NO_CONTENT)}),
        resource("/connectors/{name}/restart", {"POST": post_restart}),
    ]


def _topics(herder: Herder) -> list[Route]:
    def require_tracking() -> None:
        if not herder.settings.tracks_topics:
            raise RestError(HTTPStatus.FORBIDDEN, "Topic tracking is disabled.")

    async def get_topics(request: Request) -> Response:
        require_tracking()
        connector = connector_of(request)
        topics = await herder.views.active_topics(connector)
        return json_response({connector: {"topics": list(topics)}})

    async def put_reset(request: Request) -> Response:
        require_tracking()
        if not herder.settings.allows_topic_reset:
            raise RestError(HTTPStatus.FORBIDDEN, "Topic tracking reset is disabled.")
        await herder.reset_topics(connector_of(request))
        return empty_response(HTTPStatus.ACCEPTED)

    return [
        resource("/connectors/{name}/topics", {"GET": get_topics}),
        resource("/connectors/{name}/topics/reset", {"PUT": put_reset}),
    ]
