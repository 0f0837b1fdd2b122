"""The script asks for everything, and the transcripts are of this very script."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.rest import transcripts
from tests.conformance.rest.driving import WAITED_IN_VAIN, sent_of
from tests.conformance.rest.known import KNOWN
from tests.conformance.rest.script import SCENARIOS, requests_of_script
from tests.conformance.rest.steps import Scenario, get
from tests.conformance.rest.transcripts import TranscriptError

NAME = r"[^/?]+"
C = f"/connectors/{NAME}"
ENDPOINTS = {
    "GET /": {200},
    "GET /health": {200},
    "GET /connectors": {200},
    "POST /connectors": {201, 400, 409},
    f"GET {C}": {200, 404},
    f"GET {C}/config": {200, 404},
    f"GET {C}/tasks": {200, 404},
    f"GET {C}/status": {200, 404},
    f"GET {C}/tasks/{NAME}/status": {200, 404},
    f"PUT {C}/config": {200, 201, 400},
    f"PATCH {C}/config": {200, 400, 404},
    f"DELETE {C}": {204, 404},
    f"POST {C}/restart": {202, 204, 404},
    f"PUT {C}/stop": {204, 404},
    f"PUT {C}/pause": {202, 404},
    f"PUT {C}/resume": {202, 404},
    f"POST {C}/tasks/{NAME}/restart": {204, 404},
    f"GET {C}/topics": {200, 403},
    f"PUT {C}/topics/reset": {202, 403},
    f"GET {C}/offsets": {200, 404},
    f"PATCH {C}/offsets": {200, 400, 404},
    f"DELETE {C}/offsets": {200, 400, 404},
    "GET /connector-plugins": {200},
    f"GET /connector-plugins/{NAME}/config": {200, 404},
    f"PUT /connector-plugins/{NAME}/config/validate": {200, 400},
    "GET /admin/loggers": {200, 404},
    f"GET /admin/loggers/{NAME}": {200, 404},
    f"PUT /admin/loggers/{NAME}": {200, 204, 400, 404},
    f"POST {C}/tasks": {400, 403, 404},
    f"PUT {C}/fence": {204, 400, 403, 404},
}
"""Spec kafka-connect A.11: what is to be seen of each endpoint (503 and 500 need a sick worker)."""


def test_the_script_is_long_enough() -> None:
    assert requests_of_script() >= 150


def test_scenarios_have_names_of_their_own() -> None:
    names = [scenario.name for scenario in SCENARIOS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_every_endpoint_shows_its_success_and_its_errors(endpoint: str) -> None:
    pattern = re.compile(rf"{endpoint}/?(\?.*)?")
    seen = {
        entry["answer"]["status"]
        for scenario in SCENARIOS
        for entry in transcripts.load(scenario)["steps"]
        if pattern.fullmatch(entry["request"])
    }
    assert seen >= ENDPOINTS[endpoint]


def test_no_transcript_is_left_of_a_scenario_that_is_gone() -> None:
    files = {path.stem for path in transcripts.DIRECTORY.glob("*.json")}
    assert files == {scenario.name for scenario in SCENARIOS}


def test_every_known_difference_says_why() -> None:
    assert all(len(known.reason) > 20 for known in KNOWN)


SCENARIO = Scenario("small", "for these tests", (get("/"), get("/health")))


def small(steps: tuple[Any, ...] = SCENARIO.steps) -> dict[str, Any]:
    """A transcript of ``SCENARIO``."""
    answer = {"status": 200, "headers": {}, "body": {"b": 1, "a": ["x" * 99]}}
    entries = [{**sent_of(step), "answer": answer} for step in steps]
    return {"scenario": "small", "about": "", "steps": entries, "records": {}}


def test_a_transcript_is_read_as_it_was_written(tmp_path: Path) -> None:
    transcripts.store(SCENARIO, small(), tmp_path)
    assert transcripts.load(SCENARIO, tmp_path) == small()


def test_a_transcript_of_other_requests_is_refused(tmp_path: Path) -> None:
    transcripts.store(SCENARIO, small(SCENARIO.steps[:1]), tmp_path)
    with pytest.raises(TranscriptError, match="other requests than the script has"):
        transcripts.load(SCENARIO, tmp_path)


def test_a_missing_transcript_is_named(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match=r"small.json is missing; record"):
        transcripts.load(SCENARIO, tmp_path)


def test_what_the_real_worker_never_did_is_not_stored(tmp_path: Path) -> None:
    transcript = small()
    transcript["steps"][1][WAITED_IN_VAIN] = "something"
    with pytest.raises(TranscriptError, match="mend the script"):
        transcripts.store(SCENARIO, transcript, tmp_path)


def test_two_steps_of_a_scenario_may_not_share_a_name() -> None:
    with pytest.raises(ValueError, match="two steps named"):
        Scenario("twice", "", (get("/"), get("/")))
