"""Hand-over from threads: everything arrives, in order, in batches, on the loop."""

from __future__ import annotations

import asyncio
import threading

import pytest

from connectd.aio import threads
from connectd.aio.threads import Inbox


def test_items_of_many_threads_all_arrive_each_threads_own_in_order() -> None:
    received: list[tuple[int, int]] = []
    threads_seen: set[int] = set()
    batches = 0

    async def scenario() -> None:
        done = asyncio.Event()

        def deliver(items: list[tuple[int, int]]) -> None:
            nonlocal batches
            batches += 1
            threads_seen.add(threading.get_ident())
            received.extend(items)
            if len(received) == 4 * 2000:
                done.set()

        inbox: Inbox[tuple[int, int]] = Inbox(asyncio.get_running_loop(), deliver)

        def push(number: int) -> None:
            for each in range(2000):
                inbox.push((number, each))

        threads = [threading.Thread(target=push, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        async with asyncio.timeout(30.0):
            await done.wait()
        for thread in threads:
            thread.join()

    asyncio.run(scenario())
    for number in range(4):
        assert [each for owner, each in received if owner == number] == list(range(2000))
    assert threads_seen == {threading.get_ident()}
    assert batches < 4 * 2000


def test_one_wake_up_delivers_everything_pushed_before_it() -> None:
    batches: list[list[int]] = []

    async def scenario() -> None:
        inbox: Inbox[int] = Inbox(asyncio.get_running_loop(), batches.append)
        for number in range(100):
            inbox.push(number)
        await asyncio.sleep(0)

    asyncio.run(scenario())
    assert batches == [list(range(100))]


def test_what_is_pushed_while_delivering_is_delivered_too() -> None:
    received: list[int] = []

    async def scenario() -> None:
        def deliver(items: list[int]) -> None:
            received.extend(items)
            if len(received) < 5:
                inbox.push(len(received))

        inbox: Inbox[int] = Inbox(asyncio.get_running_loop(), deliver)
        inbox.push(0)
        for _ in range(10):
            await asyncio.sleep(0)

    asyncio.run(scenario())
    assert received == [0, 1, 2, 3, 4]


def test_a_closed_inbox_delivers_nothing_more() -> None:
    received: list[int] = []

    async def scenario() -> None:
        inbox: Inbox[int] = Inbox(asyncio.get_running_loop(), received.extend)
        inbox.push(1)
        inbox.close()
        inbox.push(2)
        await asyncio.sleep(0)

    asyncio.run(scenario())
    assert received == []


def test_pushing_after_the_loop_is_gone_is_harmless() -> None:
    async def make() -> Inbox[int]:
        return Inbox(asyncio.get_running_loop(), lambda items: None)

    inbox = asyncio.run(make())
    inbox.push(1)
    inbox.push(2)


def test_a_call_that_blocks_is_waited_for_and_what_it_raises_is_raised() -> None:
    async def work() -> None:
        assert await asyncio.wrap_future(threads.started(lambda: 7, name="call")) == 7
        with pytest.raises(ZeroDivisionError):
            await asyncio.wrap_future(threads.started(lambda: 1 // 0, name="call"))

    asyncio.run(work())


def test_a_call_that_nobody_waits_for_any_more_goes_on_and_is_dropped() -> None:
    go_on = threading.Event()
    calls = []

    async def work() -> None:
        calls.append(threads.started(go_on.wait, name="call"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await asyncio.wrap_future(calls[0])

    asyncio.run(work())
    assert calls[0].running()
    go_on.set()
    assert calls[0].result(60)
