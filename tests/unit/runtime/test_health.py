"""The three answers of a probe."""

from __future__ import annotations

import pytest

from connectd.runtime.health import HealthState, judge

NOT_ABLE = "Worker was unable to handle this request and may be unable to handle other requests."


@pytest.mark.parametrize(
    ("answered", "was_ready", "sentence", "state", "message"),
    [
        (
            True,
            True,
            "ignored",
            HealthState.HEALTHY,
            "Worker has completed startup and is ready to handle requests.",
        ),
        (False, False, "", HealthState.STARTING, "Worker is still starting up."),
        (False, False, "It reads.", HealthState.STARTING, "Worker is still starting up. It reads."),
        (False, True, "", HealthState.UNHEALTHY, NOT_ABLE),
        (False, True, "It hangs.", HealthState.UNHEALTHY, f"{NOT_ABLE} It hangs."),
    ],
)
def test_what_a_probe_has_seen_decides(
    answered: bool, was_ready: bool, sentence: str, state: HealthState, message: str
) -> None:
    health = judge(answered=answered, was_ready=was_ready, sentence=sentence)
    assert (health.state, health.message) == (state, message)
