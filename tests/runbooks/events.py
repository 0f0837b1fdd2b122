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

OVERSIZED_ITEM: Final = 300
MORE: Final = 200
"""Numbers of the items that these events write."""

KEYS: Final = (
    ("AKIAFIRST", "the-first-secret"),
    ("AKIASECOND", "the-second-secret"),
    ("AKIATHIRD", "the-third-secret"),
)

JAVA_CLASS: Final = "com.trustpilot.connector.dynamodb.DynamoDBSourceConnector"
JAVA_MEMBERS: Final = (
    "version",
    "table_name",
    "init_sync_state",
    "init_sync_start",
    "init_sync_end",
    "init_sync_count",
)


def a_table(stage: Stage) -> None:
    """A tagged table with items; nobody copies it yet."""
    stage.create_table(stage.table)


def a_running_connector(stage: Stage) -> None:
    """A table, and a connector that has scanned it and follows its stream."""
    a_table(stage)
    stage.create_connector()
    _wait_until_it_follows(stage)


def _wait_until_it_follows(stage: Stage, tasks: int = 1) -> None:
    stage.wait_states("RUNNING", *["RUNNING"] * tasks)
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
    _change(stage, stage.table)


def _change(stage: Stage, table: str) -> None:
    stage.put(table, 0, note={"S": "changed"})
    stage.put(table, 100)
    stage.control.delete(table=table, key={"id": {"S": "k1"}})


def reads_refused(stage: Stage) -> None:
    """A policy is changed: the role may not read one table's stream any more."""
    stage.control.inject(
        operation="GetRecords", error="AccessDeniedException", times=None, table=stage.table
    )


def reads_allowed(stage: Stage) -> None:
    """The policy is mended."""
    stage.control.clear_faults()


def two_running_tables(stage: Stage) -> None:
    """A connector follows two tables."""
    stage.create_table(stage.table)
    stage.create_table(stage.other_table)
    stage.create_connector(dynamodb__table__whitelist=f"{stage.table},{stage.other_table}")
    _wait_until_both_follow(stage)


def two_running_tasks(stage: Stage) -> None:
    """A connector follows two tables, each with a task of its own."""
    stage.create_table(stage.table)
    _create_with_two_tasks(stage)
    _wait_until_both_follow(stage, tasks=2)


def _create_with_two_tasks(stage: Stage, **keys: str) -> None:
    stage.create_table(stage.other_table)
    both = f"{stage.table},{stage.other_table}"
    stage.create_connector(tasks__max="2", dynamodb__table__whitelist=both, **keys)


def _wait_until_both_follow(stage: Stage, tasks: int = 1) -> None:
    _wait_until_it_follows(stage, tasks)
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


def throttling_ends(stage: Stage) -> None:
    """Nobody else reads any more."""
    stage.control.clear_faults()


def reads_throttled(stage: Stage) -> None:
    """A third reader has come to the shards."""
    stage.control.inject(
        operation="GetRecords", error="LimitExceededException", times=None, table=stage.table
    )


def changes_of_the_other_table(stage: Stage) -> None:
    """The same as ``changes`` to the second table."""
    _change(stage, stage.other_table)


def a_worker_on_this_machine(stage: Stage) -> None:
    """A running connector, and somebody who takes note when the worker's process ends."""
    a_running_connector(stage)
    stage.reap_worker()


def changes_that_are_committed(stage: Stage) -> None:
    """As ``changes``, and the position behind them is stored."""
    changes(stage)
    stage.wait_equal(stage.table)
    stage.wait_position_of(stage.table)


def more_changes(stage: Stage) -> None:
    """Another new item, and its record."""
    stage.put(stage.table, MORE)
    stage.wait_equal(stage.table)


