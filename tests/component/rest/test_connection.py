"""Clients that speak HTTP badly, slowly, or not at all: on real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from connectd.aio.jobs import JobGroup
from connectd.configdef.rest_settings import Listener
from connectd.rest import bodies, connection, server
from connectd.rest.connection import Connection
from connectd.rest.errors import answering
from connectd.rest.paths import RawPaths
from connectd.rest.server import RestServer

PATIENCE_S = 20.0
LARGE_BYTES = 40_000_000
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class App:
    """``/body`` reads its body, ``/hold`` waits for the gate, ``/large`` answers a lot."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.arrived = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await answering(Request(scope, receive, send), self._handle)
        await response(scope, receive, send)

    async def _handle(self, request: Request) -> Response:
        path = request.scope["path"]
        if path == "/body":
            return Response(str(len(await bodies.read_bytes(request))))
        if path == "/hold":
            self.arrived.set()
            await self.gate.wait()
        return Response(b"x" * LARGE_BYTES if path == "/large" else b"{}")


@dataclass
class Client:
    """One connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def answer(self) -> tuple[int, bytes]:
        """Status and body of the next answer."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
        return int(head.split()[1]), await self.reader.readexactly(length)

    async def is_hung_up(self) -> bool:
        """Waits for the end of the connection; False if something else comes."""
        try:
            return await self.reader.read(1) == b""
        except ConnectionError:
            return True


Opener = Callable[[bytes], Coroutine[Any, Any, Client]]


@contextlib.asynccontextmanager
async def serving(app: App) -> AsyncIterator[Opener]:
    """A server, and a way to open connections with their first bytes; all with one deadline."""
    jobs, clients = JobGroup("test"), list[Client]()
    rest = RestServer([Listener("http", "127.0.0.1", 0)], grace_s=1.0)
    (listener,) = rest.open()

    async def connect(data: bytes) -> Client:
        client = Client(*await asyncio.open_connection("127.0.0.1", listener.port))
        clients.append(client)
        client.writer.write(data)
        return client

    async with asyncio.timeout(PATIENCE_S):
        jobs.spawn("http", rest.serve(RawPaths(app)))
        try:
            yield connect
        finally:
            for client in clients:
                client.writer.close()
            rest.stop()
            app.gate.set()
            await jobs.join(deadline_s=PATIENCE_S)


def run(scenario: Callable[[App, Opener], Coroutine[Any, Any, None]]) -> None:
    """Play a scenario on a loop of its own."""

    async def play() -> None:
        app = App()
        async with serving(app) as connect:
            await scenario(app, connect)

    asyncio.run(play())


HEAD = b"PUT /body HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET /\r\n\r\n", 400),
        (b"hello\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n", 400),
        (HEAD + b"Content-Length: abc\r\n\r\n", 400),
        (HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
        (HEAD + b"Transfer-Encoding: rot13\r\n\r\n", 501),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 70_000, 431),
        (b"GET /" + b"x" * 70_000, 431),
    ],
)
def test_what_is_no_http_gets_the_error_body_and_is_hung_up(data: bytes, status: int) -> None:
    async def scenario(app: App, connect: Opener) -> None:
        client = await connect(data)
        found, body = await client.answer()
        assert found == status
        error = json.loads(body)
        assert error["error_code"] == status
        assert error["message"].startswith(f"HTTP {status} ")
        assert await client.is_hung_up()
        assert (await (await connect(GET)).answer())[0] == 200

    run(scenario)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET /?" + b"x" * 9_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", 431),
        (
            HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            400,
        ),
    ],
)
def test_heads_that_are_too_large_or_ambiguous_are_refused(data: bytes, status: int) -> None:
    async def scenario(app: App, connect: Opener) -> None:
        found, body = await (await connect(data)).answer()
        assert (found, json.loads(body)["error_code"]) == (status, status)

    run(scenario)


@pytest.mark.parametrize("version", ["1.2", "2.0", "9.9"])
def test_other_versions_of_http_are_refused(version: str) -> None:
    async def scenario(app: App, connect: Opener) -> None:
        client = await connect(f"GET / HTTP/{version}\r\nHost: x\r\n\r\n".encode())
        status, body = await client.answer()
        assert (status, json.loads(body)["error_code"]) == (505, 505)

    run(scenario)


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET http://proxied:1/x HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /x#fragment HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    ],
)
def test_old_clients_and_proxies_are_understood(data: bytes) -> None:
    async def scenario(app: App, connect: Opener) -> None:
        assert await (await connect(data)).answer() == (200, b"{}")

    run(scenario)


