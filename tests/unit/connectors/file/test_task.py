"""The task against real files: appearing, growing, cut off, unreadable, and read again."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from connectd.aio.jobs import run_unless
from connectd.aio.scheduler import PollScheduler
from connectd.connectors.file.connector import FileStreamSourceConnector
from connectd.connectors.file.reading import BackgroundReader, Reading, Situation, StandardInput
from connectd.connectors.file.task import FileStreamSourceTask
from connectd.errors import ConfigError, FatalTaskError
from connectd.model.record import Emission, SourceRecord
from connectd.model.schema import STRING
from connectd.plugins.spi import WorkerServices
from tests.kit.source_rig import SourceContext, records_of
from tests.kit.virtual import virtual
from tests.kit.virtual_time import run_virtual


class StandingClock:
    """A clock that stands: who sleeps has found nothing to do, and sleeps for ever."""

    def __init__(self) -> None:
        self.quiet = asyncio.Event()

    def monotonic(self) -> float:
        return 0.0

    def wall_s(self) -> float:
        return 1_700_000_000.0

    async def sleep(self, duration_s: float) -> None:
        self.quiet.set()
        await asyncio.Event().wait()


def _context() -> SourceContext:
    return SourceContext(
        services=WorkerServices(
            clock=StandingClock(), scheduler=PollScheduler(in_flight_max=1), resources={}
        )
    )


class Life:
    """One life of a task over a file."""

    def __init__(self, context: SourceContext, path: Path, *, batch: int = 2000) -> None:
        self.context = context
        self.task = FileStreamSourceTask()
        self._config = {"file": str(path), "topic": "t", "batch.size": str(batch)}

    async def __aenter__(self) -> Life:
        await self.task.start(self.context, self._config)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.task.stop()

    async def poll(self) -> Sequence[Emission]:
        """The next emissions; none when there is nothing to read."""
        clock = self.context.services.clock
        assert isinstance(clock, StandingClock)
        clock.quiet.clear()
        return await run_unless(self.task.poll(), clock.quiet.wait()) or []

    async def lines(self, *, commits: bool = True) -> list[object]:
        """All lines until it is quiet, their positions committed."""
        found: list[object] = []
        while emissions := await self.poll():
            found += [record.value for record in records_of(*emissions)]
            for emission in emissions if commits else ():
                self.context.commit(emission)
        return found

    def position(self) -> object:
        """The committed position."""
        (offset,) = self.context.offsets.stored.values()
        return offset["position"]


@virtual
async def test_a_line_is_a_text_without_key_that_kafka_places(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(b"one\n")
    async with Life(_context(), path) as life:
        (record,) = records_of(*await life.poll())
    assert record == SourceRecord(
        "t", None, None, STRING, "one", kafka_partition=None, timestamp_ms=1_700_000_000_000
    )


@virtual
async def test_a_file_that_grows_is_followed_from_end_to_end(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    async with Life(_context(), path) as life:
        with capture_logs() as logs:
            assert await life.lines() == []
        assert [log["event"] for log in logs] == ["there is no such file, waiting for it"]
        (row,) = life.task.tables()
        assert (row["state"], row["reason"]) == (
            "MISSING",
            "there is no such file, waiting for it",
        )
        for added, lines, position in (
            (b"a\n", ["a"], 2),
            (b"b", [], 2),
            (b"c\r", [], 2),
            (b"\nd\re\r", ["bc", "d"], 8),
        ):
            with path.open("ab") as file:
                file.write(added)
            assert await life.lines() == lines
            assert life.position() == position
        assert life.task.tables()[0]["reason"] is None


@virtual
async def test_more_lines_than_a_batch_come_without_waiting_for_more(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(b"a\nb\nc\n")
    for size in (1, 0, -5, 2):
        async with Life(_context(), path, batch=size) as life:
            assert len(records_of(*await life.poll())) == max(1, size)
            assert len(await life.lines()) == 3 - max(1, size)


@virtual
async def test_a_file_that_was_cut_off_is_left_alone_until_it_has_grown_again(
    tmp_path: Path,
) -> None:
    path, context = tmp_path / "in.txt", _context()
    path.write_bytes(b"aaaa\nbbbb\n")
    async with Life(context, path) as life:
        assert await life.lines() == ["aaaa", "bbbb"]
        path.write_bytes(b"c\n")
        assert await life.lines() == []
        assert life.task.tables()[0]["state"] == "SHRUNK"
    async with Life(context, path) as life:
        assert await life.lines() == []
        assert "shorter than the position" in str(life.task.tables()[0]["reason"])
        path.write_bytes(b"c\nddddddddddd\n")
        assert await life.lines() == ["ddd"]
        assert life.position() == 14


@virtual
async def test_what_cannot_be_read_fails_the_task(tmp_path: Path) -> None:
    async with Life(_context(), tmp_path) as life:
        with pytest.raises(FatalTaskError, match=f"reading {tmp_path}: Is a directory"):
            await life.poll()
    (tmp_path / "file").write_bytes(b"")
    async with Life(_context(), tmp_path / "file" / "x") as life:
        with pytest.raises(FatalTaskError, match="Not a directory"):
            await life.poll()


@virtual
async def test_a_named_pipe_holds_nobody_up(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    async with Life(_context(), path) as life:
        assert await life.lines() == []
        writer = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        try:
            assert await life.lines() == []
            os.write(writer, b"a\nb\n")
            assert await life.lines() == ["a", "b"]
        finally:
            os.close(writer)


@given(
    text=st.lists(st.sampled_from([b"\n", b"\r", b"\r\n", b"a", "é€😀".encode()])).map(b"".join),
    batch=st.integers(1, 4),
    lives=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=5),
)
def test_whatever_ends_a_life_no_line_is_lost_and_none_comes_twice_if_it_was_committed(
    tmp_path_factory: pytest.TempPathFactory,
    text: bytes,
    batch: int,
    lives: list[tuple[int, int]],
) -> None:
    path = tmp_path_factory.mktemp("lives") / "in.txt"
    path.write_bytes(text)

    async def scenario() -> None:
        async with Life(_context(), path) as whole:
            expected = await whole.lines()
        context, committed = _context(), list[object]()
        for polls, commits in lives:
            async with Life(context, path, batch=batch) as life:
                for number in range(polls):
                    emissions = await life.poll()
                    values = [record.value for record in records_of(*emissions)]
                    if number >= commits or not emissions:
                        break  # killed with these under way
                    committed += values
                    life.context.commit(emissions[0])
        async with Life(context, path, batch=batch) as last:
            assert committed + await last.lines() == expected

    run_virtual(scenario())


@virtual
async def test_being_cancelled_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(b"".join(b"%d\n" % number for number in range(200_000)))
    loop, found = asyncio.get_running_loop(), list[object]()
    async with Life(_context(), path) as life:
        while len(found) < 200_000:
            # Cancelled while the thread reads, every second time.
            handle = loop.call_soon(asyncio.current_task().cancel) if len(found) % 4000 else None  # type: ignore[union-attr]
            try:
                found += [record.value for record in records_of(*await life.task.poll())]
            except asyncio.CancelledError:
                asyncio.current_task().uncancel()  # type: ignore[union-attr]
            finally:
                if handle is not None:
                    handle.cancel()
    assert found == [str(number) for number in range(200_000)]


@virtual
async def test_a_read_that_hangs_holds_up_neither_the_loop_nor_the_stop() -> None:
    gate, closed = threading.Event(), threading.Event()

    class Hanging:
        def read(self) -> Reading:
            gate.wait(30)
            return Reading(Situation.DATA, b"late\n")

        def close(self) -> None:
            closed.set()

    reader = BackgroundReader(Hanging(), name="test")
    for _ in range(2):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(), timeout=5)
    reader.close()
    assert not closed.is_set()
    gate.set()
    assert closed.wait(30)


@virtual
async def test_standard_input_is_read_without_positions() -> None:
    read_end, write_end = os.pipe()
    source = StandardInput(read_end)
    try:
        assert source.read() == Reading(Situation.END)
        os.write(write_end, b"a\nb")
        assert source.read() == Reading(Situation.DATA, b"a\nb")
        os.close(write_end)
        assert source.read() == Reading(Situation.END)
        source.close()
        assert os.fstat(read_end), "others read from it too"
    finally:
        os.close(read_end)


@virtual
async def test_the_connector_has_one_task_with_its_own_config() -> None:
    connector = FileStreamSourceConnector()
    config = {"topic": "t", "file": "/x", "tasks.max": "3"}
    await connector.start(SourceContext(), config)
    assert await connector.task_configs(3) == [config]
    with pytest.raises(ConfigError, match='Missing required configuration "topic"'):
        await FileStreamSourceConnector().start(SourceContext(), {"file": "/x"})


def test_only_a_file_can_be_written_exactly_once() -> None:
    asked = {"topic": "t", "exactly.once.support": "required"}
    assert FileStreamSourceConnector.validate({**asked, "file": "/x"}) == {}
    assert FileStreamSourceConnector.validate(asked) == {
        "exactly.once.support": [
            "The connector does not support exactly-once semantics with the provided configuration."
        ]
    }
