"""``make soak RUNS=200 SEED=7``: seeded crash and fault runs for as long as asked.

Each run prints one line. The first fault ends the soak with exit code 1 and says how to repeat it.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

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
    parser.add_argument(
        "--jobs", type=int, default=2, help="runs side by side, each with a worker (default 2)"
    )
    arguments = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if arguments.seed is None else arguments.seed
    print(f"soak: {arguments.runs} runs from SEED={seed}", flush=True)
    started = time.monotonic()
    phases: tuple[Phase, ...] = (arguments.phase,) if arguments.phase else ("INIT_SYNC", "SYNC")
    kills = done = 0
    with KafkaBroker() as broker, ThreadPoolExecutor(arguments.jobs) as pool:
        runs = [
            CrashRun(seed + number, phases[number % len(phases)], broker)
            for number in range(arguments.runs)
        ]
        pending = {pool.submit(run.run): run for run in runs}
        for future in as_completed(pending):
            run, verdict, done = pending[future], future.result(), done + 1
            kills += run.kills
            line = (
                f"run {done}/{arguments.runs} seed {run.seed} {run.phase}: {run.kills} kills, "
                f"{verdict.writes} writes, {verdict.records} records, "
                f"replay {verdict.replay_share:.0%}"
            )
            if verdict.faults:
                print(f"{line}: LOST", *verdict.faults, *run.story, sep="\n  ", flush=True)
                print(
                    f"repeat: make soak RUNS=1 SEED={run.seed} ARGS='--phase {run.phase}'",
                    flush=True,
                )
                pool.shutdown(wait=True, cancel_futures=True)
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
