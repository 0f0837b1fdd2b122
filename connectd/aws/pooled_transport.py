"""``HttpTransport`` without a client library: what thousands of idle polls per second pay for.

An idle poll through aiohttp costs several times what everything else about it costs. Here it is a
kept connection, a write, and a parser in C (``http_connection``). What is rare goes the long way:
a proxy of the environment is aiohttp's business.

Rules: at most ``connections_max`` requests are in flight and as many connections open; who asks
first goes first. The connection used last is used next, so that those that are not needed grow old
and are closed. A request whose connection turns out to be gone before a byte of the answer came is
sent once more, on a new connection; that is harmless, because the data plane only reads. All other
failures reach the caller at once. Every wait is within the deadline of the request.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
import ssl
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from botocore.utils import get_environ_proxies

from connectd.aio.places import Places
from connectd.aws.errors import Call, raise_translated
from connectd.aws.http_connection import ConnectionLostError, HttpConnection, WireAnswer
from connectd.aws.transport import (
    AiohttpTransport,
    HttpAnswer,
    TransportSettings,
    check_crc32,
    parse_date_s,
)
from connectd.errors import InvariantError, TransientNetworkError

_KEEPALIVE_S: Final = 20.0
"""Longer than the usual pause between two polls, shorter than what servers allow."""

_ADDRESSES_MAX: Final = 4
"""Addresses of a name that are tried, one after the other, each with its share of the time."""

_ORIGINS_MAX: Final = 64


@dataclass
class _Origin:
    """One server: where it is, how requests to it begin, and its idle connections, newest last.

    One that is not known any more takes no connections back: nobody would find them.
    """

    host: str
    port: int
    is_tls: bool
    request_line: bytes
    is_proxied: bool
    is_known: bool = True
    idle: list[HttpConnection] = field(default_factory=list)


class PooledTransport:
    """See the module's docstring. Owned by one event loop; ``open`` comes first."""

    def __init__(self, settings: TransportSettings) -> None:
        self._settings = settings
        self._fixed_lines = (
            f"User-Agent: {settings.user_agent}\r\nAccept-Encoding: identity\r\nContent-Length: "
        ).encode("latin-1")
        self._places = Places(settings.connections_max)
        self._origins: dict[str, _Origin] = {}
        self._connections: set[HttpConnection] = set()
        self._is_open = False
        self._watcher: asyncio.TimerHandle | None = None
        self._watch_at_s = math.inf
        self._proxied = AiohttpTransport(settings)

    async def open(self) -> None:
        """Take requests from now on; connections open on demand."""
        self._loop = asyncio.get_running_loop()  # to ask for it each time is a system call
        await self._proxied.open()
        self._is_open = True

    async def post(
        self, url: str, headers: bytes, body: bytes, *, deadline_s: float, call: Call
    ) -> HttpAnswer:
        """See ``HttpTransport.post``."""
        if not self._is_open:
            raise InvariantError(f"{call}: the transport is not open")
        origin = self._origins.get(url) or self._origin(url)
        if origin.is_proxied:
            return await self._proxied.post(url, headers, body, deadline_s=deadline_s, call=call)
        request = b"%b%b%b%d\r\n\r\n%b" % (
            origin.request_line,
            headers,
            self._fixed_lines,
            len(body),
            body,
        )
        loop = self._loop
        give_up_s = loop.time() + deadline_s
        try:
            if not self._places.take_at_once():
                async with asyncio.timeout_at(give_up_s):
                    await self._places.take()
            try:
                answer = await self._exchange(origin, request, give_up_s)
            finally:
                self._places.give_back()
        except TimeoutError as error:
            raise TransientNetworkError(
                f"{call}: no whole answer from {url} within {deadline_s:g} s"
            ) from error
        except OSError as error:
            raise_translated(error, call)
        content = answer.body
        check_crc32(content, answer.crc32, call)
        return HttpAnswer(answer.status, content, parse_date_s(answer.date))

    async def close(self) -> None:
        """See ``HttpTransport.close``."""
        self._is_open = False
        if self._watcher is not None:
            self._watcher.cancel()
            self._watcher = None
            self._watch_at_s = math.inf
        for connection in list(self._connections):
            connection.abort()
        self._forget_origins()
        await self._proxied.close()
        await asyncio.sleep(0)  # aborted connections close their sockets in the next turn

    @property
    def connections(self) -> int:
        """Open connections, in use or idle."""
        return len(self._connections)

    # -- requests -------------------------------------------------------------------------------

    async def _exchange(self, origin: _Origin, request: bytes, give_up_s: float) -> WireAnswer:
        connection = self._idle_connection(origin)
        is_repeated = False
        while True:
            if connection is None:
                connection = await self._connect(origin, give_up_s)
            if give_up_s < self._watch_at_s:
                self._watch(give_up_s)
            try:
                answer = await connection.exchange(request, give_up_s)
            except ConnectionLostError as error:
                connection.abort()
                if is_repeated or not error.is_untouched or not self._is_open:
                    raise
                connection = None
                is_repeated = True
            except BaseException:  # its answer may still come: nothing else can be asked there
                connection.abort()
                raise
            else:
                if connection.is_usable and origin.is_known:
                    origin.idle.append(connection)
                else:
                    connection.abort()
                return answer

    def _watch(self, at_s: float) -> None:
        """Look at what is in flight at that time, and not before."""
        if self._watcher is not None:
            self._watcher.cancel()
        self._watch_at_s = at_s
        self._watcher = self._loop.call_at(at_s, self._on_watch)

    def _on_watch(self) -> None:
        """End what has taken too long, and look again when the next may have.

        One timer for all: a timer for each exchange costs more than what it watches.
        """
        self._watcher = None
        self._watch_at_s = math.inf
        now_s = self._loop.time()
        waiting = [each for each in self._connections if each.is_waiting]
        for connection in waiting:
            if connection.give_up_s <= now_s:
                connection.expire()
        if any(each.is_waiting for each in waiting):
            self._watch(min(each.give_up_s for each in waiting if each.is_waiting))

    # -- connections ----------------------------------------------------------------------------

    def _idle_connection(self, origin: _Origin) -> HttpConnection | None:
        """The connection used last, if it may be used again; old ones are closed on the way."""
        idle = origin.idle
        now_s = self._loop.time()
        if idle and now_s - idle[0].idle_since_s > _KEEPALIVE_S:
            idle.pop(0).abort()
        while idle:
            connection = idle.pop()
            if connection.is_usable and now_s - connection.idle_since_s <= _KEEPALIVE_S:
                return connection
            connection.abort()
        return None

    async def _connect(self, origin: _Origin, give_up_s: float) -> HttpConnection:
        """A new connection; none once the transport was closed.

        Raises:
            OSError: the last reason why none could be made; TimeoutError: it took too long.
        """
        self._demand_open()
        self._make_room()
        loop = self._loop
        timeout_s = min(self._settings.connect_timeout_s, give_up_s - loop.time())
        where = f"{origin.host}:{origin.port}"
        try:
            async with asyncio.timeout(timeout_s):
                connection = await self._connect_to_any(origin, timeout_s)
        except ssl.SSLCertVerificationError:
            raise
        except TimeoutError as error:
            if loop.time() >= give_up_s:
                raise
            raise ConnectionError(
                f"Cannot connect to {where}: no answer within {timeout_s:g} s"
            ) from error
        except OSError as error:
            raise ConnectionError(f"Cannot connect to {where}: {error}") from error
        if not self._is_open:
            connection.abort()
        self._demand_open()
        return connection

    def _demand_open(self) -> None:
        if not self._is_open:
            raise ConnectionError("the transport was closed")

    async def _connect_to_any(self, origin: _Origin, timeout_s: float) -> HttpConnection:
        loop = self._loop
        found = await loop.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(address[4][0] for address in found))[:_ADDRESSES_MAX]
        failure: OSError | None = None
        for address in addresses:
            try:
                async with asyncio.timeout(timeout_s / len(addresses)):
                    _, connection = await loop.create_connection(
                        lambda: HttpConnection(self._on_lost, loop),
                        str(address),
                        origin.port,
                        ssl=self._settings.tls if origin.is_tls else None,
                        server_hostname=origin.host if origin.is_tls else None,
                    )
            except ssl.SSLError:
                raise
            except OSError as error:
                failure = error
            else:
                if connection.is_usable:  # it may be lost already, and has told so
                    self._connections.add(connection)
                return connection
        raise failure or ConnectionError("its name has no address")

    def _make_room(self) -> None:
        """Close an idle connection if there would be too many with those in use and being made.

        Each of the latter has a place, this one's among them.
        """
        idle = sum(len(origin.idle) for origin in self._origins.values())
        if self._places.taken + idle <= self._settings.connections_max:
            return
        for origin in self._origins.values():
            if origin.idle:
                origin.idle.pop(0).abort()
                return

    def _on_lost(self, connection: HttpConnection) -> None:
        self._connections.discard(connection)
        for origin in self._origins.values():
            with contextlib.suppress(ValueError):
                origin.idle.remove(connection)

    def _forget_origins(self) -> None:
        for origin in self._origins.values():
            origin.is_known = False
            for connection in origin.idle:
                connection.abort()
        self._origins.clear()

    def _origin(self, url: str) -> _Origin:
        if len(self._origins) >= _ORIGINS_MAX:
            self._forget_origins()
        parts = urlsplit(url)
        host = parts.hostname or ""
        is_tls = parts.scheme == "https"
        proxies: dict[str, str] = get_environ_proxies(url)
        origin = self._origins[url] = _Origin(
            host=host,
            port=parts.port or (443 if is_tls else 80),
            is_tls=is_tls,
            request_line=f"POST {parts.path or '/'} HTTP/1.1\r\n".encode("latin-1"),
            is_proxied=proxies.get(parts.scheme) is not None,
        )
        return origin
