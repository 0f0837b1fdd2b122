"""``connectd reference``: every configuration key."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from connectd.app.exit_code import ExitCode
from connectd.cli import screen

if TYPE_CHECKING:
    from connectd.cli.screen import Commands

_HELP = """
Prints every configuration key with type, default, accepted values and meaning, generated from the
declarations that the worker itself reads.

  connectd reference | less
  connectd reference > config/REFERENCE.md
  connectd reference --format json | jq -r '.sections[0].keys[].name'

The JSON form has sections with a title and keys; a key looks as in
GET /connector-plugins/<plugin>/config.

Exit codes:
  0  printed, or as much of it as anybody has read
  1  it cannot be written
  2  interrupted
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = screen.add_command(commands, "reference", "print every configuration key", _HELP)
    parser.add_argument(
        "--format", choices=("md", "json"), default="md", help="Markdown (default) or JSON"
    )
    parser.set_defaults(command=_reference)


def reference_text() -> str:
    """``config/REFERENCE.md``: the worker's keys, then those of every plugin."""
    from connectd.app import bundled
    from connectd.configdef.reference import render_reference
    from connectd.configdef.worker_keys import WORKER_DEF

    return render_reference(WORKER_DEF, _sections_after_worker(bundled.documented_plugins()))


def _reference(options: argparse.Namespace) -> int:
    with screen.telling():
        if options.format == "md":
            print(reference_text(), end="")
        else:
            screen.print_json(_document())
    return ExitCode.CLEAN


def _document() -> dict[str, Any]:
    from connectd.app import bundled
    from connectd.configdef import validation
    from connectd.configdef.worker_keys import WORKER_DEF

    sections = [("Worker", WORKER_DEF), *_sections_after_worker(bundled.documented_plugins())]
    return {
        "sections": [
            {"title": title, "keys": [validation.key_info(key) for key in definition]}
            for title, definition in sections
        ]
    }


def _sections_after_worker(plugins: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    from connectd.configdef.worker_keys import STANDALONE_KEYS

    return [("Standalone worker", STANDALONE_KEYS), *plugins]
