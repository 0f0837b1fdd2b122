"""Tasks that want the same producer share it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest
from confluent_kafka import KafkaError

from connectd.errors import ConfigError, InvariantError
from connectd.kafka.pool import ProducerPool
from connectd.kafka.producer import PageProducer, SendJob, SendResult
from connectd.model.record import EncodedPage
from tests.unit.kafka.mock_cluster import INIT_PRODUCER_ID, MockCluster, mock_cluster

DEADLINE_S = 20.0


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with mock_cluster() as cluster:
        yield cluster


def test_equal_effective_settings_share_a_producer_until_the_last_one_goes(
    cluster: MockCluster,
) -> None:
    async def work() -> None:
        pool = ProducerPool(client_id="w")
        one = pool.acquire(cluster.settings)
        other = pool.acquire({**cluster.settings, "linger.ms": "40", "acks": "all"})
        apart = pool.acquire({**cluster.settings, "compression.type": "zstd"})
        assert one is other
        assert apart is not one
        assert len(pool.statistics()) == 2
        by_client = pool.statistics_by_client()
        assert {name: len(found) for name, found in by_client.items()} == {"w": 2}
        await pool.release(one, deadline_s=DEADLINE_S)
        assert one.statistics().is_usable
        await pool.release(one, deadline_s=DEADLINE_S)
        assert not one.statistics().is_usable
        assert pool.acquire(cluster.settings) is not one
        await pool.close(deadline_s=DEADLINE_S)
        assert not apart.is_usable

    asyncio.run(work())


def test_a_producer_with_overrides_is_its_connectors(
    cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        pool = ProducerPool(client_id="w")
        assert pool.availability() == {}
        plain = pool.acquire(cluster.settings)
        wrong = {**cluster.settings, "compression.type": "zstd"}
        own = pool.acquire(wrong, overridden_by="a")
        assert pool.acquire(wrong, overridden_by="b") is own
        counted = replace(own.statistics(), is_available=False)
        with monkeypatch.context() as patch:
            patch.setattr(own, "statistics", lambda: counted)
            assert pool.availability() == {"": True, "a": False, "b": False}
            await pool.release(own, deadline_s=DEADLINE_S, overridden_by="a")
            assert pool.availability() == {"": True, "b": False}
            # An override that changes nothing shares what others have.
            assert pool.acquire(cluster.settings, overridden_by="c") is plain
            assert pool.availability() == {"": True, "b": False, "c": True}
            patch.setattr(plain, "statistics", lambda: counted)
            assert not pool.availability()[""]
        with pytest.raises(InvariantError, match="nobody holds"):
            await pool.release(own, deadline_s=DEADLINE_S, overridden_by="a")
        await pool.close(deadline_s=DEADLINE_S)

    asyncio.run(work())


def test_sums_of_a_client_never_shrink_while_it_has_a_producer(cluster: MockCluster) -> None:
    """A counter that shrinks is taken for one that began anew: all of it would count again."""

    async def sent(producer: PageProducer, records: int) -> None:
        answers: list[SendResult] = []
        page = EncodedPage("t", [(b"k", b"v")] * records)
        await producer.send(SendJob(lambda: page, answers.append))
        await producer.flush(DEADLINE_S)
        assert [each.failure_count for each in answers] == [0]

    async def work() -> None:
        pool = ProducerPool(client_id="w")

        def acked() -> int:
            return sum(each.records_acked for each in pool.statistics_by_client()["w"])

        one = pool.acquire(cluster.settings)
        other = pool.acquire({**cluster.settings, "compression.type": "zstd"})
        await sent(one, 3)
        await sent(other, 5)
        closing = asyncio.create_task(pool.release(other, deadline_s=DEADLINE_S))
        await asyncio.sleep(0)
        assert acked() == 8
        assert await closing == 0
        assert acked() == 8
        await sent(one, 2)
        assert acked() == 10
        await pool.release(one, deadline_s=DEADLINE_S)
        assert pool.statistics_by_client() == {}
        again = pool.acquire(cluster.settings)
        assert acked() == 0, "nobody was left: it begins anew"
        await pool.release(again, deadline_s=DEADLINE_S)

    asyncio.run(work())


def test_releasing_what_nobody_holds_is_a_defect(cluster: MockCluster) -> None:
    async def work() -> None:
        pool = ProducerPool(client_id="w")
        producer = pool.acquire(cluster.settings)
        await pool.release(producer, deadline_s=DEADLINE_S)
        with pytest.raises(InvariantError):
            await pool.release(producer, deadline_s=DEADLINE_S)

    asyncio.run(work())


def test_a_producer_that_has_failed_is_replaced_for_the_next_task(cluster: MockCluster) -> None:
    async def work() -> None:
        pool = ProducerPool(client_id="w")
        settings = {**cluster.settings, "client.id": "failing"}
        cluster.fail_requests(INIT_PRODUCER_ID, KafkaError.CLUSTER_AUTHORIZATION_FAILED)
        failed = pool.acquire(settings)
        answers: list[SendResult] = []
        await failed.send(SendJob(lambda: EncodedPage("t", [(b"k", b"v")]), answers.append))
        await failed.flush(DEADLINE_S)
        assert not failed.is_usable
        fresh = pool.acquire(settings)
        assert fresh is not failed
        await pool.release(failed, deadline_s=DEADLINE_S)
        assert fresh.is_usable
        assert pool.acquire(settings) is fresh
        await pool.close(deadline_s=DEADLINE_S)

    asyncio.run(work())


def test_settings_that_are_not_accepted_are_the_users_business(cluster: MockCluster) -> None:
    async def work() -> None:
        pool = ProducerPool(client_id="w")
        with pytest.raises(ConfigError, match="creating a producer"):
            pool.acquire({**cluster.settings, "linger.ms": "soon"})
        with pytest.raises(ConfigError, match="acks"):
            pool.acquire({**cluster.settings, "acks": "0"})
        assert pool.statistics() == ()

    asyncio.run(work())


def test_after_the_pool_has_disowned_its_producers_others_can_be_had(cluster: MockCluster) -> None:
    async def work() -> None:
        pool = ProducerPool(client_id="w")
        held = pool.acquire(cluster.settings)
        pool.disown()
        fresh = pool.acquire(cluster.settings)
        assert fresh is not held
        assert fresh.is_usable
        assert await pool.release(held, deadline_s=DEADLINE_S) == 0
        await pool.close(deadline_s=DEADLINE_S)

    asyncio.run(work())
