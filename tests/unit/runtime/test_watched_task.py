"""Tasks of plugins: what they raise and give is held against what they may."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import pytest

from connectd.errors import FatalTaskError
from connectd.model.ids import ConnectorTaskId
from connectd.model.record import RecordBatch, RecordList, Seal, SourcePartition, SourceRecord
from connectd.plugins import spi
from connectd.runtime.watched_task import WatchedTask

P = SourcePartition.of({"p": "1"})
BATCH = RecordBatch(P, {"n": 1}, RecordList([SourceRecord("t", None, None, None, 1)]))
CLASS = f"{__name__}.Task"
TITLE = f"task s-0 ({CLASS})"


class Task:
    """Gives what it is made with, wherever it is asked."""

    def __init__(self, answer: object = None) -> None:
        self._answer = answer

    async def start(self, context: spi.TaskContext, config: Mapping[str, str]) -> None:
        """Opens nothing."""

    async def poll(self) -> Any:
        return self._answer

    async def stop(self) -> None:
        """Releases nothing."""

    def tables(self) -> Sequence[Mapping[str, object]]:
        return []


class Leaves(Task):
    """Ends the process wherever it is asked."""

    async def start(self, context: object, config: object) -> None:
        sys.exit(3)

    async def poll(self) -> Any:
        sys.exit(3)

    async def stop(self) -> None:
        sys.exit(3)

    def tables(self) -> Any:
        sys.exit(3)


class Plain(Task):
    """Forgets its ``async``."""

    def start(self, context: object, config: object) -> Any:
        return None

    def poll(self) -> Any:
        return [BATCH]

    def stop(self) -> Any:
        return None


async def _start(task: WatchedTask) -> None:
    await task.start(None, {})  # type: ignore[arg-type]


async def _tables(task: WatchedTask) -> None:
    task.tables()


Call = Callable[[WatchedTask], Coroutine[Any, Any, object]]
CALLS: list[tuple[Call, str, str]] = [
    (_start, "starting {}", "start"),
    (WatchedTask.poll, "polling {}", "poll"),
    (WatchedTask.stop, "stopping {}", "stop"),
    (_tables, "asking {} for its tables", "tables"),
]


@pytest.mark.parametrize(("call", "doing", "method"), CALLS)
def test_one_that_calls_exit_fails_by_itself(call: Call, doing: str, method: str) -> None:
    task = WatchedTask(Leaves(), ConnectorTaskId("s", 0))
    with pytest.raises(FatalTaskError) as caught:
        asyncio.run(call(task))
    title = TITLE.replace("Task", "Leaves")
    assert str(caught.value).startswith(
        f"{doing.format(title)}: SystemExit(3) in {__name__}.Leaves.{method} ({__file__}:"
    )


@pytest.mark.parametrize(("call", "method"), [(call, name) for call, _, name in CALLS[:3]])
def test_one_that_is_not_async_is_named(call: Call, method: str) -> None:
    task = WatchedTask(Plain(), ConnectorTaskId("s", 0))
    with pytest.raises(FatalTaskError) as caught:
        asyncio.run(call(task))
    assert str(caught.value).startswith(f"{__name__}.Plain.{method} gave ")
    assert str(caught.value).endswith("without await, expected it to be async and to return")


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("x", "gave a str"),
        (BATCH, "gave a RecordBatch"),
        ({}, "gave a dict"),
        ([BATCH, "x"], "gave a list with a str"),
        ([BATCH.payload], "gave a list with a RecordList"),
    ],
)
def test_a_poll_that_gives_something_else_is_named(answer: object, found: str) -> None:
    task = WatchedTask(Task(answer), ConnectorTaskId("s", 0))
    with pytest.raises(FatalTaskError) as caught:
        asyncio.run(task.poll())
    assert str(caught.value) == f"{CLASS}.poll {found}, expected a list of RecordBatch and Seal"


@pytest.mark.parametrize(
    "answer", [[], [BATCH], (BATCH, Seal(P, None)), [Seal(P, {"n": 2}), BATCH]]
)
def test_batches_and_seals_pass_as_they_are(answer: object) -> None:
    assert asyncio.run(WatchedTask(Task(answer), ConnectorTaskId("s", 0)).poll()) is answer


def test_nothing_is_nothing() -> None:
    assert list(asyncio.run(WatchedTask(Task(None), ConnectorTaskId("s", 0)).poll())) == []


class Shows(Task):
    """Shows as tables, and as its buffer, what it is made with."""

    def tables(self) -> Any:
        return self._answer

    def buffer(self) -> Any:
        return self._answer


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (None, "gave None"),
        ("x", "gave a str"),
        (iter([{}]), "gave a list_iterator"),
        ([None], "gave a list with None"),
        ([{1: "x"}], "gave a row with an int"),
        ([{"scan": {None: 1}}], "gave a row with None"),
    ],
)
def test_tables_that_are_something_else_are_named(answer: object, found: str) -> None:
    with pytest.raises(FatalTaskError) as caught:
        WatchedTask(Shows(answer), ConnectorTaskId("s", 0)).tables()
    expected = "expected a list of dicts with texts as keys"
    assert str(caught.value) == f"{__name__}.Shows.tables {found}, {expected}"


def test_a_row_is_shown_as_it_is() -> None:
    row = {"table": "é", "lag_s": 0.5, "gaps": 0, "is": True, "reason": None, "scan": {"n": 1}}
    assert WatchedTask(Shows([row]), ConnectorTaskId("s", 0)).tables() == [row]


@pytest.mark.parametrize("answer", [(1, 2), spi.BufferFill("1", 2)])  # type: ignore[arg-type]
def test_a_buffer_that_is_something_else_is_named(answer: object) -> None:
    with pytest.raises(FatalTaskError, match="expected BufferFill with two numbers, or None"):
        WatchedTask(Shows(answer), ConnectorTaskId("s", 0)).buffer()


@pytest.mark.parametrize("answer", [None, spi.BufferFill(1, 2)])
def test_a_buffer_passes_as_it_is(answer: spi.BufferFill | None) -> None:
    assert WatchedTask(Shows(answer), ConnectorTaskId("s", 0)).buffer() == answer
