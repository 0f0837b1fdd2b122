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

from connectd.rest.errors import RestError, error_response, plain_error

_VERSIONS: Final = ("1.0", "1.1")
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
    """Middleware: routes on ``routed_path``; versions of HTTP that are none get 505."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["http_version"] not in _VERSIONS:
            await plain_error(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED)(scope, receive, send)
            return
        raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode("ascii")
        try:
            path = routed_path(raw.partition(b"?")[0])
        except RestError as error:
            await error_response(error.status, str(error))(scope, receive, send)
            return
        await self._app({**scope, "path": path}, receive, send)
