"""A small HTTP server on the loopback, for as long as a ``with`` block.

``LocalHttp`` serves a handler of ``http.server`` in a thread; services of tests are made of it, and
their handlers are ``Quiet``.
"""

from __future__ import annotations

import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

_LOOK_S = 0.02
"""How long the end of the block may wait for the server to notice."""


class Quiet:
    """Stands before ``BaseHTTPRequestHandler``, which says something on stderr each time."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  its name
        """Nobody reads it."""


class LocalHttp:
    """See the module's docstring; ``url`` has no path."""

    def __init__(
        self, handler: type[BaseHTTPRequestHandler], tls: ssl.SSLContext | None = None
    ) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        scheme = "http" if tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(_LOOK_S,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
