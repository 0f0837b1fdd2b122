"""Request paths: which are legal, and what is routed.

Routing works on the path as it was sent, before percent-decoding, so that a connector called
``a/b`` is reached as ``/connectors/a%2Fb`` by every route. (A Java worker creates such a connector
and then refuses every path to it; that is the one rule of its server not followed here.) One
trailing slash makes no difference, parameters after ``;`` are dropped, and what has two meanings
or none is answered with 400: an empty segment, a broken escape, a character that no name may have.
A proxy may send the whole URL; its origin is dropped.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from starlette.types import ASGIApp, Receive, Scope, Send

from connectd.rest.connection import HEAD_BYTES_MAX
from connectd.rest.errors import RestError, error_response, plain_error

_VERSIONS: Final = ("1.0", "1.1")
_TARGET_BYTES_MAX: Final = 8_192  # as the Java worker
_ORIGIN: Final = re.compile(r"\Ahttps?://[^/]*", re.IGNORECASE)
_PARAMETERS: Final = re.compile(r";[^/]*")
_BROKEN_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


def routed_path(raw: bytes) -> str:
    """The path that is matched against the routes, still percent-encoded.

    Raises:
        RestError: 400, it is not legal.
    """
    try:
        path = _PARAMETERS.sub("", _ORIGIN.sub("", raw.decode("ascii"), count=1))
    except UnicodeDecodeError:
        raise _bad("Illegal Path Character, expected percent-encoded UTF-8") from None
    if "//" in path:
        raise _bad("Ambiguous URI empty segment")
    if _BROKEN_ESCAPE.search(path):
        raise _bad("Bad percent-encoding in the path")
    try:
        decoded = unquote_to_bytes(path).decode("utf-8")
    except UnicodeDecodeError:
        raise _bad("Bad UTF-8 encoding") from None
    if _CONTROL.search(decoded):
        raise _bad("Suspicious Path Character")
    return path.removesuffix("/") or "/"


def _bad(message: str) -> RestError:
    return RestError(HTTPStatus.BAD_REQUEST, message)


class RawPaths:
    """Middleware: routes on ``routed_path``, and refuses heads that the parser lets through."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = _refuse_head(scope)
        if refusal is not None:
            await plain_error(refusal)(scope, receive, send)
            return
        try:
            path = path_of(scope)
        except RestError as error:
            await error_response(error.status, str(error))(scope, receive, send)
            return
        await self._app({**scope, "path": path}, receive, send)


def path_of(scope: Scope) -> str:
    """What ``routed_path`` makes of the path of a request, as it came from the server."""
    return routed_path(_raw_path(scope))


def _raw_path(scope: Scope) -> bytes:
    raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode("ascii")
    return raw.partition(b"?")[0].partition(b"#")[0]


def _refuse_head(scope: Scope) -> HTTPStatus | None:
    """What is wrong with version, sizes or framing; None: nothing.

    The parser bounds only what has not arrived completely, and takes a body with two lengths, of
    which a proxy in front may have believed the other one.
    """
    if scope["http_version"] not in _VERSIONS:
        return HTTPStatus.HTTP_VERSION_NOT_SUPPORTED
    if len(_raw_path(scope)) + len(scope["query_string"]) > _TARGET_BYTES_MAX:
        return HTTPStatus.REQUEST_URI_TOO_LONG
    if sum(len(name) + len(value) for name, value in scope["headers"]) > HEAD_BYTES_MAX:
        return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
    names = {name for name, _ in scope["headers"]}
    if b"content-length" in names and b"transfer-encoding" in names:
        return HTTPStatus.BAD_REQUEST
    return None
