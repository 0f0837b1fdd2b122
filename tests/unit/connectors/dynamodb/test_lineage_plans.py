"""What holds of any plan: arbitrary listings, arbitrary positions, some of them being read.

Situations one by one are in ``test_lineage``, whole lives in ``test_lineage_life``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectd.connectors.dynamodb import lineage
from connectd.connectors.dynamodb.gaps import Gap, GapKind
from connectd.connectors.dynamodb.lineage import Baseline, Plan, Windows, plan_reading
from connectd.connectors.dynamodb.offsets import PositionKind, ShardPosition
from connectd.connectors.dynamodb.source_api import Shard
from connectd.model.ids import SequenceNumber
from tests.kit.items import examples

_many_scenes = settings(examples, max_examples=max(examples.max_examples // 2, 1))
"""A scene is large: half as many do for CI."""

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


def test_a_listing_that_shows_a_parent_still_open_beside_its_child_starts_no_child() -> None:
    listed = [_open("p"), _open("c", "p")]
    assert lineage.open_shards(listed) == {"c"}
    assert _plan(listed, _at("p", _AFTER)).waiting == ("c",)


def test_shards_that_are_all_closed_and_read_leave_something_to_wait_for() -> None:
    """Field case S15: "no remaining source shards" killed the task."""
    plan = _plan([_closed("a"), _closed("b")], _at("a", _END), _at("b", _END))
    assert (plan.read, plan.gaps, plan.leaves) == ((), (), ("a", "b"))


def test_grandchildren_wait_as_well() -> None:
    listed = [_closed("p"), _closed("c", "p"), _open("g", "c")]
    assert _plan(listed, _at("p", _AFTER)).waiting == ("c", "g")
    assert _plan(listed, _at("p", _END)).waiting == ("g",)


# -- hidden parents -------------------------------------------------------------------------------


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


def test_a_scan_that_outlasts_the_stream_is_found_at_its_end() -> None:
    """Field case I03: positions from before the scan, 30 hours later."""
    before = Baseline(_ARN, init_sync_start_ms=7, position_ms=_NOW_MS - 30 * _HOUR_MS)
    found = lineage.first_positions([_open("a"), _closed("p"), _closed("c", "p")], before)
    plan = _plan([_open("a"), _open("g", "c")], *found)
    assert {gap.shard_id: gap.kind for gap in plan.gaps} == {
        "a": GapKind.POSITION_TOO_OLD,
        "p": GapKind.SHARD_UNLISTED,
    }
    assert plan.read == ()


def test_shards_that_this_process_reads_are_not_judged_by_age() -> None:
    positions = _at("a", _AFTER, age_h=99), _at("p", _END, age_h=99)
    listed = [_open("a"), _open("c", "p")]
    assert len(_plan(listed, *positions).gaps) == 2
    plan = _plan(listed, *positions, live=["a", "p"])
    assert (_names(plan.read), plan.gaps) == (["a", "c"], ())


def test_a_shard_skipped_to_goes_on_from_what_is_there() -> None:
    position = replace(_at("a", _AFTER, "p", age_h=30), pinned_at_ms=3)
    for kind in (GapKind.TRIMMED, GapKind.POSITION_TOO_OLD):
        after = lineage.after_skipping(Gap(kind, "", "a"), {"a": position}, now_ms=_NOW_MS)
        assert after == replace(position, kind=_HORIZON, sequence_number=None, position_ms=_NOW_MS)


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
@_many_scenes
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
@_many_scenes
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
@_many_scenes
def test_what_is_adopted_begins_at_its_beginning(scene: _Scene) -> None:
    """Field case S07."""
    for position in scene.plan().adopted:
        assert (position.kind, position.pinned_at_ms) == (_HORIZON, None)
        assert position.stream_arn == _ARN


@given(_scenes(), st.randoms(use_true_random=False))
@_many_scenes
def test_the_order_of_a_listing_does_not_matter(scene: _Scene, random: Random) -> None:
    shuffled = list(scene.listed)
    random.shuffle(shuffled)
    before, after = scene.plan(), scene.plan(shuffled)
    assert set(before.read) == set(after.read)
    assert set(before.gaps) == set(after.gaps)
    assert (before.waiting, before.leaves) == (after.waiting, after.leaves)
    assert (before.orphans, before.forgettable) == (after.orphans, after.forgettable)


@given(_scenes(ages_h=(0, 1, 19)))
@_many_scenes
def test_a_fresh_life_has_no_gap(scene: _Scene) -> None:
    assert scene.plan().gaps == ()


@given(_scenes())
@_many_scenes
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
