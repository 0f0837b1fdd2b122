"""Injected errors, rates, capacity, access, hooks, and the journal that tells of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.asking import Asked, refusal
from tests.fakes.wire import AwsError


def _codes(asked: Asked, calls: int, operation: str = "DescribeTable", **parameters: Any) -> str:
    """One letter per call: o for ok, otherwise the first of the error's code."""
    letters = ""
    for _ in range(calls):
        try:
            asked.db(operation, **parameters)
            letters += "o"
        except AwsError as error:
            letters += error.code[0]
    return letters


def test_an_injected_error_hits_the_calls_it_was_set_for(asked: Asked) -> None:
    asked.table()
    asked.table("other")
    asked.control.inject("DescribeTable", "ThrottlingException", times=2, after=1, table="orders")
    assert _codes(asked, 2, TableName="other") == "oo"
    assert _codes(asked, 5, TableName="orders") == "oTToo"


def test_an_error_without_times_lasts_until_it_is_cleared(asked: Asked) -> None:
    asked.table()
    asked.control.inject("*", "InternalServerError", times=None)
    assert _codes(asked, 3, TableName="orders") == "III"
    asked.control.clear_faults()
    assert _codes(asked, 1, TableName="orders") == "o"


def test_an_error_can_be_aimed_at_one_shard(asked: Asked) -> None:
    arn = asked.table(partitions=2)
    first, second = asked.control.open_shards("orders")
    asked.control.inject("GetShardIterator", "InternalServerError", shard=first)
    asked.control.inject("GetRecords", "LimitExceededException", shard=second)
    assert refusal(asked.iterator, arn, first).code == "InternalServerError"
    assert refusal(asked.page, asked.iterator(arn, second)).code == "LimitExceededException"
    asked.page(asked.iterator(arn, first))


def test_a_lost_response_has_taken_effect(asked: Asked) -> None:
    asked.table()
    asked.control.inject("PutItem", "InternalServerError", applied=True)
    assert refusal(asked.put, "orders", "a").code == "InternalServerError"
    assert asked.control.table_items("orders") == [{"id": {"S": "a"}}]


def test_a_failed_call_has_no_effect(asked: Asked) -> None:
    asked.table()
    asked.control.inject("PutItem", "InternalServerError")
    refusal(asked.put, "orders", "a")
    assert asked.control.table_items("orders") == []


def test_unknown_errors_cannot_be_injected(asked: Asked) -> None:
    with pytest.raises(ValueError, match="knows no such error"):
        asked.control.inject("Scan", "Throtling")


def test_throttled_reads_name_their_reason(asked: Asked) -> None:
    asked.table()
    asked.control.inject("Scan", "ProvisionedThroughputExceededException", table="orders")
    error = refusal(asked.db, "Scan", TableName="orders")
    assert error.extra["ThrottlingReasons"] == [
        {
            "reason": "TableReadProvisionedThroughputExceeded",
            "resource": "arn:aws:dynamodb:eu-west-1:123456789012:table/orders",
        }
    ]


def test_calls_can_be_limited_to_a_rate(asked: Asked) -> None:
    arn = asked.table()
    asked.control.rate_limit("DescribeStream", per_s=10)
    for _ in range(10):
        asked.shards(arn)
    assert refusal(asked.shards, arn).code == "ThrottlingException"
    asked.control.clock_advance(0.1)
    asked.shards(arn)
    refusal(asked.shards, arn)


def test_rates_can_be_counted_per_shard(asked: Asked) -> None:
    arn = asked.table(partitions=2)
    first, second = (asked.iterator(arn, s) for s in asked.control.open_shards("orders"))
    asked.control.rate_limit("GetRecords", per_s=2, scope="shard")
    for iterator in (first, second):
        asked.page(iterator)
        asked.page(iterator)
        assert refusal(asked.page, iterator).code == "LimitExceededException"


def test_reads_beyond_the_capacity_are_refused_and_cost_nothing(asked: Asked) -> None:
    asked.table()
    for n in range(3):
        asked.put("orders", f"k{n}", big={"S": "x" * 40_000})
    asked.control.capacity("orders", read_per_s=10)
    asked.db("Scan", TableName="orders")  # 15 units: a debt of 5
    for _ in range(3):
        error = refusal(asked.db, "Scan", TableName="orders")
        assert error.code == "ProvisionedThroughputExceededException"
    asked.control.clock_advance(0.4)
    refusal(asked.db, "Scan", TableName="orders")
    asked.control.clock_advance(0.2)
    asked.db("Scan", TableName="orders", Limit=1)
    assert [entry.units for entry in asked.control.journal("Scan") if not entry.error] == [15, 5]


