"""Stored offsets over REST: looked at, moved, removed, and what the connector then does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.worker_rig import Rig, partition_text, table_partition

pytestmark = pytest.mark.kafka


def in_sync(rig: Rig, items: int = 3) -> None:
    rig.create_table("t", items=items)
    rig.create()
    rig.wait_following("t")
    rig.wait_equal("t")


def stop(rig: Rig) -> None:
    rig.expect(204, "PUT", f"{rig.path}/stop")
    rig.wait_states("STOPPED")


def resume(rig: Rig) -> None:
    rig.expect(202, "PUT", f"{rig.path}/resume")
    rig.wait_states("RUNNING", "RUNNING")
    rig.wait_following("t")


def patch(rig: Rig, status: int, *entries: tuple[Any, Any]) -> str:
    offsets = [{"partition": partition, "offset": offset} for partition, offset in entries]
    body = rig.expect(status, "PATCH", f"{rig.path}/offsets", {"offsets": offsets}).body
    message: str = body["message"]
    return message


def written_keys(rig: Rig) -> list[str]:
    """Keys of the records of the stream."""
    return [record.key_json["id"] for record in rig.records("t") if record.value_json["op"] != "r"]


def only_shard(rig: Rig) -> tuple[dict[str, Any], dict[str, Any]]:
    ((partition, offset),) = rig.shard_offsets()
    return partition, offset


def test_the_offsets_of_a_table_are_its_state_and_the_positions_of_its_shards(rig: Rig) -> None:
    in_sync(rig)

    offsets = rig.offsets()

    state = offsets.pop(table_partition("t"))
    assert state["init_sync_state"] == "FINISHED"
    assert state["init_sync_count"] == 3
    (shard,) = rig.control.open_shards(table="t")
    assert list(offsets) == [partition_text({"table_name": "t", "shard_id": shard})]


@pytest.mark.parametrize("state", ["RUNNING", "PAUSED"])
def test_offsets_are_changed_only_of_a_stopped_connector(rig: Rig, state: str) -> None:
    """O02."""
    in_sync(rig)
    if state == "PAUSED":
        rig.expect(202, "PUT", f"{rig.path}/pause")
        rig.wait_states("PAUSED", "PAUSED")
    before = rig.offsets()

    told = [
        patch(rig, 400, ({"table_name": "t"}, None)),
        rig.expect(400, "DELETE", f"{rig.path}/offsets").body["message"],
    ]

    for message in told:
        assert "Connectors must be in the STOPPED state" in message
        assert f"/connectors/{rig.name}/stop" in message
    assert rig.offsets().keys() == before.keys()


def test_a_table_whose_state_is_removed_is_scanned_again(rig: Rig) -> None:
    in_sync(rig)
    stop(rig)

    patch(rig, 200, ({"table_name": "t"}, None))

    assert table_partition("t") not in rig.offsets()
    resume(rig)
    rig.wait(lambda: rig.ops("t").count("r") == 6, "another scan")
    rig.wait_equal("t")


def test_a_shard_that_is_moved_back_is_replayed_from_there(rig: Rig) -> None:
    in_sync(rig)
    for number in range(10, 13):
        rig.put("t", number)
    rig.wait(lambda: len(written_keys(rig)) == 3, "three records")
    rig.wait(lambda: "sequence_number" in only_shard(rig)[1], "a position")
    stop(rig)
    partition, moved_back = only_shard(rig)
    resume(rig)
    for number in range(20, 24):
        rig.put("t", number)
    rig.wait(lambda: len(written_keys(rig)) == 7, "seven records")
    stop(rig)

    message = patch(rig, 200, (partition, moved_back))

    assert message == "The offsets for this connector have been altered successfully"
    assert only_shard(rig) == (partition, moved_back)
    resume(rig)
    rig.wait(lambda: len(written_keys(rig)) == 11, "the replay")
    once = ["k10", "k11", "k12"]
    twice = ["k20", "k21", "k22", "k23"]
    assert sorted(written_keys(rig)) == sorted(once + 2 * twice)


def test_reset_offsets_begin_the_table_anew(rig: Rig) -> None:
    """O01: this is how one forgets; there is no lease table that would remember."""
    in_sync(rig)
    stop(rig)

    answer = rig.expect(200, "DELETE", f"{rig.path}/offsets")

    assert answer.body["message"] == "The offsets for this connector have been reset successfully"
    assert rig.offsets() == {}
    resume(rig)
    rig.wait(lambda: rig.ops("t").count("r") == 6, "another scan")
    rig.wait_equal("t")


def test_one_table_of_two_can_be_begun_anew(rig: Rig) -> None:
    rig.create_table("other", items=2)
    in_sync(rig)
    rig.wait_following("other")
    stop(rig)
    of_t = [json.loads(text) for text in rig.offsets() if json.loads(text)["table_name"] == "t"]

    patch(rig, 200, *[(partition, None) for partition in of_t])

    resume(rig)
    rig.wait(lambda: rig.ops("t").count("r") == 6, "another scan of t")
    rig.wait_following("other")
    assert rig.ops("other").count("r") == 2


def test_offsets_that_mean_nothing_are_refused_and_change_nothing(rig: Rig) -> None:
    in_sync(rig)
    stop(rig)
    before = rig.offsets()
    bad: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({"table_name": "t"}, {"init_sync_state": "SOON"}, "init_sync_state is 'SOON'"),
        ({"table_name": "t", "shard_id": "s"}, {"position": "THERE"}, "position is 'THERE'"),
        ({"table": "t"}, {"position": "LATEST"}, "table"),
        ({"table_name": {"S": "t"}}, {"x": 1}, "primitive"),
    ]

    for partition, offset, text in bad:
        message = patch(rig, 400, ({"table_name": "t"}, None), (partition, offset))
        assert text in message

    assert patch(rig, 400) == (
        "Partitions / offsets need to be provided for an alter offsets request"
    )
    assert rig.offsets() == before


def test_a_partition_that_nobody_knows_may_be_removed(rig: Rig) -> None:
    """O04: how garbage is cleaned up."""
    in_sync(rig)
    stop(rig)

    patch(rig, 200, ({"left": "over"}, None))


def test_a_stored_offset_that_cannot_be_read_fails_its_table_and_is_mended_by_patch(
    rig: Rig,
) -> None:
    in_sync(rig)
    stop(rig)
    key = json.dumps([rig.name, {"table_name": "t"}], separators=(",", ":"))
    rig.append("offsets", key.encode(), b'{"init_sync_state":"MAYBE","init_sync_start":1}')
    rig.expect(202, "PUT", f"{rig.path}/resume")

    rig.wait_states("RUNNING", "FAILED")

    trace = rig.status()["tasks"][0]["trace"]
    assert "table t: " in trace
    assert "init_sync_state is 'MAYBE'" in trace
    assert "correct it with PATCH" in trace
    stop(rig)
    patch(rig, 200, ({"table_name": "t"}, None))
    resume(rig)
    rig.wait(lambda: rig.ops("t").count("r") == 6, "another scan")
