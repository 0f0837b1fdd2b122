"""A chunk in a Python worker, on virtual time: what is read, what moves, and what ends it early."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Iterable
from typing import Any, cast

import pytest

from connectd.aio.clock import LoopClock
from connectd.aws.clients import AwsClients
from connectd.aws.transport import RawResponse
from connectd.connectors.dynamodb.scan_job import ScanJob
from connectd.errors import (
    AccessDeniedError,
    BrokerUnavailableError,
    ConnectdError,
    ConvertError,
    FatalTaskError,
    ProduceError,
    TableGoneError,
    ThrottledError,
    TransientNetworkError,
)
from connectd.model.record import ConverterSpec, Encoded, EncodedPage
from connectd.pipeline.encoding import Converters
from connectd.pipeline.tolerance import ErrorPolicy
from spark_jobs import chunk_tools
from spark_jobs.chunk_lease import ChunkLease
from spark_jobs.chunk_sending import ChunkSender, SentPage
from spark_jobs.chunk_tools import ChunkTools
from spark_jobs.chunks import ChunkResult
from spark_jobs.segment_scan import ChunkScan, describe
from tests.kit import items
from tests.kit.virtual_time import run_virtual
from tests.unit.spark_jobs.jobs import NOW_MS, an_order, job


class Table:
    """Answers Scan: ``pages`` of so many items, or errors to be raised instead."""

    def __init__(self, *pages: int | Exception, page_s: float = 0.0, units: float = 1.0) -> None:
        self._answers = list(pages)
        self._page_s = page_s
        self._units = units
        self.calls: list[dict[str, Any]] = []
        self.times_s: list[float] = []

    async def scan(self, table: str, **parameters: Any) -> RawResponse:
        self.calls.append(parameters)
        self.times_s.append(asyncio.get_running_loop().time())
        await asyncio.sleep(self._page_s)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        left = any(isinstance(each, int) for each in self._answers)
        number = len(self.calls)
        body = json.loads(
            items.scan_body(
                [{"id": {"S": f"{number}-{each}"}} for each in range(answer)],
                last_evaluated_key={"id": {"S": str(number)}} if left else None,
            )
        )
        body["ConsumedCapacity"]["CapacityUnits"] = self._units
        return RawResponse(items.wire(body), None)


class Sender:
    """Takes pages; acknowledges all at the end, but for what the test has in mind."""

    def __init__(self) -> None:
        self.pages: list[tuple[Encoded, SentPage]] = []
        self.failures: dict[int, ConnectdError] = {}
        self.acked_max = 1_000
        self.given_up_from = 1_000
        self.error_on_send: ConnectdError | None = None
        self.is_discarded = False

    def begin(self, lease: ChunkLease) -> None:
        self.lease = lease

    def send(self, page: Encoded) -> SentPage:
        self.lease.check()
        if self.error_on_send is not None:
            raise self.error_on_send
        sent = SentPage(len(page.records))
        self.pages.append((page, sent))
        return sent

    def wait_delivered(self, pages: Iterable[SentPage]) -> None:
        for index, sent in enumerate(pages):
            if index >= self.acked_max:
                raise BrokerUnavailableError("nothing is acknowledged")
            sent.left = 0
            if index >= self.given_up_from:
                sent.given_up = sent.size
                raise BrokerUnavailableError("given up")
            if index in self.failures:
                sent.failure_count, sent.failure = 1, self.failures[index]

    def discard(self) -> None:
        self.is_discarded = True
        for _, sent in self.pages:
            if sent.left:  # what librdkafka tells of records that are thrown away
                sent.failure_count, sent.left = sent.size, 0


class Rig:
    """One chunk with its doubles."""

    def __init__(self, table: Table, **changes: Any) -> None:
        self.table = table
        self.sender = Sender()
        self.job: ScanJob = job(**{"segments": 2, **changes})
        self.units_per_s: float | None = None
        self.item_bytes: float | None = None
        self.lease_s = 10_000.0
        self.issued_ms = NOW_MS
        self.ended_at_s = 0.0
        self.converters: Converters = chunk_tools.make_converters(self.job)

    def run(self) -> ChunkResult:
        async def run() -> ChunkResult:
            clock = LoopClock(wall_anchor_s=1_800_000_000.0)
            tools = ChunkTools(
                job=self.job,
                clock=clock,
                plan=self.job.plan,
                policy=ErrorPolicy(**dataclasses.asdict(self.job.errors)),
                converters=self.converters,
                topics=chunk_tools.make_topics(self.job, clock),
                clients=cast("AwsClients", _Clients(self.table)),
                sender=cast("ChunkSender", self.sender),
            )
            order = an_order(
                self.job.segments[0],
                lease_s=self.lease_s,
                issued_ms=self.issued_ms,
                units_per_s=self.units_per_s,
                item_bytes=self.item_bytes,
            )
            result = await ChunkScan(tools, order).run()
            self.ended_at_s = clock.monotonic()
            return result

        return run_virtual(run())

    def sent(self) -> int:
        """Records that were handed to the sender."""
        return sum(len(page.records) for page, _ in self.sender.pages)


class _Clients:
    def __init__(self, table: Table) -> None:
        self.dynamodb = table


def test_a_segment_is_read_to_its_end_page_by_page() -> None:
    rig = Rig(Table(3, 0, 2))
    result = rig.run()
    assert result.position.is_finished
    assert (result.items, result.records, result.items_read, result.consumed) == (5, 5, 5, 3.0)
    assert result.topics == ("dynamodb-orders",)
    assert result.error is None
    keys = [each["exclusive_start_key"] for each in rig.table.calls]
    assert keys == [None, b'{"id":{"S":"1"}}', b'{"id":{"S":"2"}}']
    assert {(each["segment"], each["total_segments"]) for each in rig.table.calls} == {(0, 2)}


def test_records_are_those_of_the_direct_path() -> None:
    rig = Rig(Table(1))
    rig.run()
    ((page, _),) = rig.sender.pages
    assert isinstance(page, EncodedPage)
    ((key, value),) = page.records
    assert key == b'{"id":"1-0"}'
    assert value is not None
    assert json.loads(value)["source"]["init_sync"] == "RUNNING"


def test_a_chunk_ends_after_its_time_and_says_how_far_it_is() -> None:
    result = Rig(Table(*[1] * 20, page_s=1.0), chunk_s=4.5).run()
    assert not result.position.is_finished
    assert result.position.count == result.items == 5


def test_a_chunk_ends_after_its_items() -> None:
    result = Rig(Table(*[10] * 20), chunk_items=25).run()
    assert result.position.count == 30


def test_the_next_chunk_begins_where_this_one_ended() -> None:
    first = Rig(Table(10, 10, 10), chunk_items=10)
    position = first.run().position
    rig = Rig(Table(5))
    rig.job = dataclasses.replace(rig.job, segments=(position,))
    result = rig.run()
    assert rig.table.calls[0]["exclusive_start_key"] == b'{"id":{"S":"1"}}'
    assert result.position.count == 15


@pytest.mark.parametrize("error", [ThrottledError("slow"), TransientNetworkError("reset")])
def test_what_may_pass_is_asked_again_with_the_same_key(error: Exception) -> None:
    rig = Rig(Table(1, error, error, 1), chunk_s=60.0)
    result = rig.run()
    assert result.position.is_finished
    assert result.items == 2
    keys = [each["exclusive_start_key"] for each in rig.table.calls]
    assert keys[1] == keys[2] == keys[3]
    assert rig.table.times_s[2] - rig.table.times_s[1] >= 0.25


def test_a_table_that_stays_throttled_gives_the_slot_back_at_the_end_of_the_chunk() -> None:
    rig = Rig(Table(4, *[ThrottledError("too fast")] * 100, 1), chunk_s=10.0)
    result = rig.run()
    assert result.position.count == result.items == 4
    assert result.error == "ThrottledError: too fast"
    assert result.retriable
    assert rig.table.times_s[-1] < 10.0


def test_a_wait_that_is_asked_for_is_kept() -> None:
    rig = Rig(Table(ThrottledError("slow", retry_after_s=7.0), 1), chunk_s=60.0)
    rig.run()
    assert rig.table.times_s[1] >= 7.0


@pytest.mark.parametrize("error", [TableGoneError("no table"), AccessDeniedError("no")])
def test_what_waiting_does_not_mend_ends_the_chunk_with_what_was_done(error: Exception) -> None:
    result = Rig(Table(2, error, 1)).run()
    assert result.position.count == result.items == 2
    assert result.error == f"{type(error).__name__}: {error}"
    assert not result.retriable


def test_a_body_that_is_no_page_is_read_again() -> None:
    class Damaged(Table):
        async def scan(self, table: str, **parameters: Any) -> RawResponse:
            answer = await super().scan(table, **parameters)
            return answer if len(self.calls) > 1 else RawResponse(b"<html>", None)

    rig = Rig(Damaged(1, 1), chunk_s=60.0)
    assert rig.run().position.is_finished
    assert [each["exclusive_start_key"] for each in rig.table.calls] == [None, None]


def test_the_position_is_only_as_far_as_everything_acknowledged() -> None:
    rig = Rig(Table(1, 1, 1, 1))
    rig.sender.acked_max = 2
    result = rig.run()
    assert result.position.count == result.items == result.records == 2
    assert result.retriable
    assert result.items_read == 4
    assert rig.sender.is_discarded


def test_what_is_thrown_away_is_not_taken_for_a_tolerated_failure() -> None:
    rig = Rig(Table(1, 1, 1), errors=_tolerant())
    rig.sender.acked_max = 1
    result = rig.run()
    assert (result.position.count, result.skipped) == (1, 0)
    assert result.retriable


def test_a_record_that_kafka_refuses_ends_the_scan_before_its_page() -> None:
    rig = Rig(Table(2, 2, 2))
    rig.sender.failures[1] = ProduceError("too large")
    result = rig.run()
    assert result.position.count == 2
    assert result.error is not None
    assert "Unrecoverable exception from producer send callback; caused by" in result.error
    assert not result.retriable


def test_a_record_that_kafka_refuses_is_skipped_where_that_is_tolerated() -> None:
    rig = Rig(Table(2, 2, 2), errors=_tolerant())
    rig.sender.failures[1] = ProduceError("too large")
    result = rig.run()
    assert result.position.is_finished
    assert (result.items, result.records, result.skipped) == (6, 5, 1)
    assert result.error is None


@pytest.mark.parametrize(
    ("error", "retriable"), [(BrokerUnavailableError("away"), True), (ProduceError("no"), False)]
)
def test_a_producer_that_takes_no_more_is_thrown_away(
    error: ConnectdError, retriable: bool
) -> None:
    rig = Rig(Table(1, 1))
    rig.sender.error_on_send = error
    result = rig.run()
    assert result.position == rig.job.segments[0]
    assert result.retriable is retriable
    assert rig.sender.is_discarded


def test_a_paced_chunk_stays_within_its_share_and_asks_for_small_pages() -> None:
    rig = Rig(Table(*[10] * 30, units=5.0), chunk_s=1000.0)
    rig.units_per_s, rig.item_bytes = 10.0, 4096.0
    result = rig.run()
    assert result.position.is_finished
    assert all(each["limit"] == 20 for each in rig.table.calls)
    assert rig.table.times_s[-1] >= (30 - 1) * 5.0 / 10.0 - 1.0


def test_what_was_consumed_too_much_is_waited_off_before_the_chunk_ends() -> None:
    rig = Rig(Table(5, 5, units=100.0), chunk_items=1)
    rig.units_per_s, rig.item_bytes = 10.0, 8192.0
    rig.run()
    assert rig.ended_at_s >= 100.0 / 10.0 - 1.0


def test_without_a_limit_pages_are_as_large_as_they_can_be() -> None:
    rig = Rig(Table(1))
    rig.run()
    assert rig.table.calls[0]["limit"] is None


def test_settings_of_the_scan_reach_the_request() -> None:
    rig = Rig(Table(1), page_size=77, consistent_read=True)
    rig.run()
    assert (rig.table.calls[0]["limit"], rig.table.calls[0]["consistent"]) == (77, True)


def test_the_last_record_of_a_scan_with_one_segment_says_finished() -> None:
    rig = Rig(Table(1, 2), segments=1)
    result = rig.run()
    values = [json.loads(value or b"") for page, _ in rig.sender.pages
              for _, value in cast("EncodedPage", page).records]  # fmt: skip
    assert [each["source"]["init_sync"] for each in values] == ["RUNNING", "RUNNING", "FINISHED"]
    assert result.ended_ms == values[-1]["source"]["init_sync_end"] == 1_800_000_000_000


def test_with_several_segments_no_record_says_finished() -> None:
    rig = Rig(Table(1))
    assert rig.run().ended_ms is None
    assert b"FINISHED" not in (cast("EncodedPage", rig.sender.pages[0][0]).records[0][1] or b"")


class Flaky:
    """A value converter that fails for some records, or until something is back."""

    def __init__(self, *errors: Exception | None) -> None:
        self.spec = ConverterSpec("flaky")
        self._errors = list(errors)

    def from_connect_data(self, topic: str, schema: object, value: object) -> bytes:
        error = self._errors.pop(0) if self._errors else None
        if error is not None:
            raise error
        return b"v"


def _with(rig: Rig, converter: Flaky) -> Rig:
    rig.converters = dataclasses.replace(rig.converters, value=cast("Any", converter))
    return rig


def test_a_record_that_may_not_be_skipped_ends_the_scan_after_those_before_it() -> None:
    rig = _with(Rig(Table(2, 3, 1)), Flaky(None, None, None, ConvertError("no number")))
    result = rig.run()
    assert result.position.count == 2
    assert rig.sent() == 3
    assert result.error == (
        "ToleranceExceededError: Tolerance exceeded in error handler; "
        "caused by ConvertError: no number"
    )
    assert not result.retriable


def test_a_tolerated_record_is_skipped() -> None:
    rig = _with(Rig(Table(2, 1), errors=_tolerant()), Flaky(ConvertError("no number")))
    result = rig.run()
    assert result.position.is_finished
    assert (result.items, result.records, result.skipped) == (3, 2, 1)


def test_a_registry_that_is_away_is_waited_for() -> None:
    rig = _with(Rig(Table(1), chunk_s=60.0), Flaky(*[TransientNetworkError("away")] * 3))
    assert rig.run().position.is_finished


def test_a_registry_that_stays_away_gives_the_slot_back() -> None:
    rig = _with(Rig(Table(1), chunk_s=5.0), Flaky(*[TransientNetworkError("away")] * 100))
    result = rig.run()
    assert result.position == rig.job.segments[0]
    assert result.retriable
    assert rig.sent() == 0


def test_the_connectors_own_limit_of_retries_holds_beyond_a_chunk() -> None:
    rules = dataclasses.replace(_tolerant(), retry_timeout_s=30.0)
    rig = _with(Rig(Table(1), chunk_s=1.0, errors=rules), Flaky(*[TransientNetworkError("")] * 100))
    result = rig.run()
    assert result.position.is_finished
    assert (result.records, result.skipped) == (0, 1)


def test_an_error_is_told_with_its_causes_and_each_once() -> None:
    error = FatalTaskError("outer")
    error.__cause__ = ConvertError("inner\n  text")
    assert describe(error) == "FatalTaskError: outer; caused by ConvertError: inner text"
    error.__cause__ = ValueError("outer")
    assert describe(error) == "FatalTaskError: outer"


def _tolerant() -> Any:
    return dataclasses.replace(job().errors, tolerates_all=True)


def test_a_page_that_comes_after_the_lease_is_not_sent() -> None:
    class Slow(Table):
        async def scan(self, table: str, **parameters: Any) -> RawResponse:
            await asyncio.sleep(600.0 if self.calls else 1.0)
            return await super().scan(table, **parameters)

    rig = Rig(Slow(2, 3), chunk_s=1000.0)
    rig.lease_s = 70.0
    result = rig.run()
    assert result.position.count == rig.sent() == 2
    assert result.error is not None
    assert "was not done 70 s after it was handed out" in result.error
    assert result.retriable
    assert rig.sender.is_discarded
    assert rig.ended_at_s == pytest.approx(70.0)


def test_a_chunk_that_comes_too_late_does_nothing() -> None:
    rig = Rig(Table(2))
    rig.lease_s, rig.issued_ms = 60.0, NOW_MS - 61_000
    result = rig.run()
    assert rig.table.calls == []
    assert result.position == rig.job.segments[0]
    assert result.retriable


def test_a_chunk_asks_for_nothing_more_in_the_second_half_of_its_lease() -> None:
    rig = Rig(Table(*[1] * 9, page_s=10.0), chunk_s=1000.0)
    rig.lease_s = 60.0
    result = rig.run()
    assert rig.table.times_s[-1] < 40.0
    assert result.error is None


def test_what_the_client_gave_up_is_sent_again_even_where_failures_are_tolerated() -> None:
    rig = Rig(Table(1, 1, 1), errors=_tolerant())
    rig.sender.given_up_from = 1
    result = rig.run()
    assert (result.position.count, result.skipped) == (1, 0)
    assert result.retriable
    assert rig.sender.is_discarded


def test_a_page_is_asked_for_while_the_one_before_it_is_converted() -> None:
    order: list[str] = []

    class Asked(Table):
        async def scan(self, table: str, **parameters: Any) -> RawResponse:
            order.append(f"ask {len(self.calls) + 1}")
            return await super().scan(table, **parameters)

    rig = Rig(Asked(1, 1, 1, page_s=1.0))
    send = rig.sender.send

    def sends(page: Encoded) -> SentPage:
        order.append(f"send {len(rig.sender.pages) + 1}")
        return send(page)

    rig.sender.send = sends  # type: ignore[method-assign]
    assert rig.run().position.is_finished
    assert order == ["ask 1", "ask 2", "send 1", "ask 3", "send 2", "send 3"]


def test_no_page_is_asked_for_that_is_not_sent() -> None:
    rig = Rig(Table(*[1] * 20, page_s=2.0), chunk_s=5.0)
    result = rig.run()
    assert len(rig.table.calls) == result.items == result.items_read == rig.sent() == 3


def test_the_page_that_was_asked_for_ahead_is_dropped_with_a_chunk_that_fails() -> None:
    rig = Rig(Table(1, 1, 1, page_s=1.0))
    rig.sender.error_on_send = BrokerUnavailableError("away")
    result = rig.run()
    assert len(rig.table.calls) == 2
    assert (result.items_read, result.items) == (1, 0)
    assert rig.ended_at_s == pytest.approx(1.0)


def test_a_chunk_that_is_to_be_long_is_long() -> None:
    rig = Rig(Table(*[1] * 999, page_s=10.0), chunk_s=600.0)
    rig.lease_s = 660.0
    result = rig.run()
    assert 590.0 <= rig.table.times_s[-1] <= 610.0
    assert result.error is None
