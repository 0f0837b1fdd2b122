"""Subscriptions and allotments, to the byte (spec kafka-connect C.5.1, C.5.8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.kafka.group.wire import WireError
from connectd.model.ids import ConnectorTaskId
from connectd.runtime.group import blobs
from connectd.runtime.group.blobs import Allotment, Protocol, Subscription
from connectd.runtime.group.shares import NOTHING, Share

URL = "http://w1:8083/"
ALLOTMENT = Allotment(
    version=2,
    leader="m1",
    leader_url=URL,
    config_offset=5,
    assigned=Share(frozenset({"s"}), frozenset({ConnectorTaskId("s", 0)})),
)
SUBSCRIPTION_HEX = (
    "0002" "000f" "687474703a2f2f77313a383038332f" "0000000000000005" "ffffffff"
)  # fmt: skip
ALLOTMENT_HEX = (
    "0002" "0000" "0002" "6d31" "000f" "687474703a2f2f77313a383038332f" "0000000000000005"
    "00000001" "0001" "73" "00000002" "ffffffff" "00000000" "00000000" "00000000"
)  # fmt: skip


def test_a_subscription_as_in_the_worked_example() -> None:
    subscription = Subscription(2, URL, 5)
    assert blobs.dump_subscription(subscription).hex() == SUBSCRIPTION_HEX
    assert blobs.load_subscription(bytes.fromhex(SUBSCRIPTION_HEX)) == subscription


def test_an_allotment_as_in_the_worked_example() -> None:
    assert blobs.dump_allotment(ALLOTMENT).hex() == ALLOTMENT_HEX
    assert blobs.load_allotment(bytes.fromhex(ALLOTMENT_HEX)) == ALLOTMENT


def test_a_member_that_runs_something_sends_its_allotment_along() -> None:
    subscription = Subscription(2, URL, 5, ALLOTMENT)
    content = blobs.dump_subscription(subscription)
    length = f"{len(ALLOTMENT_HEX) // 2:08x}"
    assert content.hex() == SUBSCRIPTION_HEX[:-8] + length + ALLOTMENT_HEX
    assert blobs.load_subscription(content) == subscription


def test_version_0_has_neither_running_nor_revoked_nor_delay() -> None:
    assert blobs.dump_subscription(Subscription(0, URL, 5, ALLOTMENT)).hex() == (
        "0000" + SUBSCRIPTION_HEX[4:-8]
    )
    eager = Allotment(0, "m1", URL, 5, assigned=ALLOTMENT.assigned, revoked=Share(frozenset({"x"})))
    content = blobs.dump_allotment(eager)
    assert content.hex() == "0000" + ALLOTMENT_HEX[4:-16]
    read = blobs.load_allotment(content)
    assert (read.assigned, read.revoked, read.delay_ms) == (ALLOTMENT.assigned, NOTHING, 0)


def test_null_arrays_are_nothing() -> None:
    head = ALLOTMENT_HEX[: ALLOTMENT_HEX.index("00000001" "0001" "73")]  # fmt: skip
    read = blobs.load_allotment(bytes.fromhex(head + "ffffffff" "ffffffff" "00000007"))  # fmt: skip
    assert (read.assigned, read.revoked, read.delay_ms) == (NOTHING, NOTHING, 7)


def test_a_negative_version_is_refused() -> None:
    with pytest.raises(WireError, match="Unsupported subscription version: -1"):
        blobs.load_subscription(bytes.fromhex("ffff" + SUBSCRIPTION_HEX[4:]))


names = st.text(min_size=1, max_size=5)
shares = st.builds(
    Share,
    st.frozensets(names, max_size=4),
    st.frozensets(st.builds(ConnectorTaskId, names, st.integers(0, 5)), max_size=6),
)
allotments = st.builds(
    Allotment,
    version=st.sampled_from([1, 2]),
    leader=names,
    leader_url=names,
    config_offset=st.integers(-1, 2**40),
    assigned=shares,
    revoked=shares,
    delay_ms=st.integers(0, 2**31 - 1),
    error=st.sampled_from([0, 1]),
)


@given(allotments)
def test_every_allotment_comes_back(allotment: Allotment) -> None:
    assert blobs.load_allotment(blobs.dump_allotment(allotment)) == allotment


@given(st.none() | allotments, st.integers(-1, 2**40))
def test_every_subscription_comes_back(running: Allotment | None, offset: int) -> None:
    subscription = Subscription(1, URL, offset, running)
    assert blobs.load_subscription(blobs.dump_subscription(subscription)) == subscription


@given(st.binary(max_size=60))
def test_what_somebody_else_sends_is_read_or_refused(content: bytes) -> None:
    for load in (blobs.load_allotment, blobs.load_subscription):
        try:
            load(content)
        except WireError:
            continue


@pytest.mark.parametrize(
    ("setting", "names"),
    [
        ("eager", ["default"]),
        ("compatible", ["compatible", "default"]),
        ("sessioned", ["sessioned", "compatible", "default"]),
    ],
)
def test_older_protocols_are_offered_too(setting: str, names: list[str]) -> None:
    assert [each.wire_name for each in Protocol.offered(setting)] == names


def test_a_protocol_that_nobody_offered_is_refused() -> None:
    with pytest.raises(WireError, match="range"):
        Protocol.named("range")
