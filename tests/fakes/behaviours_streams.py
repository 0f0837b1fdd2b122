"""Behaviours of table streams; see ``behaviours``."""

from __future__ import annotations

from typing import Any

from tests.fakes.behaviours import Clients, Collection, error_code

STREAMS = Collection()

_ONE = {"id": {"S": "k"}, "v": {"N": "1"}}
_TWO = {"id": {"S": "k"}, "v": {"N": "2"}}


def _life_of_one_item(aws: Clients, view_type: str) -> object:
    table = aws.create_table(view_type=view_type)
    aws.put(table, "k", v={"N": "1"})
    aws.put(table, "k", v={"N": "2"})
    aws.delete(table, "k")
    return [
        (
            record["eventName"],
            record["dynamodb"]["Keys"],
            record["dynamodb"].get("OldImage"),
            record["dynamodb"].get("NewImage"),
            record["dynamodb"]["StreamViewType"],
        )
        for record in aws.records(table)
    ]


def _seen(view_type: str, *, old: bool, new: bool) -> list[object]:
    key = {"id": {"S": "k"}}
    return [
        ("INSERT", key, None, _ONE if new else None, view_type),
        ("MODIFY", key, _ONE if old else None, _TWO if new else None, view_type),
        ("REMOVE", key, _TWO if old else None, None, view_type),
    ]


@STREAMS.sees(_seen("NEW_AND_OLD_IMAGES", old=True, new=True))
def records_with_both_images(aws: Clients) -> object:
    return _life_of_one_item(aws, "NEW_AND_OLD_IMAGES")


@STREAMS.sees(_seen("NEW_IMAGE", old=False, new=True))
def records_with_the_new_image(aws: Clients) -> object:
    return _life_of_one_item(aws, "NEW_IMAGE")


@STREAMS.sees(_seen("OLD_IMAGE", old=True, new=False))
def records_with_the_old_image(aws: Clients) -> object:
    return _life_of_one_item(aws, "OLD_IMAGE")


@STREAMS.sees(_seen("KEYS_ONLY", old=False, new=False))
def records_with_keys_only(aws: Clients) -> object:
    return _life_of_one_item(aws, "KEYS_ONLY")


@STREAMS.sees((True, True, True, {"aws:dynamodb"}, {"1.1"}, True))
def records_carry_what_identifies_them(aws: Clients) -> object:
    table = aws.create_table(view_type="NEW_IMAGE")
    for n in range(20):
        aws.put(table, f"k{n}")
    records = aws.records(table)
    numbers = [int(record["dynamodb"]["SequenceNumber"]) for record in records]
    return (
        numbers == sorted(set(numbers)),
        len({record["eventID"] for record in records}) == 20,
        [record["dynamodb"]["Keys"]["id"]["S"] for record in records]
        == [f"k{n}" for n in range(20)],
        {record["eventSource"] for record in records},
        {record["eventVersion"] for record in records},
        all("userIdentity" not in record for record in records),
    )


@STREAMS.sees(True)
def creation_times_are_whole_seconds(aws: Clients) -> object:
    table = aws.create_table(view_type="NEW_IMAGE")
    for n in range(5):
        aws.put(table, f"k{n}")
    created = [record["dynamodb"]["ApproximateCreationDateTime"] for record in aws.records(table)]
    return all(moment.microsecond == 0 for moment in created)


@STREAMS.sees(True)
def sizes_count_keys_and_images(aws: Clients) -> object:
    table = aws.create_table(view_type="NEW_IMAGE")
    aws.put(table, "k", text={"S": "x" * 100})
    (record,) = aws.records(table)
    return record["dynamodb"]["SizeBytes"] == 3 + 3 + 104


@STREAMS.sees(["INSERT", "MODIFY", "REMOVE"])
def writes_without_effect_leave_no_record(aws: Clients) -> object:
    table = aws.create_table(view_type="NEW_AND_OLD_IMAGES")
    aws.put(table, "k", v={"N": "1"})
    aws.put(table, "k", v={"N": "1.0"})
    aws.put(table, "k", v={"N": "2"})
    update: dict[str, Any] = {
        "UpdateExpression": "SET v = :v",
        "ExpressionAttributeValues": {":v": {"N": "2"}},
    }
    aws.dynamodb.update_item(TableName=table, Key={"id": {"S": "k"}}, **update)
    aws.delete(table, "k")
    aws.delete(table, "k")
    aws.delete(table, "never-there")
    return [record["eventName"] for record in aws.records(table)]


