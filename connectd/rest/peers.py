"""Speaking HTTP to other workers: one request per connection, bounded in time and size.

Redirects are not followed, nothing is kept between requests: they are rare.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

import h11

from connectd.configdef.tls_settings import TlsSettings
from connectd.rest import tls
from connectd.runtime.peers import PeerAnswer, PeerError

ANSWER_S: Final = 95.0
"""A worker answers within 90 s, if only to say what it waits for."""

CONNECT_S: Final = 5.0
"""Workers of a cluster are near each other."""

BODY_BYTES_MAX: Final = 64 * 1024 * 1024
_CHUNK_BYTES: Final = 65_536
_PORTS: Final = {"http": 80, "https": 443}


class HttpPeers:
    """Implements ``runtime.peers.Peers``.

    ``settings`` are those of our own https listeners: whom they trust is trusted, and their
    certificate is shown to workers that ask for one. Without them, the system's authorities are.
    """

    def __init__(self, settings: TlsSettings | None = None, *, answer_s: float = ANSWER_S) -> None:
        """Raises ``ConfigError`` when a certificate cannot be read."""
        self._tls = None if settings is None else tls.client_context(settings)
        self._answer_s = answer_s

    async def ask(
        self, method: str, url: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> PeerAnswer:
        """See ``Peers``."""
        is_unsent = True
        try:
            async with asyncio.timeout(self._answer_s):
                async with asyncio.timeout(CONNECT_S):
                    reader, writer = await self._connect(url)
                is_unsent = False
                return await _exchange(reader, writer, method, url, body, headers)
        except TimeoutError as error:
            what, limit_s = ("connection", CONNECT_S) if is_unsent else ("answer", self._answer_s)
            text = f"{url}: no {what} within {limit_s:g} s"
            raise PeerError(text, is_unsent=is_unsent) from error
        except (OSError, ValueError, h11.ProtocolError) as error:
            text = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise PeerError(f"{url}: {text}", is_unsent=is_unsent) from error

    async def _connect(self, url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or parts.hostname is None:
            raise ValueError("expected http://host:port/ or https://host:port/")
        context = (self._tls or ssl.create_default_context()) if parts.scheme == "https" else None
        port = parts.port or _PORTS[parts.scheme]
        return await asyncio.open_connection(parts.hostname, port, ssl=context)


async def _exchange(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    method: str,
    url: str,
    body: bytes | None,
    headers: Mapping[str, str],
) -> PeerAnswer:
    """One request and its answer. Whoever gives up has hung up when this is over."""
    parts = urlsplit(url)
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        everything = {
            "Host": parts.netloc.rpartition("@")[2],
            "User-Agent": "kafka-connect",
            "Accept": "application/json",
            "Connection": "close",
            **headers,
            **({} if body is None else {"Content-Length": str(len(body))}),
        }
        exchange = h11.Connection(our_role=h11.CLIENT)
        request = h11.Request(method=method, target=target, headers=[*everything.items()])
        for event in (request, h11.Data(data=body or b""), h11.EndOfMessage()):
            writer.write(exchange.send(event) or b"")
        await writer.drain()
        return await _answer(exchange, reader)
    finally:
        writer.transport.abort()
        with contextlib.suppress(OSError, ssl.SSLError):
            await writer.wait_closed()


async def _answer(exchange: h11.Connection, reader: asyncio.StreamReader) -> PeerAnswer:
    status, content = 0, bytearray()
    while True:
        event = exchange.next_event()
        if event is h11.NEED_DATA:
            exchange.receive_data(await reader.read(_CHUNK_BYTES))
        elif isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            content += event.data
            if len(content) > BODY_BYTES_MAX:
                raise ValueError(f"an answer of more than {BODY_BYTES_MAX} bytes")
        elif isinstance(event, h11.EndOfMessage):
            return PeerAnswer(status, bytes(content))
        elif isinstance(event, h11.ConnectionClosed):
            raise ConnectionError("the connection was closed before the end of the answer")
