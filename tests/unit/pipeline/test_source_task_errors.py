"""One source task: what becomes of records that fail."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from connectd.errors import FatalTaskError, ProducerLostError, TopicGoneError
from connectd.kafka.producer import RecordFailure
from connectd.model.record import Acked
from connectd.pipeline.failure_reports import ErrorStatistics
from connectd.pipeline.tolerance import ErrorPolicy, ToleranceExceededError
from tests.kit.virtual_time import run_virtual
from tests.unit.pipeline.pages import Registry
from tests.unit.pipeline.runner_rig import Rig, batch, virtual


def test_a_record_that_waits_for_a_registry_is_overtaken_by_none_and_is_shown() -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a", "b"), batch(2, "c")], value=Registry(away={"b": 6}))
        rig.task.rows = [{"table": "a", "reason": ""}]
        await rig.begin()
        assert rig.producer.sent == []
        assert [row["reason"] for row in rig.runner.tables()] == [
            "VALUE_CONVERTER is tried again: registry does not answer"
        ]
        await asyncio.sleep(30)
        assert rig.sent_values() == [b"a", b"b", b"c"]
        assert rig.runner.tables() == rig.task.rows
        rig.producer.answer(0)
        rig.producer.answer(1)
        assert rig.runner.statistics().errors == ErrorStatistics(record_failures=6, retries=6)
        await rig.end()
        assert rig.committed == [{"n": 2}]

    virtual(scenario)


def test_a_task_that_waits_for_a_registry_can_be_stopped_and_goes_back_to_before_the_page() -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a"), batch(2, "b")], value=Registry(away={"b": 1_000}))
        await rig.begin()
        rig.producer.answer(0)
        await asyncio.sleep(300)
        before_s = asyncio.get_running_loop().time()
        await rig.end()
        assert asyncio.get_running_loop().time() == before_s
        assert rig.committed[-1:] == [{"n": 1}]
        assert rig.failure is None
        assert rig.tails_left == ["tail"]

    virtual(scenario)


def test_a_failed_record_is_logged_before_the_task_fails_and_only_on_request_with_content() -> None:
    async def scenario(*, with_records: bool) -> list[str]:
        policy = ErrorPolicy(logs_failures=True, logs_records=with_records)
        rig = Rig([batch(1, "a", "bad")], errors=policy)
        with capture_logs() as lines:
            await rig.begin()
            rig.producer.answer(0)
            await rig.end()
        assert isinstance(rig.failure, ToleranceExceededError)
        statistics = rig.runner.statistics().errors
        assert (statistics.record_errors, statistics.records_skipped) == (1, 0)
        assert (statistics.errors_logged, statistics.record_failures) == (1, 1)
        assert statistics.last_error_timestamp_ms is not None
        return [line["event"] for line in lines if line["log_level"] == "error"]

    sentence = (
        "Error encountered in task orders-0. Executing stage 'KEY_CONVERTER' with class "
        "'test.TextConverter'"
    )
    assert run_virtual(scenario(with_records=False)) == [f"{sentence}."]
    (line,) = run_virtual(scenario(with_records=True))
    assert line.startswith(
        f"{sentence}, where source record is = SourceRecord{{sourcePartition={{table_name=orders, "
        "shard_id=a}, sourceOffset={n=1}} ConnectRecord{topic='demo-orders', "
    )


def test_a_page_whose_records_are_all_skipped_moves_the_position() -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "bad", "bad")], tolerate_all=True)
        await rig.begin()
        rig.producer.answer(0)
        await rig.end()
        assert rig.committed == [{"n": 1}]
        assert rig.topics == []

    virtual(scenario)


@pytest.mark.parametrize("direct", [False, True])
def test_what_comes_before_a_record_that_ends_the_task_is_delivered_and_committed(
    direct: bool,
) -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a", "b", "bad", "c", direct=direct, positions=True)])
        await rig.begin()
        assert rig.sent_values() == [b"a", b"b"]
        rig.producer.answer(0)
        await rig.end()
        assert isinstance(rig.failure, ToleranceExceededError)
        assert rig.committed == [{"behind": "b"}]
        assert rig.topics == ["demo-orders"]
        assert rig.runner.statistics().records_acked == 2
        assert rig.tails_left == ["tail"]

    virtual(scenario)


def test_a_page_without_positions_is_delivered_up_to_the_record_and_comes_again() -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a"), batch(2, "b", "bad")])
        await rig.begin()
        rig.producer.answer(0)
        rig.producer.answer(1)
        await rig.end()
        assert rig.sent_values() == [b"a", b"b"]
        assert rig.committed == [{"n": 1}]
        assert rig.tails_left == ["tail"]

    virtual(scenario)


def test_nothing_behind_a_page_that_was_cut_is_committed() -> None:
    async def scenario() -> None:
        # Pages of the direct path are encoded late: the second was submitted before the first
        # was found to be bad.
        rig = Rig([batch(1, "a", "bad", direct=True, positions=True), batch(2, "b", direct=True)])
        rig.producer.waiting = []
        await rig.begin()
        rig.producer.encode_waiting()
        rig.producer.answer(1)
        rig.producer.answer(0)
        await rig.end()
        assert rig.committed == [{"behind": "a"}]

    virtual(scenario)


def test_what_came_before_is_not_committed_when_kafka_refuses_it() -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a", "bad", positions=True)])
        await rig.begin()
        rig.producer.answer(0, RecordFailure(b"a", "demo-orders", FatalTaskError("too large")))
        await rig.end()
        assert rig.committed == []
        assert rig.runner.statistics().errors.record_errors == 2

    virtual(scenario)


@pytest.mark.parametrize("tolerate_all", [False, True])
def test_a_topic_that_vanishes_skips_nothing_whatever_is_tolerated(tolerate_all: bool) -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a"), batch(2, "b")], tolerate_all=tolerate_all)
        await rig.begin()
        rig.producer.answer(0)
        gone = TopicGoneError("no such topic")
        rig.producer.answer(1, RecordFailure(b"b", "demo-orders", gone))
        await rig.end()
        assert rig.failure is gone
        assert rig.committed == [{"n": 1}]
        assert rig.runner.statistics().errors == ErrorStatistics()
        assert rig.tails_left == []  # the next life sends them

    virtual(scenario)


@pytest.mark.parametrize("tolerate_all", [False, True])
def test_what_a_lost_producer_held_is_sent_again_whatever_is_tolerated(tolerate_all: bool) -> None:
    async def scenario() -> None:
        registry = Registry(refused=frozenset({"bad"}))
        pages = [batch(1, "a"), batch(2, "b", *(["bad"] if tolerate_all else [])), batch(3, "c")]
        rig = Rig(pages, tolerate_all=tolerate_all, value=registry)
        await rig.begin()
        lost = ProducerLostError("all brokers are lost")
        rig.producer.give_up(1, lost)
        rig.producer.answer(0)
        rig.producer.answer(2)
        await rig.end()
        assert rig.failure is lost
        assert rig.committed == [{"n": 1}]
        assert rig.runner.statistics().errors == ErrorStatistics()
        assert rig.tails_left == []  # the next life sends them

    virtual(scenario)


@pytest.mark.parametrize("name", ["a b", "x" * 250])
def test_a_record_for_a_topic_that_kafka_would_refuse_is_skipped_or_ends_the_task(
    name: str,
) -> None:
    async def scenario(*, tolerate_all: bool) -> tuple[object, BaseException | None]:
        rig = Rig([batch(1, "a", "b", "c", topics={"b": name})], tolerate_all=tolerate_all)
        await rig.begin()
        rig.producer.answer(0)
        await rig.end()
        return rig.sent_values(), rig.failure

    assert run_virtual(scenario(tolerate_all=True)) == ([b"a", b"c"], None)
    sent, failure = run_virtual(scenario(tolerate_all=False))
    assert sent == [b"a"]
    assert f"sending records to topic {name!r}" in str(failure)


def test_with_a_log_of_errors_each_of_many_records_has_its_line_and_its_own_offset() -> None:
    async def scenario() -> list[str]:
        policy = ErrorPolicy(tolerates_all=True, logs_failures=True, logs_records=True)
        values = [f"x{number}" for number in range(50)]
        refusing = Registry(refused=frozenset(values))
        rig = Rig([batch(1, *values, positions=True)], errors=policy, value=refusing)
        with capture_logs() as lines:
            await rig.begin()
            rig.producer.answer(0)
            await rig.end()
        return [line["event"] for line in lines if line["log_level"] == "error"]

    lines = run_virtual(scenario())
    assert len(lines) == 50
    for number, line in enumerate(lines):
        assert f"sourceOffset={{behind=x{number}}}" in line


@pytest.mark.parametrize("raised", [ValueError("no"), SystemExit(3)])
def test_a_source_that_breaks_over_an_acknowledgement_fails_alone(raised: BaseException) -> None:
    def on_acked(_: Acked) -> None:
        raise raised

    async def scenario() -> None:
        rig = Rig([replace(batch(1, "a"), on_acked=on_acked)])
        await rig.begin()
        rig.producer.answer(0)  # would raise in the thread of a producer that others share
        await rig.end()
        assert rig.failure is not None
        assert type(raised).__name__ in repr(rig.failure)

    virtual(scenario)


def test_what_comes_before_a_record_that_kafka_refuses_is_committed() -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a", "b", "c", "d", positions=True)])
        await rig.begin()
        job, _ = rig.producer.sent[0]
        assert job.stops_at_refusal
        too_large = RecordFailure(b"c", "demo-orders", FatalTaskError("too large"))
        rig.producer.answer(0, too_large, first_failed=2)
        await rig.end()
        assert "Unrecoverable exception" in str(rig.failure)
        assert rig.committed == [{"behind": "b"}]
        assert rig.tails_left == ["tail"]

    virtual(scenario)


def test_pages_that_somebody_waits_for_are_urgent() -> None:
    async def scenario() -> None:
        rig = Rig([batch(1, "a"), replace(batch(2, "b"), is_urgent=True)])
        await rig.begin()
        jobs = [job for job, _ in rig.producer.sent]
        assert [job.is_urgent for job in jobs] == [False, True]
        assert jobs[0].order_key == jobs[1].order_key is not None
        rig.producer.answer(0)
        rig.producer.answer(1)
        await rig.end()

    virtual(scenario)


def test_a_refused_record_that_is_tolerated_ends_nothing() -> None:
    async def scenario() -> None:
        told: list[Acked] = []
        page = replace(batch(1, "a", "b", positions=True), on_acked=told.append)
        rig = Rig([page], tolerate_all=True)
        await rig.begin()
        job, _ = rig.producer.sent[0]
        assert not job.stops_at_refusal
        too_large = RecordFailure(b"a", "demo-orders", FatalTaskError("too large"))
        rig.producer.answer(0, too_large, first_failed=0)
        await rig.end()
        assert rig.failure is None
        assert rig.committed == [{"n": 1}]
        assert told == [Acked(records=1, skipped=1)], "what is not in Kafka is not counted as sent"

    virtual(scenario)
