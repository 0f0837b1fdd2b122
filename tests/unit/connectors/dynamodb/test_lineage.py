"""The shards of a stream: which are read, which wait, what is lost.

Single situations and properties of any plan are here; whole lives in ``test_lineage_life``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.connectors.dynamodb import lineage
from connectd.connectors.dynamodb.gaps import Gap, GapKind
from connectd.connectors.dynamodb.lineage import Baseline, Plan, Windows, plan_reading
from connectd.connectors.dynamodb.offsets import PositionKind, ShardPosition
from connectd.connectors.dynamodb.source_api import Shard
from connectd.model.ids import SequenceNumber
from tests.kit.items import examples

_HOUR_MS = 3_600_000
_NOW_MS = 1_700_000_000_000
_ARN = "arn:orders/stream/1"
_WINDOWS = Windows(retention_ms=24 * _HOUR_MS, safe_zone_ms=20 * _HOUR_MS)

_HORIZON, _LATEST, _AFTER, _END = (
    PositionKind.TRIM_HORIZON,
    PositionKind.LATEST,
    PositionKind.AFTER_SEQUENCE_NUMBER,
    PositionKind.SHARD_END,
)


def _open(shard_id: str, parent: str | None = None) -> Shard:
    return Shard(shard_id, parent, "1", None)


def _closed(shard_id: str, parent: str | None = None) -> Shard:
    return Shard(shard_id, parent, "1", "9")


def _at(
    shard_id: str, kind: PositionKind, parent: str | None = None, *, age_h: float = 0.0
) -> ShardPosition:
    return ShardPosition(
        shard_id=shard_id,
        stream_arn=_ARN,
        init_sync_start_ms=7,
        kind=kind,
        position_ms=_NOW_MS - int(age_h * _HOUR_MS),
        sequence_number=SequenceNumber("5") if kind is _AFTER else None,
        parent_shard_id=parent,
    )


def _plan(listed: Iterable[Shard], *positions: ShardPosition, live: Iterable[str] = ()) -> Plan:
    return plan_reading(
        listed,
        {position.shard_id: position for position in positions},
        now_ms=_NOW_MS,
        windows=_WINDOWS,
        live=frozenset(live),
    )


def _names(positions: Iterable[ShardPosition]) -> list[str]:
    return [position.shard_id for position in positions]


# -- parents and children -------------------------------------------------------------------------


def test_a_child_waits_for_the_end_of_its_parent() -> None:
    """Field case S08: v1 of an item is in the parent, v2 in the child."""
    plan = _plan([_closed("p"), _open("c", "p")], _at("p", _AFTER))
    assert _names(plan.read) == ["p"]
    assert plan.waiting == ("c",)


def test_a_child_is_read_from_its_beginning_once_its_parents_end_is_durable() -> None:
    """Field case S07: where the stream began to be read is no matter to children."""
    for began in (_HORIZON, _LATEST):
        parent = replace(_at("p", began, age_h=1), pinned_at_ms=3).sealed()
        plan = _plan([_closed("p"), _open("a", "p"), _open("b", "p")], parent)
        assert _names(plan.read) == _names(plan.adopted) == ["a", "b"]
        for child in plan.read:
            assert child == ShardPosition(
                child.shard_id, _ARN, 7, _HORIZON, parent.position_ms, parent_shard_id="p"
            )


def test_a_listing_that_shows_a_parent_still_open_beside_its_child_starts_no_child() -> None:
    listed = [_open("p"), _open("c", "p")]
    assert lineage.open_shards(listed) == {"c"}
    assert _plan(listed, _at("p", _AFTER)).waiting == ("c",)


def test_a_child_that_no_listing_shows_yet_is_a_reason_to_list_again() -> None:
    plan = _plan([_closed("p")], _at("p", _END))
    assert plan == Plan(leaves=("p",))


def test_shards_that_are_all_closed_and_read_leave_something_to_wait_for() -> None:
    """Field case S15: "no remaining source shards" killed the task."""
    plan = _plan([_closed("a"), _closed("b")], _at("a", _END), _at("b", _END))
    assert (plan.read, plan.gaps, plan.leaves) == ((), (), ("a", "b"))


def test_grandchildren_wait_as_well() -> None:
    listed = [_closed("p"), _closed("c", "p"), _open("g", "c")]
    assert _plan(listed, _at("p", _AFTER)).waiting == ("c", "g")
    assert _plan(listed, _at("p", _END)).waiting == ("g",)


def test_known_children_wait_whatever_their_age() -> None:
    # While an older shard carries the position of the lineage, theirs says nothing.
    positions = _at("p", _AFTER), _at("c", _HORIZON, "p", age_h=99)
    plan = _plan([_closed("p"), _open("c", "p")], *positions)
    assert (_names(plan.read), plan.waiting, plan.gaps) == (["p"], ("c",), ())


def test_a_child_that_has_waited_stands_for_what_its_parent_stands_for() -> None:
    positions = _at("p", _END, age_h=1), _at("c", _HORIZON, "p", age_h=99)
    plan = _plan([_closed("p"), _open("c", "p")], *positions)
    assert [each.position_ms for each in plan.read] == [_NOW_MS - _HOUR_MS]
    assert plan.gaps == ()


def test_a_parent_that_was_trimmed_long_ago_blocks_nobody() -> None:
    plan = _plan([_open("c", "p")], _at("c", _AFTER, "p"))
    assert _names(plan.read) == ["c"]


def test_a_finished_parent_that_was_forgotten_is_not_read_again() -> None:
    plan = _plan([_closed("g"), _closed("p", "g"), _open("c", "p")], _at("c", _AFTER, "p"))
    assert _names(plan.read) == ["c"]
    assert plan.waiting == plan.orphans == ()


def test_a_parent_that_turns_up_late_is_read_before_a_child_that_has_not_begun() -> None:
    plan = _plan([_closed("p"), _open("c", "p")], _at("c", _HORIZON, "p"))
    assert _names(plan.read) == ["p"]
    assert plan.waiting == ("c",)


def test_a_shard_without_its_parent_in_a_fresh_life_is_an_accident_of_paging() -> None:
    plan = _plan([_open("a"), _open("c", "hidden")], _at("a", _AFTER))
    assert (plan.orphans, plan.gaps, _names(plan.read)) == (("c",), (), ["a"])


def test_finished_shards_are_forgotten_once_they_are_unlisted_and_have_known_children() -> None:
    sealed = [_at("p", _END), _at("c", _END, "p"), _at("leaf", _END)]
    plan = _plan([_open("g", "c")], *sealed)
    # c has a child that is only listed: its end is what lets g begin.
    assert plan.forgettable == ("p",)
    assert _names(plan.adopted) == ["g"]


# -- first positions ------------------------------------------------------------------------------

_BASELINE = Baseline(_ARN, init_sync_start_ms=7, position_ms=_NOW_MS)
_FAMILY = [_closed("p"), _open("a", "p"), _open("b", "p"), _open("q")]


def test_from_the_horizon_every_shard_begins_at_its_beginning() -> None:
    found = lineage.first_positions(_FAMILY, _BASELINE)
    assert _names(found) == ["p", "a", "b", "q"]
    assert {each.kind for each in found} == {_HORIZON}
    assert {each.pinned_at_ms for each in found} == {None}
    assert [each.parent_shard_id for each in found] == [None, "p", "p", None]
    plan = _plan(_FAMILY, *found)
    assert (_names(plan.read), plan.waiting) == (["p", "q"], ("a", "b"))


def test_from_latest_open_shards_are_pinned_and_closed_ones_count_as_read() -> None:
    found = lineage.first_positions(_FAMILY, _BASELINE, latest=True)
    assert [each.kind for each in found] == [_END, _LATEST, _LATEST, _LATEST]
    assert {each.pinned_at_ms for each in found} == {_NOW_MS}
    assert _names(_plan(_FAMILY, *found).read) == ["a", "b", "q"]


def test_from_latest_a_parent_that_still_looks_open_counts_as_read() -> None:
    found = lineage.first_positions([_open("p"), _open("c", "p")], _BASELINE, latest=True)
    assert [each.kind for each in found] == [_END, _LATEST]


def _born(age_h: float, number: int = 1) -> str:
    return f"shardId-{_NOW_MS - int(age_h * _HOUR_MS):020d}-{number:08x}"


@pytest.mark.parametrize(("age_h", "is_hidden"), [(0.01, True), (19, True), (21, False)])
def test_a_young_child_tells_that_its_unlisted_parent_is_hidden(
    age_h: float, is_hidden: bool
) -> None:
    listed = [_open(_born(age_h), "p"), _open(_born(0.01, 2), None)]
    found = lineage.hidden_parents(listed, now_ms=_NOW_MS, windows=_WINDOWS)
    assert found == ({"p"} if is_hidden else frozenset())


def test_listed_parents_are_not_hidden_and_ids_of_emulators_tell_nothing() -> None:
    listed = [_closed("p"), _open(_born(0.01), "p"), _open("shardId-1", "q")]
    assert lineage.hidden_parents(listed, now_ms=_NOW_MS, windows=_WINDOWS) == frozenset()


# -- gaps -----------------------------------------------------------------------------------------

_UNLISTED, _OLD = GapKind.SHARD_UNLISTED, GapKind.POSITION_TOO_OLD


@pytest.mark.parametrize(
    ("kind", "is_listed", "age_h", "expected"),
    [
        (_HORIZON, True, 19, None),
        (_HORIZON, True, 21, _OLD),
        (_LATEST, True, 19, None),
        (_LATEST, True, 21, _OLD),
        (_AFTER, True, 21, None),
        (_AFTER, True, 24, None),
        (_AFTER, True, 25, _OLD),
        (_AFTER, False, 19, None),
        (_AFTER, False, 21, _UNLISTED),
        (_HORIZON, False, 19, None),
        (_HORIZON, False, 21, _UNLISTED),
    ],
)
def test_the_age_of_a_position_tells_what_may_be_lost(
    kind: PositionKind, is_listed: bool, age_h: float, expected: GapKind | None
) -> None:
    """Field cases I03 (a scan longer than the stream keeps) and S06 (a shard that is gone)."""
    position = _at("a", kind, age_h=age_h)
    plan = _plan([_open("a")] if is_listed else [_open("b")], position, _at("b", _AFTER))
    assert [gap.kind for gap in plan.gaps] == ([] if expected is None else [expected])
    assert ("a" in _names(plan.read)) is (expected is None)
    for gap in plan.gaps:
        assert (gap.shard_id, gap.since_ms) == ("a", position.position_ms)
        assert f"{age_h:.1f} hours ago" in str(gap)


def test_a_scan_that_outlasts_the_stream_is_found_at_its_end() -> None:
    """Field case I03: positions from before the scan, 30 hours later."""
    before = replace(_BASELINE, position_ms=_NOW_MS - 30 * _HOUR_MS)
    found = lineage.first_positions([_open("a"), _closed("p"), _closed("c", "p")], before)
    plan = _plan([_open("a"), _open("g", "c")], *found)
    assert {gap.shard_id: gap.kind for gap in plan.gaps} == {"a": _OLD, "p": _UNLISTED}
    assert plan.read == ()


def test_children_of_nobody_known_are_a_gap_when_all_that_is_known_is_old() -> None:
    """Field case S06: the whole family between then and now is trimmed away."""
    plan = _plan([_open("z", "y")], _at("a", _END, age_h=30))
    (gap,) = plan.gaps
    assert (gap.kind, gap.shard_id) == (GapKind.LINEAGE_UNKNOWN, "z")
    assert gap.since_ms == _NOW_MS - 30 * _HOUR_MS
    assert "y" in gap.detail


def test_shards_that_this_process_reads_are_not_judged_by_age() -> None:
    positions = _at("a", _AFTER, age_h=99), _at("p", _END, age_h=99)
    listed = [_open("a"), _open("c", "p")]
    assert len(_plan(listed, *positions).gaps) == 2
    plan = _plan(listed, *positions, live=["a", "p"])
    assert (_names(plan.read), plan.gaps) == (["a", "c"], ())


def test_a_shard_skipped_to_goes_on_from_what_is_there() -> None:
    position = replace(_at("a", _AFTER, "p", age_h=30), pinned_at_ms=3)
    for kind in (GapKind.TRIMMED, _OLD):
        after = lineage.after_skipping(Gap(kind, "", "a"), {"a": position}, now_ms=_NOW_MS)
        assert after == replace(position, kind=_HORIZON, sequence_number=None, position_ms=_NOW_MS)


def test_a_shard_that_is_gone_is_skipped_by_its_end() -> None:
    position = _at("a", _AFTER, age_h=30)
    after = lineage.after_skipping(Gap(_UNLISTED, "", "a"), {"a": position}, now_ms=_NOW_MS)
    assert after == position.sealed()


@pytest.mark.parametrize("shard_id", [None, "unknown"])
def test_a_gap_of_no_known_shard_has_no_position_to_go_on_from(shard_id: str | None) -> None:
    gap = Gap(GapKind.LINEAGE_UNKNOWN, "", shard_id)
    assert lineage.after_skipping(gap, {"a": _at("a", _AFTER)}, now_ms=_NOW_MS) is None


# -- any listing, any positions -------------------------------------------------------------------


@dataclass(frozen=True)
class _Scene:
    """Some shards of a random forest are listed, some are known, some are being read."""

    listed: tuple[Shard, ...]
    positions: dict[str, ShardPosition]
    live: frozenset[str]

    def plan(self, listed: Sequence[Shard] | None = None) -> Plan:
        return _plan(
            self.listed if listed is None else listed, *self.positions.values(), live=self.live
        )

    def is_explained(self, shard_id: str) -> bool:
        """Known by its end, or an unknown ancestor of one that has been begun."""
        if shard_id in self.positions:
            return self.positions[shard_id].is_sealed
        parents = {shard.shard_id: shard.parent_shard_id for shard in self.listed}
        for position in self.positions.values():
            ancestor = None if position.kind is _HORIZON else position.parent_shard_id
            while ancestor is not None and ancestor not in self.positions:
                if ancestor == shard_id:
                    return True
                ancestor = parents.get(ancestor)
        return False


@st.composite
def _scenes(draw: st.DrawFn, ages_h: Sequence[float] = (0, 19, 21, 25)) -> _Scene:
    count = draw(st.integers(1, 9))
    listed: list[Shard] = []
    positions: dict[str, ShardPosition] = {}
    for index in range(count):
        name = f"shard-{index}"
        parent_index = draw(st.none() | st.integers(-1, index - 1))
        parent = None if parent_index is None else f"shard-{parent_index}"
        ending = draw(st.sampled_from([None, "9"]))
        if draw(st.booleans()):
            listed.append(Shard(name, parent, "1", ending))
        if draw(st.booleans()) or (index == count - 1 and not positions):
            kind, age_h = draw(st.sampled_from(PositionKind)), draw(st.sampled_from(ages_h))
            positions[name] = _at(name, kind, parent, age_h=age_h)
    live = draw(st.sets(st.sampled_from(sorted(positions))))
    return _Scene(tuple(listed), positions, frozenset(live))


@given(_scenes())
@examples
def test_every_shard_is_placed_once_or_explained(scene: _Scene) -> None:
    plan = scene.plan()
    placed = Counter(
        [
            *_names(plan.read),
            *plan.waiting,
            *plan.orphans,
            *(gap.shard_id for gap in plan.gaps if gap.shard_id is not None),
        ]
    )
    everybody = {shard.shard_id for shard in scene.listed} | set(scene.positions)
    explained = {name for name in everybody if scene.is_explained(name)}
    assert set(placed) == everybody - explained
    assert all(times == 1 for times in placed.values())
    assert set(_names(plan.adopted)) == set(_names(plan.read)) - set(scene.positions)
    assert set(plan.leaves) | set(plan.forgettable) <= explained


@given(_scenes())
@examples
def test_nothing_is_read_whose_known_or_listed_parent_is_not_sealed(scene: _Scene) -> None:
    """Field case S08."""
    listed = {shard.shard_id for shard in scene.listed}
    for position in scene.plan().read:
        parent = position.parent_shard_id
        if parent in scene.positions:
            assert scene.positions[parent].is_sealed
        elif parent in listed:
            assert position.kind is not _HORIZON or scene.is_explained(parent)


@given(_scenes())
@examples
def test_what_is_adopted_begins_at_its_beginning(scene: _Scene) -> None:
    """Field case S07."""
    for position in scene.plan().adopted:
        assert (position.kind, position.pinned_at_ms) == (_HORIZON, None)
        assert position.stream_arn == _ARN


@given(_scenes(), st.randoms(use_true_random=False))
@examples
def test_the_order_of_a_listing_does_not_matter(scene: _Scene, random: Random) -> None:
    shuffled = list(scene.listed)
    random.shuffle(shuffled)
    before, after = scene.plan(), scene.plan(shuffled)
    assert set(before.read) == set(after.read)
    assert set(before.gaps) == set(after.gaps)
    assert (before.waiting, before.leaves) == (after.waiting, after.leaves)
    assert (before.orphans, before.forgettable) == (after.orphans, after.forgettable)


@given(_scenes(ages_h=(0, 1, 19)))
@examples
def test_a_fresh_life_has_no_gap(scene: _Scene) -> None:
    assert scene.plan().gaps == ()


@given(_scenes())
@examples
def test_gaps_that_are_let_pass_come_to_an_end(scene: _Scene) -> None:
    """What ``gap.policy=skip`` does, until everything is read, waits, or is done."""
    positions = dict(scene.positions)
    listed = {shard.shard_id: shard for shard in scene.listed}
    for _ in range(20):
        plan = replace(scene, positions=positions).plan()
        if not plan.gaps:
            return
        for gap in plan.gaps:
            assert gap.shard_id is not None
            position = lineage.after_skipping(gap, positions, now_ms=_NOW_MS)
            positions[gap.shard_id] = position or lineage.adopt(
                listed[gap.shard_id], positions, None, _NOW_MS
            )
    pytest.fail(f"gaps remain: {plan.gaps}")
