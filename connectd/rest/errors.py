"""From exceptions to HTTP: the only place that knows both (spec kafka-connect A.1.3).

Every answer of 400 and above has the body ``{"error_code": n, "message": text}``. An exception that
nobody meant to raise is a bug: it is logged with its traceback, and the client learns its class but
not its text, which might carry what the client must not see.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus

import structlog
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from connectd.errors import ConfigError, ConflictError, ConnectdError, NotFoundError
from connectd.observe import redaction
from connectd.runtime.session_keys import InvalidSignatureError, NoSessionKeyError

_log = structlog.get_logger(__name__)

_STATUS_BY_ERROR: tuple[tuple[type[ConnectdError], HTTPStatus], ...] = (
    (ConfigError, HTTPStatus.BAD_REQUEST),
    (InvalidSignatureError, HTTPStatus.FORBIDDEN),
    (NotFoundError, HTTPStatus.NOT_FOUND),
    (ConflictError, HTTPStatus.CONFLICT),
    (NoSessionKeyError, HTTPStatus.SERVICE_UNAVAILABLE),
)


class RestError(ConnectdError):
    """A request that HTTP itself refuses: its status, and the message for the client."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


def plain_error(status: int, headers: dict[str, str] | None = None) -> Response:
    """An error without more to say than its status: ``HTTP 404 Not Found``."""
    return error_response(status, f"HTTP {status} {HTTPStatus(status).phrase}", headers)


def error_response(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """The body that clients know."""
    body = {"error_code": int(status), "message": message}
    return JSONResponse(body, status_code=int(status), headers=headers)


async def on_http_exception(request: Request, error: Exception) -> Response:
    """What the routing raises: unknown paths."""
    if not isinstance(error, HTTPException):
        return answer_to(request, error)
    return plain_error(error.status_code, dict(error.headers or {}))


def answer_to(request: Request, error: Exception) -> Response:
    """The answer to a request that failed."""
    if isinstance(error, RestError):
        return error_response(error.status, str(error))
    for kind, status in _STATUS_BY_ERROR:
        if isinstance(error, kind):
            return error_response(status, str(error))
    if isinstance(error, ConnectdError):
        _log.warning("request failed", method=request.method, path=_path(request), error=str(error))
        text = redaction.redact_text(str(error))  # AWS, Kafka and plugins have a say in it
        return error_response(HTTPStatus.INTERNAL_SERVER_ERROR, text)
    _log.error(
        "request met a bug",
        method=request.method,
        path=_path(request),
        error=type(error).__qualname__,
        exc_info=error,
    )
    return error_response(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        f"Unexpected {type(error).__qualname__}; the log of this worker has the details",
    )


def _path(request: Request) -> str:
    return str(request.scope["path"])


async def answering(request: Request, handle: Callable[[Request], Awaitable[Response]]) -> Response:
    """The answer of a handler, or the answer to its failure."""
    try:
        return await handle(request)
    except Exception as error:
        return answer_to(request, error)
