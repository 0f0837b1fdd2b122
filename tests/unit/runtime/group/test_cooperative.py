"""Moving only what has to move (spec kafka-connect C.5.5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from connectd.model.ids import ConnectorTaskId
from connectd.runtime.group import cooperative
from connectd.runtime.group.cooperative import Facts, Memory, Outcome
from connectd.runtime.group.shares import NOTHING, Share, union

DELAY_MS = 300_000


def share(text: str) -> Share:
    """``a b a-0``: connectors and tasks."""
    words = text.split()
    tasks = (word.rpartition("-") for word in words if "-" in word)
    return Share(
        frozenset(word for word in words if "-" not in word),
        frozenset(ConnectorTaskId(name, int(number)) for name, _, number in tasks),
    )


@dataclass
class Group:
    """Members that do what they are told, and their leader."""

    configured: Share
    delay_max_ms: int = DELAY_MS
    now_ms: int = 1_000
    generation: int = 0
    memory: Memory = field(default_factory=Memory)
    members: dict[str, Share] = field(default_factory=dict)
    urls: dict[str, str] = field(default_factory=dict)

    def round(self) -> Outcome:
        """One rebalance, obeyed by all."""
        facts = Facts(
            running=dict(self.members),
            configured=self.configured,
            last_generation=self.memory.generation,
            generation=self.generation + 1,
            now_ms=self.now_ms,
            delay_max_ms=self.delay_max_ms,
            urls=self.urls,
        )
        self.memory, outcome = cooperative.round_of(self.memory, facts)
        self.generation += 1
        self.members = dict(outcome.whole)
        return outcome

    def settle(self, rounds: int = 60) -> None:
        """Go on as members do: at once after a revocation, and when the delay is over."""
        for _ in range(rounds):
            outcome = self.round()
            if outcome.delay_ms:
                self.now_ms += outcome.delay_ms
            elif not any(outcome.revoked.values()):
                return
        raise AssertionError(f"no rest after {rounds} rounds")


def group_of(members: str, configured: str, delay_max_ms: int = DELAY_MS) -> Group:
    group = Group(share(configured), delay_max_ms)
    group.members = dict.fromkeys(members.split(), NOTHING)
    return group


FOUR = "a a-0 a-1 a-2 a-3"


def test_a_single_member_gets_everything_at_once() -> None:
    group = group_of("m1", FOUR)
    outcome = group.round()
    assert outcome.assigned == {"m1": share(FOUR)}
    assert (outcome.revoked, outcome.delay_ms) == ({"m1": NOTHING}, 0)


def test_what_is_new_goes_to_whoever_has_least_in_the_order_of_ids() -> None:
    group = group_of("m2 m1 m3", "a b a-0 a-1 a-2 a-3")
    assert group.round().assigned == {
        "m1": share("a a-0 a-3"),
        "m2": share("b a-1"),
        "m3": share("a-2"),
    }


def test_a_newcomer_gets_its_part_only_after_others_have_let_go_of_it() -> None:
    group = group_of("m1", FOUR)
    group.round()
    group.members["m2"] = NOTHING
    first = group.round()
    assert first.revoked == {"m1": share("a-2 a-3"), "m2": NOTHING}
    assert not any(first.assigned.values())
    second = group.round()
    assert second.assigned == {"m1": NOTHING, "m2": share("a-2 a-3")}
    assert not any(second.revoked.values())


def test_the_work_of_a_lost_member_waits_for_it_and_then_goes_to_the_others() -> None:
    group = group_of("m1 m2", FOUR)
    group.round()
    del group.members["m2"]
    assert group.round().delay_ms == DELAY_MS
    assert group.members == {"m1": share("a a-0 a-2")}
    group.now_ms += DELAY_MS - 1
    assert group.round().delay_ms == 1
    group.now_ms += 1
    outcome = group.round()
    assert (outcome.assigned["m1"], outcome.delay_ms) == (share("a-1 a-3"), 0)


def test_a_member_that_comes_back_gets_its_own_work_again_when_the_wait_is_over() -> None:
    group = group_of("m1 m2", FOUR)
    group.round()
    lost = group.members.pop("m2")
    group.round()
    group.members["m3"] = NOTHING  # the same worker, under a new id
    group.now_ms += 5_000
    assert group.round().delay_ms == DELAY_MS - 5_000
    assert group.members["m3"] == NOTHING
    group.now_ms += DELAY_MS
    assert group.round().assigned == {"m1": NOTHING, "m3": lost}


def test_without_a_delay_lost_work_goes_on_at_once() -> None:
    group = group_of("m1 m2", FOUR, delay_max_ms=0)
    group.round()
    del group.members["m2"]
    outcome = group.round()
    assert outcome.assigned == {"m1": share("a-1 a-3")}
    assert outcome.delay_ms == 0


def test_a_new_leader_hands_out_at_once_what_nobody_runs() -> None:
    group = group_of("m1 m2", FOUR)
    group.round()
    del group.members["m1"]
    group.memory = Memory()
    outcome = group.round()
    assert outcome.whole == {"m2": share(FOUR)}
    assert outcome.delay_ms == 0


def test_an_allotment_that_never_arrived_is_given_again_at_once() -> None:
    group = group_of("m1 m2", FOUR)
    group.round()
    group.members["m2"] = NOTHING  # it was there, and has heard of nothing
    outcome = group.round()
    assert outcome.assigned["m2"] == share("a-1 a-3")


def test_what_is_deleted_is_taken_away() -> None:
    group = group_of("m1", FOUR)
    group.round()
    group.configured = share("b b-0")
    outcome = group.round()
    assert outcome.revoked == {"m1": share(FOUR)}
    assert outcome.assigned == {"m1": share("b b-0")}


def test_what_runs_twice_is_taken_from_both_and_given_to_one() -> None:
    group = group_of("m1 m2", "a a-0")
    group.members = {"m1": share("a a-0"), "m2": share("a-0")}
    outcome = group.round()
    assert outcome.revoked == {"m1": share("a-0"), "m2": share("a-0")}
    assert not any(outcome.assigned.values())
    group.settle()
    assert union(group.members.values()) == share("a a-0")


def test_a_revocation_that_was_not_obeyed_takes_nothing_from_who_runs_it() -> None:
    group = group_of("m1", FOUR)
    group.round()
    before = group.members["m1"]
    group.members["m2"] = NOTHING
    group.round()
    group.members["m1"] = before  # still runs it all
    outcome = group.round()
    assert not any(outcome.assigned.values())


def test_members_that_come_one_after_the_other_do_not_move_everything_each_time() -> None:
    group = group_of("m1", "a a-0 a-1 a-2 a-3 a-4 a-5")
    group.round()
    group.members["m2"] = NOTHING
    assert any(group.round().revoked.values())
    group.members["m3"] = NOTHING
    outcome = group.round()
    assert outcome.delay_ms == 40
    assert not any(outcome.revoked.values())
    group.now_ms += 40
    group.settle()
    assert [len(each.tasks) for each in group.members.values()] == [2, 2, 2]


def test_a_generation_that_was_missed_makes_the_memory_worthless() -> None:
    group = group_of("m1 m2", FOUR)
    group.round()
    del group.members["m2"]
    facts = Facts(group.members, group.configured, 7, 8, group.now_ms, DELAY_MS)
    _, outcome = cooperative.round_of(group.memory, facts)
    assert outcome.whole == {"m1": share(FOUR)}


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["join", "leave", "crash", "add", "remove", "wait"]), st.integers(0, 9)
    ),
    max_size=12,
)


@given(STEPS, st.sampled_from([0, DELAY_MS]))
@settings(max_examples=150, deadline=None)
def test_whatever_happens_nothing_runs_twice_and_at_rest_all_runs_evenly(
    steps: Sequence[tuple[str, int]], delay_max_ms: int
) -> None:
    group = group_of("m00", "c0 c0-0 c0-1 c0-2", delay_max_ms)
    born = 1
    for step, number in steps:
        names = sorted(group.members)
        if step == "join":
            group.members[f"m{born:02}"] = NOTHING
            born += 1
        elif step in ("leave", "crash") and len(names) > 1:
            gone = names[number % len(names)]
            del group.members[gone]
            if gone == names[0]:  # the leader, and its memory with it
                group.memory = Memory()
        elif step == "add":
            group.configured |= share(f"c{number} c{number}-0 c{number}-1")
        elif step == "remove":
            gone_share = share(f"c{number} c{number}-0 c{number}-1 c{number}-2")
            group.configured -= gone_share
        else:
            group.now_ms += number * 50_000
        outcome = group.round()
        assert_disjoint(outcome.whole.values())
        for member, revoked in outcome.revoked.items():
            assert not revoked & outcome.whole[member]
    group.settle()
    running = union(group.members.values())
    assert_disjoint(group.members.values())
    assert running & group.configured == group.configured
    for sizes in (
        [len(each.connectors & group.configured.connectors) for each in group.members.values()],
        [len(each.tasks & group.configured.tasks) for each in group.members.values()],
    ):
        assert max(sizes) - min(sizes) <= 1


def assert_disjoint(shares: Iterable[Share]) -> None:
    seen = NOTHING
    for each in shares:
        assert not seen & each
        seen |= each


def test_a_worker_that_is_back_under_another_id_gets_its_own_at_once() -> None:
    group = group_of("m1 m2", FOUR)
    group.urls = {"m1": "http://one", "m2": "http://two"}
    group.settle()
    had = group.members.pop("m2")
    group.members["m9"], group.urls["m9"] = NOTHING, "http://two"
    outcome = group.round()
    assert outcome.assigned["m9"] == had
    assert outcome.delay_ms == 0
    assert outcome.whole["m1"] | had == share(FOUR)


def test_it_is_known_again_also_later_as_long_as_its_work_waits() -> None:
    group = group_of("m1 m2 m3", FOUR)
    group.urls = {"m1": "http://one", "m2": "http://two", "m3": "http://three"}
    group.settle()
    had = group.members.pop("m2")
    assert group.round().delay_ms == DELAY_MS
    group.now_ms += 1_000
    also = group.members.pop("m3")
    group.members["m8"], group.urls["m8"] = NOTHING, "http://elsewhere"
    assert group.round().assigned["m8"] == NOTHING
    group.members["m9"], group.urls["m9"] = NOTHING, "http://two"
    outcome = group.round()
    assert (outcome.assigned["m9"], outcome.assigned["m8"]) == (had, NOTHING)
    assert outcome.delay_ms > 0, "the other one's work still waits"
    group.members["m7"], group.urls["m7"] = NOTHING, "http://three"
    assert group.round().assigned["m7"] == also
    group.settle()
    assert union(group.members.values()) == share(FOUR)


def test_what_others_have_got_meanwhile_is_theirs() -> None:
    group = group_of("m1 m2", FOUR)
    group.urls = {"m1": "http://one", "m2": "http://two"}
    group.settle()
    group.members.pop("m2")
    group.settle()
    assert group.members == {"m1": share(FOUR)}
    group.members["m9"], group.urls["m9"] = NOTHING, "http://two"
    assert group.round().assigned["m9"] == NOTHING
    group.settle()
    assert len(group.members["m9"].tasks) == 2


def test_of_two_workers_that_name_one_place_nobody_takes_what_the_other_has() -> None:
    group = group_of("m1", FOUR)
    group.urls = {"m1": "http://same", "m2": "http://same"}
    group.settle()
    group.members["m2"] = NOTHING
    assert group.round().assigned["m2"] == NOTHING
    group.settle()
    assert sorted(len(each.tasks) for each in group.members.values()) == [2, 2]
