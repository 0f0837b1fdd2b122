"""What ``transforms`` and ``formats`` share: one table, copied with one setting after another.

Each variant is copied on both tiers by a fresh worker, in turns, and again in each round; the least
CPU of a variant counts. What it is held against is the variant that is named first.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from typing import Any, Final

from benchmarks import rig
from benchmarks.rig import Rig, Usage, say
from benchmarks.sizes import size
from connectd.connectors.dynamodb import tiers
from connectd.connectors.dynamodb.tiers import Tier

Variants = Mapping[str, Mapping[str, str]]
"""Settings of the connector, by the name of the variant."""

_STREAM_ONLY: Final = {"init.sync.skip": "true", "stream.start.position": "TRIM_HORIZON"}


def measure(bench: str, variants: Variants, arguments: list[str], *, claimed: str) -> None:
    """Run all variants and print the result; ``arguments`` as in ``--help``.

    ``ratio`` is that of the claimed variant on the portable tier.
    """
    options = _parse(bench, arguments)
    variants = {name: each for name, each in variants.items() if name not in options.without}
    extra = {} if options.path == "scan" else _STREAM_ONLY
    used: dict[tuple[Tier, str], list[Usage]] = {}
    load_before = os.getloadavg()
    with rig.rig() as parts:
        _load(parts, options)
        for _ in range(options.rounds):
            for tier in dict.fromkeys((tiers.active(), Tier.PORTABLE)):
                for name, config in variants.items():
                    usage = parts.run_connectd(
                        options.path, "bench", options.items, {**config, **extra}, tier=tier
                    )
                    say(f"{tier.value}, {name}: {usage.cpu_us_per_item:.2f} us per item")
                    used.setdefault((tier, name), []).append(usage)
    first = next(iter(variants))
    rows = {
        tier.value: _rows(
            {name: usages for (each, name), usages in used.items() if each is tier}, first
        )
        for tier in dict.fromkeys(tier for tier, _ in used)
    }
    print(
        json.dumps(
            {
                "bench": bench,
                "path": options.path,
                "ratio": rows[Tier.PORTABLE.value][claimed]["ratio"],
                **rows,
                "items": options.items,
                "rounds": options.rounds,
                "load": [round(load_before[0], 1), round(os.getloadavg()[0], 1)],
                "versions": rig.versions(),
                "machine": rig.machine(),
            }
        )
    )


def _rows(usages: Mapping[str, list[Usage]], first: str) -> dict[str, dict[str, Any]]:
    least = {name: min(each.cpu_us_per_item for each in found) for name, found in usages.items()}
    return {
        name: {"cpu_us_per_item": round(cpu_us, 2), "ratio": round(cpu_us / least[first], 3)}
        for name, cpu_us in least.items()
    }


def _load(parts: Rig, options: argparse.Namespace) -> None:
    load = parts.load_items if options.path == "scan" else parts.load_stream
    load("bench", options.items)


def _parse(bench: str, arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"make bench NAME={bench}", description=__doc__)
    parser.add_argument("--path", choices=("scan", "stream"), default="scan")
    parser.add_argument("--items", type=size, default=500_000, help="of the table (500,000)")
    parser.add_argument("--rounds", type=size, default=2, help="of which the best counts (2)")
    parser.add_argument("--without", action="append", default=[], help="a variant to leave out")
    return parser.parse_args(arguments)
