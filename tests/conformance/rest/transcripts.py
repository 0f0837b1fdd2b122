"""The transcripts of the real worker: one readable JSON file per scenario beside this module."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from tests.conformance.rest.driving import WAITED_IN_VAIN, sent_of
from tests.conformance.rest.steps import Scenario

DIRECTORY: Final = Path(__file__).with_name("transcripts")
WIDTH: Final = 100
RECORD_ANEW: Final = "record the transcripts anew: make conformance ARGS=--record"


class TranscriptError(Exception):
    """A transcript is missing, or was recorded from another script."""


def load(scenario: Scenario, directory: Path = DIRECTORY) -> dict[str, Any]:
    """What the real worker answered; raises TranscriptError when it was asked something else."""
    path = _path(scenario, directory)
    if not path.exists():
        raise TranscriptError(f"{path} is missing; {RECORD_ANEW}")
    transcript: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    asked = [{**entry} for entry in transcript["steps"]]
    for entry in asked:
        del entry["answer"]
    if asked != [sent_of(step) for step in scenario.steps]:
        raise TranscriptError(
            f"{path.name} was recorded with other requests than the script has; {RECORD_ANEW}"
        )
    return transcript


def store(scenario: Scenario, transcript: dict[str, Any], directory: Path = DIRECTORY) -> None:
    """Write what the real worker answered.

    Raises TranscriptError when a step of the script waited for what the real worker does not do.
    """
    vain = [entry for entry in transcript["steps"] if WAITED_IN_VAIN in entry]
    if vain:
        raise TranscriptError(
            f"{scenario.name}: the real worker never did what these steps wait for; "
            f"mend the script: {rendered(vain)}"
        )
    directory.mkdir(exist_ok=True)
    _path(scenario, directory).write_text(rendered(transcript) + "\n", encoding="utf-8")


def rendered(value: Any, indent: int = 0) -> str:
    """JSON with sorted members; what fits on a line stands on one."""
    line = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if len(line) + indent <= WIDTH or not isinstance(value, dict | list) or not value:
        return line
    inner = " " * (indent + 2)
    if isinstance(value, list):
        parts = [f"{inner}{rendered(each, indent + 2)}" for each in value]
        opened, closed = "[]"
    else:
        names = value if "step" in value or "scenario" in value else sorted(value)
        parts = [
            f"{inner}{json.dumps(name, ensure_ascii=False)}: {rendered(value[name], indent + 2)}"
            for name in names
        ]
        opened, closed = "{}"
    return f"{opened}\n" + ",\n".join(parts) + f"\n{' ' * indent}{closed}"


def _path(scenario: Scenario, directory: Path) -> Path:
    return directory / f"{scenario.name}.json"
