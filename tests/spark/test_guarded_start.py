"""A worker that is killed while a driver starts leaves nothing behind, however far it is.

A real spark-submit is held where a part of it is to begin: by a Java that does not come to life
before the JVM, by a Python that does not before the driver.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.processes import wait_for
from tests.spark.scan_rig import (
    SPARK_ENV,
    all_pids,
    arguments_of,
    environment_of,
    submit_command,
)

pytestmark = pytest.mark.timeout(300)

DEADLINE_S = 120.0
MARK = "CONNECTD_TEST_START"

WORKER = """
import asyncio, os, sys
from connectd.aio import child_process

async def main():
    command = child_process.ChildCommand(tuple(sys.argv[1:]), dict(os.environ))
    async with child_process.running(command, grace_s=1.0):
        await asyncio.Event().wait()

asyncio.run(main())
"""


def program_that_hangs(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\nexec sleep 600\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def before_the_jvm(home: Path) -> dict[str, str]:
    program_that_hangs(home / "jdk" / "bin" / "java")
    return {"JAVA_HOME": str(home / "jdk")}


def before_python(home: Path) -> dict[str, str]:
    (home / "conf").mkdir()
    python = program_that_hangs(home / "python")
    defaults = home / "conf" / "spark-defaults.conf"
    defaults.write_text(f"spark.pyspark.driver.python {python}\n", encoding="utf-8")
    return {"SPARK_CONF_DIR": str(home / "conf")}


@pytest.mark.parametrize("held", [before_the_jvm, before_python])
def test_a_worker_that_is_killed_while_spark_starts_leaves_no_process(
    held: Callable[[Path], dict[str, str]], tmp_path: Path
) -> None:
    mark = f"{MARK}={os.getpid()}-{held.__name__}"
    name, _, value = mark.partition("=")
    environment = {**os.environ, **SPARK_ENV, **held(tmp_path), name: value}

    def alive() -> dict[int, bytes]:
        pids = [pid for pid in all_pids() if mark.encode() in environment_of(pid)]
        return {pid: b" ".join(arguments_of(pid)) for pid in pids}

    command = [sys.executable, "-c", WORKER, *submit_command("local[1]")]
    with subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL) as worker:
        try:
            assert wait_for(
                lambda: any(b"sleep 600" in each for each in alive().values()),
                deadline_s=DEADLINE_S,
            ), alive()
            has_jvm = any(
                each.partition(b" ")[0].endswith(b"/bin/java") and b"deploy.SparkSubmit" in each
                for each in alive().values()
            )
            assert has_jvm == (held is before_python)
        finally:
            worker.kill()
    assert wait_for(lambda: not alive(), deadline_s=DEADLINE_S), alive()
