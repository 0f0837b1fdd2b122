"""What is counted of calls to AWS."""

from __future__ import annotations

import asyncio

import pytest

from connectd.aio.clock import LoopClock
from connectd.aws.call_counts import CallCounts, OperationCounts
from connectd.aws.errors import Call
from connectd.errors import (
    AccessDeniedError,
    ConnectdError,
    StreamGoneError,
    TableGoneError,
    ThrottledError,
)
from tests.kit.virtual import virtual

SCAN = Call("dynamodb:Scan", "table t")


async def call(counts: CallCounts, took_s: float, error: BaseException | None = None) -> None:
    with counts.counting(SCAN):
        await asyncio.sleep(took_s)
        if error is not None:
            raise error


@virtual
async def test_calls_are_counted_by_operation_and_outcome() -> None:
    counts = CallCounts(LoopClock())
    await call(counts, 1.0)
    with pytest.raises(ThrottledError):
        await call(counts, 2.0, ThrottledError("slower"))
    with pytest.raises(AccessDeniedError):
        await call(counts, 3.0, AccessDeniedError("no"))
    expected = OperationCounts(calls=3, throttles=1, failures=1, seconds=6.0)
    assert counts.statistics() == {"dynamodb:Scan": expected}


@virtual
@pytest.mark.parametrize("gone", [TableGoneError("no such table"), StreamGoneError("no stream")])
async def test_that_something_does_not_exist_is_an_answer_and_no_failure(
    gone: ConnectdError,
) -> None:
    counts = CallCounts(LoopClock())
    with pytest.raises(type(gone)):
        await call(counts, 1.0, gone)
    assert counts.statistics()["dynamodb:Scan"] == OperationCounts(calls=1, seconds=1.0)


@virtual
async def test_a_call_that_is_given_up_has_no_outcome() -> None:
    counts = CallCounts(LoopClock())
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(call(counts, 5.0), 1.0)
    assert counts.statistics()["dynamodb:Scan"] == OperationCounts(calls=0, seconds=1.0)
