"""Levels of loggers, for operators (spec kafka-connect A.10)."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from connectd.rest import bodies, schemas
from connectd.rest.resource import empty_response, json_response, resource
from connectd.runtime.herder import Herder


def routes(herder: Herder) -> list[Route]:
    """Everything under ``/admin``."""
    loggers = herder.loggers

    async def get_loggers(request: Request) -> Response:
        levels = loggers.levels()
        return json_response({name: schemas.logger_level(each) for name, each in levels.items()})

    async def get_logger(request: Request) -> Response:
        return json_response(schemas.logger_level(loggers.level(_logger_of(request))))

    async def put_logger(request: Request) -> Response:
        level = await bodies.read_level(request)
        # Any other scope means this worker, as it does for Kafka Connect.
        if request.query_params.get("scope", "").strip().lower() == "cluster":
            await loggers.set_everywhere(_logger_of(request), level)
            return empty_response(HTTPStatus.NO_CONTENT)
        return json_response(loggers.set_here(_logger_of(request), level))

    return [
        resource("/admin/loggers", {"GET": get_loggers}),
        resource("/admin/loggers/{logger}", {"GET": get_logger, "PUT": put_logger}),
    ]


def _logger_of(request: Request) -> str:
    return unquote(request.path_params["logger"])
