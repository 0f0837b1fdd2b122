"""``connectd health``: whether a worker is well, for probes of containers and for people."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from connectd.app.exit_code import ExitCode
from connectd.cli import interrupts, screen, worker_api
from connectd.errors import TransientNetworkError

if TYPE_CHECKING:
    from connectd.aio.clock import Clock
    from connectd.cli.screen import Commands

_HELP = """
Asks a worker whether it lives, and prints what it says of itself. With --ready: whether it has read
its topics and the brokers answer. Neither needs a login.

  connectd health
  connectd health --ready --url http://127.0.0.1:8083
  connectd health --path /health
  connectd health --ready --wait 120          (until it is, for pipelines: two minutes at most)

The worker is the one of --url, or of CONNECTD_URL in the environment. Where a path asks for
a login, it stands in the URL, or in CONNECTD_USER and CONNECTD_PASSWORD. A worker of this machine
is never asked through a proxy (http_proxy, https_proxy).

Exit codes:
  0  it is well
  1  it is not, or does not answer; with --wait: in all that time
  2  usage, or interrupted
"""

Ask = Callable[[float], Awaitable[worker_api.Answer]]
"""Asks the worker, and waits so many seconds for an answer."""

_PAUSE_S: Final = 0.5
"""Between two questions of ``--wait``."""

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
    asked.add_argument(
        "--path", type=worker_api.url_path, default=_LIVE,
        help="what to ask (default: %(default)s)",
    )  # fmt: skip
    asked.add_argument(
        "--ready", dest="path", action="store_const", const=_READY, help=f"the same as {_READY}"
    )
    parser.add_argument(
        "--wait", default=0.0, metavar="SECONDS",
        type=screen.number(float, 0.0, worker_api.WAIT_MAX_S, "a number of seconds"),
        help="ask again until it is well, for so long at most (default: ask once)",
    )  # fmt: skip
    parser.set_defaults(command=_health, interrupted=ExitCode.CONFIG)


def _health(options: argparse.Namespace) -> int:
    url = options.url or os.environ.get("CONNECTD_URL") or worker_api.DEFAULT_URL
    api = worker_api.WorkerApi(url)
    with interrupts.asked_to_end():
        if options.wait:
            answer = _awaited(api, options.path, options.wait)
        else:
            answer = api.ask("GET", options.path)
    told = answer.document if isinstance(answer.document, dict) else {}
    with screen.telling():
        print(_words(told) or f"the worker answers {answer.status}")
    return ExitCode.CLEAN if answer.status == 200 else ExitCode.FAILED


def _awaited(api: worker_api.WorkerApi, path: str, wait_s: float) -> worker_api.Answer:
    from connectd.aio.clock import LoopClock

    async def ask(deadline_s: float) -> worker_api.Answer:
        return await api.answer("GET", path, deadline_s=deadline_s)

    return asyncio.run(when_well(ask, LoopClock(), wait_s))


async def when_well(ask: Ask, clock: Clock, wait_s: float) -> worker_api.Answer:
    """The first answer that is good, or that will stay (a path or a login is wrong), or the last.

    Raises:
        TransientNetworkError: nobody answered last.
    """
    until_s = clock.monotonic() + wait_s
    while True:
        left_s = max(until_s - clock.monotonic(), _PAUSE_S)
        is_last = left_s <= _PAUSE_S
        try:
            answer = await ask(left_s)
            if is_last or answer.status < HTTPStatus.INTERNAL_SERVER_ERROR:
                return answer
        except TransientNetworkError:
            if is_last:
                raise
        await clock.sleep(_PAUSE_S)


def _words(told: dict[str, Any]) -> str:
    """What a worker says of itself, and why."""
    said = str(told.get("message") or told.get("status") or "")
    reasons = told.get("reasons")
    if not isinstance(reasons, list) or not reasons:
        return said
    return f"{said}: {' '.join(map(str, reasons))}"
