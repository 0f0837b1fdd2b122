"""Commits: on the timer, at once for seals, kept when they fail, never after abandonment."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from connectd.aio.jobs import JobGroup
from connectd.errors import BrokerUnavailableError, WorkerError
from connectd.model.record import SourceOffset, SourcePartition
from connectd.pipeline.committer import Committer
from connectd.pipeline.frontier import AckFrontier
from tests.kit.virtual_time import run_virtual

_SHARD = SourcePartition.of({"table_name": "orders", "shard_id": "shardId-1"})


class RecordingWriter:
    """Remembers writes with their time; fails as often as told."""

    def __init__(self, *, failures: int = 0, delay_s: float = 0.0) -> None:
        self.writes: list[tuple[float, dict[SourcePartition, SourceOffset | None]]] = []
        self.failures = failures
        self.delay_s = delay_s

    async def put(self, offsets: Mapping[SourcePartition, SourceOffset | None]) -> None:
        await asyncio.sleep(self.delay_s)
        if self.failures:
            self.failures -= 1
            raise BrokerUnavailableError("no broker answered")
        self.writes.append((asyncio.get_running_loop().time(), dict(offsets)))


def _rig(writer: RecordingWriter, interval_s: float = 60.0) -> tuple[AckFrontier, Committer]:
    frontier = AckFrontier(on_committable=lambda is_urgent: committer.on_committable(is_urgent))
    committer = Committer(frontier, writer, interval_s=interval_s)
    return frontier, committer


def test_positions_are_committed_on_the_timer() -> None:
    async def scenario() -> list[float]:
        writer = RecordingWriter()
        frontier, committer = _rig(writer)
        jobs = JobGroup("test")
        jobs.spawn("commit", committer.run(), service=True)
        frontier.submit(_SHARD, {"n": 1}).resolve()
        await asyncio.sleep(59)
        assert writer.writes == []
        await asyncio.sleep(2)
        await jobs.stop()
        return [when for when, _ in writer.writes]

    assert run_virtual(scenario()) == [60.0]


def test_a_seal_is_committed_without_waiting_and_then_told() -> None:
    async def scenario() -> tuple[float, float]:
        writer = RecordingWriter()
        frontier, committer = _rig(writer)
        jobs = JobGroup("test")
        jobs.spawn("commit", committer.run(), service=True)
        await asyncio.sleep(5)
        told = asyncio.Event()
        frontier.submit(_SHARD, {"end": True}, on_committed=told.set).resolve()
        await told.wait()
        now = asyncio.get_running_loop().time()
        await jobs.stop()
        return now, writer.writes[0][0]

    assert run_virtual(scenario()) == (5.0, 5.0)


def test_a_failed_flush_is_repeated_with_the_newest_position() -> None:
    async def scenario() -> list[dict[SourcePartition, SourceOffset | None]]:
        writer = RecordingWriter(failures=2)
        frontier, committer = _rig(writer, interval_s=10.0)
        jobs = JobGroup("test")
        jobs.spawn("commit", committer.run(), service=True)
        frontier.submit(_SHARD, {"n": 1}).resolve()
        await asyncio.sleep(10.5)
        frontier.submit(_SHARD, {"n": 2}).resolve()
        await asyncio.sleep(10)
        await jobs.stop()
        assert committer.statistics().failures == 2
        return [offsets for _, offsets in writer.writes]

    assert run_virtual(scenario()) == [{_SHARD: {"n": 2}}]


def test_a_seal_is_not_told_while_its_offset_is_not_durable() -> None:
    async def scenario() -> None:
        writer = RecordingWriter(failures=1)
        frontier, committer = _rig(writer)
        told: list[str] = []
        frontier.submit(_SHARD, {"end": True}, on_committed=lambda: told.append("end")).resolve()
        assert not await committer.flush()
        assert told == []
        assert committer.trouble == "offsets are not committed: no broker answered"
        assert await committer.flush()
        assert told == ["end"]
        assert committer.trouble == ""

    run_virtual(scenario())


def test_an_abandoned_committer_writes_nothing() -> None:
    async def scenario() -> None:
        writer = RecordingWriter()
        frontier, committer = _rig(writer)
        frontier.submit(_SHARD, {"n": 1}).resolve()
        committer.abandon()
        await committer.flush()
        assert writer.writes == []

    run_virtual(scenario())


def test_a_cancelled_flush_gives_its_positions_back() -> None:
    async def scenario() -> None:
        writer = RecordingWriter(delay_s=100.0)
        frontier, committer = _rig(writer)
        frontier.submit(_SHARD, {"n": 1}).resolve()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(committer.flush(), 1.0)
        assert frontier.take().offsets == {_SHARD: {"n": 1}}

    run_virtual(scenario())


def test_an_error_that_is_not_retriable_ends_the_committer() -> None:
    class BrokenWriter:
        async def put(self, offsets: Mapping[SourcePartition, SourceOffset | None]) -> None:
            raise WorkerError("the offset log has failed")

    async def scenario() -> None:
        frontier = AckFrontier()
        committer = Committer(frontier, BrokenWriter(), interval_s=1.0)
        frontier.submit(_SHARD, {"n": 1}).resolve()
        with pytest.raises(WorkerError):
            await committer.flush()
        assert frontier.has_committable

    run_virtual(scenario())
