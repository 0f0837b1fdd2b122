"""connectd answers as the real worker did, but for the differences that are meant."""

from __future__ import annotations

import pytest

from tests.conformance.rest import comparison, differences, report, transcripts
from tests.conformance.rest.known import KNOWN
from tests.conformance.rest.script import SCENARIOS
from tests.conformance.rest.stage import Stage
from tests.conformance.rest.steps import Scenario

pytestmark = [pytest.mark.kafka("exact"), pytest.mark.timeout(300)]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_connectd_answers_as_the_real_worker(scenario: Scenario, our_stage: Stage) -> None:
    found = comparison.differences(transcripts.load(scenario), our_stage.play(scenario))
    unlisted = differences.judge(found, KNOWN).unlisted
    assert not unlisted, "\n".join(map(report.of_difference, unlisted))


@pytest.mark.timeout(900)
def test_every_known_difference_still_occurs(our_stage: Stage) -> None:
    found = [
        difference
        for scenario in SCENARIOS
        for difference in comparison.differences(
            transcripts.load(scenario), our_stage.play(scenario)
        )
    ]
    stale = differences.judge(found, KNOWN).stale
    assert not stale, "\n".join(map(report.of_stale_entry, stale))