@STREAMS.sees([("INSERT", {"id": {"S": "k"}, "v": {"N": "1"}})])
def an_update_that_creates_leaves_one_record(aws: Clients) -> object:
    table = aws.create_table(view_type="NEW_IMAGE")
    aws.dynamodb.update_item(
        TableName=table,
        Key={"id": {"S": "k"}},
        UpdateExpression="SET v = :v",
        ExpressionAttributeValues={":v": {"N": "1"}},
    )
    return [(r["eventName"], r["dynamodb"]["NewImage"]) for r in aws.records(table)]


@STREAMS.sees({"B": b"\x00\xff"})
def a_binary_key_is_encoded_once(aws: Clients) -> object:
    table = aws.create_table(view_type="NEW_IMAGE", hash_type="B")
    aws.dynamodb.put_item(TableName=table, Item={"id": {"B": b"\x00\xff"}})
    return aws.records(table)[0]["dynamodb"]["Keys"]["id"]


@STREAMS.sees([["k0", "k1", "k2"], ["k1", "k2"], ["k2"], ["late"]])
def iterators_start_where_they_should(aws: Clients) -> object:
    table = aws.create_table(view_type="NEW_IMAGE")
    for n in range(3):
        aws.put(table, f"k{n}")
    arn = aws.stream_arn(table)
    second = aws.records(table)[1]["dynamodb"]["SequenceNumber"]
    iterators = [
        aws.iterator(arn),
        aws.iterator(arn, "AT_SEQUENCE_NUMBER", second),
        aws.iterator(arn, "AFTER_SEQUENCE_NUMBER", second),
    ]
    latest = aws.iterator(arn, "LATEST")
    seen = [_ids(aws, iterator) for iterator in iterators]
    aws.put(table, "late")
    return [*seen, _ids(aws, latest)]


def _ids(aws: Clients, iterator: str, **options: Any) -> list[str]:
    records = aws.streams.get_records(ShardIterator=iterator, **options)["Records"]
    return [record["dynamodb"]["Keys"]["id"]["S"] for record in records]


@STREAMS.sees([["k0", "k1"], ["k0", "k1"], ["k2"], []])
def iterators_can_be_used_again_and_lead_on(aws: Clients) -> object:
    table = aws.create_table(view_type="NEW_IMAGE")
    for n in range(3):
        aws.put(table, f"k{n}")
    iterator = aws.iterator(aws.stream_arn(table))
    page = aws.streams.get_records(ShardIterator=iterator, Limit=2)
    following = aws.streams.get_records(ShardIterator=page["NextShardIterator"])
    pages = [_ids(aws, iterator, Limit=2), _ids(aws, iterator, Limit=2)]
    pages.append([r["dynamodb"]["Keys"]["id"]["S"] for r in following["Records"]])
    pages.append(_ids(aws, following["NextShardIterator"]))
    return pages


@STREAMS.sees((1000, 50))
def a_page_holds_a_thousand_records(aws: Clients) -> object:
    table = aws.create_table(view_type="KEYS_ONLY")
    for start in range(0, 1050, 25):
        puts: list[Any] = [
            {"PutRequest": {"Item": {"id": {"S": f"k{n}"}}}} for n in range(start, start + 25)
        ]
        aws.dynamodb.batch_write_item(RequestItems={table: puts})
    first = aws.streams.get_records(ShardIterator=aws.iterator(aws.stream_arn(table)))
    second = aws.streams.get_records(ShardIterator=first["NextShardIterator"])
    return len(first["Records"]), len(second["Records"])


@STREAMS.sees(["INSERT", "REMOVE", "INSERT"])
def a_transaction_writes_every_record(aws: Clients) -> object:
    table = aws.create_table(view_type="NEW_IMAGE")
    aws.put(table, "a")
    aws.dynamodb.transact_write_items(
        TransactItems=[
            {"Delete": {"TableName": table, "Key": {"id": {"S": "a"}}}},
            {"Put": {"TableName": table, "Item": {"id": {"S": "b"}}}},
        ]
    )
    return [record["eventName"] for record in aws.records(table)]


