"""The command line: one module per command, each with a ``--help`` that teaches.

A command module declares its arguments (``add``) and imports what it needs when it runs: help and
mistakes are answered without loading a worker. Nothing at all is imported here but what hears an
interrupt.
"""

from __future__ import annotations

from connectd.cli.interrupts import HeldInterrupts


def main(arguments: list[str] | None = None) -> int:
    """Entry point of the ``connectd`` command; returns the exit code."""
    held = HeldInterrupts()
    try:
        from connectd.cli import entry

        return entry.run(arguments, held)
    finally:
        held.close()
