"""Keeps pages of other sites from changing anything with what a browser knows of this worker.

A browser that is logged in sends its login with every request to this worker, whichever page makes
it. PUT, DELETE and JSON bodies it asks for first, and ``cors`` answers; a POST without a body it
sends at once and only withholds the answer, which is enough to restart a connector. Kafka Connect
lets that happen. Here a change is refused when the browser itself says that another site wants it
(``Sec-Fetch-Site``, sent to https and to this machine), or when it comes with a login from an
origin that is not this worker's. Origins of ``access.control.allow.origin`` may, as before; so may
clients that are no browsers, and UIs whose own server passes requests on without a login.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from connectd.rest.cors import CorsPolicy
from connectd.rest.errors import error_response

_HARMLESS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITES: Final = frozenset({"same-origin", "none"})
"""``none``: a person has typed the address."""


class CrossSite:
    """Middleware; see the module's docstring. ``policy`` None: no other origin is allowed."""

    def __init__(self, app: ASGIApp, policy: CorsPolicy | None) -> None:
        self._app = app
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._is_foreign_change(Request(scope)):
            await _refusal(Request(scope))(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_foreign_change(self, request: Request) -> bool:
        if request.method in _HARMLESS or not _is_foreign(request):
            return False
        origin = request.headers.get("origin")
        return self._policy is None or origin is None or not self._policy.allows(origin)


def _is_foreign(request: Request) -> bool:
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in _OWN_SITES
    origin = request.headers.get("origin")
    if origin is None or "authorization" not in request.headers:
        return False
    return urlsplit(origin).netloc.lower() != request.headers.get("host", "").lower()


def _refusal(request: Request) -> ASGIApp:
    origin = request.headers.get("origin", "unknown")
    return error_response(
        HTTPStatus.FORBIDDEN,
        f"A page of another site ({origin}) may not change anything here. If it is yours, add its "
        "origin to access.control.allow.origin; behind a proxy, let it pass the Host header on",
    )