@STREAMS.sees(["ResourceNotFoundException", "ResourceNotFoundException", "ValidationException"])
def what_is_not_there_is_named(aws: Clients) -> object:
    table = aws.create_table(view_type="NEW_IMAGE")
    arn = aws.stream_arn(table)
    nowhere = arn.replace(table, "nowhere")
    streams: Any = aws.streams
    return [
        error_code(lambda: streams.describe_stream(StreamArn=nowhere)),
        error_code(
            lambda: streams.get_shard_iterator(
                StreamArn=arn,
                ShardId="shardId-00000001999999999999-deadbeef",
                ShardIteratorType="LATEST",
            )
        ),
        error_code(lambda: streams.get_records(ShardIterator="garbage-that-is-no-iterator")),
    ]


@STREAMS.sees(
    {
        "StreamStatus": "ENABLED",
        "StreamViewType": "NEW_IMAGE",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "has an open shard": True,
        "children": [],
    }
)
def a_stream_describes_itself(aws: Clients) -> object:
    table = aws.create_table(view_type="NEW_IMAGE")
    aws.put(table, "k")
    arn = aws.stream_arn(table)
    stream = aws.streams.describe_stream(StreamArn=arn)["StreamDescription"]
    ranges = [shard["SequenceNumberRange"] for shard in stream["Shards"]]
    children = aws.streams.describe_stream(
        StreamArn=arn,
        ShardFilter={"Type": "CHILD_SHARDS", "ShardId": stream["Shards"][0]["ShardId"]},
    )
    return {
        "StreamStatus": stream["StreamStatus"],
        "StreamViewType": stream["StreamViewType"],
        "KeySchema": stream["KeySchema"],
        "has an open shard": any("EndingSequenceNumber" not in range_ for range_ in ranges),
        "children": children["StreamDescription"]["Shards"],
    }


@STREAMS.sees(True)
def streams_are_listed_by_table(aws: Clients) -> object:
    table = aws.create_table(view_type="NEW_IMAGE")
    (stream,) = aws.streams.list_streams(TableName=table)["Streams"]
    return (
        stream["StreamArn"] == aws.stream_arn(table)
        and stream["StreamLabel"] in stream["StreamArn"]
        and stream["TableName"] == table
    )


@STREAMS.sees((True, "DISABLED", ["before"], False, "ENABLED", ["after"]))
def a_stream_that_is_enabled_again_is_another_stream(aws: Clients) -> object:
    table = aws.create_table(view_type="NEW_IMAGE")
    aws.put(table, "before")
    old = aws.stream_arn(table)
    aws.dynamodb.update_table(TableName=table, StreamSpecification={"StreamEnabled": False})
    aws.put(table, "unseen")
    aws.dynamodb.update_table(
        TableName=table,
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    )
    aws.put(table, "after")
    new = aws.stream_arn(table)
    page = aws.streams.get_records(ShardIterator=aws.iterator(old))
    statuses = [
        aws.streams.describe_stream(StreamArn=arn)["StreamDescription"]["StreamStatus"]
        for arn in (old, new)
    ]
    return (
        old != new,
        statuses[0],
        [record["dynamodb"]["Keys"]["id"]["S"] for record in page["Records"]],
        "NextShardIterator" in page,
        statuses[1],
        _ids(aws, aws.iterator(new)),
    )


@STREAMS.sees("ValidationException")
def a_stream_cannot_be_enabled_twice(aws: Clients) -> object:
    table = aws.create_table(view_type="NEW_IMAGE")
    specification: Any = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    return error_code(
        lambda: aws.dynamodb.update_table(TableName=table, StreamSpecification=specification)
    )


@STREAMS.sees((["k"], False))
def the_stream_of_a_deleted_table_can_be_read_to_its_end(aws: Clients) -> object:
    table = aws.create_table(view_type="NEW_IMAGE")
    aws.put(table, "k")
    arn = aws.stream_arn(table)
    aws.dynamodb.delete_table(TableName=table)
    page = aws.streams.get_records(ShardIterator=aws.iterator(arn))
    ids = [record["dynamodb"]["Keys"]["id"]["S"] for record in page["Records"]]
    return ids, "NextShardIterator" in page
