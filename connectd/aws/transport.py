"""HTTP for the data plane: pooled connections, a deadline, a checksum, raw bytes.

Everything above sees ``HttpTransport`` only. ``pooled_transport`` is the one in use (an idle poll
spends most of its CPU time in there); ``AiohttpTransport`` here serves where there is a proxy, and
is what the other one is held against. Bodies are never compressed: unpacking a page costs more
than receiving it, except on links that are slow or paid by the byte.

A connection that the other side has closed in the meantime is noticed on use; the request is then
sent once more, which is harmless because the data plane only reads. All other failures reach the
caller at once.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import zlib
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Protocol
from urllib.parse import urlsplit

import aiohttp
import msgspec
from botocore.httpsession import get_cert_path
from botocore.utils import get_environ_proxies
from yarl import URL

from connectd.aws.errors import Call, raise_translated
from connectd.aws.http_connection import BODY_BYTES_MAX
from connectd.errors import ConfigError, InvariantError, TransientNetworkError

# Longer than the longest pause between two polls of a shard, shorter than what servers allow.
_KEEPALIVE_S = 20.0
# An idle poll fits at once; a page of 1 MB pauses the socket a few times only.
_READ_BUFFER_BYTES = 256 * 1024
_ROUTES_MAX = 64

# What a connection that went away while it lay idle looks like when it is used again.
_CONNECTION_LOST = (
    aiohttp.ServerDisconnectedError,
    aiohttp.ClientOSError,
    aiohttp.ClientConnectionResetError,
)


class RawResponse(msgspec.Struct, frozen=True, gc=False):
    """A successful answer: the body as it came, and the server's clock in epoch seconds.

    ``date_s`` is None when the Date header is missing or unreadable. Rules about the age of
    positions use it instead of the local clock (spec streams-and-leases 5, row 18).
    """

    body: bytes
    date_s: float | None


class HttpAnswer(msgspec.Struct, frozen=True, gc=False):
    """Any answer, whatever its status."""

    status: int
    body: bytes
    date_s: float | None


@dataclass(frozen=True)
class TransportSettings:
    """What every transport needs to know; ``tls`` is for https endpoints (``tls_context``)."""

    tls: ssl.SSLContext
    connections_max: int
    connect_timeout_s: float
    user_agent: str


class HttpTransport(Protocol):
    """Sends one POST request and returns the answer, body complete and checked."""

    async def post(
        self, url: str, headers: bytes, body: bytes, *, deadline_s: float, call: Call
    ) -> HttpAnswer:
        """``headers`` are lines as they go over the wire, each with CR LF, Host among them.

        Raises ``TransientNetworkError`` when no whole answer came within the deadline.
        """
        ...

    async def close(self) -> None:
        """Close all connections; requests under way fail."""
        ...


class AiohttpTransport:
    """``HttpTransport`` over one aiohttp session. Owned by one event loop; ``open`` comes first.

    Proxies are those of the environment, as for boto3.
    """

    def __init__(self, settings: TransportSettings) -> None:
        self._settings = settings
        self._session: aiohttp.ClientSession | None = None
        self._routes: dict[str, tuple[URL, str | None]] = {}

    async def open(self) -> None:
        """Make the session; connections open on demand."""
        settings = self._settings
        connector = aiohttp.TCPConnector(
            limit=settings.connections_max, keepalive_timeout=_KEEPALIVE_S, ssl=settings.tls
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=settings.connect_timeout_s),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Accept-Encoding": "identity", "User-Agent": settings.user_agent},
            skip_auto_headers=("Accept", "Content-Type"),
            read_bufsize=_READ_BUFFER_BYTES,
        )

    async def post(
        self, url: str, headers: bytes, body: bytes, *, deadline_s: float, call: Call
    ) -> HttpAnswer:
        """See ``HttpTransport.post``."""
        try:
            async with asyncio.timeout(deadline_s):
                try:
                    return await self._post(url, headers, body, call)
                except aiohttp.ClientConnectorError:
                    raise
                except _CONNECTION_LOST:
                    if self._session is None:
                        raise  # closed by us
                    return await self._post(url, headers, body, call)
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ClientError):
                raise TransientNetworkError(
                    f"{call}: no whole answer from {url} within {deadline_s:g} s"
                ) from error
            raise_translated(error, call)

    async def _post(self, url: str, headers: bytes, body: bytes, call: Call) -> HttpAnswer:
        if self._session is None:
            raise InvariantError(f"{call}: the transport is not open")
        target, proxy = self._routes.get(url) or self._route(url)
        async with self._session.post(
            target, headers=header_pairs(headers), data=body, proxy=proxy, allow_redirects=False
        ) as answer:
            content = await _read(answer, call)
            check_crc32(content, _header(answer, "x-amz-crc32"), call)
            date_s = parse_date_s(_header(answer, "Date"))
            return HttpAnswer(answer.status, content, date_s)

    def _route(self, url: str) -> tuple[URL, str | None]:
        if len(self._routes) >= _ROUTES_MAX:
            self._routes.clear()
        proxies: dict[str, str] = get_environ_proxies(url)
        route = URL(url, encoded=True), proxies.get(urlsplit(url).scheme)
        self._routes[url] = route
        return route

    async def close(self) -> None:
        """See ``HttpTransport.close``."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()


async def _read(answer: aiohttp.ClientResponse, call: Call) -> bytes:
    chunks: list[bytes] = []  # as they come: ``read`` would join them twice
    size = 0
    try:
        async for chunk, _ in answer.content.iter_chunks():
            size += len(chunk)
            if size > BODY_BYTES_MAX:
                raise TransientNetworkError(
                    f"{call}: the answer is larger than {BODY_BYTES_MAX} bytes, "
                    "a page of DynamoDB never is: check the endpoint"
                )
            chunks.append(chunk)
        return b"".join(chunks)
    finally:
        chunks.clear()  # aiohttp's stream keeps the error, which leads back to here


def _header(answer: aiohttp.ClientResponse, name: str) -> bytes | None:
    value = answer.headers.get(name)
    return None if value is None else value.encode("utf-8", "surrogateescape")


def header_pairs(headers: bytes) -> list[tuple[str, str]]:
    """Names and values of header lines."""
    lines = headers.decode("latin-1").split("\r\n")[:-1]
    return [(name, value) for name, _, value in (line.partition(": ") for line in lines)]


def check_crc32(body: bytes, header: bytes | None, call: Call) -> None:
    """Compare a body with the ``x-amz-crc32`` header of DynamoDB; other servers send none."""
    if header is None:
        return
    found = zlib.crc32(body)
    if header != b"%d" % found:
        raise TransientNetworkError(
            f"{call}: the answer was damaged on its way: crc32 of {len(body)} bytes is {found}, "
            f"the server says {header.decode('latin-1')}"
        )


# The header changes once a second, for all connections alike.
@lru_cache(maxsize=8)
def parse_date_s(header: bytes | None) -> float | None:
    """An HTTP date as epoch seconds; None when there is none to read."""
    if header is None:
        return None
    try:
        return parsedate_to_datetime(header.decode("latin-1")).timestamp()
    except (ValueError, OverflowError):
        return None


def tls_context(ca_bundle: str | None) -> ssl.SSLContext:
    """Trust what boto3 trusts: the bundle it was told to use, or else its own (blocking)."""
    path = ca_bundle or str(get_cert_path(True))
    try:
        if os.path.isdir(path):
            return ssl.create_default_context(capath=path)
        return ssl.create_default_context(cafile=path)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"reading trusted certificates from {path}: {error}; check AWS_CA_BUNDLE"
        ) from error
