"""What people see of a table: a lag that does not lie."""

from __future__ import annotations

from dataclasses import replace

import pytest

from connectd.connectors.dynamodb.table_scope import ShardProgress, TableProgress


def _progress(last_read_s: float, lag_s: float) -> TableProgress:
    progress = TableProgress("orders", "dynamodb-orders", state="SYNC")
    progress.shards["a"] = ShardProgress(last_read_s=last_read_s, lag_s=lag_s)
    return progress


def test_a_shard_that_is_read_every_few_seconds_shows_its_own_lag() -> None:
    row = _progress(last_read_s=98.0, lag_s=0.5).row(task=0, now_s=100.0, is_blocked=False)
    assert row["lag_s"] == 0.5


def test_a_silence_adds_to_the_lag() -> None:
    """Nobody knows that it is at the tip: the broker or the service may be away (promise 5)."""
    row = _progress(last_read_s=40.0, lag_s=0.5).row(task=0, now_s=100.0, is_blocked=False)
    assert row["lag_s"] == 60.5


def test_a_full_buffer_is_a_reason() -> None:
    row = _progress(last_read_s=98.0, lag_s=0.0).row(task=0, now_s=100.0, is_blocked=True)
    assert row["reason"] == "waiting for Kafka: buffer is full"


@pytest.mark.parametrize(
    ("state", "moved_s", "shard_read_s", "age_s"),
    [
        ("INIT_SYNC", 70.0, None, 30.0),
        ("SYNC", 70.0, None, 30.0),  # no shard has been read yet
        ("SYNC", 99.0, 40.0, 60.0),  # listings are no progress
        ("DISCOVERY", None, None, None),
    ],
)
def test_the_age_of_progress_is_that_of_what_the_state_is_about(
    state: str, moved_s: float | None, shard_read_s: float | None, age_s: float | None
) -> None:
    progress = TableProgress("orders", "dynamodb-orders", state=state, moved_s=moved_s)
    if shard_read_s is not None:
        progress.shards["a"] = ShardProgress(last_read_s=shard_read_s)
    row = progress.row(task=0, now_s=100.0, is_blocked=False)
    assert row["progress_age_s"] == age_s


def test_a_shard_that_is_not_read_is_no_progress_although_others_are() -> None:
    progress = _progress(last_read_s=99.0, lag_s=0.0)
    progress.shards["b"] = ShardProgress(last_read_s=10.0)
    assert progress.progress_age_s(100.0) == 90.0


def test_a_table_without_open_shards_grows_old_from_its_last_read() -> None:
    """P07: all readers have ended."""
    progress = replace(_progress(99.0, 0.0), shards={}, last_read_s=30.0, moved_s=99.0)
    assert progress.progress_age_s(100.0) == 70.0