def a_java_connector_that_was_stopped(stage: Stage) -> None:
    """Config, target state, positions and topic as a Java worker leaves them.

    Spec dynamodb-connector 3.5: one offset per table, with the shard that was read last.
    """
    a_table(stage)
    stage.create_connector(connector__class=JAVA_CLASS)
    _wait_until_it_follows(stage)
    changes_that_are_committed(stage)
    stage.request("PUT", f"/connectors/{stage.connector}/stop")
    state, shard = stage.stored_state(stage.table)
    java = {name: state[name] for name in JAVA_MEMBERS}
    java |= {"src_shard_id": shard["shard_id"], "src_shard_sequence_no": shard["sequence_number"]}
    stage.replace_offsets({"table_name": stage.table}, java)


def broker_down(stage: Stage) -> None:
    """Kafka is killed."""
    stage.broker.kill()


def broker_up(stage: Stage) -> None:
    """Kafka is back, with its data."""
    stage.broker.start()


def stream_replaced(stage: Stage) -> None:
    """Somebody switches the stream off and on; an item is deleted and one written in between."""
    stage.control.disable_stream(table=stage.table)
    stage.control.delete(table=stage.table, key={"id": {"S": "k2"}})
    stage.put(stage.table, 3, note={"S": "changed without a stream"})
    stage.control.enable_stream(table=stage.table)


def stream_replaced_again(stage: Stage) -> None:
    """As ``stream_replaced``, once the task runs by the policy that the page has set."""
    stage.wait_life(2)
    stream_replaced(stage)


def an_oversized_item(stage: Stage) -> None:
    """An item of 399 KB becomes a record of more than 2 MB; another item follows."""
    stage.put(stage.table, OVERSIZED_ITEM, huge=OVERSIZED)
    stage.put(stage.table, OVERSIZED_ITEM + 1)


def another_oversized_item(stage: Stage) -> None:
    """As ``an_oversized_item``, once the task runs by the limit that the page has set again."""
    stage.wait_life(3)
    stage.put(stage.table, OVERSIZED_ITEM + 2, huge=OVERSIZED)
    stage.put(stage.table, OVERSIZED_ITEM + 3)


def a_connector_with_keys_in_a_file(stage: Stage) -> None:
    """It follows two tables with keys that its config refers to; AWS knows three."""
    a_table(stage)
    for access_key_id, secret in KEYS:
        stage.control.require_credentials(access_key_id=access_key_id, secret=secret)
    keys = stage.secrets / "aws.properties"
    keys.write_text("id={}\nsecret={}\n".format(*KEYS[0]))
    _create_with_two_tasks(
        stage,
        aws__access__key__id=f"${{file:{keys}:id}}",
        aws__secret__key=f"${{file:{keys}:secret}}",
    )
    _wait_until_both_follow(stage, tasks=2)


def the_first_key_is_revoked(stage: Stage) -> None:
    """AWS refuses it, once the task runs with the second one."""
    stage.wait_life(2)
    stage.control.forget_credentials(access_key_id=KEYS[0][0])


def the_second_key_is_revoked(stage: Stage) -> None:
    """So it does the second."""
    stage.control.forget_credentials(access_key_id=KEYS[1][0])


EVENTS: Final[Mapping[str, Callable[[Stage], None]]] = {
    event.__name__.replace("_", "-"): event
    for event in (
        a_table,
        a_running_connector,
        a_paused_connector,
        a_stuck_scan,
        a_java_connector_that_was_stopped,
        a_connector_with_keys_in_a_file,
        a_worker_on_this_machine,
        an_oversized_item,
        another_oversized_item,
        broker_down,
        broker_up,
        changes,
        changes_of_the_other_table,
        changes_that_are_committed,
        more_changes,
        reads_allowed,
        reads_refused,
        reads_throttled,
        stream_replaced,
        stream_replaced_again,
        the_first_key_is_revoked,
        the_second_key_is_revoked,
        throttling_ends,
        two_running_tables,
        two_running_tasks,
    )
}
"""Every event, by its name on pages."""
