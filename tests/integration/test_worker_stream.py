"""What comes out of a stream at the other end, through a real worker and a real broker."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.worker_rig import Rig

pytestmark = pytest.mark.kafka


def in_sync(rig: Rig, items: int = 3, **keys: str) -> None:
    rig.create_table("t", items=items)
    rig.create(**keys)
    rig.wait_following("t")
    rig.wait_equal("t")


def only_position(rig: Rig) -> Any:
    ((_, offset),) = rig.shard_offsets()
    return offset.get("sequence_number")


def test_a_healthy_worker_is_quiet(rig: Rig) -> None:
    """P08."""
    in_sync(rig)
    before = rig.log_lines()

    for number in range(10, 40):
        rig.put("t", number)
    rig.wait_equal("t")

    assert rig.log_lines() == before


def test_a_delete_is_a_message_and_a_tombstone_without_bytes(rig: Rig) -> None:
    """V16."""
    in_sync(rig)

    rig.control.delete(table="t", key={"id": {"S": "k1"}})

    rig.wait(lambda: len(rig.records("t")) == 5, "message and tombstone")
    read, message, tombstone = [each for each in rig.records("t") if each.key == b'{"id":"k1"}']
    assert read.value_json["op"] == "r"
    assert message.value_json["op"] == "d"
    assert tombstone.value is None
    assert rig.expect(200, "GET", f"{rig.path}/topics").body == {
        rig.name: {"topics": [rig.topic("t")]}
    }


def test_records_that_are_left_out_move_the_position_and_end_their_shard(rig: Rig) -> None:
    """O06, S19: the last record of a shard is one that is not copied."""
    in_sync(rig, ttl__deletes="drop")
    (parent,) = rig.control.open_shards(table="t")
    before = only_position(rig)

    rig.control.ttl_delete(table="t", key={"id": {"S": "k0"}})

    rig.wait(lambda: only_position(rig) != before, "the position to move")
    assert len(rig.records("t")) == 3
    rig.control.roll_over(table="t", shard=parent)
    rig.put("t", 7)
    rig.wait(lambda: len(rig.records("t")) == 4, "a record of the child")
    rig.expect(202, "POST", f"{rig.path}/restart?includeTasks=true")
    rig.wait_states("RUNNING", "RUNNING")
    rig.put("t", 8)
    rig.wait(lambda: len(rig.records("t")) == 5, "the next record")
    ids = sorted(record.key_json["id"] for record in rig.records("t"))
    assert ids == ["k0", "k1", "k2", "k7", "k8"]


def test_a_split_keeps_the_order_of_each_key(rig: Rig) -> None:
    in_sync(rig)
    for version in range(30):
        if version % 10 == 5:
            for shard in rig.control.open_shards(table="t"):
                rig.control.split_shard(table="t", shard=shard)
        for number in range(4):
            rig.put("t", number, v={"N": str(version)})

    rig.wait_equal("t")

    seen: dict[str, list[int]] = {}
    for record in rig.records("t"):
        document = json.loads(record.value_json["document"])
        if "v" in document:
            seen.setdefault(record.key_json["id"], []).append(int(document["v"]["n"]))
    assert seen == {f"k{number}": list(range(30)) for number in range(4)}


def test_numbers_and_names_arrive_as_they_are(rig: Rig) -> None:
    in_sync(rig)
    googol = "1" + "0" * 100
    item: dict[str, dict[str, Any]] = {
        "n": {"N": "1234567890123456789012345678901234567.8"},
        "名前": {"S": "x"},
        "a-b": {"NS": ["-0.5", googol]},
    }

    rig.put("t", 9, **item)

    rig.wait_equal("t")
    (written,) = [value for value in rig.values("t") if value["op"] == "c"]
    document = json.loads(written["document"])
    assert document["n"] == {"n": "1234567890123456789012345678901234567.8"}
    assert document["名前"] == {"s": "x"}
    assert sorted(document["a-b"]["ns"]) == ["-0.5", googol]
