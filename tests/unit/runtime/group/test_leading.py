"""What the leader makes of all subscriptions (spec kafka-connect C.5.3)."""

from __future__ import annotations

from connectd.model.cluster import ClusterConfigState
from connectd.model.ids import ConnectorTaskId
from connectd.runtime.group.blobs import Allotment, Protocol, Subscription
from connectd.runtime.group.leading import Leading, Round
from connectd.runtime.group.shares import NOTHING, Share

TASK = ConnectorTaskId("a", 0)
EVERYTHING = Share(frozenset({"a"}), frozenset({TASK}))


def picture(offset: int) -> ClusterConfigState:
    return ClusterConfigState(
        offset=offset, connectors={"a": {}}, task_configs={TASK: {}}, task_counts={"a": 1}
    )


def round_of(protocol: Protocol, **offsets: int) -> Round:
    subscriptions = {
        member: Subscription(protocol.version, f"http://{member}/", offset)
        for member, offset in offsets.items()
    }
    return Round(protocol, 4, "m1", subscriptions)


def allot(
    leading: Leading, round_: Round, snapshot: ClusterConfigState, latest: ClusterConfigState
) -> dict[str, Allotment]:
    return leading.allot(round_, snapshot, lambda: latest, last_generation=-1, now_ms=0)


def test_everybody_hears_who_leads_and_how_far_to_read() -> None:
    leading = Leading(0)
    given = allot(leading, round_of(Protocol.SESSIONED, m1=7, m2=3), picture(7), picture(9))
    assert given == {
        "m1": Allotment(2, "m1", "http://m1/", 7, assigned=EVERYTHING),
        "m2": Allotment(2, "m1", "http://m1/", 7),
    }


def test_a_leader_that_is_behind_looks_again() -> None:
    given = allot(Leading(0), round_of(Protocol.COMPATIBLE, m1=3, m2=7), picture(3), picture(8))
    assert given["m2"].error == 0
    assert given["m2"].config_offset == 8
    assert given["m1"].version == 1


def test_a_leader_that_stays_behind_assigns_nothing() -> None:
    given = allot(Leading(0), round_of(Protocol.SESSIONED, m1=3, m2=7), picture(3), picture(6))
    for each in given.values():
        assert (each.error, each.config_offset, each.assigned) == (1, 7, NOTHING)


def test_the_eager_protocol_deals_everything_in_every_round() -> None:
    leading = Leading(300_000)
    first = allot(leading, round_of(Protocol.EAGER, m1=7, m2=7), picture(7), picture(7))
    assert first["m1"] == Allotment(0, "m1", "http://m1/", 7, assigned=Share(frozenset({"a"})))
    assert first["m2"].assigned == Share(tasks=frozenset({TASK}))
    again = allot(leading, round_of(Protocol.EAGER, m1=7), picture(7), picture(7))
    assert again["m1"].assigned == EVERYTHING


def test_it_knows_who_runs_what() -> None:
    leading = Leading(0)
    assert leading.owner_url("a") is None
    allot(leading, round_of(Protocol.EAGER, m1=7, m2=7), picture(7), picture(7))
    assert leading.owner_url("a") == "http://m1/"
    assert leading.owner_url(TASK) == "http://m2/"
    assert leading.owner_url("b") is None
