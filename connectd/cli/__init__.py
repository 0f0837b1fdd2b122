"""The command line: one module per command, each with a ``--help`` that teaches.

A command module declares its arguments (``add``) and imports what it needs when it runs: help and
mistakes are answered without loading a worker.
"""

from connectd.cli.entry import main

__all__ = ["main"]
