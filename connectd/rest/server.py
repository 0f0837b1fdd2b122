"""Serves the API on the worker's own event loop.

Sockets are bound and certificates read first (``open``), so that an address in use or a wrong
password is told before anything else starts, and port 0 is known when the worker's URL is made.
``serve`` is a job of the composition root. All listeners, with and without TLS, for everything or
for /admin only, are one server with one end. Signals are none of its business.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import socket
import ssl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import structlog
import uvicorn
from starlette.types import ASGIApp

from connectd.configdef.rest_settings import Listener
from connectd.configdef.tls_settings import TlsSettings
from connectd.errors import ConfigError, InvariantError
from connectd.rest import tls
from connectd.rest.connection import HEAD_BYTES_MAX, HEAD_S, Connection

_log = structlog.get_logger(__name__)

_KEEP_ALIVE_S = 30
_BACKLOG = 1024
_NO_IPV6 = frozenset({errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL})
"""The kernel knows IPv6, but the machine has no address of it."""


@dataclass(frozen=True)
class _Endpoint:
    """A bound socket, and what is answered there."""

    socket: socket.socket
    context: ssl.SSLContext | None
    config: uvicorn.Config


class _Server(uvicorn.Server):
    """Several endpoints under one roof, and no signal handlers: the process has its own."""

    def __init__(self, endpoints: Sequence[_Endpoint]) -> None:
        super().__init__(endpoints[0].config)
        self._endpoints = tuple(endpoints)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; the sockets are those of the endpoints."""
        loop = asyncio.get_running_loop()
        self.servers = []
        for endpoint in self._endpoints:
            if not endpoint.config.loaded:
                endpoint.config.load()
            server = await loop.create_server(
                functools.partial(Connection, endpoint.config, self.server_state, {}),
                sock=endpoint.socket,
                ssl=endpoint.context,
                backlog=_BACKLOG,
                ssl_handshake_timeout=None if endpoint.context is None else HEAD_S,
            )
            self.servers.append(server)
        self.started = True


class RestServer:
    """Listens for an application, and for that of /admin where it has listeners of its own.

    ``tls`` and ``admin_tls`` are needed where there is an https listener; ``grace_s`` is what
    requests under way get at the end.
    """

    def __init__(
        self,
        listeners: Sequence[Listener],
        tls: TlsSettings | None = None,
        *,
        admin_listeners: Sequence[Listener] = (),
        admin_tls: TlsSettings | None = None,
        grace_s: float = 60.0,
    ) -> None:
        self._main = _Listeners(listeners, tls)
        self._admin = _Listeners(admin_listeners, admin_tls)
        self._grace_s = grace_s
        self._server: _Server | None = None

    def open(self) -> tuple[Listener, ...]:
        """Bind every listener; returns those of the main application with the ports that they
        really got.

        Raises:
            ConfigError: an address cannot be had or a certificate not be used; nothing is bound
                then.
        """
        try:
            self._main.open()
            self._admin.open()
        except BaseException:
            self.close()
            raise
        return self._main.listeners

    @property
    def admin_listeners(self) -> tuple[Listener, ...]:
        """Those of the admin application, once they are open."""
        return self._admin.listeners

    async def serve(self, app: ASGIApp, admin_app: ASGIApp | None = None) -> None:
        """Answer requests until ``stop``; a job of its own. Closes the sockets at the end."""
        if self._admin.listeners and admin_app is None:
            raise InvariantError("there are admin listeners, but no application for them")
        endpoints = self._main.endpoints(self._config(app))
        endpoints += self._admin.endpoints(self._config(admin_app or app))
        self._server = _Server(endpoints)
        for listener in (*self._main.listeners, *self._admin.listeners):
            _log.info("listening", scheme=listener.scheme, host=listener.host, port=listener.port)
        try:
            await self._server.serve(sockets=[endpoint.socket for endpoint in endpoints])
        finally:
            self.close()

    def _config(self, app: ASGIApp) -> uvicorn.Config:
        return uvicorn.Config(
            app,
            http=Connection,
            log_config=None,
            log_level="error",  # a client that sends nonsense is nothing to warn of
            access_log=False,
            lifespan="off",
            ws="none",
            proxy_headers=False,
            server_header=False,
            h11_max_incomplete_event_size=HEAD_BYTES_MAX,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=max(1, round(self._grace_s)),
        )

    def stop(self) -> None:
        """Take no more connections, finish what is under way, and let ``serve`` return."""
        if self._server is not None:
            self._server.should_exit = True

    def close(self) -> None:
        """Give the sockets back. Idempotent."""
        self._main.close()
        self._admin.close()


class _Listeners:
    """Listeners that serve one application with one certificate."""

    def __init__(self, listeners: Sequence[Listener], settings: TlsSettings | None) -> None:
        self.listeners = tuple(listeners)
        self._tls = settings
        self._context: ssl.SSLContext | None = None
        self._sockets: list[socket.socket] = []

    def open(self) -> None:
        if any(listener.scheme == "https" for listener in self.listeners):
            if self._tls is None:
                raise InvariantError("there is an https listener, but no TLS settings for it")
            self._context = tls.server_context(self._tls)
        for listener in self.listeners:
            self._sockets.append(_bind(listener))
        self.listeners = tuple(
            replace(listener, port=int(bound.getsockname()[1]))
            for listener, bound in zip(self.listeners, self._sockets, strict=True)
        )

    def endpoints(self, config: uvicorn.Config) -> list[_Endpoint]:
        return [
            _Endpoint(bound, self._context if listener.scheme == "https" else None, config)
            for listener, bound in zip(self.listeners, self._sockets, strict=True)
        ]

    def close(self) -> None:
        sockets, self._sockets = self._sockets, []
        for each in sockets:
            each.close()


def _bind(listener: Listener) -> socket.socket:
    try:
        if not listener.host:
            return _bind_everywhere(listener.port)
        family, _, _, _, address = socket.getaddrinfo(
            listener.host, listener.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server((str(address[0]), int(address[1])), family=family)
    except OSError as error:
        raise ConfigError(
            f"listeners: cannot listen on {listener.scheme}://{listener.authority}: "
            f"{error.strerror or error}; choose another address or end what uses it"
        ) from error


def _bind_everywhere(port: int) -> socket.socket:
    """IPv4 and IPv6 where the machine has both."""
    if socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
        except OSError as error:
            if error.errno not in _NO_IPV6:
                raise
    return socket.create_server(("", port))
