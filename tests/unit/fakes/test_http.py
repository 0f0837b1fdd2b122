"""The fake over real sockets, on virtual time: what clients meet on the wire."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import orjson
import pytest

from tests.fakes.server import RunningFake, running_fake
from tests.kit.virtual_time import run_virtual

SCAN = {"X-Amz-Target": "DynamoDB_20120810.Scan"}
BODY = b'{"TableName":"orders"}'


def on_a_fake(work: Callable[[RunningFake, aiohttp.ClientSession], Awaitable[None]]) -> None:
    """Run a piece of work with a fake that has one table, and an HTTP client."""

    async def run() -> None:
        async with running_fake() as fake, aiohttp.ClientSession() as http:
            fake.control.create_table("orders")
            fake.control.put("orders", {"id": {"S": "k"}})
            await work(fake, http)

    run_virtual(run())


def test_answers_carry_checksum_date_and_request_id() -> None:
    async def work(fake: RunningFake, http: aiohttp.ClientSession) -> None:
        fake.control.clock_advance(3600)
        async with http.post(fake.url, data=BODY, headers=SCAN) as answer:
            body = await answer.read()
            assert orjson.loads(body)["Items"] == [{"id": {"S": "k"}}]
            assert int(answer.headers["x-amz-crc32"]) == zlib.crc32(body)
            assert answer.headers["Content-Type"] == "application/x-amz-json-1.0"
            assert answer.headers["Date"] == "Thu, 01 Jan 2026 01:00:00 GMT"
            assert len(answer.headers["x-amzn-RequestId"]) == 52

    on_a_fake(work)


def test_errors_have_the_wire_form_of_aws() -> None:
    async def work(fake: RunningFake, http: aiohttp.ClientSession) -> None:
        async def error(body: bytes, **headers: str) -> tuple[int, Any]:
            async with http.post(fake.url, data=body, headers={**SCAN, **headers}) as answer:
                content = await answer.read()
                assert int(answer.headers["x-amz-crc32"]) == zlib.crc32(content)
                return answer.status, orjson.loads(content)

        assert await error(b'{"TableName":"nowhere"}') == (
            400,
            {
                "__type": "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",
                "message": "Requested resource not found: Table: nowhere not found",
            },
        )
        status, content = await error(b"{not json")
        assert (status, content["__type"]) == (
            400,
            "com.amazon.coral.service#SerializationException",
        )
        status, content = await error(b"{}", **{"X-Amz-Target": "Kinesis_20131202.ListStreams"})
        assert content["__type"].endswith("#UnknownOperationException")
        fake.control.inject("Scan", "InternalServerError")
        assert (await error(BODY))[0] == 500

    on_a_fake(work)


def test_answers_can_be_late_without_anybody_sleeping() -> None:
    async def work(fake: RunningFake, http: aiohttp.ClientSession) -> None:
        fake.control.latency("Scan", 7.5)
        began = asyncio.get_running_loop().time()
        async with http.post(fake.url, data=BODY, headers=SCAN) as answer:
            await answer.read()
        assert asyncio.get_running_loop().time() - began >= 7.5
        assert fake.control.clock_now() >= 1_767_225_600 + 7.5  # the fake's clock goes along

    on_a_fake(work)


def test_connections_can_break_in_every_way() -> None:
    async def work(fake: RunningFake, http: aiohttp.ClientSession) -> None:
        async def read(timeout_s: float = 100.0) -> bytes:
            timeout = aiohttp.ClientTimeout(total=timeout_s)
            async with http.post(fake.url, data=BODY, headers=SCAN, timeout=timeout) as answer:
                return await answer.read()

        fake.control.inject("Scan", "ConnectionReset")
        with pytest.raises(aiohttp.ClientOSError):
            await read()
        fake.control.inject("Scan", "Truncated")
        with pytest.raises(aiohttp.ClientPayloadError):
            await read()
        fake.control.inject("Scan", "Hang")
        with pytest.raises(TimeoutError):
            await read(timeout_s=30.0)
        assert orjson.loads(await read())["Count"] == 1

    on_a_fake(work)


def test_a_reset_may_come_after_the_write_took_effect() -> None:
    async def work(fake: RunningFake, http: aiohttp.ClientSession) -> None:
        fake.control.inject("PutItem", "ConnectionReset", applied=True)
        headers = {"X-Amz-Target": "DynamoDB_20120810.PutItem"}
        body = b'{"TableName":"orders","Item":{"id":{"S":"lost answer"}}}'
        with pytest.raises(aiohttp.ClientOSError):
            await http.post(fake.url, data=body, headers=headers)
        assert len(fake.control.table_items("orders")) == 2

    on_a_fake(work)


def test_bodies_can_be_damaged() -> None:
    async def work(fake: RunningFake, http: aiohttp.ClientSession) -> None:
        fake.control.inject("Scan", "BadCrc")
        fake.control.inject("Scan", "HtmlError")
        async with http.post(fake.url, data=BODY, headers=SCAN) as answer:
            assert int(answer.headers["x-amz-crc32"]) != zlib.crc32(await answer.read())
        async with http.post(fake.url, data=BODY, headers=SCAN) as answer:
            assert (answer.status, answer.content_type) == (503, "text/html")
            assert "x-amz-crc32" not in answer.headers

    on_a_fake(work)


def test_the_script_can_be_sent_over_http() -> None:
    async def work(fake: RunningFake, http: aiohttp.ClientSession) -> None:
        async def command(name: str, **arguments: object) -> tuple[int, Any]:
            message = {"command": name, "arguments": arguments}
            async with http.post(f"{fake.url}/_control", json=message) as answer:
                return answer.status, orjson.loads(await answer.read())

        (shard,) = fake.control.open_shards("orders")
        status, answer = await command("split_shard", table="orders", shard=shard)
        assert status == 200
        assert len(answer["result"]) == 2
        status, answer = await command("shards", table="orders")
        assert [entry["is_open"] for entry in answer["result"]] == [False, True, True]
        for name, arguments in (
            ("no_such_command", {}),
            ("_shard", {"table": "orders", "shard": shard}),
            ("split_shard", {"table": "orders"}),
            ("split_shard", {"table": "orders", "shard": shard}),
            ("open_shards", {"table": "nowhere"}),
        ):
            status, answer = await command(name, **arguments)
            assert (status, list(answer)) == (400, ["error"])
        async with http.post(f"{fake.url}/_control", data=b"nonsense") as refused:
            assert refused.status == 400

    on_a_fake(work)


def test_the_endpoint_says_that_it_is_healthy() -> None:
    async def work(fake: RunningFake, http: aiohttp.ClientSession) -> None:
        async with http.get(fake.url) as answer:
            assert await answer.text() == "healthy: dynamodb.eu-west-1.amazonaws.com "

    on_a_fake(work)


def _raw(*chunks: bytes, answers: int) -> list[bytes]:
    """Send bytes in chunks; the bodies of so many answers, then what follows until the end."""
    received: list[bytes] = []

    async def work(fake: RunningFake, http: aiohttp.ClientSession) -> None:
        host, port = fake.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        for chunk in chunks:
            writer.write(chunk)
            await writer.drain()
            await asyncio.sleep(0)
        for _ in range(answers):
            head = await reader.readuntil(b"\r\n\r\n")
            received.append(head.partition(b"\r\n")[0])
            if b"Content-Length: " in head:
                length = int(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0])
                received.append(await reader.readexactly(length))
        writer.close()
        await writer.wait_closed()

    on_a_fake(work)
    return received


REQUEST = b"POST / HTTP/1.1\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\nContent-Length: 2\r\n"


def test_requests_may_come_in_pieces_or_several_at_once() -> None:
    whole = REQUEST + b"\r\n{}"
    pieces = [whole[:10], whole[10:-1], whole[-1:] + whole + whole]
    assert _raw(*pieces, answers=3) == [b"HTTP/1.1 200 OK", b'{"TableNames":["orders"]}'] * 3


def test_a_client_may_wait_for_permission_to_send_its_body() -> None:
    async def work(fake: RunningFake, http: aiohttp.ClientSession) -> None:
        async with http.post(fake.url, data=BODY, headers=SCAN, expect100=True) as answer:
            assert orjson.loads(await answer.read())["Count"] == 1

    on_a_fake(work)


@pytest.mark.parametrize(
    "bytes_",
    [
        b"nonsense\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nX: " + b"x" * 70_000,
    ],
)
def test_what_is_no_request_is_refused(bytes_: bytes) -> None:
    assert _raw(bytes_, answers=1)[0] == b"HTTP/1.1 400 Bad Request"
