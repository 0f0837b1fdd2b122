from __future__ import annotations

import random

import pytest

from tests.fakes.asking import Asked, ids_of, refusal
from tests.fakes.keys import HASH_SPACE, key_at

DAY_S = 24 * 3600.0
LOW, HIGH = key_at(0), key_at(HASH_SPACE - 1)


def test_a_table_has_one_open_shard_per_partition(asked: Asked) -> None:
    arn = asked.table(partitions=4)
    shards = asked.shards(arn)
    assert len(shards) == 4
    assert all("ParentShardId" not in shard for shard in shards)
    assert all("EndingSequenceNumber" not in shard["SequenceNumberRange"] for shard in shards)


def test_a_split_leaves_two_children_that_share_the_range(asked: Asked) -> None:
    arn = asked.table()
    asked.put("orders", LOW)
    (parent,) = asked.control.open_shards("orders")
    low, high = asked.control.split_shard("orders", parent)
    asked.put("orders", HIGH)
    assert asked.ids(arn, parent) == [LOW]
    assert asked.ids(arn, low) == []
    assert asked.ids(arn, high) == [HIGH]
    listed = {shard["ShardId"]: shard for shard in asked.shards(arn)}
    assert listed[low]["ParentShardId"] == listed[high]["ParentShardId"] == parent
    ending = int(listed[parent]["SequenceNumberRange"]["EndingSequenceNumber"])
    assert int(listed[low]["SequenceNumberRange"]["StartingSequenceNumber"]) > ending


def test_a_roll_over_leaves_one_child_with_the_whole_range(asked: Asked) -> None:
    arn = asked.table()
    (parent,) = asked.control.open_shards("orders")
    child = asked.control.roll_over("orders", parent)
    asked.put("orders", LOW)
    asked.put("orders", HIGH)
    assert asked.ids(arn, child) == [LOW, HIGH]


def test_a_shard_has_children_once(asked: Asked) -> None:
    asked.table()
    (parent,) = asked.control.open_shards("orders")
    asked.control.roll_over("orders", parent)
    with pytest.raises(ValueError, match="has children already"):
        asked.control.split_shard("orders", parent)


def test_a_closed_shard_gets_its_child_with_the_next_write(asked: Asked) -> None:
    arn = asked.table()
    (shard,) = asked.control.open_shards("orders")
    asked.control.close_shard("orders", shard)
    assert asked.control.open_shards("orders") == []
    assert len(asked.shards(arn)) == 1
    asked.put("orders", "k")
    (child,) = asked.control.open_shards("orders")
    assert asked.ids(arn, child) == ["k"]
    assert asked.shards(arn)[1]["ParentShardId"] == shard


def test_child_shards_can_be_asked_for(asked: Asked) -> None:
    arn = asked.table(partitions=2)
    first, second = asked.control.open_shards("orders")
    children = asked.control.split_shard("orders", first)
    found = asked.shards(arn, ShardFilter={"Type": "CHILD_SHARDS", "ShardId": first})
    assert [shard["ShardId"] for shard in found] == sorted(children)
    assert asked.shards(arn, ShardFilter={"Type": "CHILD_SHARDS", "ShardId": second}) == []


def test_shards_roll_over_by_themselves_when_they_are_old_enough(asked: Asked) -> None:
    arn = asked.table()
    asked.control.roll_over_every("orders", 4 * 3600.0)
    asked.control.clock_advance(13 * 3600.0)
    shards = asked.shards(arn)
    assert len(shards) == 4
    assert [shard.get("ParentShardId") for shard in shards[1:]] == [
        shard["ShardId"] for shard in shards[:-1]
    ]


def test_splits_outlive_a_new_stream(asked: Asked) -> None:
    asked.table()
    (shard,) = asked.control.open_shards("orders")
    asked.control.split_shard("orders", shard)
    asked.control.disable_stream("orders")
    arn = asked.control.enable_stream("orders")
    assert len(asked.shards(arn)) == 2


def test_records_are_trimmed_after_a_day_and_shards_after_their_records(asked: Asked) -> None:
    arn = asked.table()
    asked.put("orders", "old")
    (parent,) = asked.control.open_shards("orders")
    asked.control.clock_advance(DAY_S - 60)
    child = asked.control.roll_over("orders", parent)
    asked.put("orders", "young")
    asked.control.clock_advance(120)
    assert asked.ids(arn, parent) == []
    asked.control.clock_advance(DAY_S)
    assert [shard["ShardId"] for shard in asked.shards(arn)] == [child]
    assert asked.shards(arn)[0]["ParentShardId"] == parent  # a parent that is listed no more
    assert refusal(asked.iterator, arn, parent).code == "ResourceNotFoundException"
    assert asked.ids(arn, child) == []


def test_trimming_can_be_done_ahead_of_time(asked: Asked) -> None:
    arn = asked.table()
    asked.put("orders", "a")
    (shard,) = asked.control.open_shards("orders")
    iterator = asked.iterator(arn, shard)
    sequence = asked.page(iterator)["Records"][0]["dynamodb"]["SequenceNumber"]
    asked.control.trim("orders")
    asked.put("orders", "b")
    assert refusal(asked.page, iterator).code == "TrimmedDataAccessException"
    for kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
        error = refusal(asked.iterator, arn, shard, kind, SequenceNumber=sequence)
        assert error.code == "TrimmedDataAccessException"
    assert asked.ids(arn, shard) == ["b"]


