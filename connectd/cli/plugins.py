"""``connectd plugins``: what is installed."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from connectd.app.exit_code import ExitCode
from connectd.cli import screen

if TYPE_CHECKING:
    from connectd.cli.screen import Commands

_HELP = """
Lists the installed plugins: connectors, converters, transforms, predicates. The class is what a
config names in connector.class, key.converter, transforms.<alias>.type and so on; its last part is
enough where it is unambiguous.

  connectd plugins
  connectd plugins --json | jq -r '.[] | select(.type == "source") | .class'

--json prints what GET /connector-plugins?connectorsOnly=false answers.

Plugins of other packages that are installed and cannot be used are told of on standard error.

Exit codes:
  0  listed
  1  listed, but a plugin of another package cannot be used
  2  interrupted
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = screen.add_command(commands, "plugins", "list the installed plugins", _HELP)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(command=_plugins)


def _plugins(options: argparse.Namespace) -> int:
    from connectd.app import bundled
    from connectd.observe import logs

    logs.configure(logs.LogFormat.CONSOLE, "FATAL", sys.stderr)
    registry = bundled.plugin_registry()
    found = registry.plugins(connectors_only=False)
    with screen.telling():
        if options.json:
            screen.print_json(found)
        else:
            rows = [(plugin["type"], plugin["version"], plugin["class"]) for plugin in found]
            screen.print_table(("TYPE", "VERSION", "CLASS"), rows)
    for each in registry.unusable:
        screen.complain(f"connectd: {each.problem}")
    return ExitCode.FAILED if registry.unusable else ExitCode.CLEAN