def test_batches_beyond_the_capacity_come_back_unprocessed(asked: Asked) -> None:
    asked.table()
    asked.control.capacity("orders", write_per_s=2)
    puts = [{"PutRequest": {"Item": {"id": {"S": f"k{n}"}}}} for n in range(5)]
    answer = asked.db("BatchWriteItem", RequestItems={"orders": puts})
    assert answer["UnprocessedItems"] == {"orders": puts[2:]}
    assert len(asked.control.table_items("orders")) == 2


def test_a_denied_action_is_named_with_its_resource(asked: Asked) -> None:
    arn = asked.table()
    asked.control.deny("dynamodb:DescribeStream", table="orders")
    error = refusal(asked.shards, arn)
    assert error.code == "AccessDeniedException"
    assert error.message == (
        "User: arn:aws:iam::123456789012:user/connect is not authorized to perform: "
        f"dynamodb:DescribeStream on resource: {arn} because no identity-based policy allows the "
        "dynamodb:DescribeStream action"
    )
    assert b'"Message":' in error.json_body()
    asked.shards(asked.table("other"))
    asked.control.allow("dynamodb:DescribeStream")
    asked.shards(arn)


def test_tagging_is_denied_without_a_resource(asked: Asked) -> None:
    asked.control.deny("tag:GetResources")
    error = refusal(asked.aws.call, "tagging", "GetResources", {})
    assert "perform: tag:GetResources because" in error.message


def test_a_command_can_follow_the_nth_call(asked: Asked) -> None:
    asked.table(view_type=None)
    asked.control.after_call("Scan", "clock_advance", {"by_s": 72_000.0}, nth=2)
    before = asked.control.clock_now()
    times = []
    for _ in range(3):
        asked.db("Scan", TableName="orders")
        times.append(asked.control.clock_now() - before)
    assert times == [0.0, 72_000.0, 72_000.0]


def test_the_journal_tells_what_was_asked(asked: Asked) -> None:
    arn = asked.table()
    asked.put("orders", "a")
    (shard,) = asked.control.open_shards("orders")
    asked.page(asked.iterator(arn, shard))
    refusal(asked.db, "DescribeTable", TableName="nowhere")
    entries = asked.control.journal()
    assert [(e.operation, e.table, e.shard_id, e.count, e.error) for e in entries] == [
        ("PutItem", "orders", None, 1, None),
        ("GetShardIterator", "orders", shard, 0, None),
        ("GetRecords", "orders", shard, 1, None),
        ("DescribeTable", "nowhere", None, 0, "ResourceNotFoundException"),
    ]
    since = entries[1].number
    assert [e.operation for e in asked.control.journal(table="orders", since=since)] == [
        "GetRecords"
    ]
    counts = asked.control.counts()
    assert counts["DescribeTable:ResourceNotFoundException"] == counts["GetRecords"] == 1
    asked.control.clear_journal()
    assert (asked.control.journal(), asked.control.counts()) == ([], {})


@pytest.mark.parametrize(
    ("operation", "parameters"),
    [
        ("Scan", {"FilterExpression": "a = :b"}),
        ("PutItem", {"Item": {"id": {"S": "k"}}, "ConditionExpression": "x"}),
        ("DescribeTable", {"Extra": 1}),
    ],
)
def test_what_is_not_implemented_is_never_ignored(
    asked: Asked, operation: str, parameters: dict[str, Any]
) -> None:
    asked.table()
    error = refusal(asked.db, operation, TableName="orders", **parameters)
    assert (error.code, error.status) == ("FakeNotImplemented", 501)


def test_operations_that_do_not_exist_are_refused(asked: Asked) -> None:
    assert refusal(asked.db, "Query", TableName="orders").code == "UnknownOperationException"


def test_parameters_of_the_wrong_shape_do_not_pass_in_silence(asked: Asked) -> None:
    asked.table()
    error = refusal(asked.db, "BatchWriteItem", RequestItems=[1, 2])
    assert (error.code, error.status) == ("FakeNotImplemented", 501)
