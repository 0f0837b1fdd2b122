"""The frame of every endpoint: methods, media types, names in paths, and errors.

Paths are matched *before* percent-decoding, so that a connector called ``a/b`` is reached as
``/connectors/a%2Fb`` by every route; a trailing slash makes no difference. The rules for methods
and media types are those of the JAX-RS container that clients of Kafka Connect are used to.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from urllib.parse import quote, unquote

from fastapi.responses import JSONResponse
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from connectd.model.ids import ConnectorTaskId
from connectd.rest.errors import RestError, answering, plain_error

Handler = Callable[[Request], Awaitable[Response]]

_MEDIA_TAKEN = frozenset({"*/*", "*", "application/*", "application/json"})
_TASK_DIGITS_MAX = 9


def resource(path: str, handlers: Mapping[str, Handler]) -> Route:
    """A path with its methods; HEAD comes with GET, OPTIONS with all."""
    return Route(path, _Resource(handlers))


class _Resource:
    """An ASGI application for one path."""

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers = dict(handlers)
        if "GET" in handlers:
            self._handlers["HEAD"] = handlers["GET"]
        self._allow = ", ".join([*self._handlers, "OPTIONS"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        response = await answering(request, self._handle)
        await response(scope, receive, send)

    async def _handle(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=HTTPStatus.OK, headers={"Allow": self._allow})
        handler = self._handlers.get(request.method)
        if handler is None:
            return plain_error(HTTPStatus.METHOD_NOT_ALLOWED, {"Allow": self._allow})
        if not _accepts_json(request.headers.get("accept")):
            return plain_error(HTTPStatus.NOT_ACCEPTABLE)
        if not _sends_json(request):
            return plain_error(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        return await handler(request)


def _sends_json(request: Request) -> bool:
    """Whether the body, if there is one, is declared as JSON or not at all."""
    length = request.headers.get("content-length", "0")
    if length == "0" and "transfer-encoding" not in request.headers:
        return True
    kind = request.headers.get("content-type")
    if kind is None:
        return True
    media = kind.partition(";")[0].strip().lower()
    return media == "application/json" or (
        media.startswith("application/") and media.endswith("+json")
    )


def _accepts_json(accept: str | None) -> bool:
    if accept is None or not accept.strip():
        return True
    for choice in accept.split(","):
        media, *parameters = (part.strip().lower() for part in choice.split(";"))
        if media in _MEDIA_TAKEN and all(_quality(parameter) > 0 for parameter in parameters):
            return True
    return False


def _quality(parameter: str) -> float:
    name, _, value = parameter.partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 1.0


def connector_of(request: Request) -> str:
    """The connector (or plugin) that the path names, decoded."""
    return unquote(request.path_params["name"])


def task_of(request: Request) -> ConnectorTaskId:
    """The task that the path names.

    Raises:
        RestError: 404, its number is not one.
    """
    number = request.path_params["task"]
    if not (number.isascii() and number.isdigit() and len(number) <= _TASK_DIGITS_MAX):
        raise RestError(HTTPStatus.NOT_FOUND, "HTTP 404 Not Found")
    return ConnectorTaskId(connector_of(request), int(number))


def is_set(request: Request, parameter: str, *, default: bool = False) -> bool:
    """A query parameter as Java's ``Boolean.parseBoolean`` sees it: ``true`` in any case."""
    text = request.query_params.get(parameter)
    return default if text is None else text.strip().lower() == "true"


def json_response(content: object, *, status: int = HTTPStatus.OK) -> Response:
    """An answer with a body."""
    return JSONResponse(content, status_code=int(status))


def empty_response(status: HTTPStatus) -> Response:
    """An answer without one."""
    return Response(status_code=int(status))


def location_of(request: Request, connector: str) -> str:
    """The absolute URL of a connector, as the client reached this worker."""
    return f"{str(request.base_url).rstrip('/')}/connectors/{quote(connector, safe='')}"


class RawPaths:
    """Middleware: routes on the path as it was sent, without a trailing slash."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            raw = scope.get("raw_path") or quote(scope["path"]).encode("ascii")
            path = raw.partition(b"?")[0].decode("latin-1").rstrip("/")
            scope = {**scope, "path": path or "/"}
        await self._app(scope, receive, send)
