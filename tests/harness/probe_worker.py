"""A connectd worker as its own process, with plugins that misbehave: for tests of who suffers.

``python -m tests.harness.probe_worker <file>`` is ``connectd run <file>`` with ``HangingSource``,
``ExitingTransform`` and ``TellingTransform`` among the plugins; ``ProbeWorkerProcess`` starts it.
What a connector of the first does stands in its config, key ``hang``, and lasts ``hang.s`` seconds
(120). Its tasks show ``tables`` tables each, and move no data.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from connectd.app import bundled, process, worker_file
from connectd.configdef.catalogue import PluginKind
from connectd.configdef.definition import ConfigDef, ConfigKey, ConfigType, Importance
from connectd.configdef.parsing import ParsedConfig
from connectd.configdef.worker import WorkerConfig
from connectd.connectors.dynamodb.table_scope import ShardProgress, TableProgress
from connectd.model.cluster import Config
from connectd.model.record import (
    Emission,
    RecordBatch,
    RecordList,
    SourceOffset,
    SourcePartition,
    SourceRecord,
)
from connectd.observe import logs
from connectd.plugins import spi
from connectd.plugins.registry import PluginDesc
from tests.harness.worker import WorkerProcess

HANGING_CLASS = "tests.HangingSource"
EXITING_TRANSFORM = "tests.ExitingTransform"
TELLING_TRANSFORM = "tests.TellingTransform"
HANG_S = 120.0

START = "start"
"""``start`` awaits something that does not come."""
START_BLOCKING = "start-blocking"
"""``start`` sleeps without await: the event loop stands still."""
VALIDATE = "validate"
"""``validate`` sleeps, in its thread."""
VALIDATE_BUSY = "validate-busy"
"""``validate`` computes, and holds the interpreter."""
TASK_START_BLOCKING = "task-start-blocking"
POLL_BLOCKING = "poll-blocking"
POLL_DEAF = "poll-deaf"
"""``poll`` waits, and waits on when it is cancelled."""
POLL_THREAD = "poll-thread"
"""``poll`` waits for a thread that does not end."""
EXIT = "exit-"
"""Before the name of a method, ``exit-poll``: it calls ``sys.exit(3)``."""
EXIT_JOB = "exit-job"
"""A job of the task's own does so, and nobody waits for it."""
RECORD = "record"
"""``poll`` has one record, for a transform."""


def _hang_s(config: Config) -> float:
    return float(config.get("hang.s", HANG_S))


def _leave(config: Config, method: str) -> None:
    if config.get("hang") == f"{EXIT}{method}":
        sys.exit(3)


async def _exit_soon() -> None:
    await asyncio.sleep(0)
    sys.exit(3)


class ExitingTransform:
    """Calls ``sys.exit(3)`` instead of giving a record back."""

    def __init__(self, settings: ParsedConfig) -> None:
        """It has no settings."""

    @classmethod
    def config_def(cls) -> ConfigDef:
        """None."""
        return ConfigDef([])

    def apply(self, record: SourceRecord) -> SourceRecord | None:
        """See the class."""
        sys.exit(3)


class TellingTransform:
    """Fails every record, and says with which ``pin``: of type password, by a name like any."""

    def __init__(self, settings: ParsedConfig) -> None:
        self._pin = settings.optional_secret("pin")

    @classmethod
    def config_def(cls) -> ConfigDef:
        """The secret."""
        return ConfigDef([ConfigKey("pin", ConfigType.PASSWORD, "Told.", Importance.LOW, "")])

    def apply(self, record: SourceRecord) -> SourceRecord | None:
        """See the class."""
        raise ValueError(f"the door does not open with {self._pin.reveal() if self._pin else None}")


