"""Every fault of spec field-cases that needs the fake can be brought about through its script.

One test per row of the sections Discovery, Initial sync and Stream sync (and of others that need
nothing more), named by the row's id. What the product must do about it is tested elsewhere; here
stands how to trigger it.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.asking import Asked, ids_of, refusal
from tests.fakes.keys import HASH_SPACE, key_at

HOUR_S = 3600.0


@pytest.fixture
def asked() -> Asked:
    return Asked()


def _tagged(asked: Asked) -> list[str]:
    answer = asked.aws.call("tagging", "GetResources", {"TagFilters": [{"Key": "env"}]})
    return [entry["ResourceARN"].rpartition("/")[2] for entry in answer["ResourceTagMappingList"]]


def _three_tables(asked: Asked) -> None:
    for name in ("aaa", "bbb", "ccc"):
        asked.table(name, tags={"env": "test"})


# -- Discovery ------------------------------------------------------------------------------------


def test_d01_describe_table_fails_once_for_one_table(asked: Asked) -> None:
    _three_tables(asked)
    asked.control.inject("DescribeTable", "ThrottlingException", table="bbb", after=1)
    for _ in range(2):
        asked.db("DescribeTable", TableName="aaa")
    asked.db("DescribeTable", TableName="bbb")
    assert refusal(asked.db, "DescribeTable", TableName="bbb").code == "ThrottlingException"
    asked.db("DescribeTable", TableName="bbb")


def test_d02_the_tagging_api_changes_its_order(asked: Asked) -> None:
    _three_tables(asked)
    asked.control.reorder_tagging(["ccc", "aaa", "bbb"])
    assert _tagged(asked) == ["ccc", "aaa", "bbb"]


def test_d05_three_hundred_tables_and_ten_calls_per_second(asked: Asked) -> None:
    arns = [asked.table(f"table-{n:03}", tags={"env": "test"}) for n in range(300)]
    asked.control.rate_limit("DescribeStream", per_s=10)
    for arn in arns[:10]:
        asked.shards(arn)
    assert refusal(asked.shards, arns[10]).code == "ThrottlingException"
    assert len(_tagged(asked)) == 50  # a page; the rest follows its token


def test_d06_describe_stream_exceeds_a_limit_three_times(asked: Asked) -> None:
    arn = asked.table()
    asked.control.inject("DescribeStream", "LimitExceededException", times=3)
    errors = [refusal(asked.shards, arn) for _ in range(3)]
    assert {(error.status, error.message) for error in errors} == {(400, "Rate exceeded")}
    asked.shards(arn)


def test_d08_a_table_goes_between_its_listing_and_the_look_at_it(asked: Asked) -> None:
    _three_tables(asked)
    asked.control.keep_in_tagging("bbb")
    asked.control.after_call("ListTables", "drop_table", {"table": "bbb"})
    assert "bbb" in asked.db("ListTables")["TableNames"]
    assert "bbb" in _tagged(asked)
    arn = asked.aws.account.table_arn("bbb")
    assert refusal(asked.db, "ListTagsOfResource", ResourceArn=arn).code.startswith("ResourceNot")
    assert refusal(asked.db, "DescribeTable", TableName="bbb").code.startswith("ResourceNot")


def test_d09_discovery_is_denied_once(asked: Asked) -> None:
    asked.control.inject("GetResources", "AccessDeniedException")
    assert refusal(_tagged, asked).code == "AccessDeniedException"
    asked.table("fresh", tags={"env": "test"})
    assert _tagged(asked) == ["fresh"]


def test_d12_a_tag_goes_and_comes_back_within_a_day(asked: Asked) -> None:
    _three_tables(asked)
    arn = asked.aws.account.table_arn("bbb")
    asked.db("UntagResource", ResourceArn=arn, TagKeys=["env"])
    assert _tagged(asked) == ["aaa", "ccc"]
    asked.control.clock_advance(20 * HOUR_S)
    asked.db("TagResource", ResourceArn=arn, Tags=[{"Key": "env", "Value": "test"}])
    assert _tagged(asked) == ["aaa", "bbb", "ccc"]


@pytest.mark.parametrize("action", ["tag:GetResources", "dynamodb:DescribeStream"])
def test_d13_a_permission_is_missing(asked: Asked, action: str) -> None:
    arn = asked.table()
    asked.control.deny(action)
    calls: dict[str, Any] = {
        "tag:GetResources": lambda: _tagged(asked),
        "dynamodb:DescribeStream": lambda: asked.shards(arn),
    }
    message = refusal(calls[action]).message
    assert f"is not authorized to perform: {action} " in message
    assert (arn in message) == (action == "dynamodb:DescribeStream")


# -- Initial sync ---------------------------------------------------------------------------------


def test_i02_the_clock_jumps_between_two_pages(asked: Asked) -> None:
    asked.table()
    asked.control.bulk_load("orders", 1000)
    before = asked.control.clock_now()
    asked.control.after_call("Scan", "clock_advance", {"by_s": 20 * HOUR_S})
    first = asked.db("Scan", TableName="orders", Limit=500)
    assert asked.control.clock_now() - before == 20 * HOUR_S
    rest = asked.db("Scan", TableName="orders", ExclusiveStartKey=first["LastEvaluatedKey"])
    assert first["Count"] + rest["Count"] == 1000


def test_i03_the_start_position_is_trimmed_during_the_scan(asked: Asked) -> None:
    arn = asked.table()
    asked.put("orders", "a")
    (shard,) = asked.control.open_shards("orders")
    sequence = asked.page(asked.iterator(arn, shard))["Records"][0]["dynamodb"]["SequenceNumber"]
    asked.control.roll_over("orders", shard)
    asked.control.clock_advance(25 * HOUR_S)
    place = {"SequenceNumber": sequence}
    error = refusal(asked.iterator, arn, shard, "AFTER_SEQUENCE_NUMBER", **place)
    assert error.code == "ResourceNotFoundException"


def test_i04_a_shard_closes_when_half_of_it_is_read(asked: Asked) -> None:
    arn = asked.table()
    for n in range(10):
        asked.put("orders", f"k{n}")
    (shard,) = asked.control.open_shards("orders")
    arguments = {"table": "orders", "shard": shard}
    asked.control.after_call("GetRecords", "close_shard", arguments)
    half = asked.page(asked.iterator(arn, shard), Limit=5)
    rest = asked.page(half["NextShardIterator"])
    assert (len(rest["Records"]), "NextShardIterator" in rest) == (5, False)


def test_i06_big_items_cost_capacity(asked: Asked) -> None:
    asked.table()
    for n in range(8):
        asked.put("orders", f"k{n}", big={"S": "x" * 40_000})
    asked.control.capacity("orders", read_per_s=10)
    page = asked.db("Scan", TableName="orders", Limit=4, ReturnConsumedCapacity="TOTAL")
    assert page["ConsumedCapacity"]["CapacityUnits"] == 20.0
    refusal(asked.db, "Scan", TableName="orders")
    assert sum(entry.units for entry in asked.control.journal("Scan")) == 20.0


def test_i07_scans_are_throttled_five_times_and_no_page_is_lost(asked: Asked) -> None:
    asked.table()
    asked.control.bulk_load("orders", 300)
    asked.control.inject("Scan", "ProvisionedThroughputExceededException", times=5, after=1)
    first = asked.db("Scan", TableName="orders", Limit=200)
    resume = {"TableName": "orders", "ExclusiveStartKey": first["LastEvaluatedKey"]}
    for _ in range(5):
        refusal(asked.db, "Scan", **resume)
    assert asked.db("Scan", **resume)["Count"] == 100


def test_i11_scans_are_denied_for_ever(asked: Asked) -> None:
    asked.table()
    asked.control.deny("dynamodb:Scan", table="orders")
    for _ in range(3):
        assert refusal(asked.db, "Scan", TableName="orders").code == "AccessDeniedException"


# -- Stream sync ----------------------------------------------------------------------------------


def test_s01_a_child_shows_up_two_calls_late(asked: Asked) -> None:
    arn = asked.table()
    (parent,) = asked.control.open_shards("orders")
    child = asked.control.roll_over("orders", parent)
    asked.control.hide_shard("orders", child, for_calls=2)
    assert [len(asked.shards(arn)) for _ in range(3)] == [1, 1, 2]


def test_s02_the_open_shard_is_on_the_second_page(asked: Asked) -> None:
    arn = asked.table()
    for _ in range(149):
        asked.control.roll_over_all("orders")
    first = asked.streams("DescribeStream", StreamArn=arn)["StreamDescription"]
    rest = asked.shards(arn, ExclusiveStartShardId=first["LastEvaluatedShardId"])
    open_ = [
        [s for s in page if "EndingSequenceNumber" not in s["SequenceNumberRange"]]
        for page in (first["Shards"], rest)
    ]
    assert (len(first["Shards"]), len(rest)) == (100, 50)
    assert [len(page) for page in open_] == [0, 1]


def test_s04_the_first_records_are_said_to_be_trimmed(asked: Asked) -> None:
    arn = asked.table()
    (shard,) = asked.control.open_shards("orders")
    asked.control.inject("GetRecords", "TrimmedDataAccessException")
    assert refusal(asked.page, asked.iterator(arn, shard)).code == "TrimmedDataAccessException"


def test_s05_one_of_seven_hundred_shards_fails(asked: Asked) -> None:
    arn = asked.table(partitions=700)
    shards = asked.control.open_shards("orders")
    asked.control.latency("GetShardIterator", 0.1)
    asked.control.inject("GetShardIterator", "InternalServerError", times=None, shard=shards[350])
    failed = [shard for shard in shards if _fails(asked, arn, shard)]
    assert failed == [shards[350]]


def _fails(asked: Asked, arn: str, shard: str) -> bool:
    body = b'{"StreamArn":"%s","ShardId":"%s","ShardIteratorType":"LATEST"}'
    target = {"x-amz-target": "DynamoDBStreams_20120810.GetShardIterator"}
    answer = asked.aws.handle("POST", "/", target, body % (arn.encode(), shard.encode()))
    assert answer.delay_s == 0.1
    return answer.status == 500


def test_s06_the_stored_shard_exists_no_more(asked: Asked) -> None:
    arn = asked.table()
    (shard,) = asked.control.open_shards("orders")
    asked.control.roll_over_every("orders", 4 * HOUR_S)
    asked.control.clock_advance(30 * HOUR_S)
    error = refusal(asked.iterator, arn, shard, "LATEST")
    assert error.code == "ResourceNotFoundException"


def test_s07_a_child_is_written_before_anybody_knows_it(asked: Asked) -> None:
    arn = asked.table()
    (parent,) = asked.control.open_shards("orders")
    latest = asked.iterator(arn, parent, "LATEST")
    low, high = asked.control.split_shard("orders", parent)
    asked.put("orders", key_at(0))
    assert asked.page(latest) == {"Records": []}
    assert (asked.ids(arn, low), asked.ids(arn, low, "LATEST")) == ([key_at(0)], [])
    assert asked.ids(arn, high) == []


def test_s08_one_key_has_versions_in_parent_and_child(asked: Asked) -> None:
    arn = asked.table()
    asked.put("orders", "k", v={"N": "1"})
    (parent,) = asked.control.open_shards("orders")
    child = asked.control.roll_over("orders", parent)
    asked.put("orders", "k", v={"N": "2"})
    versions = [
        asked.page(asked.iterator(arn, shard))["Records"][0]["dynamodb"]["NewImage"]["v"]["N"]
        for shard in (parent, child)
    ]
    (history,) = asked.control.history("orders")
    assert versions == [state["v"]["N"] for state in history.states if state] == ["1", "2"]


def test_s10_the_stream_is_disabled_and_enabled(asked: Asked) -> None:
    old = asked.table()
    asked.control.disable_stream("orders")
    new = asked.control.enable_stream("orders")
    table = asked.db("DescribeTable", TableName="orders")["Table"]
    assert table["LatestStreamArn"] == new != old


def test_s11_the_table_is_dropped_and_created_again(asked: Asked) -> None:
    old = asked.table()
    asked.control.drop_table("orders")
    new = asked.table()
    ids = {shard["ShardId"] for arn in (old, new) for shard in asked.shards(arn)}
    assert (old != new, len(ids)) == (True, 2)


def test_s12_one_reader_meets_an_error_that_stays(asked: Asked) -> None:
    arn = asked.table(partitions=2)
    first, second = asked.control.open_shards("orders")
    asked.control.inject("GetRecords", "ValidationException", times=None, shard=first)
    assert refusal(asked.page, asked.iterator(arn, first)).code == "ValidationException"
    asked.page(asked.iterator(arn, second))


def test_s13_five_hundred_shards_have_a_megabyte_each(asked: Asked) -> None:
    arn = asked.table(partitions=500)
    asked.control.bulk_stream("orders", 500 * 1000, item_bytes=1100)
    for shard in asked.control.open_shards("orders")[::100]:
        page = asked.page(asked.iterator(arn, shard))
        sizes = [record["dynamodb"]["SizeBytes"] for record in page["Records"]]
        assert 1_000_000 < sum(sizes) <= 1 << 20


def test_s14_a_third_reader_is_throttled(asked: Asked) -> None:
    arn = asked.table()
    (shard,) = asked.control.open_shards("orders")
    asked.control.rate_limit("GetRecords", per_s=2, scope="shard")
    iterator = asked.iterator(arn, shard)
    asked.page(iterator)
    asked.page(iterator)
    assert refusal(asked.page, iterator).code == "LimitExceededException"


def test_s15_only_closed_shards_are_listed(asked: Asked) -> None:
    arn = asked.table(partitions=2)
    for shard in asked.control.open_shards("orders"):
        asked.control.close_shard("orders", shard)
    ranges = [shard["SequenceNumberRange"] for shard in asked.shards(arn)]
    assert all("EndingSequenceNumber" in range_ for range_ in ranges)
    asked.put("orders", "k")
    assert len(asked.control.open_shards("orders")) == 1


def test_s16_time_to_live_deletes_with_and_without_identity(asked: Asked) -> None:
    arn = asked.table()
    for id_ in ("a", "b"):
        asked.put("orders", id_)
    asked.control.ttl_delete("orders", {"id": {"S": "a"}})
    asked.control.ttl_delete("orders", {"id": {"S": "b"}}, replicated=True)
    (shard,) = asked.control.open_shards("orders")
    records = asked.page(asked.iterator(arn, shard))["Records"]
    assert ["userIdentity" in record for record in records] == [False, False, True, False]


def test_s19_a_shard_closes_right_after_a_record(asked: Asked) -> None:
    arn = asked.table()
    asked.put("orders", "dropped by a filter")
    (parent,) = asked.control.open_shards("orders")
    child = asked.control.roll_over("orders", parent)
    asked.put("orders", "kept")
    last = asked.page(asked.iterator(arn, parent))
    assert (ids_of(last), "NextShardIterator" in last) == (["dropped by a filter"], False)
    assert asked.ids(arn, child) == ["kept"]


def test_s25_four_shards_hold_a_second_of_five_thousand_changes(asked: Asked) -> None:
    asked.table(partitions=4)
    asked.control.bulk_stream("orders", 5_008)
    states = asked.control.shards("orders")
    assert [state.records for state in states] == [1252] * 4
    assert {state.high_hash - state.low_hash for state in states} == {HASH_SPACE // 4}


# -- other sections -------------------------------------------------------------------------------


def test_l11_a_child_is_hidden_until_further_notice(asked: Asked) -> None:
    arn = asked.table()
    (parent,) = asked.control.open_shards("orders")
    child = asked.control.roll_over("orders", parent)
    asked.control.hide_shard("orders", child)
    assert len(asked.shards(arn)) == 1
    asked.control.clock_advance(30)
    asked.control.clear_listing("orders")
    assert len(asked.shards(arn)) == 2


def test_x07_credentials_live_two_seconds(asked: Asked) -> None:
    asked.control.session_lifetime(2)
    body = b"Action=AssumeRole&RoleSessionName=s&RoleArn=arn:aws:iam::123456789012:role/reader"
    answer = asked.aws.handle("POST", "/", {}, body)
    assert b"<Expiration>2026-01-01T00:00:02Z</Expiration>" in answer.body
