"""``connectd connectors apply``: connectors as files say, through a worker's REST API."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from connectd.app.exit_code import ExitCode
from connectd.cli import screen, worker_api
from connectd.cli.screen import Colour
from connectd.errors import ConfigError

if TYPE_CHECKING:
    from connectd.cli.applying import Result
    from connectd.cli.screen import Commands
    from connectd.configdef.connector_file import ConnectorFile

_HELP = """
Creates connectors that are not there and changes those whose config differs; nothing else is
touched, so it may run as often as one likes: from a pipeline, from a Job of the Helm chart.

  connectd connectors apply orders.json customers.properties
  connectd connectors apply connectors/                  (every .json and .properties in it)
  connectd connectors apply --delete-unlisted connectors/

A file is a properties file, a flat JSON object, or {"name": …, "config": {…}, "initial_state":
"RUNNING" | "PAUSED" | "STOPPED"}; the last is for a connector that is not there yet: the state of
one that is there stays. Connectors of the group that no file has are kept, and named; with
--delete-unlisted they are deleted, so that the files are all there is.

A running worker is asked by its REST API (--url, or CONNECTD_URL in the environment), and waited
for until it answers for its group. A login stands in the URL, or in CONNECTD_USER and
CONNECTD_PASSWORD. A certificate authority of one's own stands in SSL_CERT_FILE.

Exit codes:
  0  every connector is as its file says
  1  the worker refused one, in its own words, or was not ready in time
  2  usage, or a file that cannot be used
"""

_DEADLINE_S = 300.0
_SUFFIXES = (".json", ".properties")


def add(commands: Commands) -> None:
    """Declare the command and its verb."""
    parser = screen.add_command(commands, "connectors", "create and change connectors", _HELP)
    verbs = parser.add_subparsers(title="what to do", metavar="VERB", required=True)
    applying = verbs.add_parser("apply", help="create and change connectors as files say")
    applying.add_argument(
        "--url", help=f"a worker's REST API (default: CONNECTD_URL, or {worker_api.DEFAULT_URL})"
    )
    applying.add_argument(
        "--deadline", type=float, default=_DEADLINE_S, metavar="SECONDS",
        help="how long to wait for the worker, in all (default: %(default)g)",
    )  # fmt: skip
    applying.add_argument(
        "--delete-unlisted", action="store_true", help="delete connectors that no file has"
    )
    applying.add_argument("files", type=Path, nargs="+", metavar="FILE")
    applying.set_defaults(command=_apply)


def _apply(options: argparse.Namespace) -> int:
    from connectd.aio.clock import LoopClock
    from connectd.cli import applying

    files = applying.distinct(_loaded(options.files))
    if options.delete_unlisted and not files:
        raise ConfigError(
            "there is no file of a connector, and --delete-unlisted would delete every connector "
            "of the group; delete the last one by hand"
        )
    url = options.url or os.environ.get("CONNECTD_URL") or worker_api.DEFAULT_URL
    api = worker_api.WorkerApi(url)

    async def ask(method: str, path: str, body: object) -> worker_api.Answer:
        return await asyncio.to_thread(api.ask, method, path, body)

    async def run() -> list[Result]:
        work = applying.Applying(ask, LoopClock(), deadline_s=options.deadline, tell=_print)
        return await work.run(files, deletes_unlisted=options.delete_unlisted)

    results = asyncio.run(run())
    refused = any(result.outcome is applying.Outcome.REFUSED for result in results)
    return ExitCode.FAILED if refused else ExitCode.CLEAN


def _loaded(paths: Sequence[Path]) -> list[ConnectorFile]:
    from connectd.configdef import connector_file

    return [connector_file.load(file) for path in paths for file in _files(path)]


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(each for each in path.iterdir() if each.suffix in _SUFFIXES)


def _print(result: Result) -> None:
    from connectd.cli.applying import Outcome

    if result.outcome is Outcome.REFUSED:
        print(f"{result.name}: {screen.coloured('refused', Colour.RED)}: {result.words}")
    else:
        print(f"{result.name}: {result.outcome.value}")
    sys.stdout.flush()
