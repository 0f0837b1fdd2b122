"""Drivers of scans on Spark as children of this process: from lines to reports.

A line that is no report, or no whole one, is log text; the last of these, and of what the driver
writes to standard error, are kept for traces.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

import structlog

from connectd.aio import child_process
from connectd.aio.child_process import ChildProcess
from connectd.configdef.spark_settings import SparkSettings
from connectd.connectors.dynamodb import scan_reports, spark_command, spark_master
from connectd.connectors.dynamodb.scan_job import ScanJob
from connectd.connectors.dynamodb.scan_reports import ScanReport, Started
from connectd.connectors.dynamodb.spark_engine import ScanDriver
from connectd.connectors.dynamodb.spark_java import JavaCheck
from connectd.errors import ConfigError, ConnectdError, RetriableError
from connectd.observe.redaction import redact_text

_log = structlog.get_logger(__name__)

GRACE_S: Final = 3.0
"""From SIGTERM to SIGKILL. A task has five seconds to stop (``task.shutdown.graceful.timeout.ms``);
what a killed driver had under way is read again."""

ASKED_GRACE_S: Final = 12.0
"""The same where nobody is in a hurry (a pause): a driver ends its executors within ten seconds."""


class SparkSubmit:
    """Starts drivers with spark-submit (``spark_engine.DriverStarter``)."""

    def __init__(
        self,
        settings: SparkSettings,
        *,
        grace_s: float = GRACE_S,
        asked_grace_s: float = ASKED_GRACE_S,
    ) -> None:
        self._settings = settings
        self._grace_s = grace_s
        self._asked_grace_s = asked_grace_s
        self._javas = JavaCheck()

    async def problem(self) -> str:
        """See ``DriverStarter``."""
        try:
            parts = spark_command.find_parts(self._settings, os.environ)
        except ConfigError as error:
            return str(error)
        return "" if parts.java is None else await self._javas.problem(parts.java, os.environ)

    def start(self, job: ScanJob) -> AbstractAsyncContextManager[ScanDriver]:
        """See ``DriverStarter``."""
        return self._started(job)

    def verdict(self, code: int, tail: list[str]) -> ConnectdError:
        """See ``DriverStarter``."""
        return spark_command.verdict(code, tail, self._settings)

    def explanation(self, tail: list[str]) -> str:
        """See ``DriverStarter``."""
        return spark_command.explanation(tail, self._settings)

    @asynccontextmanager
    async def _started(self, job: ScanJob) -> AsyncIterator[ScanDriver]:
        parts = spark_command.find_parts(self._settings, os.environ)
        master = self._settings.master
        refusal = await spark_master.refusal(master)
        if refusal:
            raise RetriableError(
                f"the Spark master cannot be reached (spark.master is {master}): {refusal}"
            )
        async with AsyncExitStack() as stack:
            try:
                files = stack.enter_context(spark_command.write_files(job, self._settings)).path
                command = spark_command.command(parts, self._settings, job, files, os.environ)
                child = await stack.enter_async_context(
                    child_process.running(command, grace_s=self._grace_s)
                )
            except OSError as error:
                raise RetriableError(f"starting a scan with {parts.submit}: {error}") from error
            yield _SubmittedDriver(child, files, self._asked_grace_s)


class _SubmittedDriver:
    """One driver (``spark_engine.ScanDriver``)."""

    def __init__(self, child: ChildProcess, files: Path, asked_grace_s: float) -> None:
        self._child = child
        self._files = files
        self._asked_grace_s = asked_grace_s
        self._has_said_odd = False

    async def reports(self) -> AsyncIterator[ScanReport]:
        """See ``ScanDriver``."""
        async for line in self._child.lines():
            report = self._report(line)
            if report is None:
                self._child.keep(line)
                continue
            if isinstance(report, Started):
                spark_command.remove_job(self._files)  # everybody has read them by now
            yield report

    def _report(self, line: str) -> ScanReport | None:
        try:
            return scan_reports.from_line(line)
        except ConfigError as error:
            if not self._has_said_odd:
                self._has_said_odd = True
                _log.warning("a line of the Spark driver is no report", error=str(error))
            return None

    async def wait(self) -> int:
        """See ``ScanDriver``."""
        return await self._child.wait()

    def ask_to_end(self) -> None:
        """See ``ScanDriver``."""
        self._child.ask_to_end(grace_s=self._asked_grace_s)

    def tail(self) -> list[str]:
        """See ``ScanDriver``."""
        return [redact_text(line) for line in self._child.tail()]
