from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.asking import Asked, refusal

CREATE: dict[str, Any] = {
    "TableName": "orders",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"TableName": "ab"},
        {"TableName": None},
        {"BillingMode": "PROVISIONED"},
        {"AttributeDefinitions": []},
        {"KeySchema": [{"AttributeName": "id", "KeyType": "RANGE"}]},
        {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "EVERYTHING"}},
        {"StreamSpecification": {"StreamEnabled": False, "StreamViewType": "NEW_IMAGE"}},
        {
            "AttributeDefinitions": [
                *CREATE["AttributeDefinitions"],
                {"AttributeName": "x", "AttributeType": "S"},
            ]
        },
    ],
)
def test_senseless_tables_are_refused(asked: Asked, wrong: dict[str, Any]) -> None:
    assert refusal(asked.db, "CreateTable", **{**CREATE, **wrong}).code == "ValidationException"


def test_tables_are_listed_in_pages_by_name(asked: Asked) -> None:
    for name in ("ccc", "aaa", "bbb"):
        asked.table(name)
    page = asked.db("ListTables", Limit=2)
    assert page == {"TableNames": ["aaa", "bbb"], "LastEvaluatedTableName": "bbb"}
    rest = asked.db("ListTables", ExclusiveStartTableName="bbb")
    assert rest == {"TableNames": ["ccc"]}


def test_a_table_counts_its_items_and_shows_the_status_it_is_told(asked: Asked) -> None:
    asked.table()
    asked.put("orders", "abc")
    asked.control.set_table_status("orders", "UPDATING")
    table = asked.db("DescribeTable", TableName="orders")["Table"]
    assert (table["ItemCount"], table["TableSizeBytes"]) == (1, 5)
    assert table["TableStatus"] == "UPDATING"


def test_a_table_can_be_named_by_its_arn(asked: Asked) -> None:
    asked.table()
    arn = asked.aws.account.table_arn("orders")
    assert asked.db("DescribeTable", TableName=arn)["Table"]["TableArn"] == arn


def test_provisioned_capacity_is_bounded_with_a_reserve_of_five_minutes(asked: Asked) -> None:
    asked.db(
        "CreateTable",
        **{
            **CREATE,
            "BillingMode": "PROVISIONED",
            "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
        },
    )
    for n in range(300):
        asked.put("orders", f"k{n}")
    assert refusal(asked.put, "orders", "x").code == "ProvisionedThroughputExceededException"
    asked.db("UpdateTable", TableName="orders", BillingMode="PAY_PER_REQUEST")
    asked.put("orders", "x")


def test_the_stream_is_switched_with_update_table(asked: Asked) -> None:
    asked.db("CreateTable", **CREATE)
    off = {"StreamEnabled": False}
    on = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    error = refusal(asked.db, "UpdateTable", TableName="orders", StreamSpecification=off)
    assert error.code == "ValidationException"
    table = asked.db("UpdateTable", TableName="orders", StreamSpecification=on)["TableDescription"]
    asked.db("UpdateTable", TableName="orders", StreamSpecification=off)
    described = asked.db("DescribeTable", TableName="orders")["Table"]
    assert "StreamSpecification" not in described
    assert described["LatestStreamArn"] == table["LatestStreamArn"]
    error = refusal(asked.db, "UpdateTable", TableName="orders")
    assert error.code == "ValidationException"


@pytest.mark.parametrize("key", [{"id": {"N": "1"}}, {"other": {"S": "x"}}, {}, None])
def test_keys_that_do_not_fit_the_schema_are_refused(asked: Asked, key: object) -> None:
    asked.table()
    for operation in ("GetItem", "DeleteItem"):
        error = refusal(asked.db, operation, TableName="orders", Key=key)
        assert error.code == "ValidationException"


def test_an_update_may_not_touch_the_key_or_outgrow_400_kilobytes(asked: Asked) -> None:
    asked.table()
    for value in ({"S": "other"}, {"S": "x" * 410_000}):
        error = refusal(
            asked.db,
            "UpdateItem",
            TableName="orders",
            Key={"id": {"S": "k"}},
            UpdateExpression="SET #a = :v",
            ExpressionAttributeNames={"#a": "id" if value["S"] == "other" else "big"},
            ExpressionAttributeValues={":v": value},
        )
        assert error.code == "ValidationException"
    assert asked.control.table_items("orders") == []


def test_a_transaction_is_all_or_nothing(asked: Asked) -> None:
    asked.table()
    put = {"Put": {"TableName": "orders", "Item": {"id": {"S": "a"}}}}
    update = {
        "Update": {
            "TableName": "orders",
            "Key": {"id": {"S": "b"}},
            "UpdateExpression": "SET n = :n",
            "ExpressionAttributeValues": {":n": {"N": "1"}},
        }
    }
    bad = {"Put": {"TableName": "orders", "Item": {"wrong": {"S": "c"}}}}
    refusal(asked.db, "TransactWriteItems", TransactItems=[put, bad])
    refusal(asked.db, "TransactWriteItems", TransactItems=[put, put])
    assert asked.control.table_items("orders") == []
    asked.db("TransactWriteItems", TransactItems=[put, update])
    assert len(asked.control.table_items("orders")) == 2


def test_a_scan_resumes_only_within_its_segment(asked: Asked) -> None:
    asked.table()
    asked.put("orders", "~0000000000000000")
    start = {"id": {"S": "~0000000000000000"}}
    fine = {"TotalSegments": 2, "ExclusiveStartKey": start}
    asked.db("Scan", TableName="orders", Segment=0, **fine)
    error = refusal(asked.db, "Scan", TableName="orders", Segment=1, **fine)
    assert "correct Segment" in error.message


def test_a_scan_may_only_count(asked: Asked) -> None:
    asked.table()
    asked.put("orders", "k")
    page = asked.db("Scan", TableName="orders", Select="COUNT", ReturnConsumedCapacity="INDEXES")
    assert page == {
        "ConsumedCapacity": {
            "CapacityUnits": 0.5,
            "Table": {"CapacityUnits": 0.5},
            "TableName": "orders",
        },
        "Count": 1,
        "ScannedCount": 1,
    }


def test_a_strong_read_costs_twice_and_every_partition_at_least_a_half(asked: Asked) -> None:
    asked.table(partitions=4)

    def units(**options: Any) -> float:
        page = asked.db("Scan", TableName="orders", ReturnConsumedCapacity="TOTAL", **options)
        found: float = page["ConsumedCapacity"]["CapacityUnits"]
        return found

    assert units() == 2.0
    assert units(ConsistentRead=True) == 4.0
    assert units(Segment=0, TotalSegments=4) == 0.5
