"""Stand-ins for what lies beyond the AWS adapter: a clock, keys, a transport, a server."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, ParamSpec, Self, TypeVar
from urllib.parse import urlsplit

import orjson

from connectd.aws.control import ControlPlane
from connectd.aws.endpoints import FixedEndpoint
from connectd.aws.errors import Call
from connectd.aws.signing import FrozenCredentials
from connectd.aws.transport import HttpAnswer, header_pairs
from connectd.aws.wire import JsonWire

P = ParamSpec("P")
T = TypeVar("T")

CALL = Call("dynamodb:Scan", "table orders")


class HandClock:
    """Time that the test moves; sleeping moves it too."""

    def __init__(self, *, wall_s: float = 1_714_557_600.0) -> None:
        self.now_s = wall_s

    def monotonic(self) -> float:
        return self.now_s

    def wall_s(self) -> float:
        return self.now_s

    async def sleep(self, duration_s: float) -> None:
        self.now_s += max(0.0, duration_s)


class ScriptedKeys:
    """Hands out the first set of keys, and the next one on each renewal while there is one."""

    def __init__(self, *sets: FrozenCredentials) -> None:
        self._sets = list(sets or (FrozenCredentials("AKID", "secret"),))
        self.renewals = 0

    def fresh(self) -> FrozenCredentials | None:
        return None

    async def current(self) -> FrozenCredentials:
        return self._sets[0]

    async def renew(self, rejected: FrozenCredentials) -> FrozenCredentials:
        self.renewals += 1
        if len(self._sets) > 1 and self._sets[0] == rejected:
            del self._sets[0]
        return self._sets[0]


@dataclass
class Sent:
    """A request that reached the scripted transport."""

    url: str
    headers: dict[str, str]
    body: bytes
    deadline_s: float


class ScriptedTransport:
    """Gives the answers it was made with, in order; a raised error is an answer too."""

    def __init__(self, *answers: HttpAnswer | Exception) -> None:
        self._answers = list(answers)
        self.sent: list[Sent] = []

    async def post(
        self, url: str, headers: bytes, body: bytes, *, deadline_s: float, call: Call
    ) -> HttpAnswer:
        self.sent.append(Sent(url, dict(header_pairs(headers)), body, deadline_s))
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self) -> None:
        self._answers.clear()


def header_lines(url: str, **headers: str) -> bytes:
    """Lines for a request to ``url``; underscores stand for dashes."""
    pairs = {"Host": urlsplit(url).netloc, **headers}
    return b"".join(f"{name.replace('_', '-')}: {pairs[name]}\r\n".encode() for name in pairs)


def wire_over(transport: ScriptedTransport, keys: ScriptedKeys | None = None) -> JsonWire:
    """A wire to ``http://ddb.test/`` in eu-west-1."""
    return JsonWire(
        transport=transport,
        endpoints=FixedEndpoint("http://ddb.test", region="eu-west-1"),
        keys=keys or ScriptedKeys(),
        clock=HandClock(),
        deadline_s=7.0,
    )


def fault(status: int, code: str, message: str = "no", **more: Any) -> HttpAnswer:
    """An error answer as DynamoDB writes it."""
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message, **more}
    return HttpAnswer(status, orjson.dumps(body), None)


@dataclass(frozen=True)
class Request:
    """What the loopback server received, and on which connection (numbered from 0)."""

    connection: int
    headers: dict[str, str]
    body: bytes

    @property
    def operation(self) -> str:
        """``X-Amz-Target`` without the service's prefix."""
        return self.headers.get("x-amz-target", "").rpartition(".")[2]


@dataclass(frozen=True)
class Reply:
    """What the loopback server answers; ``closes`` ends the connection after it."""

    body: bytes = b"{}"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    closes: bool = False


Handler = Callable[[Request, asyncio.StreamWriter], Awaitable[Reply | None]]


def replying(reply: Reply) -> Handler:
    """Gives each request the same answer."""

    async def handler(request: Request, writer: asyncio.StreamWriter) -> Reply:
        return reply

    return handler


class LoopbackServer:
    """An HTTP/1.1 server on 127.0.0.1 that does what the handler says, faults included.

    A handler returns a reply, or None when it has dealt with the connection itself.
    """

    def __init__(self, handler: Handler, *, tls: ssl.SSLContext | None = None) -> None:
        self._handler = handler
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._jobs: set[asyncio.Task[None]] = set()
        self.connections = 0
        self.requests: list[Request] = []
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_reason: object) -> None:
        assert self._server is not None
        self._server.close()
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)
        await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        job = asyncio.get_running_loop().create_task(self._serve(self.connections, reader, writer))
        self.connections += 1
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)

    async def _serve(
        self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while await self._serve_one(number, reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away, as clients do
        finally:
            writer.close()

    async def _serve_one(
        self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        lines = (line.partition(":") for line in head[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in lines}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        request = Request(number, headers, body)
        self.requests.append(request)
        reply = await self._handler(request, writer)
        if reply is None:
            return False
        head_out = [f"HTTP/1.1 {reply.status} Status"]
        extra = {"Content-Length": str(len(reply.body)), **reply.headers}
        head_out += [f"{name}: {value}" for name, value in extra.items()]
        writer.write("\r\n".join([*head_out, "", ""]).encode("latin-1") + reply.body)
        await writer.drain()
        return not reply.closes


class DirectControl(ControlPlane):
    """Calls the method here and now, in place of a thread."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    async def call(
        self, call: Call, method: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        self.calls.append(call)
        return method(*args, **kwargs)
