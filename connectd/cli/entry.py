"""``connectd COMMAND …``: finds the command, runs it, and turns errors into one line and a code."""

from __future__ import annotations

import argparse
import os
import sys

import connectd
from connectd.app.exit_code import ExitCode
from connectd.cli import (
    connectors,
    health,
    offsets,
    plugins,
    reconcile,
    reference,
    validate,
    worker,
)
from connectd.errors import ConfigError, ConnectdError
from connectd.observe import redaction

_DESCRIPTION = """
A Kafka Connect worker that copies DynamoDB tables into Kafka.

  connectd run config/worker.properties                    one worker of a cluster
  connectd standalone worker.properties connector.json     a worker by itself
  connectd COMMAND --help                                  examples and exit codes of each
"""


def main(arguments: list[str] | None = None) -> int:
    """Entry point of the ``connectd`` command; returns the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help(sys.stderr)
        return ExitCode.CONFIG
    try:
        code = int(options.command(options))
        sys.stdout.flush()
    except BrokenPipeError:  # who reads has seen enough, `connectd reference | head`
        _forget_stdout()
        return ExitCode.CLEAN
    except KeyboardInterrupt:
        return ExitCode.FAILED
    except ConnectdError as error:
        print(f"connectd: {redaction.redact_text(str(error))}", file=sys.stderr)
        return ExitCode.CONFIG if isinstance(error, ConfigError) else ExitCode.FAILED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="connectd",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"connectd {connectd.__version__}")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in (
        worker, validate, plugins, reference, connectors, offsets, reconcile, health
    ):  # fmt: skip
        command.add(commands)
    return parser


def _forget_stdout() -> None:
    """Send what is still buffered nowhere, or Python complains of the pipe at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
