"""What people see of a table: a lag that does not lie."""

from __future__ import annotations

from dataclasses import replace

import pytest

from connectd.connectors.dynamodb.table_scope import ShardProgress, TableProgress, Unacked
from connectd.runtime.degradation import is_degraded


def _progress(last_read_s: float | None, behind_s: float, *, pause_s: float = 0.0) -> TableProgress:
    progress = TableProgress("orders", "dynamodb-orders", state="SYNC")
    progress.shards["a"] = ShardProgress(
        10.0, last_read_s=last_read_s, behind_s=behind_s, pause_s=pause_s
    )
    return progress


def _row(progress: TableProgress, *, now_s: float = 100.0) -> dict[str, object]:
    return progress.row(task=0, now_s=now_s, is_blocked=False)


def test_a_shard_that_is_read_every_few_seconds_shows_its_own_lag() -> None:
    assert _row(_progress(last_read_s=98.0, behind_s=0.5))["lag_s"] == 0.5


def test_a_silence_adds_to_the_lag() -> None:
    """Nobody knows that it is at the tip: the broker or the service may be away (promise 5)."""
    assert _row(_progress(last_read_s=40.0, behind_s=0.5))["lag_s"] == 60.5


def test_a_pause_between_two_reads_is_no_silence() -> None:
    assert _row(_progress(last_read_s=40.0, behind_s=0.0, pause_s=60.0))["lag_s"] == 0.0
    assert _row(_progress(last_read_s=29.0, behind_s=0.0, pause_s=60.0))["lag_s"] == 71.0


def test_what_was_read_and_not_acknowledged_is_behind_however_new_the_last_read_is() -> None:
    progress = _progress(last_read_s=99.5, behind_s=0.0)
    shard = progress.shards["a"]
    shard.unacked.extend((Unacked(born_s=20.0, emitted_s=30.0), Unacked(born_s=90.0, emitted_s=95)))
    row = _row(progress)
    assert (row["lag_s"], row["last_read_age_s"], row["progress_age_s"]) == (80.0, 0.5, 70.0)
    assert row["reason"] == "records that were read are not acknowledged yet"
    shard.unacked.popleft()
    row = _row(progress)
    assert (row["lag_s"], row["progress_age_s"], row["reason"]) == (10.0, 5.0, "")
    shard.unacked.popleft()
    row = _row(progress)
    assert (row["lag_s"], row["progress_age_s"]) == (0.0, 0.5)


def test_a_shard_that_was_never_read_has_no_age_of_a_read_and_no_lag_but_stands_still() -> None:
    row = _row(_progress(last_read_s=None, behind_s=0.0))
    assert (row["last_read_age_s"], row["lag_s"], row["progress_age_s"]) == (None, None, 90.0)
    assert is_degraded(row, 89.0)


def test_a_shard_that_was_never_read_does_not_hide_when_others_were() -> None:
    progress = _progress(last_read_s=98.0, behind_s=0.5)
    progress.shards["b"] = ShardProgress(10.0)
    row = _row(progress)
    assert (row["last_read_age_s"], row["lag_s"], row["progress_age_s"]) == (2.0, 0.5, 90.0)


def test_shards_that_follow_others_go_on_with_the_last_read_of_the_table() -> None:
    progress = replace(_progress(None, 0.0), last_read_s=97.0)
    assert _row(progress)["last_read_age_s"] == 3.0


def test_a_full_buffer_is_a_reason() -> None:
    row = _progress(last_read_s=98.0, behind_s=0.0).row(task=0, now_s=100.0, is_blocked=True)
    assert row["reason"] == "waiting for Kafka: buffer is full"


def test_a_row_tells_how_long_the_table_waits_on_purpose() -> None:
    progress = _progress(last_read_s=98.0, behind_s=0.0, pause_s=2.0)
    progress.shards["b"] = ShardProgress(10.0, pause_s=60.0)
    assert _row(progress)["pause_s"] == 60.0
    assert _row(TableProgress("orders", "orders", rest_s=30.0))["pause_s"] == 30.0


@pytest.mark.parametrize(
    ("state", "moved_s", "shard_read_s", "age_s"),
    [
        ("INIT_SYNC", 70.0, None, 30.0),
        ("SYNC", 70.0, None, 30.0),  # no shard is being read yet
        ("SYNC", 99.0, 40.0, 60.0),  # listings are no progress
        ("DISCOVERY", None, None, None),
    ],
)
def test_the_age_of_progress_is_that_of_what_the_state_is_about(
    state: str, moved_s: float | None, shard_read_s: float | None, age_s: float | None
) -> None:
    progress = TableProgress("orders", "dynamodb-orders", state=state, moved_s=moved_s)
    if shard_read_s is not None:
        progress.shards["a"] = ShardProgress(10.0, last_read_s=shard_read_s)
    assert _row(progress)["progress_age_s"] == age_s


def test_a_shard_that_is_not_read_is_no_progress_although_others_are() -> None:
    progress = _progress(last_read_s=99.0, behind_s=0.0)
    progress.shards["b"] = ShardProgress(5.0, last_read_s=10.0)
    assert progress.progress_age_s(100.0) == 90.0


def test_a_table_without_open_shards_grows_old_from_its_last_read() -> None:
    """P07: all readers have ended."""
    progress = replace(_progress(99.0, 0.0), shards={}, last_read_s=30.0, moved_s=99.0)
    assert progress.progress_age_s(100.0) == 70.0


def test_what_is_under_way_is_inherited_and_goes_when_nobody_holds_it() -> None:
    progress = _progress(last_read_s=None, behind_s=0.0)
    first = progress.under_way("a")
    first.append(Unacked(1.0, 1.0))
    acknowledge = first.popleft  # all that is left of the reader
    del first
    assert len(progress.under_way("a")) == 1
    acknowledge()
    del acknowledge
    assert not progress.unacked
