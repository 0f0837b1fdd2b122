"""Serves the API on the worker's own event loop.

Sockets are bound first (``open``), so that an address in use is told before anything else starts
and port 0 is known when the worker's URL is made. ``serve`` is a job of the composition root.
Signals are none of the server's business.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Sequence

import structlog
import uvicorn
from starlette.types import ASGIApp

from connectd.rest.listeners import Listener, open_socket

_log = structlog.get_logger(__name__)

_KEEP_ALIVE_S = 30
_BACKLOG = 1024


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: the process has its own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class RestServer:
    """Listens for one application; ``grace_s`` is what requests under way get at the end."""

    def __init__(self, listeners: Sequence[Listener], *, grace_s: float = 60.0) -> None:
        self._listeners = tuple(listeners)
        self._grace_s = grace_s
        self._sockets: list[socket.socket] = []
        self._server: _Server | None = None

    def open(self) -> tuple[int, ...]:
        """Bind every listener; returns the ports, in order.

        Raises:
            ConfigError: an address cannot be had; nothing is bound then.
        """
        try:
            for listener in self._listeners:
                self._sockets.append(open_socket(listener))
        except BaseException:
            self.close()
            raise
        return tuple(int(each.getsockname()[1]) for each in self._sockets)

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
        for listener, bound in zip(self._listeners, self._sockets, strict=True):
            host = listener.host or "*"
            _log.info("listening", scheme=listener.scheme, host=host, port=bound.getsockname()[1])
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
