"""One source task: submits before sending, commits only the prefix, ends in order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest
from structlog.testing import capture_logs

from connectd.errors import (
    AccessDeniedError,
    BrokerUnavailableError,
    ConvertError,
    RecordTooLargeError,
    ThrottledError,
)
from connectd.kafka.producer import RecordFailure
from connectd.model.record import (
    DeliveredElsewhere,
    RecordBatch,
    RecordList,
    RoutedPage,
    RoutedRecord,
    Seal,
    SourceOffset,
    SourcePartition,
)
from connectd.model.states import LifecycleEvent
from connectd.pipeline.tolerance import ToleranceExceededError
from tests.unit.pipeline.runner_rig import SHARD, ListWriter, Rig, batch, virtual


def test_a_position_is_committed_at_the_end_once_its_records_are_acknowledged() -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a", "b")])
        await rig.begin()
        assert rig.events == [LifecycleEvent.STARTED]
        rig.producer.answer(0)
        await rig.end()
        assert rig.committed == [{"n": 1}]
        assert rig.topics == ["demo-orders"]
        assert rig.task.is_stopped
        assert rig.failure is None
        assert rig.tails_left == []

    virtual(scenario)


def test_a_page_that_is_acknowledged_early_is_not_committed_past_an_open_one() -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a"), batch(2, "b")])
        await rig.begin()
        rig.producer.answer(1)
        assert rig.held_producers == 1
        await rig.end()
        assert rig.committed == []
        assert rig.tails_left == ["tail"]
        assert rig.held_producers == 0

    virtual(scenario)


def test_an_empty_page_waits_for_its_place_and_needs_no_producer() -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a"), batch(2)])
        await rig.begin()
        assert len(rig.producer.sent) == 1
        rig.producer.answer(0)
        await rig.end()
        assert rig.committed == [{"n": 2}]

    virtual(scenario)


def test_a_seal_is_committed_at_once_and_told() -> None:
    async def scenario() -> None:
        told = asyncio.Event()
        rig = Rig([batch(1, "a"), Seal(SHARD, {"end": True}, told.set)])
        await rig.begin()
        assert not told.is_set()
        rig.producer.answer(0)
        await rig.settle()
        assert told.is_set()
        assert asyncio.get_running_loop().time() == 0.0
        await rig.end()

    virtual(scenario)


def test_a_slow_broker_stops_the_polling() -> None:
    async def scenario() -> None:
        rig = Rig([batch(number, "a") for number in range(10)], window=3)
        await rig.begin()
        assert (rig.task.polls, len(rig.producer.sent)) == (3, 3)
        rig.producer.answer(0)
        await rig.settle()
        assert len(rig.producer.sent) == 4
        await rig.end()

    virtual(scenario)


def test_a_record_that_is_too_large_fails_the_task_and_holds_the_position() -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a"), batch(2, "b")])
        await rig.begin()
        too_large = RecordTooLargeError("record of 2000000 bytes for demo-orders")
        rig.producer.answer(0, RecordFailure(b'{"id":"7"}', "demo-orders", too_large))
        rig.producer.answer(1)
        await rig.settle()
        await rig.end()
        assert str(rig.failure) == "Unrecoverable exception from producer send callback"
        cause = rig.failure.__cause__ if rig.failure else None
        assert isinstance(cause, RecordTooLargeError)
        assert '{"id":"7"}' in str(cause)
        assert "demo-orders" in str(cause)
        assert rig.committed == []

    virtual(scenario)


def test_with_tolerance_the_failed_record_is_acknowledged_in_its_place() -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a", "b"), batch(2, "c")], tolerate_all=True)
        await rig.begin()
        too_large = RecordTooLargeError("record of 2000000 bytes for demo-orders")
        with capture_logs() as lines:
            rig.producer.answer(0, RecordFailure(b"a", "demo-orders", too_large))
            rig.producer.answer(1)
        (line,) = lines
        assert (line["connector"], line["task"]) == ("orders", 0)
        assert line["event"] == (
            "Error encountered in task orders-0. Executing stage 'KAFKA_PRODUCE' with class "
            "'org.apache.kafka.connect.runtime.WorkerSourceTask'."
        )
        assert "record with key a of table_name=orders,shard_id=a" in str(line["exc_info"])
        await rig.end()
        assert rig.committed == [{"n": 2}]
        assert rig.runner.statistics().errors.records_skipped == 1
        assert rig.runner.statistics().records_acked == 2

    virtual(scenario)


@pytest.mark.parametrize("direct", [False, True])
def test_a_record_that_cannot_be_converted_fails_the_task(direct: bool) -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a", "bad", direct=direct)])
        await rig.begin()
        if direct:  # the other way it does not even reach the producer
            rig.producer.answer(0)
        await rig.end()
        assert isinstance(rig.failure, ToleranceExceededError)
        assert isinstance(rig.failure.__cause__, ConvertError)
        assert rig.committed == []

    virtual(scenario)


@pytest.mark.parametrize("direct", [False, True])
def test_with_tolerance_the_others_of_its_page_are_sent_in_order(direct: bool) -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a", "bad", "b", direct=direct)], tolerate_all=True)
        await rig.begin()
        page = rig.producer.sent[0][1]
        assert isinstance(page, RoutedPage)
        assert page.records == [
            RoutedRecord("demo-orders", b"a", b"a", headers=[]),
            RoutedRecord("demo-orders", b"b", b"b", headers=[]),
        ]
        rig.producer.answer(0)
        await rig.end()
        assert rig.committed == [{"n": 1}]
        assert rig.runner.statistics().errors.records_skipped == 1

    virtual(scenario)


def test_a_poll_that_is_throttled_is_repeated() -> None:
    async def scenario() -> None:
        rig = Rig([ThrottledError("slow down"), batch(1, "a")])
        await rig.begin()
        assert rig.producer.sent == []
        await asyncio.sleep(5)
        assert len(rig.producer.sent) == 1
        await rig.end()

    virtual(scenario)


def test_a_poll_that_cannot_succeed_fails_the_task_after_committing_what_is_true() -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a")])
        await rig.begin()
        rig.producer.answer(0)
        rig.task.script.append(AccessDeniedError("no dynamodb:GetRecords"))
        rig.task.more.set()
        await rig.settle()
        await rig.end()
        assert isinstance(rig.failure, AccessDeniedError)
        assert rig.committed == [{"n": 1}]
        assert rig.task.is_stopped

    virtual(scenario)


def test_a_paused_task_is_not_polled_and_goes_on_where_it_was() -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a")])
        await rig.begin()
        rig.runner.pause()
        await rig.settle()
        assert rig.events == [LifecycleEvent.STARTED, LifecycleEvent.PAUSED]
        rig.task.give(batch(2, "b"), batch(3, "c"))
        await rig.settle()
        assert len(rig.producer.sent) == 1
        rig.runner.resume()
        await rig.settle()
        assert rig.events[-1] is LifecycleEvent.RESUMED
        assert len(rig.producer.sent) == 3
        await rig.end()

    virtual(scenario)


def test_a_task_that_watches_pauses_is_told_of_them_at_once() -> None:
    async def scenario() -> None:
        rig = Rig([])
        await rig.begin()
        rig.runner.pause()
        rig.runner.resume()
        assert rig.task.is_told == [False, True]
        await rig.end()

    virtual(scenario)


def test_records_that_took_another_way_are_counted_and_their_topics_reported() -> None:
    async def scenario() -> None:
        elsewhere = DeliveredElsewhere(records=7, topics=("a", "b"), skipped=2)
        rig = Rig([RecordBatch(SHARD, {"n": 1}, RecordList(()), delivered=elsewhere)])
        await rig.begin()
        statistics = rig.runner.statistics()
        assert statistics.records_acked == 7
        assert statistics.errors.records_skipped == 2
        assert statistics.errors.record_errors == 2
        assert rig.topics == ["a", "b"]
        assert rig.producer.sent == []
        await rig.end()
        assert rig.committed == [{"n": 1}]

    virtual(scenario)


def test_a_task_created_paused_does_not_start_until_it_is_resumed() -> None:
    async def scenario() -> None:
        rig = Rig(starts_paused=True)
        await rig.begin()
        assert rig.events == [LifecycleEvent.PAUSED]
        assert not rig.task.is_started
        rig.runner.resume()
        await rig.settle()
        assert rig.events == [LifecycleEvent.PAUSED, LifecycleEvent.STARTED]
        await rig.end()
        assert rig.failure is None

    virtual(scenario)


def test_a_task_created_paused_can_be_stopped_without_ever_starting() -> None:
    async def scenario() -> None:
        rig = Rig(starts_paused=True)
        await rig.begin()
        await rig.end()
        assert not rig.task.is_started
        assert rig.failure is None

    virtual(scenario)


def test_stopping_waits_for_acknowledgements_that_are_under_way() -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a")])
        await rig.begin()
        rig.runner.signal_stop()
        await asyncio.sleep(3)
        rig.producer.answer(0)
        await rig.end()
        assert rig.committed == [{"n": 1}]

    virtual(scenario)


def test_what_is_acknowledged_is_committed_before_a_page_that_never_is_is_given_up() -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a"), batch(2, "b")])
        await rig.begin()
        rig.producer.answer(0)
        rig.runner.signal_stop()
        await rig.settle()
        assert rig.committed == [{"n": 1}]
        before_s = asyncio.get_running_loop().time()
        await rig.end()
        assert asyncio.get_running_loop().time() - before_s == pytest.approx(5.0, abs=0.1)
        assert rig.committed == [{"n": 1}]
        assert rig.tails_left == ["tail"]

    virtual(scenario)


def test_a_task_that_is_cancelled_while_it_winds_down_gives_everything_back() -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a")])
        await rig.begin()
        rig.runner.signal_stop()
        await rig.settle()
        await rig.cancel()
        assert rig.tails_left == ["tail"]
        assert rig.task.is_stopped
        assert rig.held_producers == 0

    virtual(scenario)


def test_inputs_without_a_reason_of_their_own_show_that_nothing_can_be_committed() -> None:
    class AwayWriter(ListWriter):
        async def put(self, offsets: Mapping[SourcePartition, SourceOffset | None]) -> None:
            raise BrokerUnavailableError("no broker answered")

    async def scenario() -> None:
        rig = Rig([batch(1, "a")], writer=AwayWriter())
        rig.task.rows = [{"table": "a", "reason": ""}, {"table": "b", "reason": "throttled"}]
        await rig.begin()
        assert rig.runner.tables() == rig.task.rows
        rig.producer.answer(0)
        await asyncio.sleep(61)  # the committer's interval
        assert [row["reason"] for row in rig.runner.tables()] == [
            "offsets are not committed: no broker answered",
            "throttled",
        ]
        await rig.end()

    virtual(scenario)


def test_an_abandoned_task_writes_no_offset() -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a")])
        await rig.begin()
        rig.runner.abandon()
        rig.producer.answer(0)
        await rig.end()
        assert rig.committed == []

    virtual(scenario)


def test_what_is_somebody_elses_by_now_is_neither_sent_nor_committed() -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a")])
        await rig.begin()
        rig.may_write = False
        rig.task.give(batch(2, "b"))
        await asyncio.sleep(1)
        rig.producer.answer(0)
        await rig.end()
        assert len(rig.producer.sent) == 1
        assert rig.committed == []
        assert rig.tails_left == ["tail"]

    virtual(scenario)
