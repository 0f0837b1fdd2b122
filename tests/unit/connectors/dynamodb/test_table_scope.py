"""What people see of a table: a lag that does not lie."""

from __future__ import annotations

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
