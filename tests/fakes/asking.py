"""Short ways to ask a fake things in its own tests: no sockets, a clock that stands still."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.clock import FakeClock
from tests.fakes.control import Control
from tests.fakes.fake import FakeAws
from tests.fakes.wire import AwsError


class Asked:
    """A fake and the calls that tests make most."""

    def __init__(self) -> None:
        self.aws = FakeAws(FakeClock.frozen())

    @property
    def control(self) -> Control:
        """The script."""
        return self.aws.control

    def db(self, operation: str, **parameters: Any) -> Any:
        """Call DynamoDB."""
        return self.aws.call("dynamodb", operation, parameters)

    def streams(self, operation: str, **parameters: Any) -> Any:
        """Call DynamoDB Streams."""
        return self.aws.call("streams", operation, parameters)

    def table(self, name: str = "orders", **options: Any) -> str:
        """Create a table with a stream; the stream's ARN."""
        return self.control.create_table(name, **options) or ""

    def put(self, table: str, id_: str, **attributes: dict[str, Any]) -> None:
        """Put an item with a string key."""
        self.db("PutItem", TableName=table, Item={"id": {"S": id_}, **attributes})

    def shards(self, arn: str, **options: Any) -> list[dict[str, Any]]:
        """One page of DescribeStream."""
        page = self.streams("DescribeStream", StreamArn=arn, **options)
        found: list[dict[str, Any]] = page["StreamDescription"]["Shards"]
        return found

    def iterator(self, arn: str, shard: str, kind: str = "TRIM_HORIZON", **place: Any) -> str:
        """An iterator into a shard."""
        answer = self.streams(
            "GetShardIterator", StreamArn=arn, ShardId=shard, ShardIteratorType=kind, **place
        )
        return str(answer["ShardIterator"])

    def page(self, iterator: str, **options: Any) -> Any:
        """One page of GetRecords."""
        return self.streams("GetRecords", ShardIterator=iterator, **options)

    def ids(self, arn: str, shard: str, kind: str = "TRIM_HORIZON", **place: Any) -> list[str]:
        """The keys of the records on the first page of a shard."""
        return ids_of(self.page(self.iterator(arn, shard, kind, **place)))


def ids_of(page: Any) -> list[str]:
    """The string keys of a page of records."""
    return [record["dynamodb"]["Keys"]["id"]["S"] for record in page["Records"]]


def refusal(call: Any, *arguments: Any, **parameters: Any) -> AwsError:
    """The error that a call raises."""
    with pytest.raises(AwsError) as raised:
        call(*arguments, **parameters)
    return raised.value
