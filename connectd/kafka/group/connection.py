"""One connection to one broker: requests in order, one at a time, each with a deadline.

A connection that has failed in any way is closed for good; its owner makes another one. Requests
may wait for each other here, so that a heartbeat goes by a connection of its own: a join takes as
long as the slowest member of the group.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import ssl
import struct
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, Self

from confluent_kafka import KafkaError

from connectd.errors import AccessDeniedError, BrokerUnavailableError, ConfigError
from connectd.kafka import errors
from connectd.kafka.group import requests
from connectd.kafka.group.access import PLAIN, Access, Login
from connectd.kafka.group.bearer import LAST_WORD, BearerLogin
from connectd.kafka.group.requests import Api
from connectd.kafka.group.scram import ScramLogin
from connectd.kafka.group.wire import INT32, Reader, WireError

ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
"""Subscriptions of a whole group, sent to its leader, are far below this."""

CLOSE_S: Final = 1.0

_OF_PASSWORDS: Final = "sasl.mechanism, user name and password"
_OF_TOKENS: Final = "that the issuer of sasl.oauthbearer.token.endpoint.url is the brokers' too"


class BrokerConnection:
    """See the module's docstring. Made by ``open``."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, where: str, client_id: str
    ) -> None:
        self.where = where
        self._reader = reader
        self._writer = writer
        self._client_id = client_id
        self._versions: dict[int, int] = {}
        self._correlation_id = 0
        self._turn = asyncio.Lock()
        self._is_closed = False

    @classmethod
    async def open(cls, host: str, port: int, access: Access) -> Self:
        """Connect, agree on versions and log in, within ``access.connect_s`` altogether.

        Raises:
            BrokerUnavailableError: nobody answers, or not in time.
            AccessDeniedError: the login, or one side's certificate, is refused.
            ConfigError: the broker is too old, or does not know the way to log in.
        """
        where = f"{host}:{port}"
        async with _within(access.connect_s, f"connecting to {where}"):
            reader, writer = await asyncio.open_connection(
                host,
                port,
                ssl=access.tls,
                server_hostname=host if access.tls else None,
                limit=2**20,
            )
            connection = cls(reader, writer, where, access.client_id)
            try:
                await connection._agree()
                if access.login is not None:
                    await connection._log_in(access.login)
            except BaseException:
                connection.abort()
                raise
        return connection

    @property
    def is_open(self) -> bool:
        """Whether requests can go here."""
        return not self._is_closed and not self._reader.at_eof()

    async def call(self, api: Api, deadline_s: float, **body: Any) -> Mapping[str, Any]:
        """Ask, and wait for the answer; error codes in it are the caller's business.

        Cancelling closes the connection: the answer would meet the next request.

        Raises:
            BrokerUnavailableError: the connection broke, or the deadline came first.
        """
        try:
            async with _within(deadline_s, f"asking {self.where} for {api.name}"), self._turn:
                return await self._exchange(api, body)
        except BaseException:
            self.abort()
            raise

    async def _exchange(self, api: Api, body: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._is_closed:
            raise ConnectionError("the connection is closed")
        version = self._versions.get(api.key, api.newest)
        self._correlation_id = (self._correlation_id + 1) % 2**31
        out = bytearray(4)
        header = {
            "api_key": api.key,
            "api_version": version,
            "correlation_id": self._correlation_id,
            "client_id": self._client_id,
        }
        requests.HEADER.write(out, header, 0)
        api.request.write(out, body, version)
        struct.pack_into(">i", out, 0, len(out) - 4)
        self._writer.write(bytes(out))
        await self._writer.drain()
        (size,) = struct.unpack(">i", await self._reader.readexactly(4))
        if not 4 <= size <= ANSWER_BYTES_MAX:
            raise WireError(f"an answer of {size} bytes: is this a Kafka broker's plain listener?")
        answer = Reader(await self._reader.readexactly(size))
        if INT32.read(answer, 0) != self._correlation_id:
            raise WireError("an answer to another request")
        return api.response.read(answer, version)

    async def _agree(self) -> None:
        answer = await self._exchange(requests.API_VERSIONS, {})
        self._check(answer, "asking for versions")
        known = {each["key"]: (each["oldest"], each["newest"]) for each in answer["api_keys"]}
        for api in _NEGOTIATED:
            oldest, newest = known.get(api.key, (0, -1))
            version = min(newest, api.newest)
            if version < max(oldest, api.oldest):
                raise ConfigError(
                    f"broker {self.where} speaks {api.name} in versions {oldest} to {newest}, "
                    f"expected one of {api.oldest} to {api.newest}; connectd works with brokers "
                    "of Kafka 0.11 to 4.x"
                )
            self._versions[api.key] = version

    async def _log_in(self, login: Login | BearerLogin) -> None:
        answer = await self._exchange(requests.SASL_HANDSHAKE, {"mechanism": login.mechanism})
        if answer["error_code"]:
            offered = ", ".join(answer["mechanisms"]) or "none"
            raise ConfigError(
                f"sasl.mechanism: found {login.mechanism}, but {self.where} takes {offered}"
            )
        if isinstance(login, BearerLogin):
            await self._show(login)
            return
        if login.mechanism == PLAIN:
            await self._prove(f"\0{login.user}\0{login.password}".encode())
            return
        scram = ScramLogin(login.mechanism, login.user, login.password, secrets.token_urlsafe(24))
        challenge = await self._prove(scram.first())
        scram.check(await self._prove(scram.final(challenge)))

    async def _show(self, login: BearerLogin) -> None:
        try:
            if await self._prove(await login.first(), _OF_TOKENS):
                await self._prove(LAST_WORD, _OF_TOKENS)  # raises what the broker tells of it
                raise AccessDeniedError(f"logging in at {self.where}: the token is refused")
        except AccessDeniedError:
            login.forget()
            raise

    async def _prove(self, content: bytes, to_check: str = _OF_PASSWORDS) -> bytes:
        answer = await self._exchange(requests.SASL_AUTHENTICATE, {"auth_bytes": content})
        if answer["error_code"]:
            raise AccessDeniedError(
                f"logging in at {self.where}: {answer['error_message'] or 'refused'}; check "
                f"{to_check}"
            )
        return bytes(answer["auth_bytes"])

    def _check(self, answer: Mapping[str, Any], doing: str) -> None:
        if answer["error_code"]:
            raise errors.translate(KafkaError(answer["error_code"]), f"{doing} at {self.where}")

    def abort(self) -> None:
        """Drop it, whatever is under way. Idempotent."""
        self._is_closed = True
        self._writer.transport.abort()

    async def close(self) -> None:
        """Close it; bounded. Idempotent."""
        self._is_closed = True
        self._writer.close()
        with contextlib.suppress(OSError, TimeoutError, ssl.SSLError):
            async with asyncio.timeout(CLOSE_S):
                await self._writer.wait_closed()


_NEGOTIATED: Final = (
    requests.FIND_COORDINATOR,
    requests.JOIN_GROUP,
    requests.SYNC_GROUP,
    requests.HEARTBEAT,
    requests.LEAVE_GROUP,
)


@contextlib.asynccontextmanager
async def _within(deadline_s: float, doing: str) -> AsyncIterator[None]:
    """Foreign errors become ours; so does a deadline that has passed."""
    limit = asyncio.timeout(deadline_s)
    try:
        async with limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise BrokerUnavailableError(f"{doing}: {error or 'timed out'}") from error
        raise BrokerUnavailableError(f"{doing}: no answer within {deadline_s:g} s") from error
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError) as error:  # a broker that stops
        raise BrokerUnavailableError(f"{doing}: the connection was closed") from error
    except ssl.SSLError as error:
        raise AccessDeniedError(
            f"{doing}: TLS: {error.reason or error}; check the trusted certificates "
            "(ssl.truststore.location or ssl.ca.location), our own one, and that the broker's "
            "certificate is for the host that bootstrap.servers names"
        ) from error
    except (OSError, EOFError, WireError) as error:
        text = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise BrokerUnavailableError(f"{doing}: {text}") from error
