"""The transport against a server that misbehaves in each way in which servers do."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import sys
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import pytest
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from connectd.aws import http_connection
from connectd.aws import transport as transport_module
from connectd.aws.pooled_transport import PooledTransport
from connectd.aws.transport import (
    AiohttpTransport,
    HttpAnswer,
    TransportSettings,
    parse_date_s,
    tls_context,
)
from connectd.errors import ConfigError, ConnectdError, InvariantError, TransientNetworkError
from tests.unit.aws.doubles import (
    CALL,
    Handler,
    LoopbackServer,
    Reply,
    Request,
    header_lines,
    replying,
)

LOOPBACK = IPv4Address("127.0.0.1")
HEADERS = {"X_Amz_Target": "DynamoDB_20120810.Scan", "Content_Type": "application/x-amz-json-1.0"}


Transport = AiohttpTransport | PooledTransport
_made: type[Transport] = PooledTransport


@pytest.fixture(autouse=True, params=[AiohttpTransport, PooledTransport])
def each_transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both promise the same; aiohttp serves where there is a proxy."""
    monkeypatch.setattr(sys.modules[__name__], "_made", request.param)


@asynccontextmanager
async def opened(ca_bundle: str | None = None) -> AsyncIterator[Transport]:
    settings = TransportSettings(tls_context(ca_bundle), 4, 5, "connectd/test")
    transport = _made(settings)
    await transport.open()
    try:
        yield transport
    finally:
        await transport.close()


Use = Callable[[Transport, LoopbackServer], Awaitable[object]]


def against(handler: Handler, use: Use) -> LoopbackServer:
    """Run ``use`` with a transport and a server; the server is returned for its records."""

    async def scenario() -> LoopbackServer:
        async with LoopbackServer(handler) as server, opened() as transport:
            await use(transport, server)
            return server

    return asyncio.run(scenario())


async def post(
    transport: Transport, url: str, body: bytes = b"{}", deadline_s: float = 5
) -> HttpAnswer:
    lines = header_lines(url, **HEADERS)
    return await transport.post(url + "/", lines, body, deadline_s=deadline_s, call=CALL)


def failing(handler: Handler, *, said: str, deadline_s: float = 5) -> LoopbackServer:
    """The request must fail as a transient network error that says ``said``."""

    async def use(transport: Transport, server: LoopbackServer) -> None:
        with pytest.raises(TransientNetworkError, match=said):
            await post(transport, server.url, deadline_s=deadline_s)

    return against(handler, use)


def test_a_request_arrives_as_it_was_signed_and_the_answer_as_it_was_sent() -> None:
    body = b'{"Items":[]}'
    reply = Reply(
        body,
        headers={
            "x-amz-crc32": str(zlib.crc32(body)),
            "Date": "Wed, 01 May 2024 10:00:00 GMT",
        },
    )

    async def use(transport: Transport, server: LoopbackServer) -> None:
        answer = await post(transport, server.url, b'{"TableName":"t"}')
        assert answer == HttpAnswer(200, body, 1_714_557_600.0)

    (request,) = against(replying(reply), use).requests
    assert request.body == b'{"TableName":"t"}'
    assert request.headers["x-amz-target"] == HEADERS["X_Amz_Target"]
    assert request.headers["content-type"] == HEADERS["Content_Type"]
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["user-agent"] == "connectd/test"
    assert "cookie" not in request.headers


def test_connections_are_kept_and_shared() -> None:
    async def use(transport: Transport, server: LoopbackServer) -> None:
        for _ in range(10):
            await post(transport, server.url)

    server = against(replying(Reply()), use)
    assert len(server.requests) == 10
    assert server.connections == 1


def test_the_pool_is_bounded() -> None:
    busy = most = 0

    async def handler(request: Request, writer: asyncio.StreamWriter) -> Reply:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        for _ in range(5):
            await asyncio.sleep(0)
        busy -= 1
        return Reply()

    async def use(transport: Transport, server: LoopbackServer) -> None:
        await asyncio.gather(*(post(transport, server.url) for _ in range(30)))

    server = against(handler, use)
    assert server.connections == 4
    assert most <= 4


def test_an_error_answer_is_an_answer() -> None:
    async def use(transport: Transport, server: LoopbackServer) -> None:
        assert await post(transport, server.url) == HttpAnswer(500, b"oops", None)

    against(replying(Reply(b"oops", status=500)), use)


def test_a_redirect_is_not_followed() -> None:
    reply = Reply(b"", status=307, headers={"Location": "http://127.0.0.1:1/"})

    async def use(transport: Transport, server: LoopbackServer) -> None:
        assert (await post(transport, server.url)).status == 307

    against(replying(reply), use)


def test_a_damaged_body_is_refused() -> None:
    reply = Reply(b'{"Items":[]}', headers={"x-amz-crc32": str(zlib.crc32(b'{"Items":[1]}'))})
    failing(replying(reply), said="crc32 of 12 bytes")


