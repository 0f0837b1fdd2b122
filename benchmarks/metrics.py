"""``make bench NAME=metrics``: pages about 1,000 tables are asked for while others want answers.

A connector with 10 tasks shows 1,000 tables, as the DynamoDB connector does; no data moves, so that
what is measured is the page. Each path of ``--paths`` is asked for every ``--interval`` seconds;
meanwhile another client asks ``/connectd/health/live`` again and again: what it waits for is what
everything else on the event loop waits for. First it asks alone, for comparison. The interval is
longer than an answer of /metrics is used again, so that each is made anew.
"""

from __future__ import annotations

import argparse
import json
import threading

from benchmarks.rest_rig import ControlRig, Latencies, control_rig, side_by_side
from benchmarks.rig import say
from benchmarks.sizes import size
from tests.harness.probe_worker import HANGING_CLASS
from tests.harness.processes import HarnessError

LIVE = "/connectd/health/live"
ALONE_S = 3.0
PAUSE_S = 0.002
"""Between two questions of that client: it is to feel the loop, not to fill it."""


def main() -> None:
    """Measure, and print the result as the last line."""
    options = _parse()
    with control_rig("metrics") as rig:
        _create(rig, options.tables, options.tasks)
        alone = _live_latencies(rig, None, [], ALONE_S)
        say(f"{options.tables} tables in {options.tasks} tasks are shown")
        results = {}
        for path in options.paths:
            asked = Latencies()
            sizes: list[int] = []
            used_s = rig.cpu_s()
            live = _live_latencies(
                rig, (path, asked, options.interval), sizes, options.scrapes * options.interval
            )
            if asked.failures:
                raise HarnessError(f"asking for {path}: {asked.failures[:3]}")
            results[path] = {
                **asked.summary_ms(),
                "bytes": max(sizes),
                "cpu_s": round(rig.cpu_s() - used_s, 2),
                "live": live.summary_ms(),
            }
    print(
        json.dumps(
            {
                "bench": "metrics",
                "tables": options.tables,
                "tasks": options.tasks,
                "live_alone": alone.summary_ms(),
                "paths": results,
            }
        )
    )


def _create(rig: ControlRig, tables: int, tasks: int) -> None:
    config = {
        "connector.class": HANGING_CLASS,
        "tasks.max": str(tasks),
        "tables": str(tables // tasks),
    }
    latencies = Latencies()
    rig.client(latencies).request("PUT", "/connectors/c0/config", config)
    if latencies.failures:
        raise HarnessError(f"creating the connector: {latencies.failures}")
    rig.wait_running(1, tasks=tasks)


def _live_latencies(
    rig: ControlRig, page: tuple[str, Latencies, float] | None, sizes: list[int], for_s: float
) -> Latencies:
    """How long the probe takes, while a page is asked for if there is one."""
    live = Latencies()

    def probe(ended: threading.Event) -> None:
        client = rig.client(live)
        while not ended.wait(PAUSE_S):
            client.request("GET", LIVE)
        client.close()

    def scrape(ended: threading.Event) -> None:
        assert page is not None
        path, latencies, interval_s = page
        client = rig.client(latencies)
        client.fetch("GET", path, timed=False)  # the first one makes what is made once
        while not ended.wait(interval_s):
            sizes.append(len(client.fetch("GET", path) or b""))
        client.close()

    def work(number: int, ended: threading.Event) -> None:
        scrape(ended) if number else probe(ended)

    side_by_side(1 if page is None else 2, work, for_s=for_s)
    if live.failures:
        raise HarnessError(f"asking for {LIVE}: {live.failures[:3]}")
    return live


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench NAME=metrics", description=__doc__)
    parser.add_argument("--tables", type=size, default=1000, help="tables (1000)")
    parser.add_argument("--tasks", type=size, default=10, help="tasks that share them (10)")
    parser.add_argument("--scrapes", type=size, default=15, help="how often each is asked for (15)")
    parser.add_argument("--interval", type=float, default=1.1, help="seconds in between (1.1)")
    parser.add_argument("--paths", nargs="+", default=["/metrics"], help="pages (/metrics)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
