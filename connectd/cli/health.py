"""``connectd health``: whether a worker is well, for probes of containers and for people."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from connectd.app.exit_code import ExitCode
from connectd.cli import screen, worker_api

if TYPE_CHECKING:
    from connectd.cli.screen import Commands

_HELP = """
Asks a worker's GET /health, and prints what it says of itself.

  connectd health
  connectd health --url http://127.0.0.1:8083 --path /connectd/health/live

The worker is the one of --url, or of CONNECTD_URL in the environment. A login stands in the URL, or
in CONNECTD_USER and CONNECTD_PASSWORD.

Exit codes:
  0  it is well
  1  it is not, or does not answer
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = screen.add_command(commands, "health", "ask whether a worker is well", _HELP)
    parser.add_argument(
        "--url", help=f"a worker's REST API (default: CONNECTD_URL, or {worker_api.DEFAULT_URL})"
    )
    parser.add_argument("--path", default="/health", help="what to ask (default: %(default)s)")
    parser.set_defaults(command=_health)


def _health(options: argparse.Namespace) -> int:
    url = options.url or os.environ.get("CONNECTD_URL") or worker_api.DEFAULT_URL
    answer = worker_api.WorkerApi(url).ask("GET", options.path)
    told = answer.document if isinstance(answer.document, dict) else {}
    print(told.get("message") or told.get("status") or f"the worker answers {answer.status}")
    return ExitCode.CLEAN if answer.status == 200 else ExitCode.FAILED
