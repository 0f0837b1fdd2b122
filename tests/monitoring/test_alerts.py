"""The alert rules: legal, about metrics that there are, and right about when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from connectd.observe import metrics_own
from tests.harness import promtool
from tests.monitoring.expressions import metrics_of

ROOT = Path(__file__).parents[2]
RULES = ROOT / "helm" / "connectd" / "files" / "alerts.yaml"
CASES = Path(__file__).with_name("alert_cases.yaml")

SEED = {
    "Task status = FAILED": "ConnectdTaskFailed",
    "Consumer group lag (sink)": "ConnectdTableLagging",
    "source-record-poll-rate drops to 0": "ConnectdSourceStalled",
    "put-batch-avg-time-ms spikes": "ConnectdAwsSlow",
    "DLQ topic growing": "ConnectdDeadLetterQueueGrows",
}
"""The list of what to alert on, for a source: what is behind and slow is on the other side."""


def rules() -> dict[str, dict[str, Any]]:
    document = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    return {rule["alert"]: rule for group in document["groups"] for rule in group["rules"]}


def cases() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(CASES.read_text(encoding="utf-8"))["tests"]
    return found


@pytest.mark.timeout(1500)
def test_promtool_finds_nothing_wrong_with_the_rules(tmp_path: Path) -> None:
    """The first of these tests may have to build it."""
    answer = promtool.run("check", "rules", str(RULES), cwd=tmp_path)
    assert (answer.returncode, answer.stderr) == (0, "")


@pytest.mark.timeout(1500)
@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"expr": "sum(up"}, "unclosed left parenthesis"),
        ({"for": "soon"}, "not a valid duration string"),
        ({"labels": {"severity": "{{ $labels.x"}}, "unclosed action"),
        ({"colour": "red"}, "field colour not found"),
        ({}, "duplicate rule"),
    ],
)
def test_a_rule_that_is_wrong_is_found(
    tmp_path: Path, change: dict[str, object], found: str
) -> None:
    """promtool's own silence would look the same as success."""
    right = {"alert": "A", "expr": "up == 0", "labels": {"severity": "info"}}
    group = {"name": "g", "rules": [right, right | change]}
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [group]}))
    answer = promtool.run("check", "rules", "rules.yaml", cwd=tmp_path)
    assert answer.returncode == 1
    assert found in answer.stderr


@pytest.mark.timeout(1500)
def test_alerts_fire_when_they_should_and_not_before(tmp_path: Path) -> None:
    document = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    for group in document["groups"]:
        for rule in group["rules"]:
            rule["annotations"] = {"summary": rule["annotations"]["summary"]}
    (tmp_path / "alerts.yaml").write_text(yaml.safe_dump(document))
    (tmp_path / CASES.name).write_bytes(CASES.read_bytes())
    answer = promtool.run("test", "rules", CASES.name, cwd=tmp_path)
    assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.timeout(1500)
def test_a_case_that_is_wrong_is_found(tmp_path: Path) -> None:
    """As above."""
    (tmp_path / "alerts.yaml").write_bytes(RULES.read_bytes())
    document = yaml.safe_load(CASES.read_text(encoding="utf-8"))
    document["tests"] = [case for case in cases() if case["name"] == "a lag that lasts"]
    wrong = yaml.safe_dump(document).replace('table="behind"', 'table="other"')
    (tmp_path / CASES.name).write_text(wrong)
    answer = promtool.run("test", "rules", CASES.name, cwd=tmp_path)
    assert answer.returncode != 0
    assert "ConnectdTableLagging" in answer.stdout + answer.stderr


def test_every_alert_fires_in_one_case_and_is_silent_in_another() -> None:
    fires: set[str] = set()
    silent: set[str] = set()
    for case in cases():
        for each in case["alert_rule_test"]:
            (fires if each["exp_alerts"] else silent).add(each["alertname"])
    assert fires == silent == rules().keys()


def test_every_metric_of_a_rule_or_a_case_is_in_the_catalogue() -> None:
    known = set(metrics_own.all_names())
    for name, rule in rules().items():
        named = metrics_of(rule["expr"])
        assert named, name
        assert named <= known, name
    for case in cases():
        for series in case["input_series"]:
            assert metrics_of(series["series"]) <= known, case["name"]


def test_everything_that_was_asked_for_has_an_alert() -> None:
    assert set(SEED.values()) <= rules().keys()


def test_every_alert_says_how_bad_it_is_and_what_to_do() -> None:
    pages = {path.name for path in (ROOT / "docs" / "runbooks").glob("*.md")}
    for name, rule in rules().items():
        assert name.startswith("Connectd")
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}, name
        assert rule["annotations"].keys() == {"summary", "description", "runbook"}, name
        assert rule["annotations"]["runbook"] in pages, name
