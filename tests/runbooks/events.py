"""What happens to an operator on a page: ``before: NAME`` in a comment. Real parts, all of it.

An event returns when it has happened, so that the page's next command meets it. What follows from
it, the page itself waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tests.runbooks.stage import Stage

OVERSIZED: Final = {"S": "\u0001" * 399 * 1024}
"""399 KB of characters that JSON writes with six each."""


def a_table(stage: Stage) -> None:
    """A tagged table with items; nobody copies it yet."""
    stage.create_table(stage.table)


def a_running_connector(stage: Stage) -> None:
    """A table, and a connector that has scanned it and follows its stream."""
    a_table(stage)
    stage.create_connector()
    _wait_until_it_follows(stage)


def _wait_until_it_follows(stage: Stage) -> None:
    stage.wait_following(stage.table)
    stage.wait_equal(stage.table)


def a_paused_connector(stage: Stage) -> None:
    """It has been paused, and the table was written to."""
    a_running_connector(stage)
    stage.request("PUT", f"/connectors/{stage.connector}/pause")
    stage.wait_states("PAUSED", "PAUSED")
    changes(stage)


def changes(stage: Stage) -> None:
    """The application writes: an item is changed, one is new, one is deleted."""
    stage.put(stage.table, 0, note={"S": "changed"})
    stage.put(stage.table, 100)
    stage.control.delete(table=stage.table, key={"id": {"S": "k1"}})


def reads_refused(stage: Stage) -> None:
    """A policy is changed: the role may not read streams any more."""
    stage.control.deny(action="dynamodb:GetRecords")


def reads_allowed(stage: Stage) -> None:
    """The policy is mended."""
    stage.control.allow(action="dynamodb:GetRecords")


def two_running_tables(stage: Stage) -> None:
    """A connector follows two tables."""
    stage.create_table(stage.table)
    stage.create_table(stage.other_table)
    stage.create_connector(dynamodb__table__whitelist=f"{stage.table},{stage.other_table}")
    _wait_until_it_follows(stage)
    stage.wait_following(stage.other_table)
    stage.wait_equal(stage.other_table)


def a_stuck_scan(stage: Stage) -> None:
    """A scan is under way: its first page is there, all others are throttled."""
    a_table(stage)
    stage.control.inject(
        operation="Scan",
        error="ProvisionedThroughputExceededException",
        times=None,
        after=1,
        table=stage.table,
    )
    stage.create_connector(init__sync__page__size="1")
    stage.wait(lambda: stage.row(stage.table).get("reason"), "the second page")


EVENTS: Final[Mapping[str, Callable[[Stage], None]]] = {
    "a-table": a_table,
    "a-running-connector": a_running_connector,
    "a-paused-connector": a_paused_connector,
    "a-stuck-scan": a_stuck_scan,
    "changes": changes,
    "reads-allowed": reads_allowed,
    "reads-refused": reads_refused,
    "two-running-tables": two_running_tables,
}
"""Every event, by its name on pages."""
