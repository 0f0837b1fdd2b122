"""What ``scan`` and ``stream`` measure: a table copied on each tier, beside two yardsticks.

With ``--tls`` everything is measured twice in the same run, over plain HTTP and over TLS. The two
runs of a tier follow each other, so that what else goes on beside them weighs on both; of several
rounds the least CPU counts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks import rig
from benchmarks.rig import DataPath, Rig, Usage, say
from benchmarks.sizes import size, size_of_tenths
from connectd.connectors.dynamodb import tiers
from connectd.connectors.dynamodb.tiers import Tier

_TABLE: Final = "bench-whole"
_ITEMS: Final[Mapping[DataPath, int]] = {"scan": 2_000_000, "stream": 1_000_000}
"""By default. The start of the connector is in the figures: of a million items of a scan, 6 %."""

_STREAM_ONLY: Final = {"init.sync.skip": "true", "stream.start.position": "TRIM_HORIZON"}


@dataclass
class Way:
    """One way to DynamoDB, and what copying the table cost over it."""

    parts: Rig
    by_tier: dict[Tier, Usage] = field(default_factory=dict)
    by_loop: dict[str, Usage] = field(default_factory=dict)

    def note(self, tier: Tier, used: Usage) -> None:
        """Keep what a copy cost, if none before cost less."""
        self.by_tier[tier] = _least(self.by_tier.get(tier, used), used)

    def note_loop(self, loop: str, used: Usage) -> None:
        """The same of a yardstick."""
        self.by_loop[loop] = _least(self.by_loop.get(loop, used), used)

    def ratio_to(self, loop: str, tier: Tier) -> float:
        """CPU per item of a yardstick over that of the worker."""
        ratio = self.by_loop[loop].cpu_us_per_item / self.by_tier[tier].cpu_us_per_item
        return round(ratio, 2)

    def cpu_us(self, tier: Tier) -> float:
        """CPU per item of the worker."""
        return round(self.by_tier[tier].cpu_us_per_item, 2)

    def __str__(self) -> str:
        return "over TLS" if self.parts.is_over_tls else "over plain HTTP"


def measure(path: DataPath, arguments: list[str]) -> None:
    """Run one benchmark and print its result; ``arguments`` as in ``--help``."""
    options = _parse(path, arguments)
    with rig.rig(serves_tls=options.tls) as parts:
        load = parts.load_items if path == "scan" else parts.load_stream
        load("bench-tenth", options.items // 10)
        load(_TABLE, options.items)
        config = {} if path == "scan" else _STREAM_ONLY
        tenth = parts.run_connectd(path, "bench-tenth", options.items // 10, config)
        say(f"connectd, a tenth: {tenth}")
        ways = [Way(parts), Way(parts.over_tls())] if options.tls else [Way(parts)]
        for _ in range(options.rounds):
            _measure_round(path, ways, options, config)
    print(json.dumps(_result(path, options.rounds, tenth, *ways)))


def _measure_round(
    path: DataPath, ways: Sequence[Way], options: argparse.Namespace, config: Mapping[str, str]
) -> None:
    for tier in dict.fromkeys((tiers.active(), Tier.PORTABLE)):
        for way in ways:
            used = way.parts.run_connectd(path, _TABLE, options.items, config, tier=tier)
            say(f"connectd, {tier.value}, {way}: {used}")
            way.note(tier, used)
    for loop, items in (("boto3", options.boto3_items), ("push", options.items)):
        for way in ways:
            used = way.parts.run_loop(f"{loop}_loop", path, _TABLE, items)
            say(f"{loop} loop, {way}: {used}")
            way.note_loop(loop, used)


def _least(one: Usage, other: Usage) -> Usage:
    return min(one, other, key=lambda each: each.cpu_us_per_item)


def _parse(path: DataPath, arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=f"make bench NAME={path}",
        description=f"Copies a table through the {path} path and compares it with a boto3 loop.",
    )
    items = _ITEMS[path]
    parser.add_argument(
        "--items", type=size_of_tenths, default=items, help=f"items (default {items:,})"
    )
    parser.add_argument(
        "--boto3-items",
        type=size,
        default=100_000,
        help="items of the yardstick (default 100,000)",
    )
    parser.add_argument(
        "--rounds", type=size, default=2, help="of everything, of which the best counts (2)"
    )
    parser.add_argument("--tls", action="store_true", help="also over TLS, and what that costs")
    return parser.parse_args(arguments)


def _result(
    path: DataPath, rounds: int, tenth: Usage, plain: Way, tls: Way | None = None
) -> dict[str, Any]:
    tier, whole = next(iter(plain.by_tier.items()))
    return {
        "bench": path,
        "tier": tier.value,
        "ratio_to_boto3": plain.ratio_to("boto3", tier),
        "portable_ratio_to_boto3": plain.ratio_to("boto3", Tier.PORTABLE),
        "ratio_to_push": plain.ratio_to("push", tier),
        "items_per_cpu_second": round(whole.items / whole.cpu_s),
        "items_per_second": round(whole.items / whole.wall_s),
        "cpu_us_per_item": plain.cpu_us(tier),
        "portable_cpu_us_per_item": plain.cpu_us(Tier.PORTABLE),
        "boto3_cpu_us_per_item": round(plain.by_loop["boto3"].cpu_us_per_item, 2),
        "push_cpu_us_per_item": round(plain.by_loop["push"].cpu_us_per_item, 2),
        **({} if tls is None else _cost_of_tls(tier, plain, tls)),
        "loop_late_share": whole.late_share,
        "portable_loop_late_share": plain.by_tier[Tier.PORTABLE].late_share,
        "peak_rss_mib": round(whole.peak_rss_mib, 1),
        "peak_rss_mib_tenth": round(tenth.peak_rss_mib, 1),
        "items": whole.items,
        "rounds": rounds,
        "versions": rig.versions(),
        "machine": rig.machine(),
    }


def _cost_of_tls(tier: Tier, plain: Way, tls: Way) -> dict[str, float]:
    def ratio(of: Tier) -> float:
        return round(tls.by_tier[of].cpu_us_per_item / plain.by_tier[of].cpu_us_per_item, 3)

    return {
        "tls_ratio": ratio(tier),
        "portable_tls_ratio": ratio(Tier.PORTABLE),
        "tls_ratio_to_boto3": tls.ratio_to("boto3", tier),
        "portable_tls_ratio_to_boto3": tls.ratio_to("boto3", Tier.PORTABLE),
        "tls_ratio_to_push": tls.ratio_to("push", tier),
        "tls_cpu_us_per_item": tls.cpu_us(tier),
        "portable_tls_cpu_us_per_item": tls.cpu_us(Tier.PORTABLE),
        "tls_boto3_cpu_us_per_item": round(tls.by_loop["boto3"].cpu_us_per_item, 2),
        "tls_push_cpu_us_per_item": round(tls.by_loop["push"].cpu_us_per_item, 2),
    }
