"""The script: every scenario, area by area."""

from __future__ import annotations

from typing import Final

from tests.conformance.rest.script import (
    admin,
    changes,
    creation,
    offsets,
    other_workers,
    plugins,
    server,
)
from tests.conformance.rest.steps import Scenario

SCENARIOS: Final[tuple[Scenario, ...]] = (
    *server.SCENARIOS,
    *creation.SCENARIOS,
    *changes.SCENARIOS,
    *offsets.SCENARIOS,
    *plugins.SCENARIOS,
    *admin.SCENARIOS,
    *other_workers.SCENARIOS,
)


def requests_of_script() -> int:
    """How many requests the script makes; a polled one counts once."""
    return sum(len(scenario.steps) for scenario in SCENARIOS)
