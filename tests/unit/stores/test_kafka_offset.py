"""How offsets gather, supersede each other, miss their deadline and come back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, cast

import pytest

from connectd.aio.clock import LoopClock
from connectd.errors import AccessDeniedError, BrokerUnavailableError, ProduceError, WorkerError
from connectd.model.record import SourcePartition
from connectd.stores import kafka_store, topic_home
from connectd.stores.kafka_offset import KafkaOffsetStore
from connectd.stores.topic_home import TopicHome
from tests.kit.virtual_time import run_virtual
from tests.unit.stores.fake_log import FakeLog

DEADLINE_S = 5.0
HOME = TopicHome(
    client={"bootstrap.servers": "127.0.0.1:1"},
    client_id="c",
    topic="topic",
    partitions=1,
    replication_factor=1,
    write_deadline_s=DEADLINE_S,
)
A = SourcePartition.of({"t": "a"})
B = SourcePartition.of({"t": "b"})
KEY_A, KEY_B = b'["c",{"t":"a"}]', b'["c",{"t":"b"}]'


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    async def prepare(*_: object, **__: object) -> int:
        return 1

    monkeypatch.setattr(topic_home, "prepare", prepare)
    monkeypatch.setattr(kafka_store, "CompactedLog", FakeLog)


def run(work: Callable[[KafkaOffsetStore, FakeLog], Awaitable[None]]) -> None:
    async def with_store() -> None:
        store = KafkaOffsetStore(HOME, clock=LoopClock(), on_failure=_unexpected)
        await store.open()
        await work(store, cast("FakeLog", store._log))
        await store.close()

    run_virtual(with_store())


def _unexpected(error: WorkerError) -> None:
    raise AssertionError(error)


async def started(work: Coroutine[Any, Any, None]) -> asyncio.Future[None]:
    """A put that has begun and waits."""
    putting = asyncio.ensure_future(work)
    await asyncio.sleep(0)
    return putting


def test_a_put_is_done_when_it_is_durable() -> None:
    async def work(store: KafkaOffsetStore, log: FakeLog) -> None:
        putting = await started(store.put("c", {A: {"n": 1}}))
        assert not putting.done()
        log.acknowledge()
        await putting
        assert log.pages == [[(KEY_A, b'{"n":1}')]]

    run(work)


def test_puts_gather_while_a_page_is_on_its_way_and_the_latest_of_each_is_written() -> None:
    async def work(store: KafkaOffsetStore, log: FakeLog) -> None:
        puts = [
            await started(store.put("c", {A: {"n": 1}})),
            await started(store.put("c", {A: {"n": 2}, B: {"n": 2}})),
            await started(store.put("c", {A: {"n": 3}})),
        ]
        log.acknowledge()
        assert log.pages[1:] == [[(KEY_B, b'{"n":2}'), (KEY_A, b'{"n":3}')]]
        log.acknowledge()
        await asyncio.gather(*puts)

    run(work)


def test_offsets_are_written_in_the_order_of_the_mapping() -> None:
    async def work(store: KafkaOffsetStore, log: FakeLog) -> None:
        putting = await started(store.put("c", {B: {"n": 1}, A: {"n": 1}}))
        assert [key for key, _ in log.pages[0]] == [KEY_B, KEY_A]
        log.acknowledge()
        await putting

    run(work)


class TestTheDeadline:
    def test_what_was_not_sent_is_withdrawn_and_what_was_sent_is_still_answered(self) -> None:
        async def work(store: KafkaOffsetStore, log: FakeLog) -> None:
            with pytest.raises(BrokerUnavailableError, match="not acknowledged within 5 s"):
                await store.put("c", {A: {"n": 1}})
            assert store.get("c", A) == {"n": 1}
            with pytest.raises(BrokerUnavailableError):
                await store.put("c", {A: {"n": 2}, B: {"n": 2}})
            assert store.all("c") == {A: {"n": 1}}
            log.acknowledge()
            assert len(log.pages) == 1
            assert store.all("c") == {A: {"n": 1}}

        run(work)

    def test_a_later_put_supersedes_whatever_became_of_the_earlier_ones(self) -> None:
        async def work(store: KafkaOffsetStore, log: FakeLog) -> None:
            for number in (1, 2):
                with pytest.raises(BrokerUnavailableError):
                    await store.put("c", {A: {"n": number}})
            putting = await started(store.put("c", {A: {"n": 3}}))
            log.acknowledge()
            log.acknowledge()
            await putting
            assert [page[0][1] for page in log.pages] == [b'{"n":1}', b'{"n":3}']
            assert store.get("c", A) == {"n": 3}

        run(work)

    def test_a_cancelled_put_is_withdrawn(self) -> None:
        async def work(store: KafkaOffsetStore, log: FakeLog) -> None:
            first = await started(store.put("c", {A: {"n": 1}}))
            second = await started(store.put("c", {A: {"n": 2}}))
            assert store.get("c", A) == {"n": 2}
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
            assert store.get("c", A) == {"n": 1}
            log.acknowledge()
            await first
            assert len(log.pages) == 1

        run(work)

    def test_withdrawing_keeps_what_another_put_has_put_in_its_place(self) -> None:
        async def work(store: KafkaOffsetStore, log: FakeLog) -> None:
            await started(store.put("c", {B: {"n": 0}}))
            second = await started(store.put("c", {A: {"n": 1}}))
            third = await started(store.put("c", {A: {"n": 2}}))
            second.cancel()
            await asyncio.gather(second, return_exceptions=True)
            assert store.get("c", A) == {"n": 2}
            log.acknowledge()
            log.acknowledge()
            await third
            assert log.pages[1] == [(KEY_A, b'{"n":2}')]

        run(work)


class TestRefusals:
    def test_only_the_putter_of_a_refused_offset_is_told(self) -> None:
        async def work(store: KafkaOffsetStore, log: FakeLog) -> None:
            await started(store.put("c", {B: {"n": 0}}))
            good = await started(store.put("c", {A: {"n": 1}}))
            bad = await started(store.put("c", {B: {"n": 1}}))
            log.acknowledge()
            log.refuse(ProduceError("no"), KEY_B)
            await good
            with pytest.raises(ProduceError):
                await bad

        run(work)

    def test_a_refused_offset_is_not_answered(self) -> None:
        async def work(store: KafkaOffsetStore, log: FakeLog) -> None:
            putting = await started(store.put("c", {A: {"n": 1}}))
            log.refuse(AccessDeniedError("no"))
            with pytest.raises(AccessDeniedError):
                await putting
            assert store.get("c", A) is None

        run(work)

    def test_a_page_that_fails_as_a_whole_is_told_to_all(self) -> None:
        async def work(store: KafkaOffsetStore, log: FakeLog) -> None:
            putting = await started(store.put("c", {A: {"n": 1}}))
            log.fail(WorkerError("the thread has died"))
            with pytest.raises(WorkerError):
                await putting

        run(work)

    def test_a_log_that_takes_nothing_is_told(self) -> None:
        async def work(store: KafkaOffsetStore, log: FakeLog) -> None:
            log.refuses_appends = True
            with pytest.raises(WorkerError):
                await store.put("c", {A: {"n": 1}})
            assert store.get("c", A) is None

        run(work)


class TestReadingBack:
    def test_an_older_own_value_that_comes_back_does_not_hide_the_newer_one(self) -> None:
        async def work(store: KafkaOffsetStore, log: FakeLog) -> None:
            await started(store.put("c", {A: {"n": 1}}))
            await started(store.put("c", {A: {"n": 2}}))
            log.acknowledge()  # read back at once
            assert store.get("c", A) == {"n": 2}
            log.acknowledge(read_back=False)
            assert store.get("c", A) == {"n": 2}
            log.read((KEY_A, b'{"n":2}'))
            assert store.get("c", A) == {"n": 2}

        run(work)

    def test_somebody_elses_later_value_is_seen(self) -> None:
        async def work(store: KafkaOffsetStore, log: FakeLog) -> None:
            await started(store.put("c", {A: {"n": 1}}))
            log.acknowledge()
            log.read_foreign((KEY_A, b'{"n":7}'))
            assert store.get("c", A) == {"n": 7}
            log.read_foreign((KEY_A, None))
            assert store.get("c", A) is None

        run(work)

    def test_an_own_record_that_compaction_took_away_does_not_stay_for_ever(self) -> None:
        async def work(store: KafkaOffsetStore, log: FakeLog) -> None:
            await started(store.put("c", {A: {"n": 1}}))
            log.acknowledge(read_back=False)
            # Offset 0 is never read: the reader finds somebody else's newer record behind it.
            log._position = 1
            log.read((KEY_A, b'{"n":7}'))
            assert store.get("c", A) == {"n": 7}

        run(work)
