"""S3 as far as GetObject of one range goes: a dictionary of objects behind a port of 127.0.0.1.

Requests are not authenticated. What is not there is answered as S3 does (NoSuchKey).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

Objects = dict[tuple[str, str], bytes]
"""Contents by bucket and key."""


@contextmanager
def served(objects: Objects) -> Iterator[str]:
    """The URL at which the objects are, for as long as the block lasts; they may change."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            bucket, _, key = unquote(urlsplit(self.path).path).lstrip("/").partition("/")
            content = objects.get((bucket, key))
            if content is None:
                self._answer(404, b"<Error><Code>NoSuchKey</Code><Message>no</Message></Error>")
                return
            first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
            start, end = int(first), min(int(last) + 1, len(content))
            if start >= len(content):
                self._answer(416, b"<Error><Code>InvalidRange</Code></Error>")
                return
            place = f"bytes {start}-{end - 1}/{len(content)}"
            self._answer(206, content[start:end], {"Content-Range": place})

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  its name
            """Say nothing."""

        def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="objects")
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
