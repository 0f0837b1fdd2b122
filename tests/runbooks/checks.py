"""What must be true behind a page's back: ``check: NAME`` in a comment.

A page shows how a person sees that it worked; these look with other eyes than the product's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tests.runbooks.stage import ITEMS, Stage


def topic_equals_table(stage: Stage) -> None:
    """The last record of each key is what the table holds."""
    stage.wait_equal(stage.table)


def scanned_once(stage: Stage) -> None:
    """No item was read by a second scan."""
    assert stage.operations(stage.table).count("r") == ITEMS


def scanned_twice(stage: Stage) -> None:
    """Every item was read by two scans."""
    assert stage.operations(stage.table).count("r") == 2 * ITEMS


def other_table_scanned_once(stage: Stage) -> None:
    """Nor was the second table."""
    assert stage.operations(stage.other_table).count("r") == ITEMS


def changes_have_not_arrived(stage: Stage) -> None:
    """What ``events.changes`` wrote is not in the topic."""
    assert set(stage.operations(stage.table)) == {"r"}


def a_change_has_arrived(stage: Stage) -> None:
    """What ``events.changes`` wrote comes, whatever was scanned."""
    stage.wait(lambda: {"c", "u", "d"} <= set(stage.operations(stage.table)), "the changes")
    assert stage.operations(stage.table).count("r") < ITEMS


CHECKS: Final[Mapping[str, Callable[[Stage], None]]] = {
    "a-change-has-arrived": a_change_has_arrived,
    "changes-have-not-arrived": changes_have_not_arrived,
    "other-table-scanned-once": other_table_scanned_once,
    "scanned-once": scanned_once,
    "scanned-twice": scanned_twice,
    "topic-equals-table": topic_equals_table,
}
"""Every check, by its name on pages."""
