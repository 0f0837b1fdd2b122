"""Which shards are read, from where, and what is missing: examples, then generated trees."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from connectd.connectors.dynamodb import lineage
from connectd.connectors.dynamodb.gaps import Gap, GapKind
from connectd.connectors.dynamodb.lineage import Baseline, Plan, Windows
from connectd.connectors.dynamodb.offsets import PositionKind, ShardPosition
from connectd.connectors.dynamodb.source_api import Shard
from connectd.model.ids import SequenceNumber

HOUR_MS = 3_600_000
_BOOLEANS: st.SearchStrategy[bool] = st.booleans()
NOW_MS = 1_700_000_000_000
WINDOWS = Windows(24 * HOUR_MS, 20 * HOUR_MS)
BASELINE = Baseline("arn", 5, NOW_MS - HOUR_MS)
K = PositionKind


def shard(name: str, parent: str | None = None, *, is_closed: bool = False) -> Shard:
    return Shard(name, parent, "1", "9" if is_closed else None)


def at(
    name: str, kind: PositionKind, parent: str | None = None, *, age_h: float = 1
) -> ShardPosition:
    number = SequenceNumber("7") if kind is K.AFTER_SEQUENCE_NUMBER else None
    position_ms = NOW_MS - int(age_h * HOUR_MS)
    return ShardPosition(name, "arn", 5, kind, position_ms, number, parent)


def plan(
    listed: Iterable[Shard], positions: Iterable[ShardPosition], live: Iterable[str] = ()
) -> Plan:
    return lineage.plan_reading(
        listed,
        {each.shard_id: each for each in positions},
        now_ms=NOW_MS,
        windows=WINDOWS,
        live=frozenset(live),
    )


def names(positions: Iterable[ShardPosition]) -> set[str]:
    return {position.shard_id for position in positions}


# -- the first time --------------------------------------------------------------------------------


def test_at_first_every_shard_begins_at_its_beginning() -> None:
    listed = [shard("a", "trimmed", is_closed=True), shard("b", "a"), shard("c")]
    positions = lineage.first_positions(listed, BASELINE)
    assert [(each.shard_id, each.kind) for each in positions] == [
        ("a", K.TRIM_HORIZON),
        ("b", K.TRIM_HORIZON),
        ("c", K.TRIM_HORIZON),
    ]
    assert {each.position_ms for each in positions} == {BASELINE.position_ms}
    assert positions[1].parent_shard_id == "a"
    assert {each.pinned_at_ms for each in positions} == {None}


def test_from_latest_closed_shards_count_as_read_and_open_ones_are_pinned() -> None:
    """An open parent beside its child is as good as closed: the listing is read page by page."""
    listed = [shard("a", is_closed=True), shard("b", "a"), shard("c", "b")]
    positions = {p.shard_id: p for p in lineage.first_positions(listed, BASELINE, latest=True)}
    assert positions["a"].is_sealed
    assert positions["b"].is_sealed
    assert positions["c"].kind is K.LATEST
    assert positions["c"].pinned_at_ms == BASELINE.position_ms


def test_a_young_shard_of_an_unlisted_parent_tells_of_a_hidden_one() -> None:
    young = f"shardId-{NOW_MS - HOUR_MS:020d}-00000001"
    old = f"shardId-{NOW_MS - 30 * HOUR_MS:020d}-00000002"
    listed = [shard(young, "hidden"), shard(old, "trimmed"), shard("shard-1", "no date")]
    found = lineage.hidden_parents(listed, now_ms=NOW_MS, windows=WINDOWS)
    assert found == {"hidden"}
    both = [*listed, shard("hidden")]
    assert lineage.hidden_parents(both, now_ms=NOW_MS, windows=WINDOWS) == set()


# -- parents first ---------------------------------------------------------------------------------


def test_a_child_waits_until_its_parent_is_sealed() -> None:
    listed = [shard("a", is_closed=True), shard("b", "a"), shard("c", "a")]
    before = plan(listed, [at("a", K.AFTER_SEQUENCE_NUMBER)])
    assert names(before.read) == {"a"}
    assert before.waiting == ("b", "c")
    after = plan(listed, [at("a", K.SHARD_END)])
    assert names(after.read) == names(after.adopted) == {"b", "c"}
    assert {each.kind for each in after.read} == {K.TRIM_HORIZON}
    assert after.waiting == ()


def test_a_child_of_a_pinned_shard_begins_at_its_beginning() -> None:
    """Field case S07."""
    pinned = dataclasses.replace(at("a", K.SHARD_END), pinned_at_ms=NOW_MS - HOUR_MS)
    (child,) = plan([shard("a", is_closed=True), shard("b", "a")], [pinned]).adopted
    assert child.kind is K.TRIM_HORIZON
    assert child.pinned_at_ms is None


def test_a_child_stands_for_what_its_parent_stands_for() -> None:
    (child,) = plan([shard("b", "a")], [at("a", K.SHARD_END, age_h=3)]).adopted
    assert child.position_ms == NOW_MS - 3 * HOUR_MS
    assert child.stream_arn == "arn"
    assert child.init_sync_start_ms == 5


def test_a_sealed_shard_without_children_is_a_leaf() -> None:
    """Field case S01: whoever sees a leaf lists again."""
    found = plan([shard("a", is_closed=True)], [at("a", K.SHARD_END)])
    assert found.leaves == ("a",)
    assert found.read == ()
    assert plan([shard("a"), shard("b", "a")], [at("a", K.SHARD_END)]).leaves == ()


def test_a_known_shard_is_read_although_a_listing_does_not_show_it() -> None:
    found = plan([shard("other")], [at("a", K.AFTER_SEQUENCE_NUMBER), at("other", K.SHARD_END)])
    assert names(found.read) == {"a"}
    assert found.gaps == ()


def test_a_parent_that_nobody_knows_any_more_does_not_block() -> None:
    found = plan([shard("b", "trimmed")], [at("b", K.TRIM_HORIZON, "trimmed")])
    assert names(found.read) == {"b"}


def test_a_finished_shard_that_was_forgotten_is_not_read_again() -> None:
    """Spec streams-and-leases 5, row 1: the ghost lineage."""
    listed = [shard("a", is_closed=True), shard("b", "a", is_closed=True), shard("c", "b")]
    found = plan(listed, [at("c", K.AFTER_SEQUENCE_NUMBER, "b")])
    assert names(found.read) == {"c"}
    assert found.waiting == ()
    assert found.gaps == ()


def test_a_parent_that_a_listing_hid_is_read_before_its_child_is_begun() -> None:
    listed = [shard("a", is_closed=True), shard("b", "a")]
    found = plan(listed, [at("b", K.TRIM_HORIZON, "a")])
    assert names(found.read) == {"a"}
    assert found.waiting == ("b",)


def test_positions_are_forgettable_once_unlisted_and_followed() -> None:
    positions = [
        at("a", K.SHARD_END),
        at("b", K.SHARD_END, "a"),
        at("c", K.AFTER_SEQUENCE_NUMBER, "b"),
        at("leaf", K.SHARD_END),
    ]
    found = plan([shard("b", "a", is_closed=True), shard("c", "b")], positions)
    assert found.forgettable == ("a",)


# -- gaps ------------------------------------------------------------------------------------------


def only_gap(found: Plan) -> Gap:
    (gap,) = found.gaps
    return gap


def test_an_unsealed_shard_that_is_gone_for_long_is_a_gap() -> None:
    found = plan([shard("z", "y")], [at("a", K.AFTER_SEQUENCE_NUMBER, age_h=21)])
    kinds = [gap.kind for gap in found.gaps]
    assert kinds == [GapKind.SHARD_UNLISTED, GapKind.LINEAGE_UNKNOWN]
    assert found.read == ()


def test_gaps_by_kind_and_age() -> None:
    listed = [shard("a")]
    cases: list[tuple[PositionKind, float, bool, GapKind | None]] = [
        (K.AFTER_SEQUENCE_NUMBER, 19, True, None),
        (K.AFTER_SEQUENCE_NUMBER, 23, True, None),
        (K.AFTER_SEQUENCE_NUMBER, 25, True, GapKind.POSITION_TOO_OLD),
        (K.AFTER_SEQUENCE_NUMBER, 19, False, None),
        (K.AFTER_SEQUENCE_NUMBER, 21, False, GapKind.SHARD_UNLISTED),
        (K.TRIM_HORIZON, 19, True, None),
        (K.TRIM_HORIZON, 21, True, GapKind.POSITION_TOO_OLD),
        (K.LATEST, 21, True, GapKind.POSITION_TOO_OLD),
        (K.TRIM_HORIZON, 19, False, None),
        (K.TRIM_HORIZON, 21, False, GapKind.SHARD_UNLISTED),
    ]
    for kind, age_h, is_listed, expected in cases:
        gap = lineage.gap_of_age(
            at("a", kind, age_h=age_h), is_listed=is_listed, now_ms=NOW_MS, windows=WINDOWS
        )
        assert (None if gap is None else gap.kind) is expected, (kind, age_h, is_listed)
        if gap is not None:
            assert gap.shard_id == "a"
            assert gap.since_ms == NOW_MS - int(age_h * HOUR_MS)
            assert f"{age_h:.1f} hours" in gap.detail
    assert plan(listed, [at("a", K.TRIM_HORIZON, age_h=21)], live=["a"]).gaps == ()


def test_shards_behind_an_old_one_do_not_count_once_more() -> None:
    listed = [shard("a", is_closed=True), shard("b", "a")]
    found = plan(
        listed, [at("a", K.TRIM_HORIZON, age_h=30), at("b", K.TRIM_HORIZON, "a", age_h=30)]
    )
    assert only_gap(found).shard_id == "a"
    assert found.waiting == ("b",)


def test_a_child_that_waited_long_for_a_live_parent_is_no_gap() -> None:
    listed = [shard("a", is_closed=True), shard("b", "a")]
    positions = [at("a", K.SHARD_END, age_h=21), at("b", K.TRIM_HORIZON, "a", age_h=30)]
    assert names(plan(listed, positions, live=["a"]).read) == {"b"}
    assert only_gap(plan(listed, positions)).shard_id == "b"
    fresh = [at("a", K.SHARD_END, age_h=2), at("b", K.TRIM_HORIZON, "a", age_h=30)]
    (child,) = plan(listed, fresh).read
    assert child.position_ms == NOW_MS - 2 * HOUR_MS


def test_a_root_of_unknown_parentage_is_an_orphan_while_all_is_fresh_and_then_a_gap() -> None:
    listed = [shard("a"), shard("z", "y")]
    fresh = plan(listed, [at("a", K.AFTER_SEQUENCE_NUMBER)])
    assert fresh.orphans == ("z",)
    assert fresh.gaps == ()
    stale = plan([shard("z", "y")], [at("a", K.SHARD_END, age_h=40)])
    gap = only_gap(stale)
    assert gap.kind is GapKind.LINEAGE_UNKNOWN
    assert "shard z" in gap.detail
    assert "shard y" in gap.detail


def test_a_root_without_a_parent_that_appears_later_is_read_from_its_beginning() -> None:
    found = plan([shard("a"), shard("new")], [at("a", K.AFTER_SEQUENCE_NUMBER, age_h=2)])
    (position,) = found.adopted
    assert position.shard_id == "new"
    assert position.position_ms == NOW_MS - 2 * HOUR_MS


def test_skipping_a_gap_leaves_a_position_that_is_none() -> None:
    positions = {"a": at("a", K.AFTER_SEQUENCE_NUMBER, "p", age_h=30)}
    too_old = Gap(GapKind.POSITION_TOO_OLD, "", shard_id="a")
    mended = lineage.after_skipping(too_old, positions, now_ms=NOW_MS)
    assert mended is not None
    assert mended.kind is K.TRIM_HORIZON
    assert mended.position_ms == NOW_MS
    assert mended.parent_shard_id == "p"
    gone = Gap(GapKind.SHARD_UNLISTED, "", shard_id="a")
    sealed = lineage.after_skipping(gone, positions, now_ms=NOW_MS)
    assert sealed is not None
    assert sealed.is_sealed
    assert lineage.after_skipping(Gap(GapKind.STREAM_REPLACED, ""), positions, now_ms=1) is None


# -- generated trees -------------------------------------------------------------------------------


@st.composite
def trees(draw: st.DrawFn) -> list[Shard]:
    """A forest as DynamoDB makes them: roll-overs and splits, some roots' parents trimmed."""
    shards: list[Shard] = []
    leaves: list[str] = []
    for root in range(draw(st.integers(1, 4))):
        parent = draw(st.sampled_from([None, f"trimmed-{root}"]))
        shards.append(shard(f"s{len(shards):03d}", parent))
        leaves.append(shards[-1].shard_id)
    for _ in range(draw(st.integers(0, 15))):
        closing = draw(st.sampled_from(leaves))
        leaves.remove(closing)
        shards = [
            dataclasses.replace(each, ending_sequence_number="9")
            if each.shard_id == closing
            else each
            for each in shards
        ]
        for _ in range(draw(st.sampled_from([1, 1, 2]))):
            shards.append(shard(f"s{len(shards):03d}", closing))
            leaves.append(shards[-1].shard_id)
    return shards


