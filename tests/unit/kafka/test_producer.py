"""The page producer against librdkafka's mock cluster: acknowledgements, order, back-pressure."""

from __future__ import annotations

import asyncio
import sys

import pytest
from confluent_kafka import KafkaError

from connectd.errors import (
    ConvertError,
    FatalTaskError,
    ProduceError,
    RecordTooLargeError,
    WorkerError,
)
from connectd.kafka import clientconf
from connectd.kafka.batches import BATCH_RECORDS, NEAR_TOPICS
from connectd.kafka.page import FAILURES_MAX
from connectd.kafka.producer import QUEUE_PAGES_MAX, PageProducer, SendJob, SendResult
from connectd.kafka.sending import PageSender
from connectd.model.record import EncodedPage, EncodedRecord
from tests.unit.kafka.mock_cluster import INIT_PRODUCER_ID, PRODUCE, MockCluster
from tests.unit.kafka.page_bench import DEADLINE_S, Bench, page, run, values


def test_a_page_is_answered_once_when_all_of_its_records_are_acknowledged(
    cluster: MockCluster,
) -> None:
    async def work() -> list[SendResult]:
        bench = Bench(cluster)
        await bench.send(page(1000))
        await bench.settle()
        await bench.producer.close(DEADLINE_S)
        return bench.answers

    assert run(work) == [SendResult(topics=("orders",), records=1000)]
    assert values(cluster, 1000) == [value for _, value in page(1000)]


def test_keys_and_tombstones_arrive_as_they_are(cluster: MockCluster) -> None:
    records: list[EncodedRecord] = [(b"a", b"1"), (b"a", None), (None, b"2"), (b"", b"")]

    async def work() -> None:
        bench = Bench(cluster)
        await bench.send(records)
        await bench.settle()
        await bench.producer.close(DEADLINE_S)

    run(work)
    assert [(m.key(), m.value()) for m in cluster.records("orders", 1, 4)] == records


def test_offsets_are_told_to_those_who_ask(cluster: MockCluster) -> None:
    async def work() -> list[SendResult]:
        bench = Bench(cluster)
        await bench.producer.send(bench.job(page(3), wants_offsets=True))
        await bench.settle()
        await bench.producer.send(bench.job(page(2), wants_offsets=True))
        await bench.settle()
        await bench.producer.close(DEADLINE_S)
        return bench.answers

    assert [answer.offsets for answer in run(work)] == [{0: 2}, {0: 4}]


def test_an_empty_page_is_answered(cluster: MockCluster) -> None:
    async def work() -> list[SendResult]:
        bench = Bench(cluster)
        await bench.send([])
        await bench.settle()
        await bench.producer.close(DEADLINE_S)
        return bench.answers

    assert run(work) == [SendResult(topics=("orders",), records=0)]


def test_a_full_buffer_keeps_every_record_and_the_order(cluster: MockCluster) -> None:
    async def work() -> PageProducer:
        bench = Bench(cluster, queue_buffering_max_messages="7")
        for number in range(10):
            await bench.send(page(50, first=50 * number))
        answers = await bench.settle()
        assert [answer.records for answer in answers] == [50] * 10
        await bench.producer.close(DEADLINE_S)
        return bench.producer

    assert run(work).statistics().buffer_full > 0
    assert values(cluster, 500) == [value for _, value in page(500)]


def test_a_page_that_cannot_be_encoded_is_answered_and_the_next_goes_on(
    cluster: MockCluster,
) -> None:
    refusal = ConvertError("attribute a of table orders: not a number")

    def refuse() -> EncodedPage:
        raise refusal

    async def work() -> list[SendResult]:
        bench = Bench(cluster)
        await bench.producer.send(SendJob(refuse, bench.answers.append))
        await bench.send(page(1))
        await bench.settle()
        await bench.producer.close(DEADLINE_S)
        return bench.answers

    first, second = run(work)
    assert first.error is refusal
    assert first.topics == ()
    assert second.error is None


