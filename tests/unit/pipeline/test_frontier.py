"""The frontier commits the contiguous acknowledged prefix and nothing else."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.errors import InvariantError
from connectd.model.record import SourceOffset, SourcePartition
from connectd.pipeline.frontier import AckFrontier

_A = SourcePartition.of({"table_name": "orders", "segment": 0})
_B = SourcePartition.of({"table_name": "orders", "segment": 1})


def test_nothing_is_committable_before_the_first_acknowledgement() -> None:
    frontier = AckFrontier()
    frontier.submit(_A, {"page": 1})
    assert not frontier.has_committable
    assert frontier.take().offsets == {}


def test_an_acknowledgement_behind_a_gap_moves_nothing() -> None:
    frontier = AckFrontier()
    first = frontier.submit(_A, {"page": 1})
    second = frontier.submit(_A, {"page": 2})
    second.resolve()
    assert frontier.take().offsets == {}
    first.resolve()
    assert frontier.take().offsets == {_A: {"page": 2}}


def test_one_slow_partition_does_not_hold_back_another() -> None:
    frontier = AckFrontier()
    frontier.submit(_A, {"page": 1})
    frontier.submit(_B, {"page": 1}).resolve()
    assert frontier.take().offsets == {_B: {"page": 1}}


def test_positions_are_handed_over_in_the_order_in_which_they_became_committable() -> None:
    frontier = AckFrontier()
    parent = frontier.submit(_A, {"sequence": 1})
    child = frontier.submit(_B, {"sequence": 5})
    child_end = frontier.submit(_B, {"sequence": 6})
    child.resolve()
    parent.resolve()
    child_end.resolve()
    assert list(frontier.take().offsets) == [_A, _B]


def test_a_seal_is_urgent_and_reports_after_everything_before_it() -> None:
    urgent: list[bool] = []
    committed: list[str] = []
    frontier = AckFrontier(on_committable=urgent.append)
    page = frontier.submit(_A, {"page": 1})
    seal = frontier.submit(_A, {"end": True}, on_committed=lambda: committed.append("end"))
    seal.resolve()
    assert urgent == []
    page.resolve()
    assert urgent == [True]
    taken = frontier.take()
    assert taken.offsets == {_A: {"end": True}}
    assert len(taken.on_committed) == 1
    assert committed == []  # told by the committer, once durable


def test_what_could_not_be_committed_comes_back_but_never_over_newer_positions() -> None:
    frontier = AckFrontier()
    frontier.submit(_A, {"page": 1}).resolve()
    frontier.submit(_B, {"page": 1}).resolve()
    taken = frontier.take()
    frontier.submit(_A, {"page": 2}).resolve()
    frontier.give_back(taken)
    assert frontier.take().offsets == {_B: {"page": 1}, _A: {"page": 2}}


def test_an_entry_resolves_once() -> None:
    frontier = AckFrontier()
    entry = frontier.submit(_A, {"page": 1})
    entry.resolve()
    with pytest.raises(InvariantError, match="resolved twice"):
        entry.resolve()


def test_statistics_show_the_fullest_partition() -> None:
    frontier = AckFrontier()
    frontier.submit(_A, {"page": 1})
    frontier.submit(_B, {"page": 1})
    frontier.submit(_B, {"page": 2})
    statistics = frontier.statistics()
    assert (statistics.entries, statistics.partitions, statistics.depth_max) == (3, 2, 2)
    assert statistics.oldest_unresolved == _B


def _page(offset: SourceOffset | None) -> int:
    assert offset is not None
    page = offset["page"]
    assert isinstance(page, int)
    return page


@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=4),
    seed=st.integers(0, 2**32),
    take_chance=st.floats(0, 1),
)
def test_in_any_order_of_acknowledgements_a_commit_never_passes_the_prefix(
    sizes: list[int], seed: int, take_chance: float
) -> None:
    dice = random.Random(seed)
    frontier = AckFrontier()
    names = [SourcePartition.of({"segment": number}) for number in range(len(sizes))]
    entries = [
        (name, page, frontier.submit(name, {"page": page}))
        for name, size in zip(names, sizes, strict=True)
        for page in range(1, size + 1)
    ]
    acked: dict[SourcePartition, set[int]] = {name: set() for name in names}
    committed = dict.fromkeys(names, 0)
    dice.shuffle(entries)
    for name, page, entry in entries:
        entry.resolve()
        acked[name].add(page)
        if dice.random() < take_chance:
            for moved, offset in frontier.take().offsets.items():
                position = _page(offset)
                assert acked[moved] >= set(range(1, position + 1))
                assert position > committed[moved]
                committed[moved] = position
    for moved, offset in frontier.take().offsets.items():
        committed[moved] = _page(offset)
    assert committed == dict(zip(names, sizes, strict=True))
    assert frontier.entries == 0