class HangingTask:
    """Polls for ever without finding anything, or hangs as its config says."""

    def __init__(self) -> None:
        self._config: Config = {}
        self._has_polled = False
        self._tables: list[TableProgress] = []

    async def start(self, context: spi.TaskContext, config: Config) -> None:
        """Keep the config; may block."""
        self._config = config
        _leave(config, "task-start")
        if config.get("hang") == TASK_START_BLOCKING:
            time.sleep(_hang_s(config))  # noqa: ASYNC251 - what is tested
        if config.get("hang") == EXIT_JOB:
            self._job = asyncio.create_task(_exit_soon())

    async def poll(self) -> Sequence[Emission]:
        """Nothing ever comes; may block."""
        hang = self._config.get("hang")
        _leave(self._config, "poll")
        if hang == POLL_BLOCKING:
            time.sleep(_hang_s(self._config))  # noqa: ASYNC251 - what is tested
        if hang == POLL_THREAD:
            await asyncio.to_thread(threading.Event().wait, _hang_s(self._config))
        if hang == RECORD and not self._has_polled:
            self._has_polled = True
            record = SourceRecord(self._config["topic"], None, None, None, "a record")
            return [RecordBatch(SourcePartition.of({"p": "1"}), {"n": 1}, RecordList([record]))]
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if hang != POLL_DEAF:
                    raise

    async def stop(self) -> None:
        """Nothing to release."""
        _leave(self._config, "task-stop")

    def tables(self) -> Sequence[Mapping[str, object]]:
        """As many as ``tables`` of its config says, each as the DynamoDB connector shows one."""
        now_s = asyncio.get_running_loop().time()
        if len(self._tables) != (count := int(self._config.get("tables", 0))):
            self._tables = [_table(f"t{number}") for number in range(count)]
        task = int(self._config["number"])
        return [table.row(task=task, now_s=now_s, is_blocked=False) for table in self._tables]


def _table(name: str) -> TableProgress:
    progress = TableProgress(f"production-{name}", f"dynamodb-production-{name}", state="SYNC")
    now_s = asyncio.get_running_loop().time()
    for shard in range(4):
        progress.shards[f"shardId-{shard}"] = ShardProgress(
            now_s, last_read_s=now_s, behind_s=0.25 * shard
        )
    return progress


class HangingSource:
    """Hangs where its config says, and does nothing else."""

    version: ClassVar[str] = "1.0"

    def __init__(self) -> None:
        self._config: Config = {}

    @classmethod
    def config_def(cls) -> ConfigDef:
        """Where and how long."""
        return ConfigDef(
            [
                ConfigKey("hang", ConfigType.STRING, "Where it hangs.", Importance.LOW, ""),
                ConfigKey("hang.s", ConfigType.STRING, "Seconds.", Importance.LOW, str(HANG_S)),
                ConfigKey("tables", ConfigType.INT, "Tables per task.", Importance.LOW, 0),
            ]
        )

    @classmethod
    def task_class(cls) -> type[spi.SourceTask]:
        """Its tasks."""
        return HangingTask

    @classmethod
    def validate(cls, config: Config) -> Mapping[str, Sequence[str]]:
        """No problems; may take long."""
        _leave(config, "validate")
        if config.get("hang") == VALIDATE:
            time.sleep(_hang_s(config))
        if config.get("hang") == VALIDATE_BUSY:
            ends_at = time.monotonic() + _hang_s(config)
            while time.monotonic() < ends_at:
                pass
        return {}

    async def start(self, context: spi.ConnectorContext, config: Config) -> None:
        """Keep the config; may hang or block."""
        self._config = config
        _leave(config, "start")
        if config.get("hang") == START:
            await asyncio.sleep(_hang_s(config))
        if config.get("hang") == START_BLOCKING:
            time.sleep(_hang_s(config))  # noqa: ASYNC251 - what is tested

    async def task_configs(self, tasks_max: int) -> Sequence[Config]:
        """As many as allowed."""
        _leave(self._config, "task_configs")
        return [{**self._config, "number": str(number)} for number in range(tasks_max)]

    async def stop(self) -> None:
        """Nothing to release."""

    @classmethod
    def alter_offsets(
        cls, config: Config, offsets: Mapping[SourcePartition, SourceOffset | None]
    ) -> bool:
        """Anything goes."""
        return True

    def tables(self) -> Sequence[Mapping[str, object]]:
        """No inputs."""
        return []


class ProbeWorkerProcess(WorkerProcess):
    """A worker that knows ``HangingSource``."""

    def command(self, home: Path) -> list[str]:
        """Another module, the same arguments."""
        line = super().command(home)
        return [line[0], "-m", "tests.harness.probe_worker", line[-1]]


def main(path: Path) -> int:
    """Run it, as ``connectd run`` does; returns the exit code."""
    config = WorkerConfig.from_properties(worker_file.read(path, os.environ))
    logs.configure(logs.LogFormat(config.log_format), config.log_level, sys.stdout)
    registry = bundled.plugin_registry()
    registry.register(
        PluginDesc(HANGING_CLASS, PluginKind.SOURCE, HangingSource.version, HangingSource)
    )
    registry.register(
        PluginDesc(EXITING_TRANSFORM, PluginKind.TRANSFORMATION, "1.0", ExitingTransform)
    )
    registry.register(
        PluginDesc(TELLING_TRANSFORM, PluginKind.TRANSFORMATION, "1.0", TellingTransform)
    )
    return process.serve(config, registry=registry)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
