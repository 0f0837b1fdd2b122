"""The application: every route, and the frame around them."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.routing import Route

import connectd
from connectd.aio.clock import Clock, LoopClock
from connectd.configdef.rest_settings import RestSettings
from connectd.rest import (
    basic_auth,
    connectors,
    headers,
    loggers,
    metrics,
    offsets,
    openapi,
    plugins,
    probes,
    root,
    tables,
    tasks,
    ui,
)
from connectd.rest.errors import on_http_exception
from connectd.rest.forwarding import Forwarder
from connectd.rest.paths import RawPaths
from connectd.runtime.herder import Herder
from connectd.runtime.peers import NoPeers, Peers


def create_api(
    herder: Herder,
    settings: RestSettings | None = None,
    clock: Clock | None = None,
    numbers: metrics.MetricsSource | None = None,
    peers: Peers | None = None,
) -> FastAPI:
    """The ASGI application of a worker: what Kafka Connect answers, and what is connectd's own.

    ``settings`` may ask for the dashboard, for further headers, for a login, and for /admin to be
    elsewhere; ``peers`` is how other workers are asked for what is theirs.

    Raises:
        ConfigError: a header rule cannot be followed, or nobody can log in.
    """
    has_admin = settings is None or settings.admin_listeners is None
    admin = (loggers,) if has_admin else ()
    routes = [
        route
        for area in (root, connectors, tasks, offsets, plugins, *admin, tables, probes)
        for route in area.routes(herder)
    ]
    routes += metrics.routes(numbers or metrics.NoMetrics())
    description = openapi.route(routes, version=connectd.__version__)
    pages = ui.routes() if settings is not None and settings.has_ui else []
    app = _application([*routes, description, *pages])
    app.state.forward = Forwarder(peers or NoPeers(), herder.views)
    if settings is not None:
        if settings.basic_auth is not None:
            keys = herder.session_keys
            app.state.guard = basic_auth.load(settings.basic_auth, lambda: keys.are_agreed)
        headers.install(app, settings, clock or LoopClock())
    return app


def create_admin_api(herder: Herder, numbers: metrics.MetricsSource | None = None) -> FastAPI:
    """The application of listeners for operators: /admin, probes and metrics, to everybody."""
    return _application(
        [
            *loggers.routes(herder),
            *probes.routes(herder),
            *metrics.routes(numbers or metrics.NoMetrics()),
        ]
    )


def _application(routes: Sequence[Route]) -> FastAPI:
    app = FastAPI(
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        routes=[*routes],
        exception_handlers={HTTPException: on_http_exception},
    )
    app.add_middleware(RawPaths)
    return app
