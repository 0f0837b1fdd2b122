"""A driver hears of the end of the JVM that has started it."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from spark_jobs.parent_watch import ParentWatch

DEADLINE_S = 30.0


def test_a_driver_that_no_jvm_has_started_lives_on() -> None:
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
