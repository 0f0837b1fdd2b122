"""What must be true behind a page's back: ``check: NAME`` in a comment.

A page shows how a person sees that it worked; these look with other eyes than the product's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tests.runbooks.events import MORE
from tests.runbooks.stage import ITEMS, Stage

READS: Final = 5
"""So often a shard is read until its newest records are surely among what was read."""


def topic_equals_table(stage: Stage) -> None:
    """The last record of each key is what the table holds."""
    stage.wait_equal(stage.table)


def other_topic_equals_other_table(stage: Stage) -> None:
    """The same of the second table."""
    stage.wait_equal(stage.other_table)


def scanned_once(stage: Stage) -> None:
    """No item was read by a second scan."""
    assert stage.operations(stage.table).count("r") == ITEMS


def scanned_twice(stage: Stage) -> None:
    """Every item was read by two scans."""
    assert stage.operations(stage.table).count("r") == 2 * ITEMS


def scanned_again(stage: Stage) -> None:
    """What is left of the items was read by another scan."""
    assert stage.operations(stage.table).count("r") > ITEMS


def other_table_scanned_once(stage: Stage) -> None:
    """Nor was the second table."""
    assert stage.operations(stage.other_table).count("r") == ITEMS


def not_scanned_to_the_end(stage: Stage) -> None:
    """Of the items that were there, only the first page was read."""
    assert stage.operations(stage.table).count("r") <= 1


def changes_have_not_arrived(stage: Stage) -> None:
    """The stream was read since ``events.changes``, and the topic has nothing of it."""
    before = stage.reads()
    stage.wait(lambda: stage.reads() >= before + READS, "more reads of the stream")
    assert set(stage.operations(stage.table)) == {"r"}


def nobody_reads(stage: Stage) -> None:
    """Nothing of the connector runs."""
    stage.wait(lambda: stage.row(stage.table) == {}, "the end of the table's job")


def a_change_has_arrived(stage: Stage) -> None:
    """What ``events.changes`` wrote comes, whatever else is missing."""
    stage.wait(lambda: {"c", "u", "d"} <= set(stage.operations(stage.table)), "the changes")


def more_changes_came_twice(stage: Stage) -> None:
    """What ``events.more_changes`` wrote was read again."""
    stage.wait(lambda: len(stage.records_of(stage.table, MORE)) == 2, "the second record")


CHECKS: Final[Mapping[str, Callable[[Stage], None]]] = {
    check.__name__.replace("_", "-"): check
    for check in (
        a_change_has_arrived,
        changes_have_not_arrived,
        more_changes_came_twice,
        nobody_reads,
        not_scanned_to_the_end,
        other_table_scanned_once,
        other_topic_equals_other_table,
        scanned_again,
        scanned_once,
        scanned_twice,
        topic_equals_table,
    )
}
"""Every check, by its name on pages."""
