"""Speaking HTTP to other workers, over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from connectd.configdef import tls_settings
from connectd.rest.peers import HttpPeers
from connectd.runtime.peers import PeerAnswer, PeerError
from tests.harness.processes import free_ports

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@dataclass
class Server:
    """Answers every connection with the same bytes, and keeps what it was asked."""

    answer: bytes
    asked: list[bytes] = field(default_factory=list)
    url: str = ""
    served: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = next(
            (int(line.split(b":")[1]) for line in head.split(b"\r\n") if b"ontent-Length" in line),
            0,
        )
        self.asked.append(head + await reader.readexactly(size))
        writer.write(self.answer)
        if not self.answer:
            await reader.read()  # until the client has had enough
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        self.served.set()


def ask(server: Server, test: Callable[[HttpPeers], Awaitable[PeerAnswer]]) -> PeerAnswer:
    async def run() -> PeerAnswer:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        async with listening, asyncio.timeout(30.0):
            try:
                return await test(HttpPeers(answer_s=20.0 if server.answer else 0.5))
            finally:
                await server.served.wait()

    return asyncio.run(run())


def test_a_request_goes_out_as_a_worker_of_kafka_sends_it() -> None:
    server = Server(OK)
    answer = ask(
        server,
        lambda peers: peers.ask(
            "POST", f"{server.url}/connectors?forward=true", body=b"[1]", headers={"X-A": "b"}
        ),
    )
    assert answer == PeerAnswer(200, b"{}")
    (asked,) = server.asked
    lines = asked.split(b"\r\n")
    assert lines[0] == b"POST /connectors?forward=true HTTP/1.1"
    assert {b"User-Agent: kafka-connect", b"Accept: application/json", b"X-A: b"} <= set(lines)
    assert asked.endswith(b"\r\n\r\n[1]")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", PeerAnswer(204, b"")),
        (b"HTTP/1.1 409 Conflict\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
         PeerAnswer(409, b"x")),
        (b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n",
         PeerAnswer(302, b"")),
        (b"HTTP/1.0 500 Oh\r\n\r\nuntil the end", PeerAnswer(500, b"until the end")),
    ],
)  # fmt: skip
def test_answers_of_every_kind(answer: bytes, expected: PeerAnswer) -> None:
    server = Server(answer)
    assert (
        ask(server, lambda peers: peers.ask("GET", server.url, body=None, headers={})) == expected
    )


@pytest.mark.parametrize(
    "answer", [b"", b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"]
)
def test_what_is_no_answer_is_told_with_the_url(answer: bytes) -> None:
    server = Server(answer)
    with pytest.raises(PeerError, match=r"^http://127\.0\.0\.1:\d+") as raised:
        ask(server, lambda peers: peers.ask("GET", server.url, body=None, headers={}))
    assert not raised.value.is_unsent


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}/", "ftp://127.0.0.1:{port}/", "nowhere"])
def test_where_nobody_is(url: str) -> None:
    (port,) = free_ports(1)
    found = url.format(port=port)
    with pytest.raises(PeerError, match=f"^{found}") as raised:
        asyncio.run(HttpPeers().ask("GET", found, body=None, headers={}))
    assert raised.value.is_unsent


def test_names_in_certificates_are_checked_unless_the_listener_says_not_to() -> None:
    keys = {
        "listeners.https.ssl.keystore.key": "k",
        "listeners.https.ssl.keystore.certificate.chain": "c",
    }
    assert tls_settings.read(keys, "listeners.https.").checks_names
    keys["listeners.https.ssl.endpoint.identification.algorithm"] = ""
    assert not tls_settings.read(keys, "listeners.https.").checks_names
