"""Blocking calls: bounded threads, deadlines, translated errors, an orderly end."""

from __future__ import annotations

import asyncio
import threading

import botocore.exceptions as boto
import pytest

from connectd.aws.blocking import BlockingCalls
from connectd.errors import InvariantError, TransientNetworkError
from tests.unit.aws.doubles import CALL


def test_results_and_arguments_pass() -> None:
    async def scenario() -> str:
        calls = BlockingCalls(threads_max=1)
        answer = await calls.run(CALL, 5, "{}-{end}".format, "a", end="b")
        assert await calls.close(deadline_s=5)
        return answer

    assert asyncio.run(scenario()) == "a-b"


def test_no_more_calls_run_at_once_than_there_are_threads() -> None:
    busy, most, lock = 0, 0, threading.Lock()
    both_in = threading.Barrier(2)

    def call() -> None:
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
        both_in.wait(5)
        with lock:
            busy -= 1

    async def scenario() -> None:
        calls = BlockingCalls(threads_max=2)
        await asyncio.gather(*(calls.run(CALL, 5, call) for _ in range(10)))
        assert await calls.close(deadline_s=5)

    asyncio.run(scenario())
    assert most == 2


def test_a_call_past_its_deadline_fails_and_keeps_its_thread_until_it_returns() -> None:
    release = threading.Event()

    async def scenario() -> None:
        calls = BlockingCalls(threads_max=1)
        with pytest.raises(TransientNetworkError, match=r"table orders: no answer within 0\.01 s"):
            await calls.run(CALL, 0.01, release.wait, 10)
        next_job = asyncio.create_task(calls.run(CALL, 5, str, 7))
        done, _ = await asyncio.wait({next_job}, timeout=0.01)
        assert not done
        release.set()
        assert await next_job == "7"
        assert await calls.close(deadline_s=5)

    asyncio.run(scenario())


def test_foreign_errors_come_out_translated_with_their_cause() -> None:
    foreign = boto.EndpointConnectionError(endpoint_url="http://127.0.0.1:1")

    def fail() -> None:
        raise foreign

    async def scenario() -> None:
        calls = BlockingCalls(threads_max=1)
        with pytest.raises(TransientNetworkError, match=r"127\.0\.0\.1:1") as caught:
            await calls.run(CALL, 5, fail)
        assert caught.value.__cause__ is foreign
        with pytest.raises(ZeroDivisionError):
            await calls.run(CALL, 5, lambda: 1 // 0)
        assert await calls.close(deadline_s=5)

    asyncio.run(scenario())


def test_closing_waits_for_calls_under_way_but_not_for_ever() -> None:
    release = threading.Event()

    async def scenario() -> None:
        calls = BlockingCalls(threads_max=2)
        hanging = asyncio.create_task(calls.run(CALL, 60, release.wait, 10))
        await asyncio.sleep(0)
        assert not await calls.close(deadline_s=0.01)
        release.set()
        assert await hanging
        with pytest.raises(InvariantError, match="closed"):
            await calls.run(CALL, 5, str, 1)

    asyncio.run(scenario())


def test_a_call_that_waited_for_a_thread_is_refused_after_closing() -> None:
    release = threading.Event()

    async def scenario() -> None:
        calls = BlockingCalls(threads_max=1)
        hanging = asyncio.create_task(calls.run(CALL, 60, release.wait, 10))
        waiting = asyncio.create_task(calls.run(CALL, 60, str, 1))
        await asyncio.sleep(0)
        closing = asyncio.create_task(calls.close(deadline_s=5))
        await asyncio.sleep(0)
        release.set()
        assert await hanging
        with pytest.raises(InvariantError, match="closed"):
            await waiting
        assert await closing

    asyncio.run(scenario())


def test_a_cancelled_call_gives_its_thread_back() -> None:
    release = threading.Event()

    async def scenario() -> None:
        calls = BlockingCalls(threads_max=1)
        hanging = asyncio.create_task(calls.run(CALL, 60, release.wait, 10))
        await asyncio.sleep(0)
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        release.set()
        assert await calls.run(CALL, 5, str, 1) == "1"
        assert await calls.close(deadline_s=5)

    asyncio.run(scenario())
