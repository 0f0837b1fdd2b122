"""The index names every page, and only pages that are there."""

from __future__ import annotations

import re

import pytest

from tests.runbooks import page, pages
from tests.runbooks.checks import CHECKS
from tests.runbooks.events import EVENTS
from tests.runbooks.page import Check, Event

_LINK = re.compile(r"\]\((?P<target>[^)#\s]*)(?:#(?P<anchor>[^)\s]*))?\)")
_HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)
WANTED = {
    "create", "pause", "resume", "restart-failed", "resync-table", "skip-init-sync",
    "move-offsets", "take-over", "scale-out", "upgrade", "broker-outage", "throttling",
    "gap-alarm", "poison-record", "rotate-credentials",
}  # fmt: skip
ALERTS = pages.FOLDER.parents[1] / "helm" / "connectd" / "files" / "alerts.yaml"
SECTIONS = ["## Do", "## It worked", "## Go back", "## What it does not do"]


def test_there_is_a_page_for_everything_that_operators_do() -> None:
    assert set(pages.names()) >= WANTED


def test_nothing_else_is_in_the_folder_that_nobody_would_run() -> None:
    found = {path.name for path in pages.FOLDER.rglob("*")}
    assert found == {pages.INDEX.name, *(f"{name}.md" for name in pages.names())}


def test_the_index_names_every_page() -> None:
    linked = {found["target"] for found in _LINK.finditer(pages.INDEX.read_text())}
    assert {f"{name}.md" for name in pages.names()} <= linked


@pytest.mark.parametrize("name", ["README", *pages.names()])
def test_every_link_of_a_page_leads_somewhere(name: str) -> None:
    path = pages.FOLDER / f"{name}.md"
    for link in _LINK.finditer(path.read_text()):
        target = (path.parent / link["target"]) if link["target"] else path
        assert target.is_file(), f"{name}.md links to {link['target']}"
        if link["anchor"]:
            anchors = {
                re.sub(r"[^\w -]", "", found["text"]).lower().replace(" ", "-")
                for found in _HEADING.finditer(target.read_text())
            }
            assert link["anchor"] in anchors, f"{name}.md links to {link[0]}"


@pytest.mark.parametrize("name", pages.names())
def test_a_page_says_when_what_how_and_how_to_go_back(name: str) -> None:
    text = (pages.FOLDER / f"{name}.md").read_text()
    assert [line for line in text.splitlines() if line in SECTIONS] == SECTIONS
    assert "\n**When:** " in text
    assert "\n**You will see:** " in text
    assert "(README.md#set-these-first)" in text


@pytest.mark.parametrize("name", pages.names())
def test_a_page_has_commands_and_known_events_and_is_checked_by_other_eyes(name: str) -> None:
    steps = page.load(pages.FOLDER / f"{name}.md").steps
    assert any("curl" in command.text for command in page.Page(name, steps).commands)
    assert {step.name for step in steps if isinstance(step, Event)} <= EVENTS.keys()
    checks = {step.name for step in steps if isinstance(step, Check)}
    assert checks
    assert checks <= CHECKS.keys()


def test_events_and_checks_are_all_used() -> None:
    used = {
        step.name
        for name in [pages.INDEX.stem, *pages.names()]
        for step in page.load(pages.FOLDER / f"{name}.md").steps
        if isinstance(step, Event | Check)
    }
    assert EVENTS.keys() | CHECKS.keys() == used


def test_the_index_says_for_every_alert_which_page_it_is() -> None:
    rules = ALERTS.read_text(encoding="utf-8")
    alerts = dict(re.findall(r"- alert: (\w+)\n.*?\n +runbook: (\S+)\n", rules, re.DOTALL))
    assert len(alerts) == rules.count("- alert: ") > 0
    lines = pages.INDEX.read_text(encoding="utf-8").splitlines()
    for alert, runbook in alerts.items():
        rows = [line for line in lines if re.match(rf"\|.*\b{alert}\b.*\|.*\|$", line)]
        assert len(rows) == 1, f"the index names {alert} {len(rows)} times, expected once"
        assert f"({runbook})" in rows[0], (
            f"the alert {alert} leads to {runbook}, the index does not"
        )


def test_the_index_names_no_alert_that_is_not_there() -> None:
    named = set(re.findall(r"\bConnectd[A-Z]\w+", pages.INDEX.read_text(encoding="utf-8")))
    assert named <= set(re.findall(r"- alert: (\w+)", ALERTS.read_text(encoding="utf-8")))
