"""The command line: ``connectd run | plugins | reference``; ``--help`` explains each."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path

import structlog
import uvloop

import connectd
from connectd import app
from connectd.app import ExitCode, worker_file
from connectd.configdef.reference import render_reference
from connectd.configdef.worker import WorkerConfig
from connectd.configdef.worker_keys import WORKER_DEF
from connectd.errors import ConfigError, ConnectdError
from connectd.observe import logs, redaction
from connectd.observe.logs import LogFormat

_log = structlog.get_logger(__name__)

_RUN_HELP = """
Starts one worker from a Kafka Connect properties file and serves until SIGTERM or SIGINT.

  connectd run config/worker.properties
  CONNECT_BOOTSTRAP_SERVERS=kafka:9092 connectd run config/worker.properties

Every key can be overridden by the environment: CONNECT_ + the key in capitals, dots as underscores.
All keys stand in config/REFERENCE.md ("connectd reference" prints it).

Exit codes:
  0  stopped; everything that Kafka acknowledged is committed
  1  a service of the worker failed; the last log lines say which
  2  the configuration, or what it points to, cannot be used
  3  stopped, but a tail is not committed: it will be sent again at the next start
"""


def main(arguments: list[str] | None = None) -> int:
    """Entry point of the ``connectd`` command; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except ConfigError as error:
        print(f"connectd: {error}", file=sys.stderr)
        return ExitCode.CONFIG
    except BrokenPipeError:
        return ExitCode.CLEAN


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="connectd",
        description="A Kafka Connect worker that copies DynamoDB tables into Kafka.",
    )
    parser.add_argument("--version", action="version", version=f"connectd {connectd.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    run = commands.add_parser(
        "run",
        help="run a worker",
        description=_RUN_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run.add_argument("properties", type=Path, help="the worker's properties file")
    run.set_defaults(command=_run)
    plugins = commands.add_parser(
        "plugins",
        help="list the installed plugins",
        description="Prints kind, version and class of every plugin, one a line.",
    )
    plugins.set_defaults(command=_plugins)
    reference = commands.add_parser(
        "reference",
        help="print every configuration key",
        description="Prints config/REFERENCE.md, generated from the declarations of the keys.",
    )
    reference.set_defaults(command=_reference)
    return parser


def _run(options: argparse.Namespace) -> int:
    config = WorkerConfig.from_properties(worker_file.read(options.properties, os.environ))
    logs.configure(LogFormat(config.log_format), config.log_level, sys.stdout)
    for secret in config.secrets():
        redaction.register_secret(secret)
    for warning in config.warnings():
        _log.warning("worker configuration", problem=warning)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return int(runner.run(app.run_worker(config)))
    except ConfigError as error:
        _log.critical("worker cannot start", error=str(error))
        return ExitCode.CONFIG
    except ConnectdError as error:
        _log.critical("worker failed", error=str(error), kind=type(error).__name__)
        return ExitCode.FAILED
    except KeyboardInterrupt:
        return ExitCode.TAIL_REPEATED


def _plugins(options: argparse.Namespace) -> int:
    for plugin in app.plugin_registry().plugins(connectors_only=False):
        print(f"{plugin['type']:<12} {plugin['version']:<8} {plugin['class']}")
    return ExitCode.CLEAN


def reference_text() -> str:
    """``config/REFERENCE.md``: the worker's keys, then those of every plugin."""
    return render_reference(WORKER_DEF, app.documented_plugins())


def _reference(options: argparse.Namespace) -> int:
    print(reference_text(), end="")
    return ExitCode.CLEAN


if __name__ == "__main__":
    sys.exit(main())