def test_a_body_is_asked_for_when_the_client_waits_for_that() -> None:
    async def scenario(app: App, connect: Opener) -> None:
        client = await connect(HEAD + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        assert (await client.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100")
        client.writer.write(b"{}")
        assert await client.answer() == (200, b"2")

    run(scenario)


def test_a_body_that_breaks_off_is_no_bug_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    async def scenario(app: App, connect: Opener) -> None:
        client = await connect(HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n")
        client.writer.write(b"nonsense\r\n")
        status, body = await client.answer()
        assert (status, json.loads(body)["error_code"]) == (400, 400)
        gone = await connect(HEAD + b"Content-Length: 100\r\n\r\n{")
        gone.writer.transport.abort()
        assert (await (await connect(GET)).answer())[0] == 200

    run(scenario)
    assert "bug" not in capsys.readouterr().out


def test_a_body_that_is_too_large_is_refused_and_drained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_BODY_BYTES_MAX", 1_000)

    async def scenario(app: App, connect: Opener) -> None:
        client = await connect(HEAD + b"Content-Length: 3000000\r\n\r\n" + b"x" * 3_000_000)
        status, body = await client.answer()
        assert status == 413
        assert json.loads(body) == {
            "error_code": 413,
            "message": "HTTP 413 Request Entity Too Large",
        }

    run(scenario)


def test_half_a_request_does_not_stay_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_S", 0.1)

    async def scenario(app: App, connect: Opener) -> None:
        half = await connect(b"GET / HTTP/1.1\r\nHost: ")
        second = await connect(GET)
        assert (await second.answer())[0] == 200
        second.writer.write(b"GET")
        for client in (half, second):
            status, body = await client.answer()
            assert (status, json.loads(body)["message"]) == (408, "HTTP 408 Request Timeout")
            assert await client.is_hung_up()

    run(scenario)


def test_a_body_that_nobody_waits_for_does_not_stay_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "HEAD_S", 0.1)

    async def scenario(app: App, connect: Opener) -> None:
        client = await connect(b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n")
        assert (await client.answer())[0] == 200
        client.writer.write(b"x")
        assert await client.is_hung_up()

    run(scenario)


def test_silent_connections_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_KEEP_ALIVE_S", 0)

    async def scenario(app: App, connect: Opener) -> None:
        assert await (await connect(b"")).is_hung_up()

    run(scenario)


def test_an_answer_that_nobody_takes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "WRITE_S", 0.2)
    lost, on_lost = asyncio.Event(), Connection.connection_lost

    def connection_lost(each: Connection, error: Exception | None) -> None:
        on_lost(each, error)
        lost.set()

    monkeypatch.setattr(Connection, "connection_lost", connection_lost)

    async def scenario(app: App, connect: Opener) -> None:
        client = await connect(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        await lost.wait()
        with contextlib.suppress(ConnectionError):
            assert len(await client.reader.read()) < LARGE_BYTES

    run(scenario)


def test_idle_connections_make_room_for_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CONNECTIONS_MAX", 3)

    async def scenario(app: App, connect: Opener) -> None:
        held = await connect(b"GET /hold HTTP/1.1\r\nHost: x\r\n\r\n")
        await app.arrived.wait()
        idle = []
        for _ in range(2):
            idle.append(await connect(GET))
            await idle[-1].answer()
        newest = await connect(GET)
        assert (await newest.answer())[0] == 200
        assert await idle[0].is_hung_up()
        idle[1].writer.write(GET)
        assert (await idle[1].answer())[0] == 200
        app.gate.set()
        assert (await held.answer())[0] == 200

    run(scenario)


def test_with_all_connections_at_work_a_new_one_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CONNECTIONS_MAX", 1)

    async def scenario(app: App, connect: Opener) -> None:
        held = await connect(b"GET /hold HTTP/1.1\r\nHost: x\r\n\r\n")
        await app.arrived.wait()
        late = await connect(b"")
        status, body = await late.answer()
        assert (status, json.loads(body)["message"]) == (503, "HTTP 503 Service Unavailable")
        app.gate.set()
        assert (await held.answer())[0] == 200

    run(scenario)
