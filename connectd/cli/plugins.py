"""``connectd plugins``: what is installed."""

from __future__ import annotations

import argparse
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

Exit codes:
  0  listed
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = screen.add_command(commands, "plugins", "list the installed plugins", _HELP)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(command=_plugins)


def _plugins(options: argparse.Namespace) -> int:
    from connectd.app import bundled

    found = bundled.plugin_registry().plugins(connectors_only=False)
    if options.json:
        screen.print_json(found)
    else:
        rows = [(plugin["type"], plugin["version"], plugin["class"]) for plugin in found]
        screen.print_table(("TYPE", "VERSION", "CLASS"), rows)
    return ExitCode.CLEAN
