"""``make bench NAME=rest_load``: 50 connectors with 4 tasks each, polled by watchers.

Each watcher does, over and over, what kafka-connect-watcher does: list everything, expanded, then
ask for the status of every connector. No wait in between: the rate is what the worker gives.
"""

from __future__ import annotations

import argparse
import json
import threading
import time

from benchmarks.rest_rig import Latencies, control_rig, side_by_side
from benchmarks.rig import say
from benchmarks.sizes import size
from tests.harness.processes import HarnessError

EXPANDED = "/connectors?expand=status&expand=info"


def main() -> None:
    """Measure, and print the result as the last line."""
    options = _parse()
    listing, statuses = Latencies(), Latencies()
    names = [f"c{number}" for number in range(options.connectors)]

    with control_rig("rest-load") as rig:
        rig.create(options.connectors, tasks=options.tasks)
        rig.wait_running(options.connectors, tasks=options.tasks)
        say(f"{options.connectors} connectors with {options.tasks} tasks each run")

        def watch(number: int, ended: threading.Event) -> None:
            everything, one = rig.client(listing), rig.client(statuses)
            while not ended.is_set():
                found = everything.request("GET", EXPANDED)
                if found is not None and len(found) != options.connectors:
                    raise HarnessError(f"{len(found)} connectors are listed")
                for name in names:
                    if not ended.is_set():
                        one.request("GET", f"/connectors/{name}/status")
            everything.close()
            one.close()

        cpu_before_s, began_s = rig.cpu_s(), time.monotonic()
        side_by_side(options.watchers, watch, for_s=options.seconds)
        wall_s, used_s = time.monotonic() - began_s, rig.cpu_s() - cpu_before_s

    count = len(listing.times_s) + len(statuses.times_s)
    print(
        json.dumps(
            {
                "bench": "rest_load",
                "connectors": options.connectors,
                "tasks": options.connectors * options.tasks,
                "watchers": options.watchers,
                "requests_per_second": round(count / wall_s),
                "cpu_ms_per_request": round(used_s / count * 1000, 3),
                "failures": len(listing.failures) + len(statuses.failures),
                "listing": listing.summary_ms(),
                "status": statuses.summary_ms(),
            }
        )
    )


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench NAME=rest_load", description=__doc__)
    parser.add_argument("--connectors", type=size, default=50, help="connectors (50)")
    parser.add_argument("--tasks", type=size, default=4, help="tasks of each (4)")
    parser.add_argument("--watchers", type=size, default=5, help="watchers side by side (5)")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long they ask (10)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
