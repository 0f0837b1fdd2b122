"""A child waits for what it has asked, and for no longer than that makes sense."""

from __future__ import annotations

import asyncio

import pytest

from connectd.errors import RetriableError, WorkerError
from connectd.runtime.cores.calls import DEADLINE_S, Calls
from connectd.runtime.cores.failures import failure_of
from connectd.runtime.cores.messages import Answer, ReadOffsets, TakePlace, ToParent
from tests.kit.virtual import virtual


@virtual
async def test_answers_find_those_who_asked() -> None:
    asked: list[ToParent] = []
    calls = Calls(asked.append)
    first = asyncio.ensure_future(calls.ask(lambda call: ReadOffsets(call, 1)))
    second = asyncio.ensure_future(calls.ask(lambda call: ReadOffsets(call, 2)))
    await asyncio.sleep(0)
    assert asked == [ReadOffsets(1, 1), ReadOffsets(2, 2)]
    calls.on_answer(Answer(2, offsets=b"[]"))
    calls.on_answer(Answer(1, failure=failure_of(WorkerError("the store has given up"))))
    assert (await second).offsets == b"[]"
    with pytest.raises(WorkerError, match="given up"):
        await first


@virtual
async def test_a_parent_that_does_not_answer_is_not_waited_for_for_ever() -> None:
    calls = Calls(lambda _: None)
    began_s = asyncio.get_running_loop().time()
    with pytest.raises(RetriableError, match="has not answered"):
        await calls.ask(lambda call: ReadOffsets(call, 1))
    assert asyncio.get_running_loop().time() - began_s == DEADLINE_S
    calls.on_answer(Answer(1))  # too late, and nobody is left


@virtual
async def test_who_waits_patiently_and_gives_up_wants_no_answer() -> None:
    calls, unwanted = Calls(lambda _: None), asyncio.Event()
    waiting = asyncio.ensure_future(calls.ask_patiently(TakePlace, if_unwanted=unwanted.set))
    await asyncio.sleep(10 * DEADLINE_S)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert not unwanted.is_set()
    calls.on_answer(Answer(1))
    await asyncio.sleep(0)
    assert unwanted.is_set()
