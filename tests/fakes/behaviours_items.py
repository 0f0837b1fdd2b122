"""Behaviours of tables, items, scans, tags and STS; see ``behaviours``."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.fakes.behaviours import Clients, Collection, error_code

ITEMS = Collection()

ALL_TYPES: dict[str, Any] = {
    "binary": {"B": b"\x00\xff"},
    "binaries": {"BS": [b"a", b"b"]},
    "flag": {"BOOL": False},
    "list": {"L": [{"N": "1"}, {"NULL": True}, {"M": {}}]},
    "map": {"M": {"M": {"S": "m"}, "deep": {"L": [{"S": ""}]}}},
    "nothing": {"NULL": True},
    "number": {"N": "12345678901234567890123456789012345678"},
    "numbers": {"NS": ["1", "2.5"]},
    "名前 @/.1": {"S": 'quote " backslash \\ æøå'},
    "texts": {"SS": ["a", "b"]},
}


@ITEMS.sees(ALL_TYPES)
def an_item_of_all_types_comes_back_as_it_was(aws: Clients) -> object:
    table = aws.create_table()
    aws.dynamodb.put_item(TableName=table, Item={"id": {"S": "k"}, **ALL_TYPES})
    item: Any = aws.dynamodb.get_item(TableName=table, Key={"id": {"S": "k"}})["Item"]
    for name, tag in (("binaries", "BS"), ("numbers", "NS"), ("texts", "SS")):
        item[name] = {tag: sorted(item[name][tag])}
    return {name: value for name, value in item.items() if name != "id"}


@ITEMS.sees(["7", "7", "0", "-1.5", "100000000000000000000", "0.001"])
def numbers_are_brought_into_normal_form(aws: Clients) -> object:
    table = aws.create_table()
    texts = ["007", "7.0", "-0", "-1.50", "1E+20", "1e-3"]
    numbers: list[Any] = [{"N": text} for text in texts]
    aws.dynamodb.put_item(TableName=table, Item={"id": {"S": "k"}, "list": {"L": numbers}})
    item = aws.dynamodb.get_item(TableName=table, Key={"id": {"S": "k"}})["Item"]
    return [number["N"] for number in item["list"]["L"]]


@ITEMS.sees(["ValidationException"] * 6)
def impossible_items_are_refused(aws: Clients) -> object:
    table = aws.create_table()
    attributes: list[dict[str, Any]] = [
        {"id": {"S": ""}},
        {"id": {"N": "1"}},
        {"other": {"S": "x"}},
        {"id": {"S": "k"}, "big": {"S": "x" * 400 * 1024}},
        {"id": {"S": "k"}, "number": {"N": "1" * 39}},
        {"id": {"S": "k"}, "texts": {"SS": ["a", "a"]}},
    ]
    return [
        error_code(partial(aws.dynamodb.put_item, TableName=table, Item=item))
        for item in attributes
    ]


@ITEMS.sees(
    [
        "ResourceNotFoundException",
        "ResourceNotFoundException",
        "ResourceNotFoundException",
        "ResourceNotFoundException",
        "ResourceInUseException",
    ]
)
def tables_that_are_not_there_or_there_already(aws: Clients) -> object:
    table = aws.create_table()
    create = {
        "TableName": table,
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    db: Any = aws.dynamodb
    return [
        error_code(lambda: db.describe_table(TableName="nowhere")),
        error_code(lambda: db.delete_table(TableName="nowhere")),
        error_code(lambda: db.scan(TableName="nowhere")),
        error_code(lambda: db.put_item(TableName="nowhere", Item={"id": {"S": "k"}})),
        error_code(lambda: db.create_table(**create)),
    ]


@ITEMS.sees(
    {
        "KeySchema": [
            {"AttributeName": "id", "KeyType": "HASH"},
            {"AttributeName": "rank", "KeyType": "RANGE"},
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        "TableStatus": "ACTIVE",
        "BillingMode": "PAY_PER_REQUEST",
        "ArnFits": True,
    }
)
def a_table_describes_itself(aws: Clients) -> object:
    name = aws.create_table(range_type="N", view_type="NEW_IMAGE")
    table = aws.dynamodb.describe_table(TableName=name)["Table"]
    return {
        "KeySchema": table["KeySchema"],
        "StreamSpecification": table["StreamSpecification"],
        "TableStatus": table["TableStatus"],
        "BillingMode": table["BillingModeSummary"]["BillingMode"],
        "ArnFits": table["LatestStreamArn"]
        == f"{table['TableArn']}/stream/{table['LatestStreamLabel']}",
    }


@ITEMS.sees([{"n": {"N": "3"}, "list": {"L": [{"S": "a"}, {"S": "b"}]}}, {"fresh": {"S": "x"}}])
def update_expressions_set_add_and_remove(aws: Clients) -> object:
    table = aws.create_table()
    aws.put(table, "old", n={"N": "1"}, gone={"S": "x"}, list={"L": [{"S": "a"}]})
    aws.dynamodb.update_item(
        TableName=table,
        Key={"id": {"S": "old"}},
        UpdateExpression="SET n = n + :two, #l = list_append(#l, :more) REMOVE gone",
        ExpressionAttributeNames={"#l": "list"},
        ExpressionAttributeValues={":two": {"N": "2"}, ":more": {"L": [{"S": "b"}]}},
    )
    aws.dynamodb.update_item(
        TableName=table,
        Key={"id": {"S": "new"}},
        UpdateExpression="SET fresh = if_not_exists(fresh, :x)",
        ExpressionAttributeValues={":x": {"S": "x"}},
    )
    found = []
    for id_ in ("old", "new"):
        item = aws.dynamodb.get_item(TableName=table, Key={"id": {"S": id_}})["Item"]
        found.append({name: value for name, value in item.items() if name != "id"})
    return found


@ITEMS.sees(({"id": {"S": "k"}, "v": {"N": "1"}}, {"id": {"S": "k"}, "v": {"N": "2"}}))
def writes_give_back_the_old_item(aws: Clients) -> object:
    table = aws.create_table()
    aws.put(table, "k", v={"N": "1"})
    put = aws.dynamodb.put_item(
        TableName=table, Item={"id": {"S": "k"}, "v": {"N": "2"}}, ReturnValues="ALL_OLD"
    )
    deleted = aws.dynamodb.delete_item(
        TableName=table, Key={"id": {"S": "k"}}, ReturnValues="ALL_OLD"
    )
    return put["Attributes"], deleted["Attributes"]


def _load(aws: Clients, table: str, count: int) -> None:
    for start in range(0, count, 25):
        puts: list[Any] = [
            {"PutRequest": {"Item": {"id": {"S": f"k{n}"}}}}
            for n in range(start, min(count, start + 25))
        ]
        answer = aws.dynamodb.batch_write_item(RequestItems={table: puts})
        assert answer["UnprocessedItems"] == {}


def _scan(aws: Clients, table: str, **options: Any) -> tuple[list[str], list[int]]:
    """Keys in scan order, and the number of items per page."""
    keys: list[str] = []
    pages: list[int] = []
    while True:
        page = aws.dynamodb.scan(TableName=table, **options)
        assert page["Count"] == page["ScannedCount"] == len(page["Items"])
        keys += [str(item["id"].get("S") or item["id"].get("N")) for item in page["Items"]]
        pages.append(page["Count"])
        if "LastEvaluatedKey" not in page:
            return keys, pages
        options["ExclusiveStartKey"] = page["LastEvaluatedKey"]


@ITEMS.sees((60, 60, [25, 25, 10]))
def a_limited_scan_sees_every_item_once(aws: Clients) -> object:
    table = aws.create_table()
    _load(aws, table, 60)
    keys, pages = _scan(aws, table, Limit=25)
    return len(keys), len(set(keys)), pages


@ITEMS.sees([20, 20, 0])
def a_limit_that_fits_exactly_ends_on_an_empty_page(aws: Clients) -> object:
    table = aws.create_table()
    _load(aws, table, 40)
    return _scan(aws, table, Limit=20)[1]


@ITEMS.sees((50, 50))
def segments_are_disjoint_and_complete(aws: Clients) -> object:
    table = aws.create_table()
    _load(aws, table, 50)
    keys = [
        key
        for segment in range(4)
        for key in _scan(aws, table, Segment=segment, TotalSegments=4, Limit=7)[0]
    ]
    return len(keys), len(set(keys))


@ITEMS.sees((8, 2))
def a_page_ends_at_one_megabyte(aws: Clients) -> object:
    table = aws.create_table()
    for n in range(8):
        aws.put(table, f"k{n}", big={"S": "x" * 200_000})
    keys, pages = _scan(aws, table)
    return len(keys), len(pages)


@ITEMS.sees([["1", "2", "10"], ["1", "2", "10"]])
def sort_keys_are_in_their_own_order_and_resumable(aws: Clients) -> object:
    table = aws.create_table(range_type="N")
    for rank in ("10", "1", "2"):
        aws.dynamodb.put_item(TableName=table, Item={"id": {"S": "k"}, "rank": {"N": rank}})
    found = []
    for limit in (100, 1):
        ranks: list[str] = []
        start: dict[str, Any] = {}
        while True:
            page = aws.dynamodb.scan(TableName=table, Limit=limit, **start)
            ranks += [item["rank"]["N"] for item in page["Items"]]
            if "LastEvaluatedKey" not in page:
                break
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
        found.append(ranks)
    return found


@ITEMS.sees(["ValidationException"] * 3)
def senseless_scans_are_refused(aws: Clients) -> object:
    table = aws.create_table()
    db: Any = aws.dynamodb
    return [
        error_code(lambda: db.scan(TableName=table, Segment=4, TotalSegments=4)),
        error_code(lambda: db.scan(TableName=table, Segment=0)),
        error_code(lambda: db.scan(TableName=table, ExclusiveStartKey={"no": {"S": "x"}})),
    ]


@ITEMS.sees([128.5, 0.5])
def a_scan_consumes_half_a_unit_per_four_kilobytes(aws: Clients) -> object:
    table, empty = aws.create_table(), aws.create_table()
    for n in range(12):
        aws.put(table, f"k{n:02}", big={"S": "x" * 99_000})
    return [
        aws.dynamodb.scan(TableName=name, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"][
            "CapacityUnits"
        ]
        - (0.0 if name == empty else _overhang(aws, name))
        for name in (table, empty)
    ]


def _overhang(aws: Clients, table: str) -> float:
    """What the item that took the page over 1 MB adds to 128.5 units."""
    page = aws.dynamodb.scan(TableName=table)
    size = sum(len(item["id"]["S"]) + 2 + 3 + len(item["big"]["S"]) for item in page["Items"])
    return 0.5 * -(-size // 4096) - 128.5


@ITEMS.sees((True, "ValidationException"))
def batches_refuse_one_key_twice(aws: Clients) -> object:
    table = aws.create_table()
    put: Any = {"PutRequest": {"Item": {"id": {"S": "k"}}}}
    db: Any = aws.dynamodb
    fine = db.batch_write_item(RequestItems={table: [put]})["UnprocessedItems"] == {}
    return fine, error_code(lambda: db.batch_write_item(RequestItems={table: [put, put]}))


# -- tags and identity ----------------------------------------------------------------------------


@ITEMS.sees([{"env": "test", "team": "a"}, {"team": "b"}, {}])
def tags_come_and_go(aws: Clients) -> object:
    table = aws.create_table(tags={"env": "test", "team": "a"})
    arn = aws.dynamodb.describe_table(TableName=table)["Table"]["TableArn"]
    seen = []

    def note() -> None:
        tags = aws.dynamodb.list_tags_of_resource(ResourceArn=arn)["Tags"]
        seen.append({tag["Key"]: tag["Value"] for tag in tags})

    note()
    aws.dynamodb.tag_resource(ResourceArn=arn, Tags=[{"Key": "team", "Value": "b"}])
    aws.dynamodb.untag_resource(ResourceArn=arn, TagKeys=["env", "not-there"])
    note()
    aws.dynamodb.untag_resource(ResourceArn=arn, TagKeys=["team"])
    note()
    return seen


def _tagged(aws: Clients, **options: Any) -> list[str]:
    answer: Any = aws.tagging.get_resources(ResourceTypeFilters=["dynamodb:table"], **options)
    found = [entry["ResourceARN"] for entry in answer["ResourceTagMappingList"]]
    while answer.get("PaginationToken"):
        answer = aws.tagging.get_resources(
            ResourceTypeFilters=["dynamodb:table"],
            PaginationToken=answer["PaginationToken"],
            **options,
        )
        found += [entry["ResourceARN"] for entry in answer["ResourceTagMappingList"]]
    return sorted(arn.rpartition("/")[2] for arn in found)


@ITEMS.sees([["one", "three", "two"], ["one", "two"], ["one"], ["one", "three"], []])
def tag_filters_are_joined_with_and(aws: Clients) -> object:
    names = {
        aws.create_table(tags={"job": "filters", "env": "dev", "team": "a"}): "one",
        aws.create_table(tags={"job": "filters", "env": "dev"}): "two",
        aws.create_table(tags={"job": "filters", "env": "", "team": "b"}): "three",
    }
    job = {"Key": "job", "Values": ["filters"]}
    filters: list[list[Any]] = [
        [job],
        [job, {"Key": "env", "Values": ["dev", "prod"]}],
        [job, {"Key": "env", "Values": ["dev"]}, {"Key": "team"}],
        [job, {"Key": "team"}],
        [job, {"Key": "nobody"}],
    ]
    return [sorted(names[table] for table in _tagged(aws, TagFilters=wanted)) for wanted in filters]


@ITEMS.sees((2, 3))
def tagged_resources_come_in_pages(aws: Clients) -> object:
    for _ in range(3):
        aws.create_table(tags={"job": "pages"})
    filters: list[Any] = [{"Key": "job", "Values": ["pages"]}]
    first = aws.tagging.get_resources(TagFilters=filters, ResourcesPerPage=2)
    everything = _tagged(aws, TagFilters=filters, ResourcesPerPage=2)
    return len(first["ResourceTagMappingList"]), len(everything)


@ITEMS.sees((True, True, True))
def a_role_is_assumed(aws: Clients) -> object:
    role = "arn:aws:iam::123456789012:role/reader"
    answer = aws.sts.assume_role(RoleArn=role, RoleSessionName="session", DurationSeconds=900)
    credentials = answer["Credentials"]
    arn = answer["AssumedRoleUser"]["Arn"]
    return (
        credentials["AccessKeyId"].startswith("ASIA"),
        bool(credentials["SessionToken"]),
        arn.endswith(":assumed-role/reader/session"),
    )
