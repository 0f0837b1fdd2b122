"""``make bench NAME=converters``: records per second and core of every converter and transform.

One record, over and over, in this process alone: CPU time, the best of several rounds. Beside each
case, in the same rounds, ``orjson.dumps`` writes the same record as plain data: ``ratio_to_orjson``
is the rate of the case over that rate, so it does not depend on how fast the machine is today.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import orjson

from benchmarks import converter_cases
from benchmarks.converter_cases import Case
from benchmarks.rig import say
from benchmarks.sizes import size
from connectd.app import bundled


def main() -> None:
    """Measure all, and print the result as the last line."""
    options = _parse()
    found: dict[str, dict[str, Any]] = {}
    yardsticks = []
    say(f"{'records/s':>12} {'of orjson':>9}")
    for case in converter_cases.cases(bundled.plugin_registry()):
        if options.only and options.only not in case.name:
            continue
        rate, yardstick = _rates(
            case, round_s=options.seconds / options.rounds / 2, rounds=options.rounds
        )
        name = case.name.removeprefix(f"{case.name.partition(',')[0].rpartition('.')[0]}.")
        shown = f"{name} ({case.form})" if case.form else name
        say(f"{rate:12,.0f} {rate / yardstick:9.3f}  {case.kind.value} {shown}")
        found.setdefault(case.kind.value, {})[shown] = {
            "records_per_second": round(rate),
            "ratio_to_orjson": round(rate / yardstick, 4),
        }
        if isinstance(case.plain, dict):
            yardsticks.append(yardstick)
    print(
        json.dumps(
            {
                "bench": "converters",
                "orjson_records_per_second": round(max(yardsticks, default=0)),
                "bytes_per_record": len(orjson.dumps(converter_cases.order("map").value)),
                **found,
                "versions": {"orjson": version("orjson"), "python": platform.python_version()},
            }
        )
    )


def _rates(case: Case, *, round_s: float, rounds: int) -> tuple[float, float]:
    """Records per CPU second of the case, and of the yardstick; their rounds alternate."""
    plain = case.plain

    def write() -> object:
        return orjson.dumps(plain)

    calls = [case.run, write]
    counts = [_count_for(call, round_s) for call in calls]
    best = [0.0, 0.0]
    for _ in range(rounds):
        for index, (call, count) in enumerate(zip(calls, counts, strict=True)):
            best[index] = max(best[index], count / _cpu_s(call, count))
    return best[0], best[1]


def _count_for(call: Callable[[], object], wanted_s: float) -> int:
    """How often to call it for so long."""
    count = 1
    while (taken_s := _cpu_s(call, count)) < wanted_s / 4:
        count *= 4
    return max(1, round(count * wanted_s / taken_s))


def _cpu_s(call: Callable[[], object], count: int) -> float:
    began_s = time.process_time()
    for _ in range(count):
        call()
    return max(time.process_time() - began_s, 1e-9)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench NAME=converters", description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.3, help="for each case (0.3)")
    parser.add_argument("--rounds", type=size, default=5, help="of which the best counts (5)")
    parser.add_argument("--only", default="", help="cases with this in their name")
    return parser.parse_args()


if __name__ == "__main__":
    main()
