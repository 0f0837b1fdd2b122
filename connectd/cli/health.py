"""``connectd health``: whether a worker is well, for probes of containers and for people."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any, Final

from connectd.app.exit_code import ExitCode
from connectd.cli import screen, worker_api

if TYPE_CHECKING:
    from connectd.cli.screen import Commands

_HELP = """
Asks a worker whether it lives, and prints what it says of itself. With --ready: whether it has read
its topics and the brokers answer. Neither needs a login.

  connectd health
  connectd health --ready --url http://127.0.0.1:8083
  connectd health --path /health

The worker is the one of --url, or of CONNECTD_URL in the environment. Where a path asks for
a login, it stands in the URL, or in CONNECTD_USER and CONNECTD_PASSWORD.

Exit codes:
  0  it is well
  1  it is not, or does not answer
"""


_LIVE: Final = "/connectd/health/live"
_READY: Final = "/connectd/health/ready"
"""Open to everybody, unlike Kafka Connect's ``/health``: who checks a container has no login."""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = screen.add_command(commands, "health", "ask whether a worker is well", _HELP)
    parser.add_argument(
        "--url", help=f"a worker's REST API (default: CONNECTD_URL, or {worker_api.DEFAULT_URL})"
    )
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument("--path", default=_LIVE, help="what to ask (default: %(default)s)")
    asked.add_argument(
        "--ready", dest="path", action="store_const", const=_READY, help=f"the same as {_READY}"
    )
    parser.set_defaults(command=_health)


def _health(options: argparse.Namespace) -> int:
    url = options.url or os.environ.get("CONNECTD_URL") or worker_api.DEFAULT_URL
    answer = worker_api.WorkerApi(url).ask("GET", options.path)
    told = answer.document if isinstance(answer.document, dict) else {}
    print(_words(told) or f"the worker answers {answer.status}")
    return ExitCode.CLEAN if answer.status == 200 else ExitCode.FAILED


def _words(told: dict[str, Any]) -> str:
    """What a worker says of itself, and why."""
    said = str(told.get("message") or told.get("status") or "")
    reasons = told.get("reasons")
    if not isinstance(reasons, list) or not reasons:
        return said
    return f"{said}: {' '.join(map(str, reasons))}"
