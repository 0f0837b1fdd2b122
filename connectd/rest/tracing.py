"""Spans of requests: an ASGI application around the API, where somebody asked for tracing."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import FastAPI
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from connectd.observe import spans
from connectd.observe.tracing import Span, Tracing, Value
from connectd.rest import paths
from connectd.rest.errors import RestError

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_OTHER = "_OTHER"
_SERVER_ERROR = 500


def traced(api: FastAPI, tracing: Tracing | None) -> ASGIApp:
    """The application, telling of its requests if somebody asked for it."""
    return api if tracing is None else TracedRequests(api, tracing, api.routes)


class TracedRequests:
    """Tells of every request; ``routes`` are those of the application, by which they are named."""

    def __init__(self, app: ASGIApp, tracing: Tracing, routes: Sequence[BaseRoute]) -> None:
        self._app = app
        self._tracing = tracing
        self._routes = [each for each in routes if isinstance(each, Route)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        span = self._begin(scope)

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                status = int(message["status"])
                span.set({spans.STATUS_CODE: status})
                if status >= _SERVER_ERROR:
                    span.fail(str(status))
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            span.fail(type(error).__name__, str(error))
            raise
        finally:
            span.end()

    def _begin(self, scope: Scope) -> Span:
        method = scope["method"] if scope["method"] in _METHODS else _OTHER
        attributes: dict[str, Value] = {
            spans.METHOD: method,
            spans.URL_PATH: scope["path"],
            spans.URL_SCHEME: scope["scheme"],
            spans.PROTOCOL_VERSION: scope["http_version"],
        }
        if scope.get("server"):
            attributes[spans.SERVER_ADDRESS], attributes[spans.SERVER_PORT] = scope["server"]
        if scope.get("client"):
            attributes[spans.CLIENT_ADDRESS] = scope["client"][0]
        route = self._route(scope)
        if route is not None:
            attributes[spans.ROUTE] = route
        verb = "HTTP" if method == _OTHER else method
        span_name = verb if route is None else f"{verb} {route}"
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        parent = self._tracing.parent_of(headers)
        return self._tracing.begin(spans.REQUEST, span_name, attributes, parent=parent)

    def _route(self, scope: Scope) -> str | None:
        try:
            path = paths.path_of(scope)
        except RestError:
            return None
        return next((each.path for each in self._routes if each.path_regex.match(path)), None)
