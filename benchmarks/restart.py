"""``make bench NAME=restart``: 200 connectors come up again after their worker was restarted."""

from __future__ import annotations

import argparse
import json
import time

from benchmarks.rest_rig import control_rig
from benchmarks.rig import say
from benchmarks.sizes import size


def main() -> None:
    """Measure, and print the result as the last line."""
    options = _parse()
    result: dict[str, object] = {
        "bench": "restart",
        "connectors": options.connectors,
        "tasks": options.connectors * options.tasks,
    }
    with control_rig("restart") as rig:
        began_s = time.monotonic()
        rig.create(options.connectors, tasks=options.tasks)
        rig.wait_running(options.connectors, tasks=options.tasks)
        result["created_s"] = round(time.monotonic() - began_s, 2)
        say(f"{options.connectors} connectors run")
        for how in ("killed", "stopped"):
            if how == "killed":
                rig.worker.kill9()
            else:
                rig.worker.sigterm()
            began_s = time.monotonic()
            rig.worker.start()
            answers_s = time.monotonic() - began_s
            client = rig.client()
            while len(client.request("GET", "/connectors") or []) < options.connectors:
                time.sleep(0.01)
            listed_s = time.monotonic() - began_s
            rig.wait_running(options.connectors, tasks=options.tasks)
            result[how] = {
                "answers_s": round(answers_s, 2),
                "all_listed_s": round(listed_s, 2),
                "all_running_s": round(time.monotonic() - began_s, 2),
                "cpu_s": round(rig.cpu_s(), 2),
            }
            say(f"{how}: {result[how]}")
    print(json.dumps(result))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench NAME=restart", description=__doc__)
    parser.add_argument("--connectors", type=size, default=200, help="connectors (200)")
    parser.add_argument("--tasks", type=size, default=1, help="tasks of each (1)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
