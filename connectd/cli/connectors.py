"""``connectd connectors apply``: connectors as files say, through a worker's REST API."""

from __future__ import annotations

import argparse
import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from connectd.app.exit_code import ExitCode
from connectd.cli import interrupts, screen, worker_api
from connectd.cli.screen import Colour
from connectd.errors import ConfigError, ConnectdError

if TYPE_CHECKING:
    from connectd.cli.applying import Result
    from connectd.cli.screen import Commands

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

A directory is taken whole: a file in it that is neither .json nor .properties is a mistake, and
nothing is changed (hidden files are left alone). A file that cannot be used is told of and the
others are seen to; --delete-unlisted deletes nothing then, since nobody knows what it is about.

A running worker is asked by its REST API (--url, or CONNECTD_URL in the environment), and waited
for until it answers for its group. A login stands in the URL, or in CONNECTD_USER and
CONNECTD_PASSWORD. A certificate authority of one's own stands in SSL_CERT_FILE. A worker of this
machine is never asked through a proxy (http_proxy, https_proxy).

Exit codes:
  0  every connector is as its file says
  1  the worker refused one, in its own words, or was not ready in time
  2  usage, a file that cannot be used, or interrupted
"""

_DEADLINE_S = 300.0


def add(commands: Commands) -> None:
    """Declare the command and its verb."""
    parser = screen.add_command(commands, "connectors", "create and change connectors", _HELP)
    verbs = parser.add_subparsers(title="what to do", metavar="VERB", required=True)
    applying = verbs.add_parser("apply", help="create and change connectors as files say")
    applying.add_argument(
        "--url", help=f"a worker's REST API (default: CONNECTD_URL, or {worker_api.DEFAULT_URL})"
    )
    applying.add_argument(
        "--deadline", default=_DEADLINE_S, metavar="SECONDS",
        type=screen.number(float, 0.0, worker_api.WAIT_MAX_S, "a number of seconds"),
        help="how long to wait for the worker, in all (default: %(default)g)",
    )  # fmt: skip
    applying.add_argument(
        "--delete-unlisted", action="store_true", help="delete connectors that no file has"
    )
    applying.add_argument("files", type=Path, nargs="+", metavar="FILE")
    applying.set_defaults(command=_apply, interrupted=ExitCode.CONFIG)


def _apply(options: argparse.Namespace) -> int:
    from connectd.aio.clock import LoopClock
    from connectd.cli import applying, connector_files

    url = options.url or os.environ.get("CONNECTD_URL") or worker_api.DEFAULT_URL
    api = worker_api.WorkerApi(url)
    found = connector_files.collect(options.files, are_all=options.delete_unlisted)
    for problem in found.problems:
        screen.complain(f"connectd: {problem}")
    if found.problems and not found.files:
        raise ConfigError("no file can be used; nothing is changed")
    if found.problems and options.delete_unlisted:
        screen.complain("connectd: nothing is deleted, since not every file can be used")
    unwritten: list[ConnectdError] = []

    def tell(result: Result) -> None:
        try:
            with screen.telling():
                _print(result)
        except ConnectdError as error:  # told at the end: connectors do not depend on it
            unwritten.append(error)

    async def ask(method: str, path: str, body: object, deadline_s: float) -> worker_api.Answer:
        return await api.answer(method, path, body, deadline_s=deadline_s)

    async def run() -> list[Result]:
        work = applying.Applying(ask, LoopClock(), deadline_s=options.deadline, tell=tell)
        deletes = options.delete_unlisted and not found.problems
        return await work.run(found.files, deletes_unlisted=deletes)

    with interrupts.asked_to_end():
        results = asyncio.run(run())
    if found.problems:
        return ExitCode.CONFIG
    if unwritten:
        raise unwritten[0]
    refused = any(result.outcome is applying.Outcome.REFUSED for result in results)
    return ExitCode.FAILED if refused else ExitCode.CLEAN


def _print(result: Result) -> None:
    from connectd.cli.applying import Outcome

    if result.outcome is Outcome.REFUSED:
        print(f"{result.name}: {screen.coloured('refused', Colour.RED)}: {result.words}")
    else:
        print(f"{result.name}: {result.outcome.value}")
