"""A driver knows its parent from every other process, and hears of its end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from connectd.connectors.dynamodb.scan_job import PARENT_ENV
from connectd.errors import ConfigError
from spark_jobs.parent_watch import Parent, ParentWatch

DEADLINE_S = 30.0


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits until its standard input ends."""
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def _started(pid: int) -> int:
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    return int(stat.rpartition(")")[2].split()[19])


def test_a_process_that_runs_is_alive(child: subprocess.Popen[bytes]) -> None:
    assert Parent(child.pid, _started(child.pid)).is_alive()


def test_another_process_with_its_pid_is_not_it(child: subprocess.Popen[bytes]) -> None:
    assert not Parent(child.pid, _started(child.pid) - 1).is_alive()


def test_a_process_that_has_ended_is_gone_before_and_after_it_is_waited_for(
    child: subprocess.Popen[bytes],
) -> None:
    parent = Parent(child.pid, _started(child.pid))
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not parent.is_alive()
    child.wait()
    assert not parent.is_alive()


@pytest.mark.parametrize("text", ["", "12", "12:", ":7", "a:b", "-1:5", "1:2:3"])
def test_a_parent_that_is_not_named_right_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected <pid>:<start time>"):
        Parent.parse(text)


def test_the_end_of_the_parent_is_noticed(child: subprocess.Popen[bytes]) -> None:
    ended = threading.Event()
    name = f"{child.pid}:{_started(child.pid)}"
    watch = ParentWatch({PARENT_ENV: name}, end=ended.set, look_s=0.01)
    watch.start()
    assert not ended.is_set()
    child.kill()
    child.wait()
    assert ended.wait(DEADLINE_S)


def test_a_driver_without_a_parent_lives_on() -> None:
    ended = threading.Event()
    watch = ParentWatch({}, end=ended.set, look_s=0.001)
    watch.start()
    assert not ended.wait(0.05)
    watch.stop()


def test_a_driver_ends_with_the_jvm_that_started_it() -> None:
    """Run by another process, which ends: the driver is a grandchild here."""
    program = (
        "import sys, threading; from spark_jobs.parent_watch import ParentWatch\n"
        "import os; ended = threading.Event()\n"
        "watch = ParentWatch({'PYSPARK_GATEWAY_PORT': '1'}, end=ended.set, look_s=0.01)\n"
        "watch.start(); print('ready', flush=True)\n"
        f"print('ended' if ended.wait({DEADLINE_S}) else 'still here', flush=True)\n"
    )
    launcher = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', sys.argv[1]], stdout=sys.stdout)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", launcher, program]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.kill()
        assert process.stdout.readline() == "ended\n"
