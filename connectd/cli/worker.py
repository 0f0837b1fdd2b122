"""``connectd run`` and ``connectd standalone``: a worker in the foreground."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from connectd.app.exit_code import ExitCode
from connectd.cli import interrupts, screen

if TYPE_CHECKING:
    from connectd.cli.screen import Commands
    from connectd.configdef.connector_file import ConnectorFile
    from connectd.configdef.worker import Mode

_OVERRIDES = """
Every key can be overridden by the environment: CONNECT_ + the key in capitals, dots as underscores.
All keys stand in config/REFERENCE.md ("connectd reference" prints it).
"""

_RUN_HELP = f"""
Starts one worker of a Connect cluster from a properties file, and serves until SIGTERM or SIGINT.
Configs, positions and states are in three compacted topics.

  connectd run config/worker.properties
  CONNECT_BOOTSTRAP_SERVERS=kafka:9092 connectd run config/worker.properties
{_OVERRIDES}
Exit codes:
  0  stopped; everything that Kafka acknowledged is committed
  1  a service of the worker failed; the last log lines say which
  2  the configuration, or what it points to, cannot be used
  3  stopped, but a tail is not committed: it will be sent again at the next start
"""

_STANDALONE_HELP = f"""
Starts a worker by itself: no group and no topics of its own. Positions are in a file, configs and
states in memory. It creates the connectors given here one after the other, and serves the same REST
API until SIGTERM or SIGINT.

  connectd standalone worker.properties connector.properties
  connectd standalone worker.properties one.json two.json

The worker's file needs key.converter, value.converter and offset.storage.file.filename. That file
is the one of the Java worker (connect-standalone): stop that worker, start this one, and it goes
on from there; so it does the other way round.

A connector's file is a properties file, a flat JSON object, or what one would send to POST
/connectors: {{"name": …, "config": {{…}}, "initial_state": "RUNNING" | "PAUSED" | "STOPPED"}}.
{_OVERRIDES}
Exit codes: (in brackets: those of connect-standalone in the same case)
  0  stopped; everything that Kafka acknowledged is committed               (0)
  1  a service of the worker, or a connector that was given here, failed    (3)
  2  usage, a configuration or a file that cannot be used; a broken
     connector file; another worker has the offset file                     (1, 2 or 3)
  3  stopped, but a tail is not committed: it will be sent again            (0)
"""


def add(commands: Commands) -> None:
    """Declare both commands."""
    run = screen.add_command(commands, "run", "run a worker of a cluster", _RUN_HELP)
    run.add_argument("properties", type=Path, help="the worker's properties file")
    run.set_defaults(command=_run, interrupted=ExitCode.CLEAN)
    standalone = screen.add_command(
        commands, "standalone", "run a worker by itself, with its positions in a file",
        _STANDALONE_HELP,
    )  # fmt: skip
    standalone.add_argument("properties", type=Path, help="the worker's properties file")
    standalone.add_argument(
        "connectors", type=Path, nargs="*", metavar="connector", help="a connector's file"
    )
    standalone.set_defaults(command=_standalone, interrupted=ExitCode.CLEAN)


def _run(options: argparse.Namespace) -> int:
    def serve() -> int:
        from connectd.configdef.worker import Mode

        return _serve(options.properties, Mode.DISTRIBUTED, [])

    return _ending_cleanly(serve)


def _standalone(options: argparse.Namespace) -> int:
    def serve() -> int:
        from connectd.configdef import connector_file
        from connectd.configdef.worker import Mode

        connectors = [connector_file.load(path) for path in options.connectors]
        return _serve(options.properties, Mode.STANDALONE, connectors)

    return _ending_cleanly(serve)


def _ending_cleanly(serve: Callable[[], int]) -> int:
    """Hear SIGTERM while the program is still being loaded; nothing has begun then.

    The first process of a container does not hear it without a handler of its own.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return serve()
    except KeyboardInterrupt:
        interrupts.forget_interrupt()
        return ExitCode.CLEAN


def _serve(path: Path, mode: Mode, connectors: list[ConnectorFile]) -> int:
    import structlog

    from connectd.app import process, worker_file
    from connectd.configdef import rest_login
    from connectd.configdef.worker import WorkerConfig
    from connectd.observe import logs, redaction

    jvm_options = {name: os.environ.get(name, "") for name in rest_login.JVM_OPTION_VARIABLES}
    config = WorkerConfig.from_properties(
        worker_file.read(path, os.environ), mode=mode, environ=jvm_options
    )
    logs.configure(logs.LogFormat(config.log_format), config.log_level, sys.stdout)
    log = structlog.get_logger(__name__)
    for secret in config.secrets():
        redaction.register_secret(secret)
    for warning in config.warnings():
        log.warning("worker configuration", problem=warning)
    return process.serve(config, connectors)
