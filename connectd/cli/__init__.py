"""The command line: one module per command, each with a ``--help`` that teaches.

A command module declares its arguments (``add``) and imports what it needs when it runs: help and
mistakes are answered without loading a worker. Nothing at all is imported here but what hears an
interrupt, and what ends the process.
"""

from __future__ import annotations

from typing import NoReturn

from connectd.app.leaving import run_and_leave
from connectd.cli.interrupts import HeldInterrupts


def main(arguments: list[str] | None = None) -> int:
    """One command, in a process of which it is only a part; returns the exit code."""
    held = HeldInterrupts()
    try:
        from connectd.cli import entry

        return entry.run(arguments, held)
    finally:
        held.close()


def program() -> NoReturn:
    """Entry point of the ``connectd`` command, which is all that its process does."""
    run_and_leave(main)
