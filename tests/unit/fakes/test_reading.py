"""GetShardIterator, GetRecords and DescribeStream: what a reader meets."""

from __future__ import annotations

import pytest

from tests.fakes.asking import Asked, ids_of, refusal
from tests.fakes.clock import FROZEN_START_S


def test_the_last_page_has_records_and_no_next_iterator(asked: Asked) -> None:
    arn = asked.table()
    asked.put("orders", "a")
    (shard,) = asked.control.open_shards("orders")
    asked.control.close_shard("orders", shard)
    page = asked.page(asked.iterator(arn, shard))
    assert ids_of(page) == ["a"]
    assert "NextShardIterator" not in page


def test_a_shard_can_end_on_an_empty_page(asked: Asked) -> None:
    arn = asked.table()
    (shard,) = asked.control.open_shards("orders")
    asked.put("orders", "a")
    page = asked.page(asked.iterator(arn, shard))
    asked.control.close_shard("orders", shard)
    assert asked.page(page["NextShardIterator"]) == {"Records": []}


def test_empty_pages_in_the_middle_lose_nothing(asked: Asked) -> None:
    arn = asked.table()
    asked.put("orders", "a")
    (shard,) = asked.control.open_shards("orders")
    asked.control.empty_pages("orders", shard, times=2)
    iterator = asked.iterator(arn, shard)
    pages = []
    for _ in range(3):
        page = asked.page(iterator)
        pages.append(ids_of(page))
        iterator = page["NextShardIterator"]
    assert pages == [[], [], ["a"]]


def test_iterators_live_fifteen_minutes(asked: Asked) -> None:
    arn = asked.table()
    (shard,) = asked.control.open_shards("orders")
    iterator = asked.iterator(arn, shard)
    asked.control.clock_advance(900)
    asked.page(iterator)
    asked.control.clock_advance(1)
    assert refusal(asked.page, iterator).code == "ExpiredIteratorException"


@pytest.mark.parametrize("table", [None, "orders"])
def test_iterators_expire_on_command_and_new_ones_work(asked: Asked, table: str | None) -> None:
    arn, other = asked.table(), asked.table("other")
    (shard,) = asked.control.open_shards("orders")
    iterator = asked.iterator(arn, shard)
    elsewhere = asked.iterator(other, asked.control.open_shards("other")[0])
    asked.control.expire_iterators(table)
    assert refusal(asked.page, iterator).code == "ExpiredIteratorException"
    asked.page(asked.iterator(arn, shard))
    if table is None:
        assert refusal(asked.page, elsewhere).code == "ExpiredIteratorException"
    else:
        asked.page(elsewhere)


@pytest.mark.parametrize("token", ["", "x", "a|1|b", "arn|2|c2hhcmR8MHwwfDA=", None, 7])
def test_what_is_no_iterator_is_refused(asked: Asked, token: object) -> None:
    error = refusal(asked.streams, "GetRecords", ShardIterator=token)
    assert error.code == "ValidationException"


def test_latest_stays_where_it_was_taken(asked: Asked) -> None:
    arn = asked.table()
    asked.put("orders", "before")
    (shard,) = asked.control.open_shards("orders")
    latest = asked.iterator(arn, shard, "LATEST")
    asked.put("orders", "after")
    assert ids_of(asked.page(latest)) == ["after"]


def test_a_moment_leads_to_the_first_record_of_its_second(asked: Asked) -> None:
    arn = asked.table()
    (shard,) = asked.control.open_shards("orders")
    for n in range(4):
        asked.put("orders", f"k{n}")
        asked.control.clock_advance(0.5)

    def ids(at_s: float) -> list[str]:
        return asked.ids(arn, shard, "AT_TIMESTAMP", Timestamp=at_s)

    assert ids(FROZEN_START_S + 0.9) == ["k0", "k1", "k2", "k3"]
    assert ids(FROZEN_START_S + 1.2) == ["k2", "k3"]
    assert ids(FROZEN_START_S - 100_000) == ["k0", "k1", "k2", "k3"]
    assert ids(FROZEN_START_S + 2) == []
    error = refusal(asked.iterator, arn, shard, "AT_TIMESTAMP", Timestamp=FROZEN_START_S + 3)
    assert error.code == "ValidationException"


@pytest.mark.parametrize("number", ["1", "9" * 30, "x", "", None])
def test_sequence_numbers_of_other_shards_are_refused(asked: Asked, number: object) -> None:
    arn = asked.table()
    (shard,) = asked.control.open_shards("orders")
    error = refusal(asked.iterator, arn, shard, "AT_SEQUENCE_NUMBER", SequenceNumber=number)
    assert error.code == "ValidationException"


def test_the_start_of_a_shard_is_a_place_to_read_from(asked: Asked) -> None:
    arn = asked.table()
    asked.put("orders", "a")
    (shard,) = asked.shards(arn)
    start = shard["SequenceNumberRange"]["StartingSequenceNumber"]
    assert asked.ids(arn, shard["ShardId"], "AFTER_SEQUENCE_NUMBER", SequenceNumber=start) == ["a"]


def test_a_page_ends_at_one_megabyte(asked: Asked) -> None:
    arn = asked.table(view_type="NEW_IMAGE")
    for n in range(6):
        asked.put("orders", f"k{n}", big={"S": "x" * 300_000})
    (shard,) = asked.control.open_shards("orders")
    page = asked.page(asked.iterator(arn, shard))
    assert len(page["Records"]) == 3
    assert len(asked.page(page["NextShardIterator"])["Records"]) == 3


