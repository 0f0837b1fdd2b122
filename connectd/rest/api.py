"""The application: every route, and the frame around them."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.exceptions import HTTPException

from connectd.aio.clock import Clock, LoopClock
from connectd.configdef.worker import RestSettings
from connectd.rest import connectors, headers, loggers, offsets, plugins, root, tables, tasks
from connectd.rest.errors import on_http_exception
from connectd.rest.paths import RawPaths
from connectd.runtime.herder import Herder


def create_api(
    herder: Herder, settings: RestSettings | None = None, clock: Clock | None = None
) -> FastAPI:
    """The ASGI application of a worker; no generated pages, only what Kafka Connect answers.

    ``settings`` may ask for further headers.

    Raises:
        ConfigError: a header rule cannot be followed.
    """
    app = FastAPI(
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        routes=[
            route
            for area in (root, connectors, tasks, offsets, plugins, loggers, tables)
            for route in area.routes(herder)
        ],
        exception_handlers={HTTPException: on_http_exception},
    )
    app.add_middleware(RawPaths)
    if settings is not None:
        headers.install(app, settings, clock or LoopClock())
    return app