def test_a_closed_shard_that_is_trimmed_is_gone(asked: Asked) -> None:
    arn = asked.table()
    asked.put("orders", "a")
    (parent,) = asked.control.open_shards("orders")
    child = asked.control.roll_over("orders", parent)
    asked.control.trim("orders")
    assert [shard["ShardId"] for shard in asked.shards(arn)] == [child]


def test_a_stream_that_is_enabled_again_has_a_new_arn_and_its_old_numbers(asked: Asked) -> None:
    old = asked.table()
    asked.put("orders", "a")
    asked.control.disable_stream("orders")
    new = asked.control.enable_stream("orders")
    asked.put("orders", "b")
    assert old != new
    assert asked.control.stream_arns("orders") == [old, new]
    records = [
        asked.page(asked.iterator(arn, asked.shards(arn)[0]["ShardId"]))["Records"][0]
        for arn in (old, new)
    ]
    assert records[0]["dynamodb"]["SequenceNumber"] == records[1]["dynamodb"]["SequenceNumber"]
    assert records[0]["eventID"] != records[1]["eventID"]
    asked.control.clock_advance(DAY_S + 1)
    assert asked.control.stream_arns("orders") == [new]
    assert refusal(asked.shards, old).code == "ResourceNotFoundException"


def test_a_table_that_is_created_again_has_another_stream(asked: Asked) -> None:
    old = asked.table()
    asked.db("DeleteTable", TableName="orders")
    assert asked.table() != old
    assert asked.shards(old)[0]["SequenceNumberRange"]["EndingSequenceNumber"]


def test_sequence_numbers_outgrow_their_digits(asked: Asked) -> None:
    arn = asked.table()
    for n in range(20):
        asked.put("orders", f"k{n}")
    (shard,) = asked.control.open_shards("orders")
    records = asked.page(asked.iterator(arn, shard))["Records"]
    texts = [record["dynamodb"]["SequenceNumber"] for record in records]
    assert {len(text) for text in texts} == {21, 22}
    assert texts == sorted(texts, key=int) != sorted(texts)


@pytest.mark.parametrize("seed", range(5))
def test_every_item_is_in_order_when_parents_are_read_before_children(
    asked: Asked, seed: int
) -> None:
    random_ = random.Random(seed)
    arn = asked.table(partitions=2)
    keys = [f"k{n}" for n in range(12)]
    for n in range(300):
        key = random_.choice(keys)
        if random_.random() < 0.2:
            asked.control.delete("orders", {"id": {"S": key}})
        else:
            asked.put("orders", key, v={"N": str(n)})
        if random_.random() < 0.05:
            shard = random_.choice(asked.control.open_shards("orders"))
            asked.control.split_shard("orders", shard)
        elif random_.random() < 0.05:
            asked.control.roll_over_all("orders")
    told: dict[str, list[object]] = {}
    for shard_id in _parents_first(asked, arn):
        for record in asked.page(asked.iterator(arn, shard_id))["Records"]:
            change = record["dynamodb"]
            told.setdefault(change["Keys"]["id"]["S"], []).append(change.get("NewImage"))
    truth = {entry.key["id"]["S"]: entry.states for entry in asked.control.history("orders")}
    assert told == truth


def _parents_first(asked: Asked, arn: str) -> list[str]:
    order: list[str] = []
    shards: list[dict[str, str]] = []
    start: dict[str, str] = {}
    while True:
        page = asked.streams("DescribeStream", StreamArn=arn, **start)["StreamDescription"]
        shards += page["Shards"]
        if "LastEvaluatedShardId" not in page:
            break
        start = {"ExclusiveStartShardId": page["LastEvaluatedShardId"]}
    while len(order) < len(shards):
        for shard in shards:
            if shard["ShardId"] not in order and shard.get("ParentShardId", "") in ("", *order):
                order.append(shard["ShardId"])
    return order


def test_records_of_a_transaction_can_appear_one_after_the_other(asked: Asked) -> None:
    arn = asked.table(partitions=2)
    low, high = asked.control.open_shards("orders")
    asked.control.hold_records("orders", high)
    puts = [{"Put": {"TableName": "orders", "Item": {"id": {"S": key}}}} for key in (LOW, HIGH)]
    asked.db("TransactWriteItems", TransactItems=puts)
    assert (asked.ids(arn, low), asked.ids(arn, high)) == ([LOW], [])
    asked.control.release_records("orders", high)
    assert asked.ids(arn, high) == [HIGH]


def test_a_shard_with_held_records_does_not_end(asked: Asked) -> None:
    arn = asked.table()
    (shard,) = asked.control.open_shards("orders")
    asked.control.hold_records("orders")
    asked.put("orders", "k")
    asked.control.roll_over("orders", shard)
    page = asked.page(asked.iterator(arn, shard))
    assert (ids_of(page), "NextShardIterator" in page) == ([], True)
    asked.control.release_records("orders")
    page = asked.page(page["NextShardIterator"])
    assert (ids_of(page), "NextShardIterator" in page) == (["k"], False)
