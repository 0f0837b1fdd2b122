"""A small HTTP/1.1 server for the fake: keep-alive, one answer at a time per connection.

Written on ``asyncio.Protocol`` because the fake needs what servers hide: its own ``Date``, broken
and missing answers, answers after a delay, and no timer of its own, so that it runs on a
virtual-time loop beside the code under test. Requests have a ``Content-Length``; chunked bodies
are refused.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import cast

from tests.fakes.wire import Answer, Ending

HEAD_BYTES_MAX = 64 * 1024
BODY_BYTES_MAX = 32 * 1024 * 1024

Handler = Callable[[str, str, Mapping[str, str], bytes], Answer]
"""Method, path, headers with lower-case names, body."""


class _BadRequestError(Exception):
    """The bytes on the connection are no request that this server understands."""


@dataclass(frozen=True, slots=True)
class _Head:
    """A request without its body."""

    method: str
    path: str
    headers: dict[str, str]
    body_length: int


class _Connection(asyncio.Protocol):
    """One client connection."""

    def __init__(self, handler: Handler, date: Callable[[], str], all_: set[_Connection]) -> None:
        self._handler = handler
        self._date = date
        self._all = all_
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._pending: asyncio.TimerHandle | None = None
        self._head: _Head | None = None  # of a request whose body is still to come
        self._is_answering = False
        self._is_paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._all.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._all.discard(self)
        if self._pending is not None:
            self._pending.cancel()

    def abort(self) -> None:
        """Drop the connection."""
        if self._transport is not None:
            self._transport.abort()

    def pause_writing(self) -> None:
        self._is_paused = True

    def resume_writing(self) -> None:
        self._is_paused = False
        self._serve()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._serve()

    def _serve(self) -> None:
        """Answer what has arrived, in order, while the client keeps reading."""
        while not self._is_answering and not self._is_paused and self._transport is not None:
            try:
                request = self._next_request()
            except _BadRequestError as error:
                self._write(Answer(400, str(error).encode(), ending=Ending.KEEP))
                if self._transport is not None:
                    self._transport.close()
                return
            if request is None:
                return
            self._is_answering = True
            answer = self._handler(*request)
            if answer.delay_s > 0:
                loop = asyncio.get_running_loop()
                self._pending = loop.call_later(answer.delay_s, self._write_and_serve, answer)
            else:
                self._write(answer)

    def _next_request(self) -> tuple[str, str, dict[str, str], bytes] | None:
        if self._head is None:
            self._head = self._next_head()
            if self._head is None:
                return None
        head = self._head
        if len(self._buffer) < head.body_length:
            is_asked = head.headers.get("expect", "").lower() == "100-continue"
            if is_asked and not self._buffer and self._transport is not None:
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            return None
        body = bytes(self._buffer[: head.body_length])
        del self._buffer[: head.body_length]
        self._head = None
        return head.method, head.path, head.headers, body

    def _next_head(self) -> _Head | None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > HEAD_BYTES_MAX:
                raise _BadRequestError("the head of the request is too long")
            return None
        lines = self._buffer[:end].decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        try:
            method, path, _ = lines[0].split(" ")
            length = int(headers.get("content-length", "0"))
        except ValueError:
            raise _BadRequestError(f"not a request: {lines[0]!r}") from None
        if "transfer-encoding" in headers or not 0 <= length <= BODY_BYTES_MAX:
            raise _BadRequestError(f"expected a Content-Length from 0 to {BODY_BYTES_MAX}")
        return _Head(method, path, headers, length)

    def _write_and_serve(self, answer: Answer) -> None:
        self._pending = None
        self._write(answer)
        self._serve()

    def _write(self, answer: Answer) -> None:
        transport = self._transport
        if transport is None or answer.ending is Ending.HANG:
            return  # a connection that hangs stays in answering, so nothing else is served on it
        if answer.ending is Ending.RESET:
            linger_not = struct.pack("ii", 1, 0)  # makes the close a RST instead of a FIN
            socket_: socket.socket = transport.get_extra_info("socket")
            socket_.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_not)
            transport.abort()
            return
        phrase = HTTPStatus(answer.status).phrase
        head = [f"HTTP/1.1 {answer.status} {phrase}", "Server: Server", f"Date: {self._date()}"]
        head += [f"{name}: {value}" for name, value in answer.headers.items()]
        head += [f"Content-Length: {len(answer.body)}", "Connection: keep-alive", "", ""]
        body = answer.body
        if answer.ending is Ending.TRUNCATED:
            body = body[: len(body) // 2]
        transport.writelines(["\r\n".join(head).encode("latin-1"), body])
        if answer.ending is Ending.TRUNCATED:
            transport.close()
            return
        self._is_answering = False


class HttpServer:
    """Listens on the loopback interface and hands every request to ``handler``."""

    def __init__(self, handler: Handler, date: Callable[[], str]) -> None:
        self._handler = handler
        self._date = date
        self._connections: set[_Connection] = set()
        self._server: asyncio.Server | None = None

    async def start(
        self, port: int = 0, host: str = "127.0.0.1", *, tls: ssl.SSLContext | None = None
    ) -> str:
        """Begin to listen; the URL. Port 0 takes a free one."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Connection(self._handler, self._date, self._connections), host, port, ssl=tls
        )
        bound = self._server.sockets[0].getsockname()[1]
        return f"{'http' if tls is None else 'https'}://{host}:{bound}"

    async def stop(self) -> None:
        """Stop listening and drop every connection, those that hang included."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self._connections):
            connection.abort()
        await self._server.wait_closed()
        await asyncio.sleep(0)  # the aborted transports close their sockets in the next turn
        self._server = None