def test_one_record_may_be_larger_than_any_page(asked: Asked) -> None:
    arn = asked.table()
    big = {"S": "x" * 409_000}
    asked.put("orders", "k", big=big)
    asked.put("orders", "k", big=big, v={"N": "1"})
    (shard,) = asked.control.open_shards("orders")
    first = asked.page(asked.iterator(arn, shard), Limit=1)
    assert len(asked.page(first["NextShardIterator"])["Records"]) == 1


def test_time_to_live_deletes_are_signed_by_the_service(asked: Asked) -> None:
    arn = asked.table()
    for id_ in ("ours", "replica", "user"):
        asked.put("orders", id_)
    asked.control.ttl_delete("orders", {"id": {"S": "ours"}})
    asked.control.ttl_delete("orders", {"id": {"S": "replica"}}, replicated=True)
    asked.control.delete("orders", {"id": {"S": "user"}})
    (shard,) = asked.control.open_shards("orders")
    removes = asked.page(asked.iterator(arn, shard))["Records"][3:]
    assert [record.get("userIdentity") for record in removes] == [
        {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"},
        None,
        None,
    ]


def test_old_global_tables_leave_an_extra_record(asked: Asked) -> None:
    arn = asked.table()
    asked.control.global_write("orders", {"id": {"S": "new"}})
    asked.control.global_write("orders", {"id": {"S": "old"}}, version="2017.11.29")
    (shard,) = asked.control.open_shards("orders")
    records = asked.page(asked.iterator(arn, shard))["Records"]
    assert [record["eventName"] for record in records] == ["INSERT", "INSERT", "MODIFY"]
    assert "aws:rep:updateregion" in records[2]["dynamodb"]["NewImage"]


# -- DescribeStream -------------------------------------------------------------------------------


def test_shards_come_in_pages_of_at_most_a_hundred(asked: Asked) -> None:
    arn = asked.table(partitions=150)
    first = asked.streams("DescribeStream", StreamArn=arn)["StreamDescription"]
    start = first["LastEvaluatedShardId"]
    rest = asked.shards(arn, ExclusiveStartShardId=start)
    assert (len(first["Shards"]), len(rest)) == (100, 50)
    assert len({shard["ShardId"] for shard in first["Shards"] + rest}) == 150
    assert len(asked.shards(arn, Limit=7)) == 7
    assert refusal(asked.shards, arn, Limit=101).code == "ValidationException"


def test_a_child_can_stay_hidden_for_some_calls(asked: Asked) -> None:
    arn = asked.table()
    (parent,) = asked.control.open_shards("orders")
    child = asked.control.roll_over("orders", parent)
    asked.control.hide_shard("orders", child, for_calls=2, after=1)
    filter_ = {"Type": "CHILD_SHARDS", "ShardId": parent}
    counts = [
        len(asked.shards(arn)),
        len(asked.shards(arn)),
        len(asked.shards(arn, ShardFilter=filter_)),
        len(asked.shards(arn, ShardFilter=filter_)),
    ]
    assert counts == [2, 1, 0, 1]


def test_a_parent_can_look_open_beside_its_child(asked: Asked) -> None:
    arn = asked.table()
    (parent,) = asked.control.open_shards("orders")
    asked.control.roll_over("orders", parent)
    asked.control.show_open("orders", parent, for_calls=1)
    endings = [
        ["EndingSequenceNumber" in shard["SequenceNumberRange"] for shard in asked.shards(arn)]
        for _ in range(2)
    ]
    assert endings == [[False, False], [True, False]]


def test_a_later_page_can_come_from_an_older_listing(asked: Asked) -> None:
    arn = asked.table(partitions=3)
    asked.control.freeze_listing("orders", for_calls=1, after=1)
    for shard in asked.control.open_shards("orders"):
        asked.control.roll_over("orders", shard)
    first = asked.streams("DescribeStream", StreamArn=arn, Limit=2)["StreamDescription"]
    stale = asked.shards(arn, ExclusiveStartShardId=first["LastEvaluatedShardId"])
    true = asked.shards(arn, ExclusiveStartShardId=first["LastEvaluatedShardId"])
    assert (len(stale), len(true)) == (1, 4)
    assert "EndingSequenceNumber" not in stale[0]["SequenceNumberRange"]


def test_listing_faults_last_until_they_are_cleared(asked: Asked) -> None:
    arn = asked.table()
    (shard,) = asked.control.open_shards("orders")
    asked.control.hide_shard("orders", shard)
    assert [len(asked.shards(arn)) for _ in range(5)] == [0] * 5
    asked.control.clear_listing("orders")
    assert len(asked.shards(arn)) == 1


def test_a_stream_can_be_shown_on_its_way(asked: Asked) -> None:
    arn = asked.table()
    asked.control.set_stream_status("orders", "ENABLING")
    described = asked.streams("DescribeStream", StreamArn=arn)["StreamDescription"]
    assert described["StreamStatus"] == "ENABLING"


def test_streams_are_listed_in_pages(asked: Asked) -> None:
    arns = sorted(asked.table(f"table-{n}") for n in range(5))
    first = asked.streams("ListStreams", Limit=3)
    rest = asked.streams("ListStreams", ExclusiveStartStreamArn=first["LastEvaluatedStreamArn"])
    assert [entry["StreamArn"] for entry in first["Streams"] + rest["Streams"]] == arns
    assert "LastEvaluatedStreamArn" not in rest
