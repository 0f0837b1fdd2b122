"""The frame of every endpoint: methods, media types, names in paths, and errors.

The rules for methods and media types are those of the JAX-RS container that clients of Kafka
Connect are used to, and so is their order: path, method, type of the body, types accepted, and only
then whether the caller may. What is refused names no secret and always has the error body.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from http import HTTPStatus
from urllib.parse import quote, unquote

from fastapi.responses import JSONResponse
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from connectd.model.ids import ConnectorTaskId
from connectd.rest.asking import asker_of
from connectd.rest.errors import RestError, answering, plain_error
from connectd.runtime import askers
from connectd.runtime.roles import NotHereError

Handler = Callable[[Request], Awaitable[Response]]

Guard = Callable[[Request], Response | None]
"""Says whether the caller may: None, or the answer that tells why not."""

Forward = Callable[[Request, NotHereError], Awaitable[Response | None]]
"""Asks another worker in the client's place; None: it is somebody else's by now, look again."""

_JSON = "application/json"
_MEDIA_TYPE = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_METHODS = ("HEAD", "DELETE", "POST", "GET", "OPTIONS", "PUT", "PATCH")
"""In the order in which the Java worker lists them."""

_PLAIN_IN_A_PATH = "!$&'()*+,=:@"
"""What RFC 3986 lets stand in a segment as it is, and what Java's URLs therefore do not escape. The
semicolon is missing: servers drop what stands behind one, so that Java's URL leads elsewhere."""

_TASK_NUMBER = re.compile(r"[+-]?[0-9]{1,10}")
_INT_MAX = 2**31 - 1


def resource(
    path: str,
    handlers: Mapping[str, Handler],
    *,
    any_type: Collection[str] = (),
    media_type: str | None = _JSON,
) -> Route:
    """A path with its methods; HEAD comes with GET, OPTIONS with all.

    ``any_type`` are methods whose bodies may have any type; ``media_type`` is that of the answers.
    None: they are given whatever the client accepts.
    """
    return Route(path, _Resource(handlers, frozenset(any_type), media_type))


def methods_of(route: Route) -> tuple[str, ...]:
    """The methods that a route of ``resource`` was made for: without HEAD and OPTIONS."""
    assert isinstance(route.app, _Resource), route
    return route.app.methods


class _Resource:
    """An ASGI application for one path."""

    def __init__(
        self, handlers: Mapping[str, Handler], any_type: Collection[str], media_type: str | None
    ) -> None:
        self.methods = tuple(handlers)
        self._handlers = dict(handlers)
        self._any_type = any_type
        self._media_type = media_type
        if "GET" in handlers:
            self._handlers["HEAD"] = handlers["GET"]
        self._methods = [each for each in _METHODS if each in {*self._handlers, "OPTIONS"}]
        self._allow = {"Allow": ",".join(self._methods)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        response = await answering(request, self._handle)
        await response(scope, receive, send)

    async def _handle(self, request: Request) -> Response:
        handler = self._handlers.get(request.method)
        if handler is None and request.method != "OPTIONS":
            return plain_error(HTTPStatus.METHOD_NOT_ALLOWED, self._allow)
        refusal = None if handler is None else self._refuse_types(request)
        guard: Guard | None = getattr(request.app.state, "guard", None)
        if refusal is None and guard is not None:
            refusal = guard(request)
        if refusal is not None:
            return refusal
        if handler is None:
            return self._options(request)
        response = await _answered(handler, request)
        if response.media_type == _JSON and _wants_charset(request):
            response.headers["content-type"] = f"{_JSON};charset=utf-8"
        return response

    def _refuse_types(self, request: Request) -> Response | None:
        sent = request.headers.get("content-type")
        if sent is not None and request.method not in self._any_type:
            media = _media_type(sent)
            if _MEDIA_TYPE.fullmatch(media) is None:
                return plain_error(HTTPStatus.BAD_REQUEST)
            if media != _JSON:
                return plain_error(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        if self._media_type is not None and not _accepts(request, self._media_type):
            return plain_error(HTTPStatus.NOT_ACCEPTABLE)
        return None

    def _options(self, request: Request) -> Response:
        if _accepts(request, "text/plain"):
            headers = {**self._allow, "Content-Type": "text/plain"}
            return Response(", ".join(self._methods), headers=headers)
        return Response(headers=self._allow)


async def _answered(handler: Handler, request: Request) -> Response:
    """Our own answer, or that of the worker whom the request is for."""
    with askers.asked_by(asker_of(request)):
        while True:
            try:
                return await handler(request)
            except NotHereError as elsewhere:
                forward: Forward | None = getattr(request.app.state, "forward", None)
                if forward is None:
                    raise RestError(HTTPStatus.CONFLICT, str(elsewhere)) from elsewhere
                answer = await forward(request, elsewhere)
                if answer is not None:
                    return answer


def _accepts(request: Request, media_type: str) -> bool:
    """Whether the client takes it. Its preferences do not matter: there is no choice."""
    fitting = {"*/*", "*", f"{media_type.partition('/')[0]}/*", media_type}
    accepted = request.headers.get("accept", "").strip()
    return not accepted or any(_media_type(each) in fitting for each in accepted.split(","))


def _wants_charset(request: Request) -> bool:
    """Whether the client names the charset, and is to find it in the answer again."""
    accepted = request.headers.get("accept", "").partition(",")[0].lower().replace(" ", "")
    return accepted == f"{_JSON};charset=utf-8"


def _media_type(text: str) -> str:
    """What stands before the parameters."""
    return text.partition(";")[0].strip().lower()


def connector_of(request: Request) -> str:
    """The connector (or plugin) that the path names, decoded."""
    return unquote(request.path_params["name"])


def task_of(request: Request) -> ConnectorTaskId:
    """The task that the path names.

    Raises:
        RestError: 404, its number is not one.
    """
    text = unquote(request.path_params["task"])
    number = int(text) if _TASK_NUMBER.fullmatch(text) else _INT_MAX + 1
    if not -_INT_MAX <= number <= _INT_MAX:
        raise RestError(HTTPStatus.NOT_FOUND, "HTTP 404 Not Found")
    return ConnectorTaskId(connector_of(request), number)


def is_set(request: Request, parameter: str, *, default: bool = False) -> bool:
    """A query parameter as Java's ``Boolean.parseBoolean`` sees it: ``true`` in any case.

    One without a value counts as one that is not there.
    """
    text = request.query_params.get(parameter)
    return text.strip().lower() == "true" if text else default


def json_response(content: object, *, status: int = HTTPStatus.OK) -> Response:
    """An answer with a body."""
    return JSONResponse(content, status_code=int(status))


def empty_response(status: HTTPStatus) -> Response:
    """An answer without one."""
    return Response(status_code=int(status))


def location_of(request: Request, connector: str) -> str:
    """The absolute URL of a connector, as the client reached this worker."""
    base = str(request.base_url).rstrip("/")
    return f"{base}/connectors/{quote(connector, safe=_PLAIN_IN_A_PATH)}"