def test_white_space_behind_a_header_is_not_part_of_it() -> None:
    headers = {"x-amz-crc32": f"{zlib.crc32(b'{}')} ", "Date": "Wed, 01 May 2024 10:00:00 GMT "}

    async def use(transport: Transport, server: LoopbackServer) -> None:
        assert await post(transport, server.url) == HttpAnswer(200, b"{}", 1_714_557_600.0)

    against(replying(Reply(b"{}", headers=headers)), use)


@pytest.mark.parametrize("year", ["99999999999999999999", "nought", "-1"])
def test_a_date_that_is_none_is_none(year: str) -> None:
    async def use(transport: Transport, server: LoopbackServer) -> None:
        assert (await post(transport, server.url)).date_s is None

    date = f"Mon, 01 Jan {year} 00:00:00 GMT"
    against(replying(Reply(b"{}", headers={"Date": date})), use)


def test_an_unreadable_checksum_is_refused() -> None:
    failing(replying(Reply(headers={"x-amz-crc32": "soup"})), said="the server says soup")


def test_a_compressed_body_is_checked_and_passed_on_as_it_is() -> None:
    body = zlib.compress(b"{}")
    headers = {"Content-Encoding": "deflate", "x-amz-crc32": str(zlib.crc32(body))}

    async def use(transport: Transport, server: LoopbackServer) -> None:
        assert (await post(transport, server.url)).body == body

    against(replying(Reply(body, headers=headers)), use)


