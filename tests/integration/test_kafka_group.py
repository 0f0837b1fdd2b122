"""The group client against a real coordinator."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from connectd.aio import backoff
from connectd.aio.backoff import Backoff
from connectd.aio.clock import LoopClock
from connectd.errors import BrokerUnavailableError, ConfigError
from connectd.kafka.group import access
from connectd.kafka.group.client import (
    GroupClient,
    GroupTimes,
    Joined,
    MembershipLostError,
    RebalanceUnderWayError,
)
from tests.harness.kafka import KafkaBroker
from tests.harness.processes import free_ports

pytestmark = pytest.mark.kafka("exact")

TIMES = GroupTimes(session_s=6.0, rebalance_s=30.0)
CALL_S = 30.0
BOTH = [("sessioned", b"new"), ("default", b"old")]


def run(test: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(120.0):
            await test

    asyncio.run(bounded())


def client_of(broker: KafkaBroker, group: str, kind: str = "connect") -> GroupClient:
    found = access.read({"bootstrap.servers": broker.bootstrap}, client_id="test")
    return GroupClient(found, group, kind, TIMES)


async def joined_by(client: GroupClient, member_id: str = "") -> Joined:
    """A broker that has never had a group makes the coordinator's topic first, and loads it."""

    async def attempt() -> Joined:
        await client.find_coordinator()
        return await client.join(member_id, BOTH)

    return await backoff.retry(attempt, clock=LoopClock(), policy=Backoff(0.1, 1.0))


def name() -> str:
    return f"group-{time.time_ns()}"


async def alone(client: GroupClient) -> Joined:
    joined = await joined_by(client)
    await client.sync(joined, {joined.member_id: b"mine"})
    return joined


def test_a_single_member_leads_and_assigns_to_itself(kafka_broker: KafkaBroker) -> None:
    async def test() -> None:
        client = client_of(kafka_broker, name())
        joined = await joined_by(client)
        assert joined.is_leader
        assert joined.protocol == "sessioned"
        assert joined.members == {joined.member_id: b"new"}
        assert await client.sync(joined, {joined.member_id: b"mine"}) == b"mine"
        await client.heartbeat(joined.member_id, joined.generation, CALL_S)
        await client.leave(joined.member_id, CALL_S)
        with pytest.raises(MembershipLostError) as lost:
            await client.heartbeat(joined.member_id, joined.generation, CALL_S)
        assert not lost.value.knows_member
        await client.close()

    run(test())


def test_two_members_share_what_both_of_them_speak(kafka_broker: KafkaBroker) -> None:
    async def test() -> None:
        group = name()
        one, other = client_of(kafka_broker, group), client_of(kafka_broker, group)
        first = await alone(one)
        await other.find_coordinator()
        async with asyncio.TaskGroup() as tasks:
            later = tasks.create_task(other.join("", [("default", b"theirs")]))
            await wait_rebalance(one, first)
            again = await one.join(first.member_id, BOTH)
        second = later.result()
        assert (again.protocol, second.protocol) == ("default", "default")
        assert again.members == {again.member_id: b"old", second.member_id: b"theirs"}
        assert second.members == {}
        async with asyncio.TaskGroup() as tasks:
            got = tasks.create_task(other.sync(second, {}))
            given = {again.member_id: b"1", second.member_id: b"2"}
            assert await one.sync(again, given) == b"1"
        assert got.result() == b"2"
        with pytest.raises(MembershipLostError) as lost:
            await one.heartbeat(first.member_id, first.generation, CALL_S)
        assert lost.value.knows_member
        await one.close()
        await other.close()

    run(test())


async def wait_rebalance(client: GroupClient, joined: Joined) -> None:
    while True:
        try:
            await client.heartbeat(joined.member_id, joined.generation, CALL_S)
        except RebalanceUnderWayError:
            return
        await LoopClock().sleep(0.05)


def test_a_group_of_consumers_is_told_from_a_cluster(kafka_broker: KafkaBroker) -> None:
    async def test() -> None:
        group = name()
        consumer = client_of(kafka_broker, group, kind="consumer")
        await alone(consumer)
        worker = client_of(kafka_broker, group)
        with pytest.raises(ConfigError, match=r"a group\.id of its own"):
            await joined_by(worker)
        await consumer.close()
        await worker.close()

    run(test())


def test_a_session_that_the_brokers_do_not_allow_is_refused(kafka_broker: KafkaBroker) -> None:
    async def test() -> None:
        ours = access.read({"bootstrap.servers": kafka_broker.bootstrap}, client_id="t")
        times = GroupTimes(session_s=100_000.0, rebalance_s=30.0)
        client = GroupClient(ours, name(), "connect", times)
        with pytest.raises(ConfigError, match=r"session\.timeout\.ms must lie between"):
            await joined_by(client)
        await client.close()

    run(test())


def test_a_broker_that_is_not_there_is_not_waited_for_long(kafka_broker: KafkaBroker) -> None:
    async def test() -> None:
        (port,) = free_ports(1)
        servers = {"bootstrap.servers": f"127.0.0.1:{port}"}
        client = GroupClient(access.read(servers, client_id="t"), name(), "connect", TIMES)
        with pytest.raises(BrokerUnavailableError, match=f"127.0.0.1:{port}"):
            await client.find_coordinator()
        servers = {"bootstrap.servers": f"127.0.0.1:{port},{kafka_broker.bootstrap}"}
        client = GroupClient(access.read(servers, client_id="t"), name(), "connect", TIMES)
        await alone(client)
        await client.close()

    run(test())
