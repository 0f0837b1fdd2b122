"""Whether this worker does its work.

``Health`` is the answer of ``GET /health`` (KIP-1017): whether the herder handles requests.
``Readiness`` is that of the readiness probe, which asks for more: all internal topics have been
read, and the brokers answer their readers. Tables that make no progress are counted beside it; they
do not make a worker unready, since another worker would not serve them better.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from connectd.stores import protocols

PROBE_DEADLINE_S = 10.0


class HealthState(Enum):
    """What a probe of the herder found."""

    HEALTHY = "healthy"
    STARTING = "starting"
    UNHEALTHY = "unhealthy"


@dataclass(frozen=True)
class Health:
    """A state and the sentence for people."""

    state: HealthState
    message: str


@dataclass(frozen=True)
class Readiness:
    """Why the worker is not ready; empty: it is. Names no connector and no table.

    ``tables_degraded``: how many tables make no progress although they should.
    """

    reasons: tuple[str, ...]
    tables_degraded: int

    @property
    def is_ready(self) -> bool:
        """Whether requests may come here."""
        return not self.reasons


def reason_of(name: str, store: protocols.Store) -> str | None:
    """Why a worker with that store is not ready; None: the store is no reason."""
    if store.is_available:
        return None
    if store.refusal is not None:
        return f"The reader of the {name} topic cannot go on: {store.refusal}."
    return f"Kafka does not answer the reader of the {name} topic."


def judge(*, answered: bool, was_ready: bool, sentence: str) -> Health:
    """From what a probe has seen; ``sentence`` says what the herder is doing, or is empty."""
    if answered:
        text = "Worker has completed startup and is ready to handle requests."
        return Health(HealthState.HEALTHY, text)
    if was_ready:
        state = HealthState.UNHEALTHY
        text = (
            "Worker was unable to handle this request and may be unable to handle other requests."
        )
    else:
        state, text = HealthState.STARTING, "Worker is still starting up."
    return Health(state, f"{text} {sentence}" if sentence else text)
