"""CORS as Kafka 4.3 answers it (spec kafka-connect A.1.2).

Every answer varies by origin. An origin that is allowed is repeated; a preflight from it is told
the methods that are allowed, whatever it asked for, and then goes on to the resource like any
other OPTIONS request. Origins are compared as they are, in any case, or as regular expressions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from connectd.configdef.rest_settings import RestSettings
from connectd.errors import ConfigError, TransformError
from connectd.model import java_regex

_DEFAULT_METHODS: Final = ("GET", "POST", "HEAD")
_PREFLIGHT_HEADERS: Final = {
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Max-Age": "60",
}


def is_preflight(request: Request) -> bool:
    """Whether a browser asks what it may do, before it does it."""
    return (
        request.method == "OPTIONS"
        and "origin" in request.headers
        and "access-control-request-method" in request.headers
    )


class CorsPolicy:
    """Which origins are allowed, and what they are told.

    Raises:
        ConfigError: an origin is a regular expression that is none.
    """

    def __init__(self, origins: Sequence[str], methods: Sequence[str]) -> None:
        self._origins = [(origin.lower(), _pattern(origin)) for origin in origins]
        self._methods = ",".join(methods or _DEFAULT_METHODS)

    def headers(self, origin: str | None, *, is_preflight: bool) -> dict[str, str]:
        """What an answer to a request from there carries, beside ``Vary``."""
        if origin is None or not self.allows(origin):
            return {}
        headers = {"Access-Control-Allow-Origin": origin}
        if is_preflight:
            headers |= {"Access-Control-Allow-Methods": self._methods, **_PREFLIGHT_HEADERS}
        return headers

    def allows(self, origin: str) -> bool:
        """Whether pages from there may call."""
        return any(
            known in ("*", origin.lower()) or _matches(pattern, origin)
            for known, pattern in self._origins
        )


def policy_of(settings: RestSettings) -> CorsPolicy | None:
    """What the settings allow; None: nobody.

    Raises:
        ConfigError: an origin is a regular expression that is none.
    """
    if not settings.cors_origins:
        return None
    return CorsPolicy(settings.cors_origins, settings.cors_methods)


class Cors:
    """Middleware; see the module's docstring."""

    def __init__(self, app: ASGIApp, policy: CorsPolicy) -> None:
        self._app = app
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        origin = request.headers.get("origin")
        added = self._policy.headers(origin, is_preflight=is_preflight(request))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.add_vary_header("Origin")
                for name, value in added.items():
                    headers[name] = value
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _matches(pattern: java_regex.Pattern, origin: str) -> bool:
    try:
        return java_regex.fullmatch(pattern, origin) is not None
    except TransformError:  # an origin that takes too long to compare is none that is allowed
        return False


def _pattern(origin: str) -> java_regex.Pattern:
    """A dot alone stands for itself: ``http://a.example`` is not ``http://a-example``."""
    text = origin if re.search(r"[\\*+?()\[{|^$]", origin) else rf"\Q{origin}\E"
    try:
        return java_regex.compiled("" if origin == "*" else text, is_case_ignored=True)
    except java_regex.InvalidPatternError as error:
        raise ConfigError(
            f"access.control.allow.origin has {origin}, expected an origin "
            f"(https://ui.example:8080), a regular expression or *: {error}"
        ) from error
