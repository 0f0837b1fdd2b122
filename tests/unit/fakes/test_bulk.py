from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.fakes.asking import Asked
from tests.fakes.attributes import stored


def _scanned(asked: Asked, table: str, **options: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    while True:
        page = asked.db("Scan", TableName=table, **options)
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return items
        options["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def _read(asked: Asked, arn: str, shard: str) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    iterator = asked.iterator(arn, shard)
    while True:
        page = asked.page(iterator)
        records += page["Records"]
        if not page["Records"]:
            return records
        iterator = page["NextShardIterator"]


def test_segments_of_a_bulk_table_are_disjoint_and_complete(asked: Asked) -> None:
    asked.table(view_type=None)
    asked.control.bulk_load("orders", 10_000)
    everything = _scanned(asked, "orders")
    segments = [_scanned(asked, "orders", Segment=n, TotalSegments=7) for n in range(7)]
    ids = [item["id"]["S"] for segment in segments for item in segment]
    assert ids == [item["id"]["S"] for item in everything]
    assert len(set(ids)) == 10_000


def test_bulk_items_have_the_size_and_the_types_asked_for(asked: Asked) -> None:
    asked.table(view_type=None)
    asked.control.bulk_load("orders", 200, item_bytes=450)
    answer = asked.aws.account.table("orders").items
    items = asked.control.table_items("orders")
    wires = {len(orjson.dumps(item)) for item in items}
    tags = {tag for item in items for value in item.values() for tag in value}
    assert wires == {450}
    assert tags == {"S", "N", "BOOL", "NULL", "SS", "M", "L"}
    assert all(len(item) == 11 for item in items)
    assert answer.size_total == sum(stored(item).size for item in items)


def test_the_same_seed_gives_the_same_bytes() -> None:
    def load(seed: int) -> list[dict[str, Any]]:
        asked = Asked()
        asked.table(view_type=None)
        asked.control.bulk_load("orders", 100, seed=seed)
        return asked.control.table_items("orders")

    assert load(5) == load(5)
    assert load(5) != load(6)


def test_bulk_items_can_be_read_changed_and_deleted_one_by_one(asked: Asked) -> None:
    arn = asked.table()
    asked.control.bulk_load("orders", 50)
    first, second = asked.control.table_items("orders")[:2]
    key = {"id": first["id"]}
    assert asked.db("GetItem", TableName="orders", Key=key)["Item"] == first
    asked.db("PutItem", TableName="orders", Item=first)  # no effect
    asked.db("DeleteItem", TableName="orders", Key=key)
    asked.db("PutItem", TableName="orders", Item={**second, "version": {"N": "0"}})
    remaining = asked.control.table_items("orders")
    assert len(remaining) == 49
    assert remaining[0]["version"] == {"N": "0"}
    (shard,) = asked.control.open_shards("orders")
    records = asked.page(asked.iterator(arn, shard))["Records"]
    assert [record["eventName"] for record in records] == ["REMOVE", "MODIFY"]
    assert [record["dynamodb"]["OldImage"] for record in records] == [first, second]
    assert asked.control.history("orders")[0].states == [first, None]


@pytest.mark.parametrize("mix", [(50, 25, 25), (25, 50, 25), (1, 0, 0), (3, 5, 3)])
def test_every_key_of_a_bulk_stream_lives_a_true_life(
    asked: Asked, mix: tuple[int, int, int]
) -> None:
    arn = asked.table(partitions=3)
    count = 3 * 44 * 25
    asked.control.bulk_stream("orders", count, mix=mix)
    current: dict[str, dict[str, Any]] = {}
    kinds: list[str] = []
    for shard in asked.control.open_shards("orders"):
        numbers = []
        for record in _read(asked, arn, shard):
            change = record["dynamodb"]
            id_ = change["Keys"]["id"]["S"]
            assert change.get("OldImage") == current.get(id_)
            assert change.get("NewImage") != current.get(id_)
            kinds.append(record["eventName"])
            numbers.append(int(change["SequenceNumber"]))
            current.pop(id_, None)
            if "NewImage" in change:
                current[id_] = change["NewImage"]
            assert asked.control.shard_of("orders", {"id": {"S": id_}}) == shard
        assert numbers == sorted(set(numbers))
    names = ("INSERT", "MODIFY", "REMOVE")
    assert [kinds.count(name) for name in names] == [count * part // sum(mix) for part in mix]
    by_id = {item["id"]["S"]: item for item in asked.control.table_items("orders")}
    assert by_id == current


@pytest.mark.parametrize("view_type", ["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE"])
def test_bulk_records_show_what_the_view_type_allows(asked: Asked, view_type: str) -> None:
    arn = asked.table(view_type=view_type)
    asked.control.bulk_stream("orders", 8)
    (shard,) = asked.control.open_shards("orders")
    shown = {
        (record["eventName"], image)
        for record in _read(asked, arn, shard)
        for image in ("NewImage", "OldImage")
        if image in record["dynamodb"]
    }
    assert (
        shown
        == {
            "KEYS_ONLY": set(),
            "NEW_IMAGE": {("INSERT", "NewImage"), ("MODIFY", "NewImage")},
            "OLD_IMAGE": {("MODIFY", "OldImage"), ("REMOVE", "OldImage")},
        }[view_type]
    )


def test_bulk_records_and_later_writes_share_a_shard(asked: Asked) -> None:
    arn = asked.table()
    asked.control.bulk_stream("orders", 1200)
    asked.put("orders", "later")
    (shard,) = asked.control.open_shards("orders")
    records = _read(asked, arn, shard)
    numbers = [int(record["dynamodb"]["SequenceNumber"]) for record in records]
    assert len(records) == 1201
    assert numbers == sorted(set(numbers))
    for at in (0, 999, 1199, 1200):
        record = records[at]
        sequence = record["dynamodb"]["SequenceNumber"]
        place = asked.iterator(arn, shard, "AT_SEQUENCE_NUMBER", SequenceNumber=sequence)
        assert asked.page(place, Limit=1)["Records"] == [record]


def test_sizes_of_bulk_records_are_true(asked: Asked) -> None:
    arn = asked.table()
    asked.control.bulk_stream("orders", 400)
    (shard,) = asked.control.open_shards("orders")
    for record in _read(asked, arn, shard):
        change = record["dynamodb"]
        images = (change["Keys"], change.get("NewImage", {}), change.get("OldImage", {}))
        assert change["SizeBytes"] == sum(stored(image).size for image in images)


@pytest.mark.parametrize("count", [0, 10, 13])
def test_a_bulk_stream_is_made_of_whole_cycles(asked: Asked, count: int) -> None:
    asked.table(partitions=3)
    with pytest.raises(ValueError, match="a multiple of 3 shards times a cycle of 4"):
        asked.control.bulk_stream("orders", count)


def test_bulk_data_wants_an_empty_table(asked: Asked) -> None:
    asked.table()
    asked.put("orders", "k")
    with pytest.raises(ValueError, match="expected none"):
        asked.control.bulk_load("orders", 10)
    with pytest.raises(ValueError, match="expected an empty table"):
        asked.control.bulk_stream("orders", 4)
