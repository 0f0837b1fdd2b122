"""Keeps pages of other sites from changing anything with what a browser knows of this worker.

A browser that is logged in sends its login with every request to this worker, whichever page makes
it; without a login, it still reaches workers that the page's author cannot. PUT, DELETE and JSON
bodies it asks for first, and ``cors`` answers; a POST without a body it sends at once and only
withholds the answer, which is enough to restart a connector. Kafka Connect lets that happen. Here a
change is refused when the browser itself says that another site wants it (``Sec-Fetch-Site``, sent
to https and to this machine), and otherwise when its ``Origin``, which browsers send with every
change, is not the ``Host`` that was asked. Origins of ``access.control.allow.origin`` may; so may
clients that are no browsers, as they name no origin.

A page whose own name was made to lead here (DNS rebinding) is of the same origin for browser and
worker alike; only a login keeps it out (docs/security.md).
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
_USUAL_PORTS: Final = {"http": 80, "https": 443}
"""Browsers leave them out, proxies may not."""

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
    if origin is None:
        return False
    return request.headers.get("host", "").lower() not in _hosts_of(origin)


def _hosts_of(origin: str) -> tuple[str, ...]:
    """How a request to the origin itself may spell its host; none for what is no origin."""
    try:
        parts = urlsplit(origin.lower())
        port = parts.port
    except ValueError:
        return ()
    usual = _USUAL_PORTS.get(parts.scheme)
    if not parts.netloc or usual is None:
        return ()
    name = parts.netloc.removesuffix(f":{usual}")
    return (name, f"{name}:{usual}") if port in (None, usual) else (parts.netloc,)


def _refusal(request: Request) -> ASGIApp:
    origin = request.headers.get("origin", "unknown")
    return error_response(
        HTTPStatus.FORBIDDEN,
        f"A page of another site ({origin}) may not change anything here. If it is yours, add its "
        "origin to access.control.allow.origin; behind a proxy, let it pass the Host header on",
    )