def parents_of(shards: Iterable[Shard]) -> Mapping[str, str | None]:
    return {each.shard_id: each.parent_shard_id for each in shards}


@given(trees(), st.data())
def test_every_shard_is_read_once_after_its_parent_whatever_listings_hide(
    shards: list[Shard], data: st.DataObject
) -> None:
    """Shards end in any order, children are listed late: still each is read, parents first."""
    parents: Mapping[str, str | None] = parents_of(shards)
    roots = [each for each in shards if parents[each.shard_id] not in parents]
    positions = {p.shard_id: p for p in lineage.first_positions(roots, BASELINE)}
    sealed: list[str] = []
    hidden = set(data.draw(st.sets(st.sampled_from(shards), max_size=5))) - set(roots)
    for _ in range(2 * len(shards) + 2):
        visible = [each for each in shards if each not in hidden]
        found = plan(visible, positions.values(), live=sealed)
        assert found.gaps == ()
        for position in found.read:
            parent = parents[position.shard_id]
            assert parent is None or parent not in parents or positions[parent].is_sealed
            assert position.shard_id not in sealed
        assert names(found.adopted) <= names(found.read)
        assert not set(found.waiting) & names(found.read)
        if not found.read:
            if not hidden:
                break
            hidden.clear()
            continue
        ending = data.draw(st.sampled_from(sorted(names(found.read))))
        (position,) = (each for each in found.read if each.shard_id == ending)
        positions[ending] = position.sealed()
        sealed.append(ending)
        shows_one_more: bool = data.draw(_BOOLEANS)
        if hidden and shows_one_more:
            hidden.pop()
    assert sorted(sealed) == sorted(parents)


