"""Headers that the worker's configuration puts on answers: its own, and those of CORS (spec A.1.2).

``response.http.headers.config`` applies to every answer, errors included. CORS is off unless
``access.control.allow.origin`` names somebody; with or without it, ``cross_site`` refuses what
pages of others must not do.
"""

from __future__ import annotations

from collections.abc import Sequence
from email.utils import formatdate

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from connectd.aio.clock import Clock
from connectd.configdef.rest_settings import ResponseHeader, RestSettings
from connectd.errors import ConfigError
from connectd.rest import cors, cross_site


class ConfiguredHeaders:
    """Middleware: ``set`` replaces, ``add`` appends; a date is this many milliseconds from now."""

    def __init__(self, app: ASGIApp, rules: Sequence[ResponseHeader], clock: Clock) -> None:
        self._app = app
        self._rules = tuple((rule, _offset_ms(rule)) for rule in rules)
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._put(MutableHeaders(scope=message))
            await send(message)

        await self._app(scope, receive, send_with_headers)

    def _put(self, headers: MutableHeaders) -> None:
        for rule, offset_ms in self._rules:
            value = rule.value
            if offset_ms is not None:
                value = formatdate(self._clock.wall_s() + offset_ms / 1000, usegmt=True)
            if rule.action.startswith("set"):
                headers[rule.name] = value
            else:
                headers.append(rule.name, value)


def _offset_ms(rule: ResponseHeader) -> int | None:
    if not rule.action.endswith("Date"):
        return None
    try:
        return int(rule.value)
    except ValueError:
        raise ConfigError(
            f"response.http.headers.config: the value of '{rule.action} {rule.name}' is "
            f"{rule.value}, expected milliseconds from now"
        ) from None


def install(app: FastAPI, settings: RestSettings, clock: Clock) -> None:
    """Put the middleware that the settings ask for around the application.

    Raises:
        ConfigError: a header rule cannot be followed, or an origin is none.
    """
    policy = cors.policy_of(settings)
    app.add_middleware(cross_site.CrossSite, policy=policy)
    if policy is not None:
        app.add_middleware(cors.Cors, policy=policy)
    if settings.response_headers:
        for rule in settings.response_headers:
            _offset_ms(rule)  # now, and not with the first request
        app.add_middleware(ConfiguredHeaders, rules=settings.response_headers, clock=clock)
