"""A process is started, heard, and gone when nobody needs it; how it has ended is told in words.

Real processes, of a program that loads little. Each test waits for what is said, never for a time.
"""

from __future__ import annotations

import asyncio
import io
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvloop

from connectd.runtime.cores import messages
from connectd.runtime.cores.spawning import SpawnedProcess, spawned

PROGRAM = "tests.kit.tiny_process"
SECRET = "an-ordinary-secret"


def setup(does: str) -> messages.Setup:
    return messages.Setup(0, 1, "distributed", does, {"some.password": SECRET}, {}, [])


class Heard:
    """What the process has said."""

    def __init__(self) -> None:
        self.messages: list[messages.ToParent] = []
        self.news = asyncio.Event()

    def __call__(self, message: messages.ToParent) -> None:
        self.messages.append(message)
        self.news.set()

    async def pid(self) -> int:
        await self.news.wait()
        ready = self.messages[0]
        assert isinstance(ready, messages.Ready)
        return ready.pid


@asynccontextmanager
async def process(does: str, output: io.StringIO) -> AsyncIterator[tuple[SpawnedProcess, Heard]]:
    heard = Heard()
    async with (
        asyncio.timeout(50),
        spawned(setup(does), heard, program=PROGRAM, output=output) as peer,
    ):
        yield peer, heard


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def what_everybody_sees(pid: int) -> str:
    return "".join(
        Path(f"/proc/{pid}/{each}").read_bytes().decode(errors="replace")
        for each in ("cmdline", "environ")
    )


def test_it_is_there_until_it_is_not_needed_any_more() -> None:
    async def test() -> None:
        async with process("serve", io.StringIO()) as (_, heard):
            pid = await heard.pid()
            assert is_alive(pid)
            assert SECRET not in what_everybody_sees(pid)
        assert not is_alive(pid)

    uvloop.run(test())


def test_the_end_of_a_killed_process_has_the_name_of_its_signal() -> None:
    async def test() -> None:
        async with process("serve", io.StringIO()) as (peer, heard):
            os.kill(await heard.pid(), signal.SIGKILL)
            assert await peer.wait() == "it was ended by SIGKILL"
            peer.send(messages.End())  # to nobody

    uvloop.run(test())


def test_a_process_that_ends_by_itself_leaves_its_last_words() -> None:
    output = io.StringIO()

    async def test() -> None:
        async with process("crash", output) as (peer, heard):
            await heard.pid()
            assert await peer.wait() == "it has ended with 9; it was me"

    uvloop.run(test())
    assert output.getvalue() == "a line of the log\n"


@pytest.mark.parametrize("does", ["hang-up", "babble"])
def test_a_process_that_cannot_be_talked_to_is_none_any_more(does: str) -> None:
    async def test() -> None:
        async with process(does, io.StringIO()) as (peer, heard):
            pid = await heard.pid()
            assert await peer.wait() == "it has closed its connection"
        assert not is_alive(pid)

    uvloop.run(test())


def test_a_program_that_cannot_be_started_ends_with_its_reason() -> None:
    async def test() -> None:
        async with (
            asyncio.timeout(50),
            spawned(setup("x"), Heard(), program="tests.no_such_program") as peer,
        ):
            assert "No module named tests.no_such_program" in await peer.wait()

    uvloop.run(test())