def test_a_slow_answer_ends_at_the_deadline() -> None:
    async def handler(request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        await asyncio.Event().wait()
        return None

    server = failing(
        handler, said="no whole answer from http://127.0.0.1.* 0.05 s", deadline_s=0.05
    )
    assert len(server.requests) == 1


def test_a_body_that_stops_half_way_ends_at_the_deadline() -> None:
    async def handler(request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        await asyncio.Event().wait()
        return None

    failing(handler, said="no whole answer", deadline_s=0.05)


def test_a_connection_closed_half_way_through_the_body_fails_at_once() -> None:
    async def handler(request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        await writer.drain()
        return None

    server = failing(handler, said="table orders")
    assert len(server.requests) == 1


@pytest.mark.parametrize("ends", [True, False], ids=["the connection ends", "the deadline passes"])
def test_what_was_received_of_an_answer_goes_with_its_request(ends: bool) -> None:
    """Without the garbage collector, which counts containers and not the megabytes in them."""
    part = bytes(1 << 20)

    async def handler(request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n" + part)
        await writer.drain()
        if not ends:
            await asyncio.Event().wait()
        return None

    async def use(transport: Transport, server: LoopbackServer) -> None:
        async def fail() -> None:
            with pytest.raises(TransientNetworkError):
                await post(transport, server.url, deadline_s=5 if ends else 0.2)

        await fail()
        gc.collect()
        gc.disable()
        tracemalloc.start()
        try:
            for _ in range(5):
                await fail()
            held_bytes, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            gc.enable()
        assert held_bytes < 2 * len(part)

    against(handler, use)


def test_what_is_not_http_fails_at_once() -> None:
    async def handler(request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        writer.write(b"220 mail.example ESMTP\r\n\r\n")
        await writer.drain()
        return None

    failing(handler, said="table orders")


def test_a_connection_that_went_stale_is_replaced_once() -> None:
    """The server closes a kept connection at the moment in which it is used again."""

    async def handler(request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        is_stale = request.connection == 0 and len(server_requests) > 0
        server_requests.append(request)
        return None if is_stale else Reply()

    server_requests: list[Request] = []

    async def use(transport: Transport, server: LoopbackServer) -> None:
        assert (await post(transport, server.url)).status == 200
        assert (await post(transport, server.url, b"second")).status == 200

    server = against(handler, use)
    assert [(each.connection, each.body) for each in server.requests] == [
        (0, b"{}"),
        (0, b"second"),
        (1, b"second"),
    ]


def test_a_server_that_always_hangs_up_is_asked_twice_and_no_more() -> None:
    async def handler(request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        writer.transport.abort()
        return None

    server = failing(handler, said="table orders")
    assert len(server.requests) == 2


def test_a_refused_connection_fails_at_once() -> None:
    async def scenario() -> None:
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))  # bound, and nobody listens
            async with opened() as transport:
                with pytest.raises(TransientNetworkError, match="Cannot connect") as caught:
                    await post(transport, f"http://127.0.0.1:{bound.getsockname()[1]}")
                assert caught.value.__cause__ is not None

    asyncio.run(scenario())


def test_a_name_without_an_address_is_a_network_error() -> None:
    async def scenario() -> None:
        async with opened() as transport:
            with pytest.raises(TransientNetworkError, match=r"no-such-host\.invalid"):
                await post(transport, "http://no-such-host.invalid")

    asyncio.run(scenario())


@pytest.fixture(scope="module")
def self_signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Key and certificate of 127.0.0.1 in one file, trusted by nobody."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(LOOPBACK)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    pem = serialization.Encoding.PEM
    path.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(pem)
    )
    return path


def test_certificates_are_verified_against_the_bundle(self_signed: Path) -> None:
    server_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_tls.load_cert_chain(self_signed)

    async def scenario() -> None:
        async with LoopbackServer(replying(Reply(b"ok")), tls=server_tls) as server:
            async with opened() as transport:
                with pytest.raises(ConfigError, match="AWS_CA_BUNDLE"):
                    await post(transport, server.url)
            async with opened(ca_bundle=str(self_signed)) as transport:
                assert (await post(transport, server.url)).body == b"ok"

    asyncio.run(scenario())


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("framing", ["length", "chunks"])
def test_an_answer_over_tls_is_whole_when_the_server_ends_the_connection_behind_it(
    self_signed: Path, loop: Callable[[], asyncio.AbstractEventLoop], framing: str
) -> None:
    server_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_tls.load_cert_chain(self_signed)
    body = bytes(range(256)) * 800
    head = {
        "length": b"Content-Length: %d\r\n\r\n%b" % (len(body), body),
        "chunks": b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body),
    }[framing]

    async def handler(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + head)

    async def scenario() -> None:
        async with (
            LoopbackServer(handler, tls=server_tls) as server,
            opened(ca_bundle=str(self_signed)) as transport,
        ):
            for _ in range(5):
                assert (await post(transport, server.url)).body == body

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(scenario())


@pytest.mark.parametrize("has_length", [True, False], ids=["announced", "chunked"])
def test_an_endless_body_is_cut_off(monkeypatch: pytest.MonkeyPatch, has_length: bool) -> None:
    monkeypatch.setattr(transport_module, "BODY_BYTES_MAX", 1000)
    monkeypatch.setattr(http_connection, "BODY_BYTES_MAX", 1000)

    async def handler(request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        if has_length:
            return Reply(b"x" * 1001)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(20):
            writer.write(b"64\r\n" + b"x" * 100 + b"\r\n")
        await writer.drain()
        await asyncio.Event().wait()
        return None

    failing(handler, said="larger than 1000 bytes")


def test_a_chunked_body_is_put_together() -> None:
    async def handler(request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"
        )
        await writer.drain()
        return None

    async def use(transport: Transport, server: LoopbackServer) -> None:
        assert (await post(transport, server.url)).body == b"abc"

    against(handler, use)


def test_a_cancelled_request_leaves_the_pool_usable() -> None:
    arrived = asyncio.Event()

    async def handler(request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        if request.body == b"hang":
            arrived.set()
            await asyncio.Event().wait()
        return Reply()

    async def use(transport: Transport, server: LoopbackServer) -> None:
        hanging = [asyncio.create_task(post(transport, server.url, b"hang")) for _ in range(4)]
        await arrived.wait()
        for each in hanging:
            each.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)
        assert (await post(transport, server.url)).status == 200

    against(handler, use)


def test_the_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async def use(transport: Transport, server: LoopbackServer) -> None:
        monkeypatch.setenv("http_proxy", server.url)
        monkeypatch.setenv("no_proxy", "")
        assert (await post(transport, "http://dynamodb.invalid")).status == 200

    (request,) = against(replying(Reply()), use).requests
    assert request.headers["host"] == "dynamodb.invalid"


def test_closing_fails_what_is_under_way() -> None:
    arrived = asyncio.Event()

    async def handler(request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        arrived.set()
        await asyncio.Event().wait()
        return None

    async def use(transport: Transport, server: LoopbackServer) -> None:
        hanging = asyncio.create_task(post(transport, server.url))
        await arrived.wait()
        await transport.close()
        with pytest.raises(TransientNetworkError, match="table orders"):
            await hanging

    assert len(against(handler, use).requests) == 1


def test_a_transport_that_is_not_open_says_so() -> None:
    async def scenario() -> ConnectdError | InvariantError:
        transport = _made(TransportSettings(tls_context(None), 1, 1, "u"))
        with pytest.raises(InvariantError, match="not open") as caught:
            await post(transport, "http://127.0.0.1:1")
        await transport.close()
        return caught.value

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("Wed, 01 May 2024 10:00:00 GMT", 1_714_557_600.0),
        ("soon", None),
        ("Wed, 99 May 2024 10:00:00 GMT", None),
        ("", None),
        (None, None),
    ],
)
def test_the_date_header_is_read_or_absent(header: str | None, seconds: float | None) -> None:
    assert parse_date_s(None if header is None else header.encode()) == seconds


def test_a_missing_bundle_of_certificates_is_a_setting_to_mend(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="AWS_CA_BUNDLE"):
        tls_context(str(tmp_path / "missing.pem"))
    (tmp_path / "empty.pem").write_text("")
    with pytest.raises(ConfigError, match=r"empty\.pem"):
        tls_context(str(tmp_path / "empty.pem"))
    assert tls_context(str(tmp_path)).check_hostname
