"""What the pool and its connections promise beyond what every transport does (test_transport)."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from connectd.aws import pooled_transport
from connectd.aws.pooled_transport import PooledTransport
from connectd.aws.transport import HttpAnswer, TransportSettings, tls_context
from connectd.errors import TransientNetworkError
from tests.unit.aws.doubles import (
    CALL,
    Handler,
    LoopbackServer,
    Reply,
    Request,
    header_lines,
    replying,
)

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@asynccontextmanager
async def opened(*, connections_max: int = 4) -> AsyncIterator[PooledTransport]:
    settings = TransportSettings(tls_context(None), connections_max, 5, "connectd/test")
    transport = PooledTransport(settings)
    await transport.open()
    try:
        yield transport
    finally:
        await transport.close()


async def post(transport: PooledTransport, url: str, deadline_s: float = 5) -> HttpAnswer:
    return await transport.post(
        url + "/", header_lines(url), b"{}", deadline_s=deadline_s, call=CALL
    )


Use = Callable[[PooledTransport, LoopbackServer], Awaitable[object]]


def against(handler: Handler, use: Use) -> LoopbackServer:
    async def scenario() -> LoopbackServer:
        async with LoopbackServer(handler) as server, opened() as transport:
            await use(transport, server)
            return server

    return asyncio.run(scenario())


def writing(*pieces: bytes, ends: bool = False) -> Handler:
    """Answers each request with these bytes; the connection stays, or ends after them."""

    async def handler(request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        if not ends:
            await asyncio.Event().wait()
        return None

    return handler


def answer_to(handler: Handler) -> HttpAnswer:
    answers: list[HttpAnswer] = []

    async def use(transport: PooledTransport, server: LoopbackServer) -> None:
        answers.append(await post(transport, server.url))

    against(handler, use)
    return answers[0]


def refusal_of(handler: Handler, said: str) -> None:
    async def use(transport: PooledTransport, server: LoopbackServer) -> None:
        with pytest.raises(TransientNetworkError, match=said):
            await post(transport, server.url)

    assert len(against(handler, use).requests) == 1


def test_an_answer_may_come_byte_by_byte() -> None:
    assert answer_to(writing(*(bytes([each]) for each in OK))).body == b"ok"


def test_an_interim_answer_is_passed_over() -> None:
    assert answer_to(writing(b"HTTP/1.1 100 Continue\r\n\r\n" + OK)).body == b"ok"


def test_the_end_of_the_connection_may_be_the_end_of_the_body() -> None:
    answer = answer_to(
        writing(b"HTTP/1.1 200 OK\r\nDate: soon\r\n\r\n", b"all ", b"of it", ends=True)
    )
    assert (answer.status, answer.body) == (200, b"all of it")


def test_a_chunked_body_that_ends_early_is_not_an_answer() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    refusal_of(writing(head, b"4\r\nhalf\r\n", ends=True), "lost")


def test_an_endless_head_is_cut_off() -> None:
    refusal_of(
        writing(b"HTTP/1.1 200 OK\r\n", *[b"X-Filler: " + b"x" * 10_000 + b"\r\n"] * 8),
        "head exceeds 65536 bytes",
    )


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
    ],
    ids=["two framings", "two lengths", "negative length", "space before colon", "upgrade"],
)
def test_ambiguous_framing_is_refused(answer: bytes) -> None:
    refusal_of(writing(answer), "not HTTP")


def test_a_connection_serves_again_after_a_page_of_a_megabyte() -> None:
    body = bytes(1 << 20)

    async def handler(request: Request, writer: asyncio.StreamWriter) -> Reply:
        return Reply(body)

    async def use(transport: PooledTransport, server: LoopbackServer) -> None:
        for _ in range(3):
            assert (await post(transport, server.url)).body == body

    assert [each.connection for each in against(handler, use).requests] == [0, 0, 0]


def test_each_request_has_its_own_deadline() -> None:
    """One timer watches over all of them, whichever comes first."""
    deadlines_s = (0.3, 0.05, 0.15)

    async def use(transport: PooledTransport, server: LoopbackServer) -> None:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        taken_s = []

        async def ask(deadline_s: float) -> None:
            with pytest.raises(TransientNetworkError, match=f"within {deadline_s:g} s"):
                await post(transport, server.url, deadline_s)
            taken_s.append((loop.time() - began_s, deadline_s))

        await asyncio.gather(*map(ask, deadlines_s))
        assert [deadline_s for _, deadline_s in taken_s] == sorted(deadlines_s)
        assert all(time_s >= deadline_s for time_s, deadline_s in taken_s)
        assert transport.connections == 0

    against(writing(), use)


def test_a_connection_that_the_server_announces_to_close_is_not_used_again() -> None:
    async def handler(request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        return Reply(headers={"Connection": "close"})

    async def use(transport: PooledTransport, server: LoopbackServer) -> None:
        for _ in range(3):
            assert (await post(transport, server.url)).status == 200

    server = against(handler, use)
    assert [each.connection for each in server.requests] == [0, 1, 2]


@pytest.mark.parametrize("is_late", [False, True], ids=["with the answer", "later"])
def test_what_was_not_asked_for_is_no_answer_to_the_next_request(is_late: bool) -> None:
    """A second answer on the connection, in one piece with the first or after it."""

    async def handler(request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        if request.connection > 0:
            return Reply(b"right")
        writer.write(OK if is_late else OK + b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong")
        if is_late:
            await writer.drain()
            await asked.wait()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong")
        await writer.drain()
        sent.set()
        await asyncio.Event().wait()
        return None

    asked, sent = asyncio.Event(), asyncio.Event()

    async def use(transport: PooledTransport, server: LoopbackServer) -> None:
        assert (await post(transport, server.url)).body == b"ok"
        asked.set()
        await sent.wait()
        async with asyncio.timeout(5):
            while transport.connections and is_late:  # noqa: ASYNC110  the loop is what is tested
                await asyncio.sleep(0)
        assert (await post(transport, server.url)).body == b"right"

    against(handler, use)


def test_a_connection_that_has_lain_idle_for_long_is_not_used_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def use(transport: PooledTransport, server: LoopbackServer) -> None:
        await post(transport, server.url)
        monkeypatch.setattr(pooled_transport, "_KEEPALIVE_S", -1.0)
        await post(transport, server.url)

    server = against(replying(Reply()), use)
    assert [each.connection for each in server.requests] == [0, 1]


def test_the_connection_used_last_is_used_next() -> None:
    """So that those which a burst has opened grow old."""
    release = asyncio.Event()

    async def handler(request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        if len(server_seen) < 3:
            server_seen.append(request.connection)
            if len(server_seen) == 3:
                release.set()
            await release.wait()
        return Reply()

    server_seen: list[int] = []

    async def use(transport: PooledTransport, server: LoopbackServer) -> None:
        await asyncio.gather(*(post(transport, server.url) for _ in range(3)))
        for _ in range(5):
            await post(transport, server.url)

    server = against(handler, use)
    assert server.connections == 3
    assert len({each.connection for each in server.requests[3:]}) == 1


@pytest.mark.parametrize(("connections_max", "of_one", "of_other"), [(2, 2, 2), (4, 3, 4)])
def test_idle_connections_of_one_server_make_room_for_another(
    connections_max: int, of_one: int, of_other: int
) -> None:
    """And those that are being made are counted too."""

    async def scenario() -> None:
        async with (
            LoopbackServer(replying(Reply())) as one,
            LoopbackServer(replying(Reply())) as other,
            opened(connections_max=connections_max) as transport,
        ):
            await asyncio.gather(*(post(transport, one.url) for _ in range(of_one)))
            await asyncio.gather(*(post(transport, other.url) for _ in range(of_other)))
            assert (one.connections, other.connections) == (of_one, of_other)
            await asyncio.sleep(0)
            assert transport.connections <= connections_max

    asyncio.run(scenario())


def test_connections_of_servers_that_are_forgotten_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pooled_transport, "_ORIGINS_MAX", 1)
    asked, answers = asyncio.Event(), asyncio.Event()

    async def slow(request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        asked.set()
        await answers.wait()
        return Reply()

    async def scenario() -> None:
        async with (
            LoopbackServer(slow) as one,
            LoopbackServer(replying(Reply())) as other,
            opened() as transport,
        ):
            in_flight = asyncio.create_task(post(transport, one.url))
            await asked.wait()
            await post(transport, other.url)
            answers.set()
            await in_flight
            await asyncio.sleep(0)
            assert transport.connections == 1, "that to the server asked last"

    asyncio.run(scenario())


def test_a_wait_for_a_place_ends_at_the_deadline() -> None:
    async def handler(request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        await asyncio.Event().wait()
        return None

    async def use(transport: PooledTransport, server: LoopbackServer) -> None:
        answers = await asyncio.gather(
            *(post(transport, server.url, 0.1) for _ in range(6)), return_exceptions=True
        )
        assert all(isinstance(each, TransientNetworkError) for each in answers)

    against(handler, use)


def test_a_server_at_the_second_address_of_a_name_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def handler(request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        return Reply(b"found")

    async def scenario() -> None:
        async with LoopbackServer(handler) as server, opened() as transport:
            port = int(server.url.rpartition(":")[2])

            async def two_addresses(*_: object, **__: object) -> list[object]:
                kind = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
                return [(*kind, ("127.0.0.2", port)), (*kind, ("127.0.0.1", port))]

            monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", two_addresses)
            answer = await post(transport, f"http://dynamodb.test:{port}")
            assert answer.body == b"found"
            assert server.requests[0].headers["host"] == f"dynamodb.test:{port}"

    asyncio.run(scenario())


def silent(asked: asyncio.Event) -> Handler:
    """Takes requests and never answers."""

    async def handler(request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        asked.set()
        await asyncio.Event().wait()
        return None

    return handler


@pytest.mark.parametrize("connections_max", [1, 4])
def test_requests_that_wait_when_the_pool_is_closed_fail_and_are_not_sent(
    connections_max: int,
) -> None:
    """Whether they are in line for a place or on their way to a connection."""

    async def scenario() -> int:
        asked = asyncio.Event()
        async with (
            LoopbackServer(silent(asked)) as server,
            opened(connections_max=connections_max) as pool,
        ):
            first = asyncio.create_task(post(pool, server.url))
            await asked.wait()
            second = asyncio.create_task(post(pool, server.url))
            await asyncio.sleep(0)
            await pool.close()
            for each in (first, second):
                with pytest.raises(TransientNetworkError):
                    await asyncio.wait_for(each, 5)
            assert pool.connections == 0
            return len(server.requests)

    assert asyncio.run(scenario()) == 1


def test_deadlines_hold_after_the_pool_was_opened_again() -> None:
    async def scenario() -> None:
        asked = asyncio.Event()
        async with LoopbackServer(silent(asked)) as server, opened() as pool:
            first = asyncio.create_task(post(pool, server.url, deadline_s=0.05))
            await asked.wait()
            await pool.close()
            await asyncio.wait([first])
            assert isinstance(first.exception(), TransientNetworkError)
            await pool.open()
            with pytest.raises(TransientNetworkError, match="within"):
                await asyncio.wait_for(post(pool, server.url, deadline_s=0.1), 5)

    asyncio.run(scenario())
