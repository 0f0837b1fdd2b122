"""``make bench NAME=hanging``: a connector hangs for 120 s; how long do all other requests take?

Once in each way that a plugin can hang: awaiting in ``start``, sleeping or computing in
``validate``, and, against the rules, blocking the event loop in ``start`` of the connector, in
``start`` of its tasks and in ``poll``. Each way has a worker of its own, which is killed after it.
"""

from __future__ import annotations

import argparse
import json
import threading
from typing import Any

from benchmarks.rest_rig import Client, ControlRig, Latencies, control_rig, side_by_side
from benchmarks.rig import say
from tests.harness import probe_worker
from tests.harness.probe_worker import HANGING_CLASS
from tests.harness.processes import HarnessError

WAYS = (
    probe_worker.START,
    probe_worker.VALIDATE,
    probe_worker.VALIDATE_BUSY,
    probe_worker.START_BLOCKING,
    probe_worker.TASK_START_BLOCKING,
    probe_worker.POLL_BLOCKING,
)
SOURCE = {"connector.class": HANGING_CLASS, "tasks.max": "1"}


def main() -> None:
    """Measure, and print the result as the last line."""
    options = _parse()
    ways: dict[str, Any] = {}
    for way in WAYS:
        with control_rig(f"hanging-{way}") as rig:
            ways[way] = _measure(rig, way, options.seconds)
            say(f"{way}: {ways[way]}")
            rig.worker.kill9()
    slowest = max(each["max_ms"] for each in ways.values())
    print(json.dumps({"bench": "hanging", "max_ms": slowest, "ways": ways}))


def _measure(rig: ControlRig, way: str, seconds: float) -> dict[str, float]:
    rig.create(5, tasks=1)
    rig.wait_running(5, tasks=1)
    latencies = Latencies()

    def hang() -> None:
        config = {**SOURCE, "hang": way, "hang.s": str(probe_worker.HANG_S)}
        rig.client().request("PUT", "/connectors/bad/config", config)

    def ask(number: int, ended: threading.Event) -> None:
        client = rig.client(latencies)
        while not ended.is_set():
            _ask_everything(client, number)
        client.close()

    threading.Thread(target=hang, daemon=True).start()
    side_by_side(2, ask, for_s=seconds)
    if latencies.failures:
        raise HarnessError(f"{way}: {latencies.failures[:3]}")
    return latencies.summary_ms()


def _ask_everything(client: Client, number: int) -> None:
    client.request("GET", "/")
    client.request("GET", "/health")
    client.request("GET", "/connectors?expand=status&expand=info")
    client.request("GET", f"/connectors/c{number}/status")
    client.request("PUT", f"/connectors/c{number}/config", SOURCE)
    client.request("PUT", f"/connector-plugins/{HANGING_CLASS}/config/validate", SOURCE)
    client.request("PUT", f"/connectors/c{number}/pause")
    client.request("PUT", f"/connectors/c{number}/resume")
    client.request("POST", f"/connectors/c{number}/restart?includeTasks=true")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench NAME=hanging", description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each way (5)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
