"""kill -9 at seeded points of INIT_SYNC and SYNC, on real Kafka: nothing is lost (promise 1).

Twenty points; ``make soak`` goes on from there. Field cases I05, O11.
"""

from __future__ import annotations

import pytest

from tests.harness.kafka import KafkaBroker
from tests.simulation.crash_run import CrashRun, Phase


@pytest.mark.kafka("control")
@pytest.mark.crash
@pytest.mark.timeout(180)
@pytest.mark.parametrize("phase", ["INIT_SYNC", "SYNC"])
@pytest.mark.parametrize("seed", range(10))
def test_a_killed_worker_loses_nothing(kafka_broker: KafkaBroker, seed: int, phase: Phase) -> None:
    run = CrashRun(seed, phase, kafka_broker)
    verdict = run.run()
    assert verdict.faults == (), "\n".join((f"SEED={seed} {phase}", *run.story))
