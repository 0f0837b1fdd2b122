"""Opening, sharing and closing clients; every call over a loopback AWS."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from connectd.aws import clients as clients_module
from connectd.aws.clients import AwsClientPool, AwsClients, PoolStatistics
from connectd.aws.settings import AwsSettings
from connectd.errors import ConfigError, InvariantError, TransientNetworkError
from tests.unit.aws.cloud import STREAM, FakeCloud
from tests.unit.aws.doubles import HandClock


def settings(url: str = "http://127.0.0.1:1", **more: Any) -> AwsSettings:
    return AwsSettings(
        region="eu-west-1",
        access_key_id="AKID",
        secret_access_key="secret",
        dynamodb_endpoint=url,
        tagging_endpoint=url,
        sts_endpoint=url,
        **more,
    )


def aws_threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("aws")]


def test_every_client_reaches_its_endpoint_and_identifies_itself() -> None:
    async def scenario() -> FakeCloud:
        clock = HandClock()
        async with FakeCloud(clock) as cloud:
            clients = AwsClients(settings(cloud.url), clock)
            await clients.open()
            await clients.dynamodb.describe_table("orders")
            await clients.dynamodb.scan(
                "orders", segment=0, total_segments=1, exclusive_start_key=None, limit=1
            )
            await clients.streams.describe_stream(STREAM)
            await clients.streams.shard_iterator(STREAM, "s" * 30, "LATEST", None)
            await clients.streams.get_records("iterator", 10)
            await clients.tagging.tables_by_tags([("ingest", ())])
            await clients.close()
            await clients.close()
            return cloud

    cloud = asyncio.run(scenario())
    assert [each.operation for each in cloud.requests] == [
        "DescribeTable",
        "Scan",
        "DescribeStream",
        "GetShardIterator",
        "GetRecords",
        "GetResources",
    ]
    assert all("connectd/" in each.headers["user-agent"] for each in cloud.requests)
    assert aws_threads() == []


def test_boto3_does_not_retry_behind_our_back() -> None:
    async def scenario() -> FakeCloud:
        clock = HandClock()
        async with FakeCloud(clock) as cloud:
            clients = AwsClients(settings(cloud.url), clock)
            await clients.open()
            cloud.broken = True
            for road in (
                clients.dynamodb.describe_table("orders"),
                clients.streams.describe_stream(STREAM),
                clients.tagging.tables_by_tags([("ingest", ())]),
            ):
                with pytest.raises(TransientNetworkError, match="InternalServerError"):
                    await road
            await clients.close()
            return cloud

    assert len(asyncio.run(scenario()).requests) == 3


def test_a_region_that_cannot_be_is_a_configuration_error_and_leaves_nothing_open() -> None:
    async def scenario() -> None:
        clients = AwsClients(AwsSettings(region="no such region"), HandClock())
        with pytest.raises(ConfigError, match="no such region"):
            await clients.open()

    asyncio.run(scenario())
    assert aws_threads() == []


def test_calls_after_closing_are_bugs() -> None:
    async def scenario() -> None:
        clients = AwsClients(settings(), HandClock())
        await clients.open()
        await clients.close()
        for road in (
            clients.streams.get_records("iterator", 10),
            clients.dynamodb.describe_table("orders"),
        ):
            with pytest.raises(InvariantError, match="closed"):
                await road

    asyncio.run(scenario())


def test_opening_twice_is_a_bug() -> None:
    async def scenario() -> None:
        clients = AwsClients(settings(), HandClock())
        await clients.open()
        with pytest.raises(InvariantError, match="open already"):
            await clients.open()
        await clients.close()

    asyncio.run(scenario())


def test_equal_settings_share_clients_until_the_last_user_has_left() -> None:
    async def scenario() -> None:
        pool = AwsClientPool(HandClock())
        first, second = await asyncio.gather(pool.acquire(settings()), pool.acquire(settings()))
        assert first is second
        other = await pool.acquire(settings(pool_connections_max=3))
        assert other is not first
        assert pool.statistics() == PoolStatistics(settings=2, users=3)
        await pool.release(first)
        assert pool.statistics() == PoolStatistics(settings=2, users=2)
        await pool.release(second)
        assert pool.statistics() == PoolStatistics(settings=1, users=1)
        again = await pool.acquire(settings())
        assert again is not first
        await pool.close()
        assert pool.statistics() == PoolStatistics(settings=0, users=0)

    asyncio.run(scenario())
    assert aws_threads() == []


def test_one_release_too_many_is_a_bug() -> None:
    async def scenario() -> None:
        pool = AwsClientPool(HandClock())
        clients = await pool.acquire(settings())
        await pool.release(clients)
        with pytest.raises(InvariantError, match="once too often"):
            await pool.release(clients)
        newer = await pool.acquire(settings())
        with pytest.raises(InvariantError, match="once too often"):
            await pool.release(clients)
        await pool.release(newer)

    asyncio.run(scenario())


def test_clients_that_did_not_open_are_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        pool = AwsClientPool(HandClock())
        with monkeypatch.context() as patch:
            patch.setenv("AWS_CA_BUNDLE", "/no/such/bundle.pem")
            with pytest.raises(ConfigError, match="AWS_CA_BUNDLE"):
                await pool.acquire(settings())
        assert pool.statistics() == PoolStatistics(settings=0, users=0)
        await pool.release(await pool.acquire(settings()))

    asyncio.run(scenario())


def test_a_cancelled_opening_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    started, release = threading.Event(), threading.Event()
    make = clients_module._make

    def slow(*arguments: Any) -> Any:
        started.set()
        release.wait(10)
        return make(*arguments)

    monkeypatch.setattr(clients_module, "_make", slow)

    async def scenario() -> None:
        pool = AwsClientPool(HandClock())
        opening = asyncio.create_task(pool.acquire(settings()))
        assert await asyncio.to_thread(started.wait, 10)
        opening.cancel()
        await asyncio.sleep(0)
        release.set()
        with pytest.raises(asyncio.CancelledError):
            await opening
        assert pool.statistics() == PoolStatistics(settings=0, users=0)
        await pool.release(await pool.acquire(settings()))

    asyncio.run(scenario())
    assert aws_threads() == []
