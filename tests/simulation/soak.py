"""``make soak RUNS=200 SEED=7``: seeded crash and fault runs for as long as asked.

Each run prints one line. The first fault ends the soak with exit code 1 and says how to repeat it.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time

from tests.harness.kafka import KafkaBroker
from tests.simulation.crash_run import CrashRun, Phase


def main() -> int:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0],
        epilog="A run alternates between killing in INIT_SYNC and in SYNC; seeds count up.",
    )
    parser.add_argument("--runs", type=int, default=20, help="how many runs (default 20)")
    parser.add_argument("--seed", type=int, help="seed of the first run (default: drawn)")
    parser.add_argument(
        "--phase", choices=["INIT_SYNC", "SYNC"], help="kill in this phase only (default: both)"
    )
    arguments = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if arguments.seed is None else arguments.seed
    print(f"soak: {arguments.runs} runs from SEED={seed}", flush=True)
    started = time.monotonic()
    kills = 0
    with KafkaBroker() as broker:
        for number in range(arguments.runs):
            phases: tuple[Phase, ...] = ("INIT_SYNC", "SYNC")
            phase = arguments.phase or phases[number % 2]
            run = CrashRun(seed + number, phase, broker)
            verdict = run.run()
            kills += run.kills
            line = (
                f"run {number + 1}/{arguments.runs} seed {run.seed} {phase}: {run.kills} kills, "
                f"{verdict.writes} writes, {verdict.records} records, "
                f"replay {verdict.replay_share:.0%}"
            )
            if verdict.faults:
                print(f"{line}: LOST", *verdict.faults, *run.story, sep="\n  ", flush=True)
                print(
                    f"repeat: make soak RUNS=1 SEED={run.seed} ARGS='--phase {phase}'", flush=True
                )
                return 1
            print(f"{line}: equal", flush=True)
    minutes = (time.monotonic() - started) / 60
    print(
        f"soak: {arguments.runs} runs, {kills} kills, every topic equals its table "
        f"(SEED={seed}, {minutes:.1f} min, {os.cpu_count()} cores)"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
