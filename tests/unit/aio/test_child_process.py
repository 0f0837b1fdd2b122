"""Children are heard, bounded in what they may cost, and end whatever happens.

Real processes on real time: each test waits for what a child says, never for a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import uvloop

from connectd.aio import child_process
from connectd.aio.child_process import ChildCommand, ChildProcess, running
from connectd.aio.session_guard import session_members

LONG_S = 30.0
"""A grace period that no test waits for."""


def on_both_loops(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[str], None]:
    """Run the test in a loop of its own, asyncio's or uvloop's."""

    @pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
    def run(loop: str) -> None:
        factory = uvloop.new_event_loop if loop == "uvloop" else asyncio.SelectorEventLoop
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(asyncio.wait_for(test(), 50))

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def script(text: str, *arguments: str) -> ChildCommand:
    return ChildCommand((sys.executable, "-u", "-c", text, *arguments), dict(os.environ))


async def first_line(child: ChildProcess) -> str:
    async for line in child.lines():
        return line
    raise AssertionError(f"the child says nothing: {child.tail()}")


def is_alive(pid: int) -> bool:
    """Whether a process runs (one that has ended and is not collected does not)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(3_000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come true")


def with_argument(text: str) -> list[str]:
    """Command lines of living processes that have this argument."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if text in line and is_alive(int(file.parent.name)):
                found.append(line)
    return found


@on_both_loops
async def test_a_child_has_the_descriptors_that_it_is_given_and_nobody_else_keeps_them() -> None:
    ours, theirs = os.pipe()
    text = "import os, sys; os.write(int(sys.argv[1]), b'hello')"
    command = script(text, str(theirs))
    given = ChildCommand(command.argv, command.env, fds=(theirs,))
    async with running(given, grace_s=LONG_S) as child:
        os.close(theirs)
        assert await child.wait() == 0
        assert os.read(ours, 100) == b"hello"
        assert os.read(ours, 100) == b""  # its end: nobody could write any more
    os.close(ours)


@on_both_loops
async def test_a_child_is_heard_to_its_end() -> None:
    text = "import sys; print('one'); print('two', end=''); print('trouble', file=sys.stderr)"
    async with running(script(text), grace_s=LONG_S) as child:
        assert [line async for line in child.lines()] == ["one", "two"]
        assert await child.wait() == 0
    assert child.tail() == ["trouble"]
    assert not is_alive(child.pid)


@on_both_loops
async def test_the_exit_code_is_told() -> None:
    async with running(script("raise SystemExit(3)"), grace_s=LONG_S) as child:
        assert await child.wait() == 3


@on_both_loops
async def test_the_environment_is_the_one_given_and_standard_input_is_empty() -> None:
    command = ChildCommand(
        (sys.executable, "-c", "import os, sys; print(sorted(os.environ), repr(sys.stdin.read()))"),
        {"ONLY": "this", "LC_ALL": "C.UTF-8"},
    )
    async with running(command, grace_s=LONG_S) as child:
        assert await first_line(child) == "['LC_ALL', 'ONLY'] ''"


@on_both_loops
async def test_a_child_that_listens_to_sigterm_ends_by_itself() -> None:
    text = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print("bye"), sys.exit(7)))
print("ready")
time.sleep(60)
"""
    async with running(script(text), grace_s=LONG_S) as child:
        assert await first_line(child) == "ready"
        child.ask_to_end(grace_s=LONG_S)
        assert [line async for line in child.lines()] == ["bye"]
        assert await child.wait() == 7


@on_both_loops
async def test_a_child_that_ignores_sigterm_is_killed_after_the_grace_period() -> None:
    text = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready")
time.sleep(60)
"""
    async with running(script(text), grace_s=0.1) as child:
        assert await first_line(child) == "ready"
    assert await child.wait() == -9
    assert not is_alive(child.pid)


@on_both_loops
async def test_a_second_cancellation_skips_the_grace_period() -> None:
    text = """
import signal, time
signal.signal(signal.SIGTERM, lambda *_: print("not now", flush=True))
print("ready")
while True:
    time.sleep(1)
"""
    pids: list[int] = []
    is_ready = asyncio.Event()

    async def live() -> None:
        async with running(script(text), grace_s=LONG_S) as child:
            assert await first_line(child) == "ready"
            pids.append(child.pid)
            is_ready.set()
            await asyncio.sleep(60)

    job = asyncio.ensure_future(live())
    await is_ready.wait()
    job.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not job.done(), "the first cancellation waits for the child"
    job.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await job
    assert job.cancelled()
    assert not is_alive(pids[0])


@on_both_loops
async def test_whoever_a_child_has_started_ends_with_it_even_outside_of_its_group() -> None:
    text = """
import os, subprocess, sys, time
started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], process_group=0)
print(started.pid)
time.sleep(60)
"""
    async with running(script(text), grace_s=0.1) as child:
        grandchild = int(await first_line(child))
        assert is_alive(grandchild)
    await until(lambda: not is_alive(grandchild))
    assert session_members(child.pid) == []


@on_both_loops
async def test_what_a_child_leaves_behind_is_killed_when_it_ends_and_its_output_ends_too() -> None:
    text = """
