"""A standalone Spark cluster on this machine: a master and a worker of its own, on loopback.

Here executors are no children of the driver: they belong to the worker's session, and outlive a
driver for as long as they do not notice that it is gone.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from connectd.aio.session_guard import session_members
from tests.harness.processes import ManagedProcess, RealPart
from tests.spark.scan_rig import DRIVER, SPARK_ENV

DEADLINE_S = 120.0
_PACKAGE = "org.apache.spark.deploy"
_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")


class SparkCluster(RealPart):
    """One master and one worker with one core, so that one chunk runs at a time."""

    def __init__(self, home: Path) -> None:
        self._home = home
        # Processes of a cluster know nothing of a driver's environment.
        self._env = {**SPARK_ENV, "SPARK_DAEMON_MEMORY": "256m"}
        options = ("--host", "127.0.0.1", "--webui-port", "0")
        self._master = self._process("master", f"{_PACKAGE}.master.Master", *options, "--port", "0")
        self._worker: ManagedProcess | None = None
        self._options = options
        self.url = ""

    def start(self) -> None:
        """Start both; the worker has found the master."""
        self._master.start()
        self._master.wait_until(self._has_url, what="the master's start", deadline_s=DEADLINE_S)
        options = (*self._options, "--cores", "1", "--memory", "1g", "--work-dir")
        worker = self._worker = self._process(
            "worker", f"{_PACKAGE}.worker.Worker", *options, str(self._home / "work"), self.url
        )
        worker.start()
        worker.wait_until(
            lambda: "Successfully registered with master" in worker.log_path.read_text(),
            what="its registration",
            deadline_s=DEADLINE_S,
        )

    def close(self) -> None:
        """End both, and with them all executors."""
        for process in (self._worker, self._master):
            if process is not None:
                process.stop(grace_s=20)

    def submit_command(self) -> tuple[str, ...]:
        """How a driver is started here."""
        conf = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "512m",
            "spark.executor.memory": "512m",
            "spark.ui.enabled": "false",
        }
        settings = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
        return (*_program("spark-submit"), "--master", self.url, *settings, str(DRIVER))

    def executor_pids(self) -> list[int]:
        """The executors of all applications, and their Python workers."""
        assert self._worker is not None
        return [each for each in session_members(self._worker.pid) if each != self._worker.pid]

    def tasks(self, what: str) -> int:
        """How many tasks the executors have begun (``Running``) or ended (``Finished``)."""
        logs = self._home.glob("work/app-*/*/stderr")
        return sum(each.read_text(errors="replace").count(f"{what} task ") for each in logs)

    def _has_url(self) -> bool:
        found = _MASTER.search(self._master.log_path.read_text())
        self.url = found[1] if found else ""
        return bool(found)

    def _process(self, name: str, *argv: str) -> ManagedProcess:
        return ManagedProcess(
            name,
            (*_program("spark-class"), *argv),
            log_path=self._home / f"{name}.log",
            env=self._env,
            cwd=self._home,
        )


def _program(name: str) -> tuple[str, ...]:
    return (str(Path(sys.executable).parent / name),)