@given(trees(), st.data())
def test_every_listed_shard_has_exactly_one_place(shards: list[Shard], data: st.DataObject) -> None:
    """Read, waiting, orphaned, lost, or already sealed: nothing falls through."""
    parents = parents_of(shards)
    kinds = st.sampled_from([K.TRIM_HORIZON, K.AFTER_SEQUENCE_NUMBER, K.SHARD_END])
    known = data.draw(st.sets(st.sampled_from(sorted(parents)), min_size=1))
    age_h = data.draw(st.sampled_from([1, 22, 30]))
    positions = [at(name, data.draw(kinds), parents[name], age_h=age_h) for name in sorted(known)]
    found = plan(shards, positions)
    gaps = {gap.shard_id for gap in found.gaps}
    sealed = {position.shard_id for position in positions if position.is_sealed}
    for name in parents:
        places = [
            name in names(found.read),
            name in found.waiting,
            name in found.orphans,
            name in gaps,
            name in sealed,
        ]
        is_finished_long_ago = name not in known and _has_begun_descendant(name, shards, positions)
        assert sum(places) == (0 if is_finished_long_ago else 1), (name, places)


def _has_begun_descendant(
    name: str, shards: Iterable[Shard], positions: Iterable[ShardPosition]
) -> bool:
    parents = parents_of(shards)
    known = {position.shard_id for position in positions}
    for position in positions:
        if position.kind is K.TRIM_HORIZON:
            continue
        parent = position.parent_shard_id
        while parent is not None and parent not in known:
            if parent == name:
                return True
            parent = parents.get(parent)
    return False
