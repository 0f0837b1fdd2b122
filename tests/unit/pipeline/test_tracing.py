"""What a task tells of its pages when somebody asked for it: one span per page and step."""

from __future__ import annotations

import asyncio

import pytest
from opentelemetry.trace import StatusCode

from connectd.aio.clock import LoopClock
from connectd.errors import BrokerUnavailableError, ProduceError, ThrottledError
from connectd.kafka.page import RecordFailure
from connectd.observe import redaction
from connectd.pipeline.tracing import TaskTracing
from tests.kit.recorded_spans import RecordedSpans, attributes_of
from tests.unit.pipeline.runner_rig import ListWriter, Rig, batch, virtual


def traced(recorded: RecordedSpans) -> TaskTracing:
    return TaskTracing(recorded.tracing, LoopClock(), connector="orders", task=0)


@pytest.mark.parametrize("direct", [True, False])
def test_a_page_is_told_from_its_poll_to_its_acknowledgement_and_its_commit(direct: bool) -> None:
    async def scenario() -> None:
        recorded = RecordedSpans()
        rig = Rig([batch(1, "a", "b", direct=direct)], tracing=traced(recorded))
        await rig.begin()
        rig.producer.answer(0)
        await rig.end()

        assert recorded.names() == [
            "poll orders",
            "convert orders",
            "send demo-orders",
            "commit orders",
        ]
        poll, convert, send, commit = recorded.ended
        own = {"connectd.connector.name": "orders", "connectd.task.number": 0}
        assert attributes_of(poll) == {**own, "connectd.pages": 1, "connectd.records": 2}
        assert attributes_of(convert) == {**own, "connectd.records": 2}
        assert attributes_of(send) == {
            **own,
            "messaging.system": "kafka",
            "messaging.operation.name": "send",
            "messaging.operation.type": "send",
            "messaging.destination.name": "demo-orders",
            "messaging.batch.message_count": 2,
        }
        assert attributes_of(commit) == {**own, "connectd.source_partitions": 1}
        for child in (convert, send):
            assert child.parent is not None
            assert poll.context is not None
            assert child.parent.span_id == poll.context.span_id
        assert poll.parent is None
        assert commit.parent is None

    virtual(scenario)


def test_pages_of_different_polls_have_different_traces() -> None:
    async def scenario() -> None:
        recorded = RecordedSpans()
        rig = Rig([batch(1, "a"), batch(2, "b")], tracing=traced(recorded))
        await rig.begin()
        rig.producer.answer(1)
        rig.producer.answer(0)
        await rig.end()

        traces = [span.context.trace_id for span in recorded.named("poll orders") if span.context]
        sent = [
            span.context.trace_id for span in recorded.named("send demo-orders") if span.context
        ]
        assert len(set(traces)) == 2
        assert sent == [traces[1], traces[0]]

    virtual(scenario)


def test_an_empty_page_is_not_told() -> None:
    async def scenario() -> None:
        recorded = RecordedSpans()
        rig = Rig([batch(1)], tracing=traced(recorded))
        await rig.begin()
        await rig.end()
        assert recorded.names() == ["commit orders"]

    virtual(scenario)


def test_a_refused_record_shows_at_the_page_that_had_it() -> None:
    async def scenario() -> None:
        recorded = RecordedSpans()
        rig = Rig([batch(1, "a", "b")], tracing=traced(recorded))
        await rig.begin()
        rig.producer.answer(0, RecordFailure(b"a", "demo-orders", ProduceError("not taken")))
        await rig.end()

        (send,) = recorded.named("send demo-orders")
        assert attributes_of(send)["error.type"] == "ProduceError"
        assert (send.status.status_code, send.status.description) == (StatusCode.ERROR, "not taken")

    virtual(scenario)


def test_a_failed_conversion_and_a_failed_poll_show_without_secrets() -> None:
    async def scenario() -> None:
        redaction.register_secret("s3cret-value")
        recorded = RecordedSpans()
        throttled = ThrottledError("too many requests with s3cret-value")
        rig = Rig([throttled, batch(1, "bad", direct=True)], tracing=traced(recorded))
        await rig.begin()
        await asyncio.sleep(2.0)  # virtual: a throttled poll is repeated after one
        await rig.end()
        redaction.forget_secrets()

        (failed,) = [span for span in recorded.named("poll orders") if not span.status.is_ok]
        assert failed.status.description == "too many requests with [hidden]"
        assert attributes_of(failed)["error.type"] == "ThrottledError"
        assert recorded.named("convert orders")

    virtual(scenario)


def test_a_commit_that_is_not_durable_is_a_failed_one() -> None:
    class Away(ListWriter):
        async def put(self, offsets: object) -> None:
            raise BrokerUnavailableError("nobody there")

    async def scenario() -> None:
        recorded = RecordedSpans()
        rig = Rig([batch(1, "a")], tracing=traced(recorded), writer=Away())
        await rig.begin()
        rig.producer.answer(0)
        await rig.end()

        assert recorded.named("commit orders")
        for commit in recorded.named("commit orders"):
            assert attributes_of(commit)["error.type"] == "BrokerUnavailableError"

    virtual(scenario)
