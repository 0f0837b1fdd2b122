"""One connection: answers however they are cut, and pages that are received where they stay."""

from __future__ import annotations

import asyncio
import io
import itertools
from collections.abc import Callable, Coroutine
from typing import Any
from unittest import mock

import pytest
import uvloop

from connectd.aws.http_connection import (
    ConnectionLostError,
    HttpConnection,
    NotHttpError,
    WireAnswer,
)

BODY = bytes(range(256)) * 200
HEAD = b"HTTP/1.1 200 OK\r\nDate: soon\r\nx-amz-crc32: 7\r\nContent-Length: %d\r\n" % len(BODY)
PAGE = HEAD + b"\r\n" + BODY


def receive(connection: HttpConnection, data: bytes) -> None:
    """As an event loop hands over what has come."""
    while data:
        place = connection.get_buffer(-1)
        piece, data = data[: len(place)], data[len(place) :]
        place[: len(piece)] = piece
        connection.buffer_updated(len(piece))


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), 20))


def connected() -> tuple[HttpConnection, mock.Mock]:
    connection = HttpConnection(lambda _: None, asyncio.get_running_loop())
    transport = mock.create_autospec(asyncio.Transport, instance=True)
    connection.connection_made(transport)
    return connection, transport


def asked(connection: HttpConnection) -> asyncio.Future[WireAnswer]:
    return connection.exchange(b"request", give_up_s=1.0)


_HEAD_BYTES = len(PAGE) - len(BODY)
CUTS = [(), (3,), (_HEAD_BYTES,), (_HEAD_BYTES + 1,), (len(PAGE) - 1,), (40, 41, 20_000, 20_001)]


@pytest.mark.parametrize("cuts", CUTS)
def test_a_page_is_the_same_wherever_it_is_cut_and_the_next_one_comes_behind(
    cuts: tuple[int, ...],
) -> None:
    async def scenario() -> None:
        connection, transport = connected()
        for _ in range(3):
            answer = asked(connection)
            for begin, end in itertools.pairwise((0, *cuts, len(PAGE))):
                assert not answer.done()
                receive(connection, PAGE[begin:end])
            found = answer.result()
            assert (found.status, found.crc32, found.date) == (200, b"7", b"soon")
            assert found.body == BODY
            assert connection.is_usable
        transport.abort.assert_not_called()

    run(scenario)


def test_a_page_is_not_copied_again() -> None:
    async def scenario() -> None:
        connection, _ = connected()
        answer = asked(connection)
        receive(connection, PAGE)
        found = answer.result()
        assert isinstance(found.content, io.BytesIO)
        assert found.body is found.body

    run(scenario)


def test_pages_and_small_answers_take_turns() -> None:
    small = b"HTTP/1.1 400 No\r\nContent-Length: 2\r\n\r\n{}"

    async def scenario() -> None:
        connection, _ = connected()
        for data, status, body in [(PAGE, 200, BODY), (small, 400, b"{}"), (PAGE, 200, BODY)]:
            answer = asked(connection)
            receive(connection, data)
            assert (answer.result().status, answer.result().body) == (status, body)

    run(scenario)


@pytest.mark.parametrize("is_behind", [True, False], ids=["behind the page", "later"])
def test_what_comes_behind_a_page_is_no_answer(is_behind: bool) -> None:
    async def scenario() -> None:
        connection, transport = connected()
        answer = asked(connection)
        if is_behind:
            receive(connection, PAGE + b"HTTP/1.1 200 OK\r\n")
        else:
            receive(connection, PAGE)
            receive(connection, PAGE)
        assert answer.result().body == BODY
        transport.abort.assert_called()
        assert not connection.is_usable

    run(scenario)


def test_a_page_may_be_the_last_of_its_connection() -> None:
    async def scenario() -> None:
        connection, _ = connected()
        answer = asked(connection)
        receive(connection, HEAD + b"Connection: close\r\n\r\n" + BODY)
        assert answer.result().body == BODY
        assert not connection.is_usable

    run(scenario)


def test_an_interim_answer_says_nothing_about_the_length_of_the_page() -> None:
    async def scenario() -> None:
        connection, _ = connected()
        answer = asked(connection)
        receive(connection, b"HTTP/1.1 103 Early\r\nContent-Length: 9\r\n\r\n")
        receive(connection, PAGE)
        assert answer.result().body == BODY

    run(scenario)


@pytest.mark.parametrize("expires", [True, False])
def test_a_page_that_does_not_end_is_no_answer(expires: bool) -> None:
    async def scenario() -> None:
        connection, _ = connected()
        answer = asked(connection)
        receive(connection, PAGE[:-1])
        if expires:
            connection.expire()
            receive(connection, PAGE[-1:])
            assert isinstance(answer.exception(), TimeoutError)
        else:
            connection.connection_lost(None)
            error = answer.exception()
            assert isinstance(error, ConnectionLostError)
            assert not error.is_untouched
        assert not connection.is_usable

    run(scenario)


def test_memory_is_not_taken_for_what_a_server_only_announces() -> None:
    async def scenario() -> None:
        connection, _ = connected()
        answer = asked(connection)
        receive(connection, b"HTTP/1.1 200 OK\r\nContent-Length: 30000000\r\n\r\n" + BODY)
        assert len(connection.get_buffer(-1)) < 1 << 20
        assert not answer.done()

    run(scenario)


def test_a_body_that_is_said_to_be_huge_is_cut_off_where_it_is_too_large() -> None:
    async def scenario() -> None:
        connection, transport = connected()
        answer = asked(connection)
        receive(connection, b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
        for _ in range(700):
            receive(connection, BODY)
        assert isinstance(answer.exception(), NotHttpError)
        transport.abort.assert_called()

    run(scenario)


@pytest.mark.parametrize("is_ours", [True, False])
def test_only_the_server_ends_an_answer_by_ending_the_connection(is_ours: bool) -> None:
    """Without a length, the end of the connection is the end of the body."""

    async def scenario() -> None:
        connection, _ = connected()
        answer = asked(connection)
        receive(connection, b'HTTP/1.1 200 OK\r\n\r\n{"half')
        if is_ours:
            connection.abort()
        connection.connection_lost(None)
        if is_ours:
            assert isinstance(answer.exception(), ConnectionLostError)
        else:
            assert answer.result().body == b'{"half'

    run(scenario)


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_an_event_loop_writes_into_the_page_and_lets_go_of_it(
    loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    body = bytes(range(256)) * 4096
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readexactly(len(b"request")):
            writer.write(head + body)

    async def scenario() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: HttpConnection(lambda _: None, asyncio.get_running_loop()),
            *server.sockets[0].getsockname(),
        )
        for _ in range(3):
            found = await connection.exchange(b"request", give_up_s=10.0)
            assert isinstance(found.content, io.BytesIO)
            assert found.body == body
            assert found.body is found.body  # nobody writes to it any more: not a copy
        connection.abort()
        server.close()
        await asyncio.sleep(0)

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(asyncio.wait_for(scenario(), 20))
