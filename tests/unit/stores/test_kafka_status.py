"""Which statuses are written, and which are written again (spec kafka-connect C.4)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import pytest
import structlog

from connectd.aio.clock import LoopClock
from connectd.errors import (
    AccessDeniedError,
    ProduceError,
    ProducerLostError,
    RecordTooLargeError,
    WorkerError,
)
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import State
from connectd.model.status import Status, TopicStatus
from connectd.stores import kafka_store, status_log, topic_home
from connectd.stores.kafka_status import RETRY_S, KafkaStatusStore
from connectd.stores.topic_home import TopicHome
from tests.kit.virtual_time import run_virtual
from tests.unit.stores.fake_log import FakeLog

HOME = TopicHome(
    client={"bootstrap.servers": "127.0.0.1:1"},
    client_id="c",
    topic="topic",
    partitions=1,
    replication_factor=1,
)
TASK = ConnectorTaskId("s", 0)
KEY = status_log.subject_key(TASK)
LATE = ProduceError("not acknowledged in time")


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    async def prepare(*_: object, **__: object) -> int:
        return 1

    monkeypatch.setattr(topic_home, "prepare", prepare)
    monkeypatch.setattr(kafka_store, "CompactedLog", FakeLog)


def run(work: Callable[[KafkaStatusStore, FakeLog], Awaitable[None]]) -> None:
    async def with_store() -> None:
        store = KafkaStatusStore(HOME, clock=LoopClock(), on_failure=_unexpected)
        await store.open()
        await work(store, cast("FakeLog", store._log))
        await store.close()

    run_virtual(with_store())


def _unexpected(error: WorkerError) -> None:
    raise AssertionError(error)


def status(state: State, worker: str = "w1:1", generation: int = 3) -> Status:
    return Status(state, worker, generation)


def test_while_a_page_is_on_its_way_only_the_newest_of_each_key_is_kept() -> None:
    async def work(store: KafkaStatusStore, log: FakeLog) -> None:
        store.put_task(TASK, status(State.RUNNING))
        for state in (State.PAUSED, State.RUNNING, State.FAILED):
            store.put_task(TASK, status(state))
        log.acknowledge()
        log.acknowledge()
        assert [page[0][1] for page in log.pages] == [
            status_log.status_value(status(State.RUNNING)),
            status_log.status_value(status(State.FAILED)),
        ]
        assert store.task(TASK) == status(State.FAILED)

    run(work)


def test_a_status_that_was_withdrawn_is_written_again_after_a_while() -> None:
    async def work(store: KafkaStatusStore, log: FakeLog) -> None:
        store.put_task(TASK, status(State.FAILED), safe=True)
        log.refuse(LATE)
        assert len(log.pages) == 1
        await asyncio.sleep(2 * RETRY_S)
        assert log.pages[1] == log.pages[0]
        log.acknowledge()
        assert await store.flush(1.0)
        assert store.task(TASK) == status(State.FAILED)

    run(work)


def test_one_that_was_lost_with_its_client_is_written_again_by_the_next() -> None:
    async def work(store: KafkaStatusStore, log: FakeLog) -> None:
        store.put_task(TASK, status(State.FAILED), safe=True)
        log.fail(ProducerLostError("all brokers are lost"))
        await asyncio.sleep(2 * RETRY_S)
        assert log.pages[1] == log.pages[0]
        log.acknowledge()
        assert await store.flush(1.0)
        assert store.task(TASK) == status(State.FAILED)

    run(work)


def test_one_that_has_been_overtaken_is_not() -> None:
    async def work(store: KafkaStatusStore, log: FakeLog) -> None:
        store.put_task(TASK, status(State.FAILED))
        store.put_task(TASK, status(State.RUNNING))
        log.refuse(LATE)
        assert log.pages[1] == [(KEY, status_log.status_value(status(State.RUNNING)))]
        log.acknowledge()
        await asyncio.sleep(2 * RETRY_S)
        assert len(log.pages) == 2

    run(work)


def test_one_of_an_earlier_generation_is_not() -> None:
    other = ConnectorTaskId("s", 1)

    async def work(store: KafkaStatusStore, log: FakeLog) -> None:
        store.put_task(TASK, status(State.RUNNING, generation=3))
        store.put_task(other, status(State.RUNNING, generation=4))
        log.refuse(LATE)
        log.acknowledge()
        await asyncio.sleep(2 * RETRY_S)
        assert [key for page in log.pages for key, _ in page] == [
            KEY,
            status_log.subject_key(other),
        ]

    run(work)


def test_a_safe_one_is_not_once_somebody_newer_has_spoken() -> None:
    theirs = status(State.RUNNING, "w2:1", 9)

    async def work(store: KafkaStatusStore, log: FakeLog) -> None:
        store.put_task(TASK, status(State.FAILED), safe=True)
        log.read_foreign((KEY, status_log.status_value(theirs)))
        log.refuse(LATE)
        await asyncio.sleep(2 * RETRY_S)
        assert len(log.pages) == 1
        assert store.task(TASK) == theirs
        assert await store.flush(1.0)

    run(work)


def test_tombstones_and_topics_are_written_again_without_a_question() -> None:
    async def work(store: KafkaStatusStore, log: FakeLog) -> None:
        store.put_task(TASK, None)
        store.put_topic(TopicStatus("orders", "s", 0, 1))
        log.refuse(LATE)
        await asyncio.sleep(2 * RETRY_S)
        log.refuse(LATE)
        await asyncio.sleep(2 * RETRY_S)
        log.acknowledge()
        assert store.topics("s") == (TopicStatus("orders", "s", 0, 1),)
        assert (KEY, None) in log.pages[-1]

    run(work)


@pytest.mark.parametrize("error", [RecordTooLargeError("big"), AccessDeniedError("no")])
def test_one_that_will_never_pass_is_given_up_and_said(
    error: RecordTooLargeError | AccessDeniedError,
) -> None:
    async def work(store: KafkaStatusStore, log: FakeLog) -> None:
        store.put_task(TASK, status(State.RUNNING))
        log.refuse(error)
        await asyncio.sleep(2 * RETRY_S)
        assert len(log.pages) == 1
        assert await store.flush(1.0)

    with structlog.testing.capture_logs() as lines:
        run(work)
    (line,) = [each for each in lines if each["log_level"] == "error"]
    assert line["key"] == "status-task-s-0"


def test_flush_says_when_it_was_too_late() -> None:
    async def work(store: KafkaStatusStore, log: FakeLog) -> None:
        store.put_task(TASK, status(State.RUNNING))
        assert not await store.flush(5.0)
        log.acknowledge()
        assert await store.flush(5.0)

    run(work)


def test_a_trace_of_any_text_is_written() -> None:
    async def work(store: KafkaStatusStore, log: FakeLog) -> None:
        store.put_task(TASK, Status(State.FAILED, "w1:1", 3, "half a pair: \ud800"))
        log.acknowledge()
        assert store.task(TASK) == Status(State.FAILED, "w1:1", 3, "half a pair: ?")

    run(work)


def test_a_long_trace_is_cut_so_that_it_passes() -> None:
    async def work(store: KafkaStatusStore, log: FakeLog) -> None:
        trace = "\x01" * 150_000 + "\ud800"
        store.put_task(TASK, Status(State.FAILED, "w1:1", 3, trace))
        (_, value) = log.pages[0][0]
        assert value is not None
        assert len(value) < 1_000_000
        log.acknowledge()
        found = store.task(TASK)
        assert found is not None
        assert found.trace is not None
        assert "cut off" in found.trace

    run(work)
