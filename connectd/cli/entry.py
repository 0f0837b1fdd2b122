"""``connectd COMMAND …``: finds the command, runs it, and turns errors into one line and a code."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress

import connectd
from connectd.app.exit_code import ExitCode
from connectd.cli import (
    connectors,
    health,
    interrupts,
    offsets,
    plugins,
    reconcile,
    reference,
    screen,
    validate,
    worker,
)
from connectd.cli.interrupts import HeldInterrupts
from connectd.errors import ConfigError, ConnectdError
from connectd.observe import redaction

_DESCRIPTION = """
A Kafka Connect worker that copies DynamoDB tables into Kafka.

  connectd run config/worker.properties                    one worker of a cluster
  connectd standalone worker.properties connector.json     a worker by itself
  connectd COMMAND --help                                  examples and exit codes of each
"""


def run(arguments: list[str] | None, held: HeldInterrupts) -> int:
    """Find the command and run it; returns the exit code. Interrupts are ``held`` until then."""
    screen.open_streams()
    parser = _parser()
    try:
        options = parser.parse_args(arguments)
    except SystemExit:  # help, or a mistake
        with suppress(ConnectdError), screen.telling():
            """What it has printed goes out, if it can."""
        raise
    if options.command is None:
        parser.print_help(sys.stderr)
        return ExitCode.CONFIG
    try:
        held.let_go()
        return int(options.command(options))
    except KeyboardInterrupt:
        interrupts.forget_interrupt()
        return int(options.interrupted)
    except ConnectdError as error:
        return _failed(error)


def _failed(error: ConnectdError) -> int:
    screen.complain(f"connectd: {redaction.redact_text(str(error))}")
    return ExitCode.CONFIG if isinstance(error, ConfigError) else ExitCode.FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="connectd",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"connectd {connectd.__version__}")
    # Of a command that does not say something else. It is the verdict of none: nothing is known.
    parser.set_defaults(command=None, interrupted=ExitCode.CONFIG)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in (
        worker, validate, plugins, reference, connectors, offsets, reconcile, health
    ):  # fmt: skip
        command.add(commands)
    return parser
