"""Which incremental exports close a gap: where the first begins, where each ends, and when none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.connectors.dynamodb import export_windows
from connectd.connectors.dynamodb.config import DynamoDbConfig
from connectd.connectors.dynamodb.envelope import InitSyncState
from connectd.connectors.dynamodb.export_windows import WINDOW_MAX_MS, WINDOW_MIN_MS, next_end
from connectd.connectors.dynamodb.gaps import Gap, GapKind
from connectd.connectors.dynamodb.offsets import (
    ExportChain,
    PositionKind,
    ShardPosition,
    TableState,
)
from tests.kit.items import examples

HOUR_MS = 3_600_000
SAFE_MS = 20 * HOUR_MS
NOW_MS = 1_700_000_000_000
GAP = Gap(GapKind.POSITION_TOO_OLD, "shard a was not read to its end")
STATE = TableState("orders", InitSyncState.FINISHED, 7, init_sync_end_ms=8, stream_arn="arn")


def config(**members: str) -> DynamoDbConfig:
    return DynamoDbConfig.from_config({name.replace("_", "."): v for name, v in members.items()})


def at(shard_id: str, age_h: float, kind: str = "LATEST", parent: str = "") -> ShardPosition:
    position_ms = NOW_MS - int(age_h * HOUR_MS)
    return ShardPosition(
        shard_id, "arn", 7, PositionKind(kind), position_ms, parent_shard_id=parent or None
    )


def positions(*found: ShardPosition) -> dict[str, ShardPosition]:
    return {each.shard_id: each for each in found}


def begun(*found: ShardPosition) -> tuple[float, float]:
    """Ages in hours: of the beginning of the first export, and of the newest position."""
    chain = export_windows.begin_chain(STATE, positions(*found), "exports", NOW_MS)
    assert chain.from_ms % 1000 == chain.newest_ms % 1000 == 0
    return (NOW_MS - chain.from_ms) / HOUR_MS, (NOW_MS - chain.newest_ms) / HOUR_MS


def test_it_begins_before_the_oldest_position_that_stands_for_a_lineage() -> None:
    from_h, newest_h = begun(
        at("a", 30),
        at("b", 26),
        at("waiting", 50, parent="b"),
        at("read", 60, "SHARD_END"),
        at("child", 55, parent="read"),
        at("leaf", 40, "SHARD_END"),
    )
    assert from_h == pytest.approx(55, abs=0.01)
    assert newest_h == pytest.approx(26, abs=0.01)
    from_h, newest_h = begun(at("a", 30), at("leaf", 40, "SHARD_END"))
    assert from_h == pytest.approx(40, abs=0.01)
    assert from_h > 40  # the second of the position is among it
    assert newest_h == pytest.approx(30, abs=0.01)


def test_a_child_stands_for_what_its_parent_has_stood_for() -> None:
    from_h, _ = begun(at("parent", 25, "SHARD_END"), at("child", 55, "TRIM_HORIZON", "parent"))
    assert from_h == pytest.approx(25.25, abs=0.01)


def test_what_is_older_than_the_picture_of_init_sync_was_in_it() -> None:
    state = replace(STATE, export_ms=NOW_MS - 25 * HOUR_MS)
    found = positions(at("a", 30), at("b", 24.5))
    chain = export_windows.begin_chain(state, found, "x", NOW_MS)
    assert (NOW_MS - chain.from_ms) / HOUR_MS == pytest.approx(25, abs=0.01)
    assert "younger than the stream" in export_windows.obstacle(
        GAP, replace(state, export_ms=NOW_MS - 19 * HOUR_MS), found, config(), NOW_MS
    )


def test_the_first_export_ends_where_the_stream_was_last_read() -> None:
    chain = export_windows.begin_chain(STATE, positions(at("a", 30), at("b", 29.99)), "x", NOW_MS)
    assert chain.newest_ms - chain.from_ms == WINDOW_MIN_MS
    assert next_end(chain, NOW_MS, SAFE_MS) == chain.newest_ms


def test_a_fresh_beginning_needs_no_export() -> None:
    chain = ExportChain("x", NOW_MS - SAFE_MS * 9 // 10, 0, 0)
    assert next_end(chain, NOW_MS, SAFE_MS) is None
    assert next_end(chain, NOW_MS + 1, SAFE_MS) is not None


def test_an_export_that_follows_a_slow_one_ends_later() -> None:
    chain = ExportChain("x", NOW_MS - 21 * HOUR_MS, 0, 0)
    ends = [next_end(chain, NOW_MS, SAFE_MS, took_ms=hours * HOUR_MS) for hours in (0, 4, 6, 12)]
    assert [(NOW_MS - (end or 0)) / HOUR_MS for end in ends] == [10, 10, 6, 0.25]


@given(
    ages=st.lists(st.integers(21 * HOUR_MS, 34 * 24 * HOUR_MS), min_size=1, max_size=4),
    safe_ms=st.integers(2 * HOUR_MS, 23 * HOUR_MS),
    took_ms=st.integers(0, 6 * HOUR_MS),
)
@examples
def test_any_chain_is_whole_within_the_limits_of_the_service_and_ends(
    ages: list[int], safe_ms: int, took_ms: int
) -> None:
    took_ms = min(took_ms, safe_ms // 3)
    found = [at(f"s{number}", age / HOUR_MS) for number, age in enumerate(ages)]
    chain = export_windows.begin_chain(STATE, positions(*found), "x", NOW_MS)
    assert chain.from_ms < min(each.position_ms for each in found)
    now_ms, took = NOW_MS, 0
    for _ in range(80):
        end_ms = next_end(chain, now_ms, safe_ms, took_ms=took)
        if end_ms is None:
            break
        assert end_ms % 1000 == 0
        assert WINDOW_MIN_MS <= end_ms - chain.from_ms <= WINDOW_MAX_MS
        assert end_ms <= now_ms - 5 * 60_000
        chain, took = replace(chain, from_ms=end_ms), took_ms
        now_ms += took_ms
    assert now_ms - chain.from_ms < safe_ms


@pytest.mark.parametrize(
    ("gap", "state", "found", "members", "why"),
    [
        (GAP, STATE, positions(at("a", 30)), {}, ""),
        (Gap(GapKind.STREAM_REPLACED, "x"), STATE, positions(at("a", 30)), {}, "replaced"),
        (GAP, replace(STATE, init_sync=InitSyncState.SKIPPED), {}, {}, "INIT_SYNC has not"),
        (GAP, STATE, {}, {}, "no position of the stream"),
        (GAP, STATE, positions(at("a", 30)), {"ttl_deletes": "drop"}, "ttl.deletes is drop"),
        (GAP, STATE, positions(at("a", 35 * 24)), {}, "it is 35.0 days old"),
        (GAP, STATE, positions(at("a", 19)), {}, "younger than the stream"),
        (GAP, STATE, positions(at("a", 30)), {"stream_safe_zone_ms": "7199999"}, "below 7200000"),
    ],
)
def test_what_no_export_can_close_is_said(
    gap: Gap,
    state: TableState,
    found: dict[str, ShardPosition],
    members: dict[str, str],
    why: str,
) -> None:
    problem = export_windows.obstacle(gap, state, found, config(**members), NOW_MS)
    assert why in problem
    assert bool(why) == bool(problem)
