"""How often the worker's event loop was late, from /metrics: before, after, and the difference."""

from __future__ import annotations

import urllib.request
from dataclasses import dataclass
from typing import Final

from tests.harness.worker import WorkerProcess

_PREFIX: Final = "connectd_worker_loop_pulses"


@dataclass(frozen=True)
class Pulses:
    """Of the loop, ten a second; ``late`` are those of them that came more than 20 ms late."""

    all: int
    late: int

    @classmethod
    def of(cls, worker: WorkerProcess) -> Pulses:
        """Since the start of the worker."""
        with urllib.request.urlopen(f"{worker.rest_url}/metrics", timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        found = dict(line.split(" ") for line in lines if line.startswith(_PREFIX))
        return cls(*(round(float(found[f"{_PREFIX}_{each}"])) for each in ("total", "late_total")))

    def since(self, before: Pulses) -> Pulses:
        """Those in between."""
        return Pulses(self.all - before.all, self.late - before.late)

    @property
    def late_share(self) -> float:
        """Below 0.01: the 99th percentile of the lateness is below 20 ms."""
        return round(self.late / self.all, 4)
