"""Serves the API on the worker's own event loop.

Sockets are bound first (``open``), so that an address in use is told before anything else starts
and port 0 is known when the worker's URL is made. ``serve`` is a job of the composition root.
Signals are none of the server's business.
"""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Iterator, Sequence
from dataclasses import replace

import structlog
import uvicorn
from starlette.types import ASGIApp

from connectd.configdef.rest_settings import Listener
from connectd.errors import ConfigError

_log = structlog.get_logger(__name__)

_KEEP_ALIVE_S = 30
_BACKLOG = 1024
_NO_IPV6 = frozenset({errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL})
"""The kernel knows IPv6, but the machine has no address of it."""


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: the process has its own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class RestServer:
    """Listens for one application; ``grace_s`` is what requests under way get at the end.

    Raises:
        ConfigError: a listener asks for TLS.
    """

    def __init__(self, listeners: Sequence[Listener], *, grace_s: float = 60.0) -> None:
        for listener in listeners:
            if listener.scheme != "http":
                raise ConfigError(
                    f"listeners: {listener.scheme}://{listener.authority} asks for TLS, which this "
                    "worker does not serve yet; listen on http and let a proxy terminate TLS"
                )
        self._listeners = tuple(listeners)
        self._grace_s = grace_s
        self._sockets: list[socket.socket] = []
        self._server: _Server | None = None

    def open(self) -> tuple[Listener, ...]:
        """Bind every listener; returns them with the ports that they really got.

        Raises:
            ConfigError: an address cannot be had; nothing is bound then.
        """
        try:
            for listener in self._listeners:
                self._sockets.append(_bind(listener))
        except BaseException:
            self.close()
            raise
        self._listeners = tuple(
            replace(listener, port=int(bound.getsockname()[1]))
            for listener, bound in zip(self._listeners, self._sockets, strict=True)
        )
        return self._listeners

    async def serve(self, app: ASGIApp) -> None:
        """Answer requests until ``stop``; a job of its own. Closes the sockets at the end."""
        config = uvicorn.Config(
            app,
            log_config=None,
            log_level="warning",
            access_log=False,
            lifespan="off",
            ws="none",
            proxy_headers=False,
            server_header=False,
            backlog=_BACKLOG,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=max(1, round(self._grace_s)),
        )
        self._server = _Server(config)
        for listener in self._listeners:
            _log.info("listening", scheme=listener.scheme, host=listener.host, port=listener.port)
        try:
            await self._server.serve(sockets=self._sockets)
        finally:
            self.close()

    def stop(self) -> None:
        """Take no more connections, finish what is under way, and let ``serve`` return."""
        if self._server is not None:
            self._server.should_exit = True

    def close(self) -> None:
        """Give the sockets back. Idempotent."""
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
