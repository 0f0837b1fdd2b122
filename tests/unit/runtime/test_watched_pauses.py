"""A task behind the loop's watch: every call reaches it, and a broken one fails alone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from connectd.model.cluster import Config
from connectd.model.ids import ConnectorTaskId
from connectd.model.record import Emission
from connectd.plugins.containment import EscapeError
from connectd.plugins.spi import TaskContext
from connectd.runtime.watched_task import WatchedTask

ID = ConnectorTaskId("orders", 0)


class Plain:
    async def start(self, context: TaskContext, config: Config) -> None:
        raise AssertionError("not used here")

    async def poll(self) -> Sequence[Emission]:
        return []

    async def stop(self) -> None:
        raise AssertionError("not used here")

    def tables(self) -> Sequence[Mapping[str, object]]:
        return []


class Watching(Plain):
    def __init__(self) -> None:
        self.is_told: list[bool] = []

    def set_running(self, is_running: bool) -> None:
        if not is_running and self.is_told:
            raise RuntimeError("once is enough")
        self.is_told.append(is_running)


def test_pauses_reach_a_task_that_watches_them_and_no_other() -> None:
    task = Watching()
    WatchedTask(task, ID).set_running(False)
    WatchedTask(Plain(), ID).set_running(False)
    assert task.is_told == [False]


def test_a_task_that_breaks_over_a_pause_fails_when_it_is_polled_next() -> None:
    watched = WatchedTask(Watching(), ID)
    watched.set_running(False)
    assert asyncio.run(watched.poll()) == []
    watched.set_running(False)
    with pytest.raises(RuntimeError, match="once is enough"):
        asyncio.run(watched.poll())


class Leaving(Plain):
    def set_running(self, is_running: bool) -> None:
        raise SystemExit(3)


def test_a_task_that_tries_to_end_the_worker_over_a_pause_fails_alone() -> None:
    watched = WatchedTask(Leaving(), ID)
    watched.set_running(False)
    with pytest.raises(EscapeError, match="SystemExit"):
        asyncio.run(watched.poll())
