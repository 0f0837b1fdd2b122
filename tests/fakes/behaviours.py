"""What the fake and the emulators have in common, as small programs for boto3.

A behaviour takes ``Clients`` and gives back what it saw; ``expected`` is what AWS shows, as far as
the spec, the API reference or at least one emulator vouches for it.
``tests/conformance/test_fake_against_emulators.py`` runs every one against every server.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient
    from mypy_boto3_dynamodbstreams.type_defs import RecordTypeDef
    from mypy_boto3_resourcegroupstaggingapi import ResourceGroupsTaggingAPIClient
    from mypy_boto3_sts import STSClient

REGION = "eu-west-1"
_numbers = count(1)
Key = dict[str, dict[str, Any]]


class Clients:
    """boto3 clients for one server, with the settings that a custom endpoint needs."""

    def __init__(self, url: str) -> None:
        session = boto3.Session(
            aws_access_key_id="testing", aws_secret_access_key="testing", region_name=REGION
        )
        config = Config(
            account_id_endpoint_mode="disabled",
            connect_timeout=5,
            read_timeout=20,
            retries={"total_max_attempts": 1},
        )
        self.dynamodb: DynamoDBClient = session.client("dynamodb", endpoint_url=url, config=config)
        self.streams: DynamoDBStreamsClient = session.client(
            "dynamodbstreams", endpoint_url=url, config=config
        )
        self.tagging: ResourceGroupsTaggingAPIClient = session.client(
            "resourcegroupstaggingapi", endpoint_url=url, config=config
        )
        self.sts: STSClient = session.client("sts", endpoint_url=url, config=config)

    def close(self) -> None:
        """Close the connections."""
        for client in (self.dynamodb, self.streams, self.tagging, self.sts):
            client.close()

    def create_table(
        self,
        *,
        view_type: str | None = None,
        hash_type: Any = "S",
        range_type: Any = None,
        tags: dict[str, str] | None = None,
    ) -> str:
        """Create a table with the keys ``id`` and, if asked for, ``rank``; its name."""
        name = f"table-{next(_numbers)}"
        attributes: list[Any] = [{"AttributeName": "id", "AttributeType": hash_type}]
        keys: list[Any] = [{"AttributeName": "id", "KeyType": "HASH"}]
        if range_type is not None:
            attributes.append({"AttributeName": "rank", "AttributeType": range_type})
            keys.append({"AttributeName": "rank", "KeyType": "RANGE"})
        stream: dict[str, Any] = {}
        if view_type is not None:
            stream["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view_type}
        if tags:
            stream["Tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]
        self.dynamodb.create_table(
            TableName=name,
            AttributeDefinitions=attributes,
            KeySchema=keys,
            BillingMode="PAY_PER_REQUEST",
            **stream,
        )
        return name

    def put(self, table: str, id_: str, **attributes: dict[str, Any]) -> None:
        """Put an item with a string key."""
        self.dynamodb.put_item(TableName=table, Item={"id": {"S": id_}, **attributes})

    def delete(self, table: str, id_: str) -> None:
        """Delete an item with a string key."""
        self.dynamodb.delete_item(TableName=table, Key={"id": {"S": id_}})

    def stream_arn(self, table: str) -> str:
        """The ARN of a table's latest stream."""
        return self.dynamodb.describe_table(TableName=table)["Table"]["LatestStreamArn"]

    def first_shard(self, arn: str) -> str:
        """The id of a stream's first shard."""
        description = self.streams.describe_stream(StreamArn=arn)["StreamDescription"]
        return description["Shards"][0]["ShardId"]

    def iterator(self, arn: str, kind: Any = "TRIM_HORIZON", sequence: str | None = None) -> str:
        """An iterator into a stream's first shard."""
        place: dict[str, Any] = {"SequenceNumber": sequence} if sequence else {}
        return self.streams.get_shard_iterator(
            StreamArn=arn, ShardId=self.first_shard(arn), ShardIteratorType=kind, **place
        )["ShardIterator"]

    def records(self, table: str) -> list[RecordTypeDef]:
        """All records of a table's latest stream."""
        iterator = self.iterator(self.stream_arn(table))
        return self.streams.get_records(ShardIterator=iterator)["Records"]


def error_code(call: Callable[[], object]) -> str:
    """The code of the error that a call raises; "no error" when it raises none."""
    try:
        call()
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    return "no error"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A program, and what it is to see."""

    name: str
    run: Callable[[Clients], object]
    expected: object


class Collection:
    """Behaviours of one theme, collected by decoration."""

    def __init__(self) -> None:
        self.behaviours: list[Behaviour] = []

    def sees(
        self, expected: object
    ) -> Callable[[Callable[[Clients], object]], Callable[[Clients], object]]:
        """Collect a program together with what it is to see."""

        def collect(run: Callable[[Clients], object]) -> Callable[[Clients], object]:
            self.behaviours.append(Behaviour(run.__name__, run, expected))
            return run

        return collect
