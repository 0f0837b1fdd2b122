"""What the ``until`` lines of pages wait for: all tables and tasks, or one by its name.

A page is played with as many tables as it needs; people have more. So each condition is asked here
with two tables and two tasks, of which one is as it should be and the other one is not yet.
"""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass

import pytest

from tests.runbooks import page, pages

_UNTIL = re.compile(r"^until (?P<condition>.+); do sleep 1; done$")
_TROUBLE = ("FAILED", "GetRecords", '"gaps"', '"STOPPED"', '"UNASSIGNED"')
"""A line with one of these waits for trouble, or for an end, of which one is enough."""

TABLE = "orders"


@dataclass(frozen=True)
class Wait:
    """A line of a page that waits until something is well."""

    where: str
    condition: str

    @property
    def is_about_tables(self) -> bool:
        return "/tables" in self.condition

    @property
    def is_about_one(self) -> bool:
        """By the name of the table, or by the number of the task."""
        return "$TABLE" in self.condition or '"task":1' in self.condition

    def holds(self, answer: object) -> bool:
        """Whether it is over when the worker answers so."""
        body = json.dumps(answer, separators=(",", ":"))
        script = f"curl() {{ cat <<'ANSWER'\n{body}\nANSWER\n}}\n{self.condition}"
        done = subprocess.run(
            ["bash", "-c", script], env={"PATH": "/usr/bin:/bin", "TABLE": TABLE}, timeout=60
        )
        return done.returncode == 0


def waits() -> list[Wait]:
    found = []
    for name in [pages.INDEX.stem, *pages.names()]:
        for command in page.load(pages.FOLDER / f"{name}.md").commands:
            line = _UNTIL.match(command.text)
            if line is None or not re.search("/(tables|status) ", line["condition"]):
                continue
            if not any(word in line["condition"] for word in _TROUBLE):
                found.append(Wait(f"{name}.md:{command.line}", line["condition"]))
    return found


def row(table: str, task: int, **members: object) -> dict[str, object]:
    well = {"state": "SYNC", "reason": "", "gaps": 1, "last_read_age_s": 0.25}
    return {"table": table, "task": task, **well, **members}


NOT_WELL: list[dict[str, object]] = [
    {"state": "FAILED", "reason": "AccessDenied", "last_read_age_s": None},
    {"state": "RESYNC", "reason": "throttled", "last_read_age_s": None},
]


def status(connector: str, *tasks: str) -> dict[str, object]:
    each = [{"id": number, "state": state} for number, state in enumerate(tasks)]
    return {"name": "c", "connector": {"state": connector}, "tasks": each, "type": "source"}


WAITS = waits()
OF_TABLES = [each for each in WAITS if each.is_about_tables]
OF_TASKS = [each for each in WAITS if not each.is_about_tables]


@pytest.mark.parametrize("wait", OF_TABLES, ids=lambda wait: wait.where)
def test_a_wait_for_tables_is_over_when_all_are_well_and_not_when_one_is_not(wait: Wait) -> None:
    assert wait.holds({"tables": [row("idle", 0), row(TABLE, 1)]})
    assert not wait.holds({"tables": []})
    assert not wait.holds({"error_code": 404, "message": "not found"})
    for bad in NOT_WELL:
        assert not wait.holds({"tables": [row("idle", 0), row(TABLE, 1, **bad)]})
        assert wait.is_about_one == wait.holds({"tables": [row("idle", 0, **bad), row(TABLE, 1)]})


@pytest.mark.parametrize("wait", OF_TASKS, ids=lambda wait: wait.where)
def test_a_wait_for_tasks_is_over_when_all_are_there_and_not_when_one_is_not(wait: Wait) -> None:
    state = "PAUSED" if "PAUSED" in wait.condition else "RUNNING"
    assert wait.holds(status(state, state, state))
    assert not wait.holds(status(state))
    assert not wait.holds({"error_code": 404, "message": "not found"})
    for bad in ("FAILED", "UNASSIGNED", "RESTARTING"):
        assert not wait.holds(status(state, bad, state))
        assert not wait.holds(status(state, state, bad))
        assert not wait.holds(status(bad, state, state)) or '"id":1' in wait.condition


def test_pages_wait_for_tables_and_for_tasks() -> None:
    assert OF_TABLES
    assert OF_TASKS


def test_no_page_compares_sooner_than_the_default_says() -> None:
    """A comparison that does not wait would repair what is on its way."""
    for name in pages.names():
        assert "--settle" not in (pages.FOLDER / f"{name}.md").read_text(), name
