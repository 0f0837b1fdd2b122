"""The server on real sockets of this machine: ports, limits of a start, a graceful end."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest
from starlette.types import Receive, Scope, Send

from connectd.aio.jobs import JobGroup
from connectd.configdef.rest_settings import Listener
from connectd.errors import ConfigError
from connectd.rest.server import RestServer

LOCAL = Listener("http", "127.0.0.1", 0)


class App:
    """Answers ``{}`` once its gate is open, and notes what it was asked for."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.arrived = asyncio.Event()
        self.seen: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.seen.append(scope["raw_path"].decode())
        self.arrived.set()
        await self.gate.wait()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"{}"})


async def _get(port: int, path: str = "/", host: str = "127.0.0.1") -> tuple[bytes, bytes]:
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition(b"\r\n\r\n")
    return head, body


async def _serve(server: RestServer, app: App, jobs: JobGroup) -> None:
    jobs.spawn("http", server.serve(app))


def test_it_serves_several_listeners_on_ports_that_the_system_chose() -> None:
    async def scenario() -> None:
        server, app, jobs = RestServer([LOCAL, LOCAL], grace_s=5.0), App(), JobGroup("test")
        bound = server.open()
        assert len({listener.port for listener in bound}) == 2
        assert 0 not in {listener.port for listener in bound}
        await _serve(server, app, jobs)
        for listener in bound:
            head, body = await _get(listener.port, "/connectors/a%2Fb")
            assert head.startswith(b"HTTP/1.1 200 OK")
            assert b"server:" not in head.lower()
            assert json.loads(body) == {}
        assert app.seen == ["/connectors/a%2Fb"] * 2
        server.stop()
        assert await jobs.join(deadline_s=10.0)

    asyncio.run(scenario())


def test_every_interface_means_ipv4_too() -> None:
    async def scenario() -> None:
        server, jobs = RestServer([Listener("http", "", 0)], grace_s=1.0), JobGroup("test")
        port = server.open()[0].port
        await _serve(server, App(), jobs)
        head, _ = await _get(port)
        assert head.startswith(b"HTTP/1.1 200 OK")
        server.stop()
        assert await jobs.join(deadline_s=10.0)

    asyncio.run(scenario())


def test_a_request_under_way_is_finished_before_the_end() -> None:
    async def scenario() -> None:
        server, app, jobs = RestServer([LOCAL], grace_s=10.0), App(), JobGroup("test")
        port = server.open()[0].port
        await _serve(server, app, jobs)
        app.gate.clear()
        answers: list[bytes] = []

        async def ask() -> None:
            answers.append((await _get(port))[0])

        jobs.spawn("client", ask())
        async with asyncio.timeout(10.0):
            await app.arrived.wait()
        server.stop()
        app.gate.set()
        assert await jobs.join(deadline_s=10.0)
        assert answers[0].startswith(b"HTTP/1.1 200 OK")
        with pytest.raises(ConnectionRefusedError):
            await _get(port)

    asyncio.run(scenario())


def test_an_address_in_use_is_a_configuration_error_that_names_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        server = RestServer([LOCAL, Listener("http", "127.0.0.1", port)])
        with pytest.raises(ConfigError, match=f"cannot listen on http://127.0.0.1:{port}: "):
            server.open()
        assert server._main._sockets == []


def test_the_address_of_another_machine_is_one_too() -> None:
    with pytest.raises(ConfigError, match=r"cannot listen on http://192\.0\.2\.1:0"):
        RestServer([Listener("http", "192.0.2.1", 0)]).open()