def test_a_defect_in_an_encoder_fails_its_own_page_only(cluster: MockCluster) -> None:
    async def work() -> list[SendResult]:
        bench = Bench(cluster)
        await bench.producer.send(SendJob(lambda: 1 // 0, bench.answers.append))  # type: ignore[arg-type, return-value]
        await bench.send(page(1))
        await bench.settle()
        await bench.producer.close(DEADLINE_S)
        assert bench.failures == []
        return bench.answers

    first, second = run(work)
    assert isinstance(first.error, FatalTaskError)
    assert "ZeroDivisionError" in str(first.error)
    assert second.error is None


def answer_to(
    cluster: MockCluster, records: list[EncodedRecord], *, topics_before: int, stops: bool
) -> SendResult:
    """To a page for a client that takes records of 2,000 bytes and knows so many topics."""
    whole = EncodedPage("orders", records)

    async def work() -> list[SendResult]:
        bench = Bench(cluster, max_request_size="2000")
        for number in range(topics_before):
            await bench.producer.send(bench.job(page(1), topic=f"other-{number}"))
        await bench.settle()
        bench.answers.clear()
        await bench.producer.send(
            SendJob(lambda: whole, bench.answers.append, stops_at_refusal=stops)
        )
        await bench.settle()
        await bench.producer.close(DEADLINE_S)
        return bench.answers

    (answer,) = run(work)
    return answer


class TestRecordsThatFail:
    def test_one_that_is_too_large_fails_alone(self, cluster: MockCluster) -> None:
        async def work() -> list[SendResult]:
            bench = Bench(cluster, max_request_size="2000")
            await bench.send([(b"a", b"1"), (b"big", b"x" * 3000), (b"b", b"2")])
            await bench.settle()
            await bench.producer.close(DEADLINE_S)
            return bench.answers

        (answer,) = run(work)
        (failure,) = answer.failures
        assert (answer.records, answer.failure_count, answer.error) == (3, 1, None)
        assert failure.key == b"big"
        assert isinstance(failure.error, RecordTooLargeError)
        assert "topic orders" in str(failure.error)
        assert "3003 bytes" in str(failure.error)
        assert "producer.override.max.request.size" in str(failure.error)
        assert values(cluster, 2) == [b"1", b"2"]

    @pytest.mark.parametrize("topics_before", [0, NEAR_TOPICS])
    def test_one_that_is_refused_may_be_the_last(
        self, cluster: MockCluster, topics_before: int
    ) -> None:
        """Whichever way its topic is found."""
        records = page(300)
        records[150] = (b"big", b"x" * 3000)

        answer = answer_to(cluster, records, topics_before=topics_before, stops=True)
        assert (answer.records, answer.failure_count) == (151, 1)
        assert [failure.key for failure in answer.failures] == [b"big"]
        assert values(cluster, 150) == [value for _, value in records[:150]]

    @pytest.mark.parametrize("stops", [True, False])
    def test_one_that_others_of_its_batch_have_passed_is_counted_where_it_stands(
        self, cluster: MockCluster, monkeypatch: pytest.MonkeyPatch, stops: bool
    ) -> None:
        """As if its size had not told before that the client would refuse it."""
        monkeypatch.setattr(clientconf, "message_bytes_max", lambda conf: 1_000_000)
        records = page(2 * BATCH_RECORDS)
        records[150] = (b"big", b"x" * 3000)

        answer = answer_to(cluster, records, topics_before=NEAR_TOPICS, stops=stops)
        tried = BATCH_RECORDS if stops else len(records)
        assert (answer.records, answer.failure_count) == (tried, 1)
        assert [failure.key for failure in answer.failures] == [b"big"]
        sent = [value for key, value in records[:tried] if key != b"big"]
        assert values(cluster, len(sent)) == sent

    def test_many_are_counted_and_some_are_named(self, cluster: MockCluster) -> None:
        async def work() -> list[SendResult]:
            bench = Bench(cluster, max_request_size="2000")
            await bench.send([(b"%d" % n, b"x" * 3000) for n in range(100)])
            await bench.settle()
            await bench.producer.close(DEADLINE_S)
            return bench.answers

        (answer,) = run(work)
        assert answer.failure_count == 100
        assert [failure.key for failure in answer.failures] == [
            b"%d" % n for n in range(FAILURES_MAX)
        ]

    def test_one_that_the_broker_refuses_is_told_with_its_key(self, cluster: MockCluster) -> None:
        async def work() -> list[SendResult]:
            bench = Bench(cluster, enable_idempotence="false")
            cluster.fail_requests(PRODUCE, KafkaError.TOPIC_AUTHORIZATION_FAILED)
            await bench.send([(b"a", b"1")])
            await bench.settle()
            await bench.producer.close(DEADLINE_S)
            return bench.answers

        (answer,) = run(work)
        (failure,) = answer.failures
        assert failure.key == b"a"
        assert isinstance(failure.error, FatalTaskError)
        assert "TOPIC_AUTHORIZATION_FAILED" in str(failure.error)

    def test_a_broker_error_that_passes_is_retried_without_a_word(
        self, cluster: MockCluster
    ) -> None:
        async def work() -> list[SendResult]:
            bench = Bench(cluster, retry_backoff_ms="1")
            cluster.fail_requests(
                PRODUCE, KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.REQUEST_TIMED_OUT
            )
            await bench.send(page(10))
            await bench.settle()
            await bench.producer.close(DEADLINE_S)
            return bench.answers

        assert run(work) == [SendResult(topics=("orders",), records=10)]
        assert values(cluster, 10) == [value for _, value in page(10)]

    def test_one_that_the_user_gave_a_deadline_fails_at_it(self, cluster: MockCluster) -> None:
        async def work() -> list[SendResult]:
            bench = Bench(cluster, delivery_timeout_ms="200")
            cluster.go_away()
            await bench.send(page(1))
            await bench.settle()
            await bench.producer.close(DEADLINE_S)
            return bench.answers

        (answer,) = run(work)
        assert isinstance(answer.failures[0].error, ProduceError)
        assert "delivery.timeout.ms" in str(answer.failures[0].error)


class TestABrokerThatIsAway:
    """Field case P05: the sender waits, memory stays what it is, and nothing is lost."""

    def test_senders_wait_and_everything_arrives_in_order(self, cluster: MockCluster) -> None:
        places = QUEUE_PAGES_MAX + 1  # one page is in the thread's hands

        async def work() -> None:
            bench = Bench(cluster, queue_buffering_max_messages="5")
            cluster.go_away()
            for number in range(places):
                await bench.send(page(10, first=10 * number))
            late = asyncio.ensure_future(bench.send(page(10, first=10 * places)))
            for _ in range(10):
                await asyncio.sleep(0)
            assert not late.done()
            statistics = bench.producer.statistics()
            assert statistics.pages_queued == QUEUE_PAGES_MAX
            assert statistics.buffer_full == 1  # so not all is in the client's hands
            assert bench.answers == []
            cluster.come_back()
            await late
            await bench.settle()
            await bench.producer.close(DEADLINE_S)

        run(work)
        count = 10 * (places + 1)
        assert values(cluster, count) == [value for _, value in page(count)]

    def test_the_buffer_is_bounded_by_bytes(self, cluster: MockCluster) -> None:
        async def work() -> int:
            bench = Bench(cluster, buffer_memory=str(1024 * 1024))
            cluster.go_away()
            for _ in range(QUEUE_PAGES_MAX + 1):
                await bench.send(page(1000, value_bytes=10_000))
            held = bench.producer.statistics().records_buffered
            await bench.producer.close(0.0)
            return held

        assert run(work) <= 110

    def test_a_cancelled_sender_has_sent_nothing(self, cluster: MockCluster) -> None:
        async def work() -> None:
            bench = Bench(cluster, queue_buffering_max_messages="1")
            cluster.go_away()
            for number in range(QUEUE_PAGES_MAX + 1):
                await bench.send(page(2, first=2 * number))
            late = asyncio.ensure_future(bench.send([(b"key", b"never")]))
            await asyncio.sleep(0)
            late.cancel()
            cluster.come_back()
            await bench.settle()
            await bench.producer.close(DEADLINE_S)

        run(work)
        count = 2 * (QUEUE_PAGES_MAX + 1)
        assert values(cluster, count) == [value for _, value in page(count)]

    def test_flush_says_how_many_pages_are_without_an_answer(self, cluster: MockCluster) -> None:
        async def work() -> tuple[int, int, int]:
            bench = Bench(cluster)
            cluster.go_away()
            for _ in range(3):
                await bench.send(page(1))
            left = await bench.producer.flush(0.05)
            left_at_close = await bench.producer.close(0.05)
            return left, left_at_close, len(bench.answers)

        assert run(work) == (3, 3, 0)

    def test_it_shows_and_so_does_the_return(self, cluster: MockCluster) -> None:
        async def work() -> list[bool]:
            bench = Bench(cluster, reconnect_backoff_ms="1", reconnect_backoff_max_ms="10")
            await bench.send(page(1))
            await bench.settle()
            seen = [bench.producer.statistics().is_available]
            assert bench.producer.trouble == ""
            cluster.go_away()
            await bench.send(page(1))
            while bench.producer.statistics().is_available:
                await bench.producer.flush(0.02)
            seen.append(bench.producer.statistics().is_available)
            assert "Kafka does not answer: " in bench.producer.trouble
            cluster.come_back()
            await bench.settle()
            seen.append(bench.producer.statistics().is_available)
            assert bench.producer.trouble == ""
            await bench.producer.close(DEADLINE_S)
            return seen

        assert run(work) == [True, False, True]


def test_flush_does_not_linger(cluster: MockCluster) -> None:
    async def work() -> None:
        bench = Bench(cluster, linger_ms="900000")
        await bench.send(page(1))
        assert len(await bench.settle()) == 1
        await bench.producer.close(DEADLINE_S)

    run(work)


def test_flush_waits_for_earlier_pages_only(cluster: MockCluster) -> None:
    async def work() -> int:
        bench = Bench(cluster)
        await bench.send(page(1))
        flushing = asyncio.ensure_future(bench.producer.flush(DEADLINE_S))
        await asyncio.sleep(0)
        for _ in range(3):
            await bench.send(page(1))
        left = await flushing
        await bench.producer.close(DEADLINE_S)
        return left

    assert run(work) == 0


class TestAProducerThatHasFailedForGood:
    def test_its_pages_fail_and_later_ones_are_refused(self, cluster: MockCluster) -> None:
        async def work() -> tuple[list[SendResult], PageProducer]:
            cluster.fail_requests(INIT_PRODUCER_ID, KafkaError.CLUSTER_AUTHORIZATION_FAILED)
            bench = Bench(cluster)
            await bench.send(page(5))
            await bench.settle()
            with pytest.raises(ProduceError, match=r"producer\.override\.enable\.idempotence"):
                await bench.send(page(1))
            await bench.producer.close(DEADLINE_S)
            assert bench.failures == []
            return bench.answers, bench.producer

        (answer,), producer = run(work)
        assert isinstance(answer.error, ProduceError)
        assert not producer.is_usable

    def test_a_page_that_waits_for_room_fails_too(self, cluster: MockCluster) -> None:
        async def work() -> list[SendResult]:
            cluster.fail_requests(INIT_PRODUCER_ID, KafkaError.CLUSTER_AUTHORIZATION_FAILED)
            bench = Bench(cluster, queue_buffering_max_messages="2")
            for _ in range(3):
                await bench.send(page(5))
            await bench.settle()
            await bench.producer.close(DEADLINE_S)
            return bench.answers

        answers = run(work)
        assert len(answers) == 3
        assert all(isinstance(answer.error, ProduceError) for answer in answers)


class TestAThreadThatDies:
    def test_every_page_is_answered_and_the_worker_is_told(
        self, cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def break_down(sender: PageSender, job: SendJob) -> None:
            raise TypeError("a defect")

        async def send_for_ever(bench: Bench) -> None:
            while True:
                await bench.send(page(2))

        async def work() -> Bench:
            bench = Bench(cluster, queue_buffering_max_messages="1")
            cluster.go_away()
            monkeypatch.setattr(PageSender, "_take", break_down)
            with pytest.raises(WorkerError):
                await send_for_ever(bench)
            await bench.producer.close(DEADLINE_S)
            return bench

        bench = run(work)
        (failure,) = bench.failures
        assert "TypeError" in str(failure)
        assert bench.answers
        assert all(isinstance(answer.error, WorkerError) for answer in bench.answers)

    @pytest.mark.parametrize("broken", [(b"key", 1), (1, b"value"), ({}, None), (b"key", "\ud800")])
    def test_a_record_that_is_none_fails_its_page_alone(
        self, cluster: MockCluster, broken: EncodedRecord
    ) -> None:
        async def work() -> Bench:
            bench = Bench(cluster)
            await bench.send([(b"key", b"before"), broken])
            await bench.send(page(3))
            assert await bench.producer.flush(DEADLINE_S) == 0
            await bench.producer.close(DEADLINE_S)
            return bench

        bench = run(work)
        assert bench.failures == []
        refused, sent = bench.answers
        assert isinstance(refused.error, FatalTaskError)
        assert "a record is not what Kafka's client takes" in str(refused.error)
        assert (sent.records, sent.error, sent.failure_count) == (3, None, 0)

    def test_an_encoder_that_leaves_fails_its_page_alone(self, cluster: MockCluster) -> None:
        def leave() -> EncodedPage:
            sys.exit(3)

        async def work() -> Bench:
            bench = Bench(cluster)
            await bench.producer.send(SendJob(leave, bench.answers.append))
            await bench.send(page(3))
            assert await bench.producer.flush(DEADLINE_S) == 0
            await bench.producer.close(DEADLINE_S)
            return bench

        bench = run(work)
        assert bench.failures == []
        assert str(bench.answers[0].error) == "encoding a page: SystemExit: 3"
        assert bench.answers[1].records == 3

    def test_an_owner_that_raises_keeps_nobody_elses_answer(self, cluster: MockCluster) -> None:
        def explode(result: SendResult) -> None:
            raise ValueError("resolved twice")

        async def work() -> Bench:
            bench = Bench(cluster)
            await bench.producer.send(bench.job(page(1), on_done=explode))
            await bench.producer.flush(DEADLINE_S)
            await bench.producer.close(DEADLINE_S)
            return bench

        bench = run(work)
        (failure,) = bench.failures
        assert "resolved twice" in str(failure)


class TestClosing:
    def test_it_flushes_and_is_idempotent(self, cluster: MockCluster) -> None:
        async def work() -> tuple[int, int, int]:
            bench = Bench(cluster, linger_ms="900000")
            await bench.send(page(5))
            left = await bench.producer.close(DEADLINE_S)
            return left, await bench.producer.close(DEADLINE_S), len(bench.answers)

        assert run(work) == (0, 0, 1)

    def test_who_sends_afterwards_is_told(self, cluster: MockCluster) -> None:
        async def work() -> None:
            bench = Bench(cluster)
            await bench.producer.close(DEADLINE_S)
            with pytest.raises(ProduceError, match="closed"):
                await bench.send(page(1))

        run(work)

    def test_who_waits_for_a_place_is_turned_away(self, cluster: MockCluster) -> None:
        async def work() -> list[BaseException | None]:
            bench = Bench(cluster, queue_buffering_max_messages="1")
            cluster.go_away()
            for _ in range(QUEUE_PAGES_MAX + 1):
                await bench.send(page(2))
            late = [asyncio.ensure_future(bench.send(page(2))) for _ in range(3)]
            await asyncio.sleep(0)
            await bench.producer.close(0.05)
            return await asyncio.gather(*late, return_exceptions=True)

        assert all(isinstance(outcome, ProduceError) for outcome in run(work))


def test_statistics_count_records(cluster: MockCluster) -> None:
    async def work() -> PageProducer:
        bench = Bench(cluster, max_request_size="2000")
        await bench.send([(b"a", b"1"), (b"b", b"x" * 3000)])
        await bench.settle()
        await bench.producer.close(DEADLINE_S)
        return bench.producer

    statistics = run(work).statistics()
    assert (statistics.records_acked, statistics.records_failed) == (1, 1)
    assert (statistics.pages_sent, statistics.pages_outstanding) == (1, 0)


def test_a_producer_that_is_disowned_sends_nothing_of_what_it_holds(cluster: MockCluster) -> None:
    async def work() -> None:
        bench = Bench(cluster, linger_ms="60000")
        await bench.send(page(5))
        await bench.send(page(5))
        bench.producer.disown()
        assert [type(answer.error) for answer in bench.answers] == [ProduceError, ProduceError]
        assert not bench.producer.is_usable
        with pytest.raises(ProduceError, match="no member of its group"):
            await bench.send(page(1))
        assert await bench.producer.close(DEADLINE_S) == 0
        assert bench.failures == []

        other = Bench(cluster)
        await other.send(page(3, first=100))
        await other.settle()
        await other.producer.close(DEADLINE_S)

    run(work)
    assert values(cluster, 3) == [value for _, value in page(3, first=100)]
