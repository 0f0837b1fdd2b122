"""Wires the processes of a worker's tasks, as seen from the worker."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable

from connectd.aio.clock import Clock
from connectd.configdef import rest_login
from connectd.configdef.worker import Mode, WorkerConfig
from connectd.observe.logs import LogFormat
from connectd.runtime.cores import spawning
from connectd.runtime.cores.processes import ProcessSettings, TaskProcesses


def task_processes(
    config: WorkerConfig, clock: Clock, on_failure: Callable[[BaseException], None], program: str
) -> TaskProcesses | None:
    """The processes that the configuration asks for; None: tasks run in the worker's own.

    ``program`` is their module.
    """
    if config.workers == 1:
        return None
    settings = ProcessSettings(
        places=config.workers,
        mode=(Mode.STANDALONE if config.cluster is None else Mode.DISTRIBUTED).value,
        log_format=_log_format(config).value,
        properties=dict(config.properties),
        environ={name: os.environ.get(name, "") for name in rest_login.JVM_OPTION_VARIABLES},
        spark_places=config.spark.drivers_max,
    )
    start = functools.partial(spawning.spawned, program=program)
    return TaskProcesses(settings, start=start, clock=clock, on_failure=on_failure)


def _log_format(config: WorkerConfig) -> LogFormat:
    """What ``auto`` comes to: the processes have no terminal of their own."""
    chosen = LogFormat(config.log_format)
    if chosen is not LogFormat.AUTO:
        return chosen
    return LogFormat.CONSOLE if sys.stdout.isatty() else LogFormat.JSON