import subprocess, sys
started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(started.pid)
"""
    async with running(script(text), grace_s=LONG_S) as child:
        lines = [line async for line in child.lines()]
        await until(lambda: not is_alive(int(lines[0])))


@on_both_loops
async def test_a_flood_that_nobody_takes_makes_the_child_wait_and_is_bounded() -> None:
    text = """
import sys
for number in range(100_000):
    print(number, "x" * 100)
    if number % 1000 == 0:
        print(number, file=sys.stderr)
"""
    async with running(script(text), grace_s=LONG_S) as child:
        assert (await first_line(child)).startswith("0 ")
        await until(lambda: len(child._lines) >= child_process.LINES_HELD_MAX)
        for _ in range(20):  # it would go on writing now if we went on reading
            await asyncio.sleep(0.01)
        assert len(child._lines) < child_process.LINES_HELD_MAX + 1_000
        count = 1
        async for _ in child.lines():
            count += 1
        assert count == 100_000
        assert await child.wait() == 0


@on_both_loops
async def test_a_child_that_floods_while_it_is_ended_is_not_waited_for() -> None:
    text = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready")
while True:
    print("x" * 1000)
"""
    async with running(script(text), grace_s=0.2) as child:
        assert await first_line(child) == "ready"
    assert not is_alive(child.pid)


@on_both_loops
async def test_long_lines_are_cut_and_the_tail_keeps_the_newest() -> None:
    text = """
import sys
print("a" * 1_000_000)
print("short")
for number in range(500):
    print(number, "y" * 10_000, file=sys.stderr)
"""
    async with running(script(text), grace_s=LONG_S) as child:
        lines = [line async for line in child.lines()]
        await child.wait()
    assert [len(line) for line in lines] == [child_process.LINE_BYTES_MAX, 5]
    assert len(child.tail()) == child_process.TAIL_LINES
    assert child.tail()[-1].startswith("499 yyy")
    assert max(len(line) for line in child.tail()) == 1_000


@on_both_loops
async def test_bytes_that_are_no_text_do_no_harm() -> None:
    text = "import sys; sys.stdout.buffer.write(b'\\xff\\xfe\\r\\nok\\n')"
    async with running(script(text), grace_s=LONG_S) as child:
        assert [line async for line in child.lines()] == ["\ufffd\ufffd", "ok"]


@on_both_loops
async def test_a_program_that_is_not_there_says_so() -> None:
    with pytest.raises(OSError, match="No such file"):
        async with running(ChildCommand(("/no/such/program",), {}), grace_s=LONG_S):
            raise AssertionError("it was started")


@on_both_loops
async def test_a_start_that_is_cancelled_leaves_nothing() -> None:
    mark = f"connectd-test-{os.getpid()}-{id(asyncio.current_task())}"
    command = script("import time; time.sleep(60)", mark)

    async def live() -> None:
        async with running(command, grace_s=LONG_S):
            await asyncio.sleep(60)

    for steps in (1, 2, 3, 5):
        job = asyncio.ensure_future(live())
        for _ in range(steps):
            await asyncio.sleep(0)
        job.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await job
        assert with_argument(mark) == []


@pytest.mark.parametrize("moment", ["at once", "when it has spoken"])
def test_a_killed_owner_leaves_nothing_behind(moment: str) -> None:
    """kill -9 of who runs a child: all of the child's session goes, whatever it cares about."""
    mark = f"connectd-test-{os.getpid()}-{moment.replace(' ', '-')}"
    child = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if os.fork() == 0: os.setpgid(0, 0)\n"
        "os.write(1, b'ready\\n')\n"  # at once: there are two that write
        "time.sleep(60)\n"
    )
    owner = (
        "import asyncio, os, sys\n"
        "from connectd.aio.child_process import ChildCommand, running\n"
        "async def live():\n"
        "    argv = (sys.executable, '-c', sys.argv[1], sys.argv[2])\n"
        "    async with running(ChildCommand(argv, os.environ), grace_s=60) as child:\n"
        "        print('started', flush=True)\n"
        "        async for line in child.lines():\n"
        "            print(line, flush=True)\n"
        "asyncio.run(live())\n"
    )
    argv = [sys.executable, "-c", owner, child, mark]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        if moment == "when it has spoken":
            assert [process.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
        process.kill()
    asyncio.run(until(lambda: with_argument(mark) == []))


def test_a_process_is_named_by_its_id_and_its_start() -> None:
    start = child_process.process_start(os.getpid())
    assert start is not None
    assert int(start) > 0
    assert child_process.process_start(2**22 + 1) is None


def test_sessions_are_read_whatever_a_process_calls_itself(tmp_path: Path) -> None:
    for pid, text in {
        11: "11 (a) b) S 1 11 10 0",
        12: "12 (c) Z 1 12 10 0",
        13: "13 (d) S 1 13 13 0",
        14: "",
    }.items():
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(text)
    assert session_members(10, tmp_path) == [11]
