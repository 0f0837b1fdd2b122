"""The stored transcripts are still what the real worker answers."""

from __future__ import annotations

import pytest

from tests.conformance.rest import comparison, report, transcripts
from tests.conformance.rest.script import SCENARIOS
from tests.conformance.rest.stage import Stage
from tests.conformance.rest.steps import Scenario

pytestmark = [
    pytest.mark.real_connect,
    pytest.mark.kafka("exact"),
    pytest.mark.timeout(300),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_the_real_worker_answers_as_its_transcript(scenario: Scenario, real_stage: Stage) -> None:
    stored = transcripts.load(scenario)
    found = list(comparison.differences(stored, real_stage.play(scenario)))
    assert not found, "\n".join(map(report.of_difference, found))
