"""``make bench NAME=tables``: a thousand idle tables with four open shards each, on one worker.

Measured: how long the first start takes and how long a restart, under the limits that AWS sets to
the control plane; and what the worker uses while nothing happens, with a read of every shard each
second, and with the interval that adapts.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from benchmarks.fleet import EVERY_SECOND, Fleet, IdleCost, is_at_work, is_followed
from benchmarks.rig import Rig, machine, peak_rss_mib, rig, say, versions
from benchmarks.sizes import size


def main(arguments: list[str]) -> None:
    """Measure, and print the result as the last line."""
    options = _parse(arguments)
    with rig() as parts:
        fleet = Fleet(parts, options.tables)
        say(f"{options.tables} tables are there")
        result = _measure(parts, fleet, options)
    print(json.dumps(result))


def _measure(parts: Rig, fleet: Fleet, options: argparse.Namespace) -> dict[str, Any]:
    with parts.worker("bench-tables", {"offset.flush.interval.ms": "10000"}) as worker:
        began_s = time.monotonic()
        fleet.configure(worker, options.tasks, **EVERY_SECOND)
        at_work_s = fleet.wait_until(worker, is_at_work, "at work", began_s=began_s)
        say(f"first start: all at work after {at_work_s:.1f} s")
        followed_s = fleet.wait_until(worker, is_followed, "followed", began_s=began_s)
        say(f"first start: all followed after {followed_s:.1f} s; calls {fleet.counts()}")
        worker.sigterm()
        before = fleet.counts()
        began_s = time.monotonic()
        worker.start()
        restart_s = fleet.wait_until(worker, is_followed, "followed", began_s=began_s)
        calls = {
            name: count - before.get(name, 0)
            for name, count in fleet.counts().items()
            if name != "GetRecords" and count > before.get(name, 0)
        }
        say(f"restart: all followed after {restart_s:.1f} s; calls {calls}")
        every_second = _idle(fleet, worker, options, "a read each second")
        fleet.configure(worker, options.tasks)
        adaptive = _idle(fleet, worker, options, "the interval that adapts")
        return {
            "bench": "tables",
            "tables": options.tables,
            "open_shards": options.tables * 4,
            "tasks": options.tasks,
            "first_start_at_work_s": round(at_work_s, 1),
            "first_start_followed_s": round(followed_s, 1),
            "restart_followed_s": round(restart_s, 1),
            "restart_calls": calls,
            "idle_every_second": _idle_row(every_second),
            "idle_adaptive": _idle_row(adaptive),
            "peak_rss_mib": round(peak_rss_mib(worker.pid), 1),
            "versions": versions(),
            "machine": machine(),
        }


def _idle(fleet: Fleet, worker: Any, options: argparse.Namespace, what: str) -> IdleCost:
    time.sleep(options.settle)
    cost = fleet.idle_cost(worker, options.idle)
    say(f"{what}: {cost}, {cost.cpu_us_per_poll:.0f} us per poll")
    return cost


def _idle_row(cost: IdleCost) -> dict[str, float]:
    return {
        "cpu_share_of_a_core": round(cost.cpu_share, 3),
        "polls_per_s": round(cost.polls_per_s),
        "cpu_us_per_poll": round(cost.cpu_us_per_poll, 1),
        "rss_mib": round(cost.rss_mib, 1),
    }


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench NAME=tables", description=__doc__)
    parser.add_argument("--tables", type=size, default=1000, help="tables (default 1000)")
    parser.add_argument("--tasks", type=size, default=1, help="tasks that share them (default 1)")
    parser.add_argument(
        "--settle", type=float, default=240.0, help="seconds before each (240: listings are over)"
    )
    parser.add_argument("--idle", type=float, default=60.0, help="seconds watched (60)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
