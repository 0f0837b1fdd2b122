"""A connectd worker as its own process, with plugins that hang: for tests of who suffers from it.

``python -m tests.harness.probe_worker <file>`` is ``connectd run <file>`` with ``HangingSource``
among the plugins; ``ProbeWorkerProcess`` starts it. What a connector of that class does stands in
its config, key ``hang``, and lasts ``hang.s`` seconds (120).
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import uvloop

from connectd.app import bundled, process, worker_file
from connectd.configdef.catalogue import PluginKind
from connectd.configdef.definition import ConfigDef, ConfigKey, ConfigType, Importance
from connectd.configdef.worker import WorkerConfig
from connectd.model.cluster import Config
from connectd.model.record import Emission, SourceOffset, SourcePartition
from connectd.observe import logs
from connectd.plugins import spi
from connectd.plugins.registry import PluginDesc
from tests.harness.worker import WorkerProcess

HANGING_CLASS = "tests.HangingSource"
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


def _hang_s(config: Config) -> float:
    return float(config.get("hang.s", HANG_S))


class HangingTask:
    """Polls for ever without finding anything, or hangs as its config says."""

    def __init__(self) -> None:
        self._config: Config = {}

    async def start(self, context: spi.TaskContext, config: Config) -> None:
        """Keep the config; may block."""
        self._config = config
        if config.get("hang") == TASK_START_BLOCKING:
            time.sleep(_hang_s(config))  # noqa: ASYNC251 - what is tested

    async def poll(self) -> Sequence[Emission]:
        """Nothing ever comes; may block."""
        if self._config.get("hang") == POLL_BLOCKING:
            time.sleep(_hang_s(self._config))  # noqa: ASYNC251 - what is tested
        await asyncio.Event().wait()
        return []

    async def stop(self) -> None:
        """Nothing to release."""

    def tables(self) -> Sequence[Mapping[str, object]]:
        """No inputs."""
        return []


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
            ]
        )

    @classmethod
    def task_class(cls) -> type[spi.SourceTask]:
        """Its tasks."""
        return HangingTask

    @classmethod
    def validate(cls, config: Config) -> Mapping[str, Sequence[str]]:
        """No problems; may take long."""
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
        if config.get("hang") == START:
            await asyncio.sleep(_hang_s(config))
        if config.get("hang") == START_BLOCKING:
            time.sleep(_hang_s(config))  # noqa: ASYNC251 - what is tested

    async def task_configs(self, tasks_max: int) -> Sequence[Config]:
        """As many as allowed."""
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
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return int(runner.run(process.run_worker(config, registry=registry)))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
