"""Shards listed to the last page, iterators, records as bytes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from connectd.aws.rate import TokenBucket
from connectd.aws.streams import Shard, StreamsClient
from connectd.aws.transport import HttpAnswer
from connectd.errors import (
    AccessDeniedError,
    InvariantError,
    IteratorExpiredError,
    StreamGoneError,
    TransientNetworkError,
    TrimmedDataError,
)
from tests.unit.aws.doubles import DirectControl, HandClock, ScriptedTransport, fault, wire_over

ARN = "arn:aws:dynamodb:eu-west-1:111122223333:table/orders/stream/2024-05-01T10:00:00.000"


class PagedStream:
    """boto3's DescribeStream over ``shards``, ``page_size`` of them at a time."""

    def __init__(self, shards: list[dict[str, Any]], *, page_size: int = 100) -> None:
        self._shards = shards
        self._page_size = page_size
        self.requests: list[dict[str, Any]] = []

    def describe_stream(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request.copy())
        ids = [each["ShardId"] for each in self._shards]
        start = ids.index(request["ExclusiveStartShardId"]) + 1 if len(request) > 2 else 0
        page = self._shards[start : start + self._page_size]
        more = start + self._page_size < len(ids)
        description: dict[str, Any] = {
            "StreamArn": request["StreamArn"],
            "StreamStatus": "ENABLED",
            "StreamViewType": "NEW_IMAGE",
            "Shards": page,
        }
        if more:
            description["LastEvaluatedShardId"] = page[-1]["ShardId"]
        return {"StreamDescription": description}


def client_of(
    boto: Any = None, transport: ScriptedTransport | None = None, clock: HandClock | None = None
) -> StreamsClient:
    return StreamsClient(
        client=boto,
        wire=wire_over(transport or ScriptedTransport()),
        control=DirectControl(),
        describe_bucket=TokenBucket(rate_per_s=5, clock=clock or HandClock()),
    )


def numbered(count: int) -> list[dict[str, Any]]:
    return [{"ShardId": f"shardId-{number:020}-00000000"} for number in range(count)]


def test_every_page_of_shards_is_read() -> None:
    """Spec field-cases S02: the open shard of 150 is on the second page."""
    boto = PagedStream(numbered(150))
    stream = asyncio.run(client_of(boto).describe_stream(ARN))
    assert [each.shard_id for each in stream.shards] == [each["ShardId"] for each in numbered(150)]
    assert (stream.arn, stream.status, stream.view_type) == (ARN, "ENABLED", "NEW_IMAGE")
    assert [each.get("ExclusiveStartShardId") for each in boto.requests] == [
        None,
        "shardId-00000000000000000099-00000000",
    ]
    assert {each["Limit"] for each in boto.requests} == {100}


def test_pages_of_all_callers_keep_the_account_s_rate() -> None:
    clock = HandClock()
    client = client_of(PagedStream(numbered(700)), clock=clock)
    start_s = clock.now_s

    async def scenario() -> None:
        await client.describe_stream(ARN)
        await client.describe_stream(ARN)

    asyncio.run(scenario())
    assert clock.now_s - start_s == pytest.approx(13 * 0.2)


def test_a_shard_is_read_in_all_its_shapes() -> None:
    open_, closed, empty = (
        {
            "ShardId": "open",
            "ParentShardId": "closed",
            "SequenceNumberRange": {"StartingSequenceNumber": "200"},
        },
        {
            "ShardId": "closed",
            "SequenceNumberRange": {
                "StartingSequenceNumber": "100",
                "EndingSequenceNumber": "199",
            },
        },
        {"ShardId": "empty", "ParentShardId": "", "SequenceNumberRange": {}},
    )
    stream = asyncio.run(client_of(PagedStream([open_, closed, empty])).describe_stream(ARN))
    assert stream.shards == (
        Shard("open", "closed", "200", None),
        Shard("closed", None, "100", "199"),
        Shard("empty", None, None, None),
    )


def test_a_shard_listed_twice_counts_once_and_as_it_was_last() -> None:
    closed = {"SequenceNumberRange": {"EndingSequenceNumber": "9"}}
    pages = [
        [{"ShardId": "a"}, {"ShardId": "b"}],
        [{"ShardId": "a", **closed}, {"ShardId": "c"}],
    ]

    class Shifting:
        def describe_stream(self, **request: Any) -> dict[str, Any]:
            description = {"StreamArn": ARN, "StreamStatus": "ENABLED", "Shards": pages.pop(0)}
            if pages:
                description["LastEvaluatedShardId"] = "b"
            return {"StreamDescription": description}

    stream = asyncio.run(client_of(Shifting()).describe_stream(ARN))
    assert [each.shard_id for each in stream.shards] == ["a", "b", "c"]
    assert stream.shards[0].ending_sequence_number == "9"


@pytest.mark.parametrize("last", [lambda count: "same", str], ids=["same", "growing"])
def test_a_listing_that_never_ends_is_an_error(last: Any) -> None:
    class Endless:
        calls = 0

        def describe_stream(self, **request: Any) -> dict[str, Any]:
            self.calls += 1
            return {
                "StreamDescription": {
                    "StreamArn": ARN,
                    "StreamStatus": "ENABLED",
                    "Shards": [],
                    "LastEvaluatedShardId": last(self.calls),
                }
            }

    with pytest.raises(TransientNetworkError, match="dynamodb:DescribeStream on stream arn"):
        asyncio.run(client_of(Endless()).describe_stream(ARN))


ITERATOR = HttpAnswer(200, b'{"ShardIterator":"it"}', None)


@pytest.mark.parametrize(
    ("kind", "number", "sent"),
    [
        ("TRIM_HORIZON", None, {}),
        ("LATEST", None, {}),
        ("AT_SEQUENCE_NUMBER", "42", {"SequenceNumber": "42"}),
        ("AFTER_SEQUENCE_NUMBER", "42", {"SequenceNumber": "42"}),
    ],
)
def test_an_iterator_is_asked_for_by_kind(kind: Any, number: str | None, sent: Any) -> None:
    transport = ScriptedTransport(ITERATOR)
    found = asyncio.run(client_of(None, transport).shard_iterator(ARN, "shard", kind, number))
    assert found == "it"
    assert json.loads(transport.sent[0].body) == {
        "StreamArn": ARN,
        "ShardId": "shard",
        "ShardIteratorType": kind,
        **sent,
    }
    target = transport.sent[0].headers["X-Amz-Target"]
    assert target == "DynamoDBStreams_20120810.GetShardIterator"


@pytest.mark.parametrize(
    ("kind", "number"), [("LATEST", "42"), ("TRIM_HORIZON", "42"), ("AT_SEQUENCE_NUMBER", None)]
)
def test_a_sequence_number_belongs_to_its_kinds(kind: Any, number: str | None) -> None:
    with pytest.raises(InvariantError, match=kind):
        asyncio.run(client_of().shard_iterator(ARN, "shard", kind, number))


@pytest.mark.parametrize("body", [b"{}", b"<html>", b'{"ShardIterator":null}', b'"\xff"'])
def test_an_answer_without_an_iterator_is_an_error(body: bytes) -> None:
    transport = ScriptedTransport(HttpAnswer(200, body, None))
    with pytest.raises(TransientNetworkError, match="no iterator"):
        asyncio.run(client_of(None, transport).shard_iterator(ARN, "shard", "LATEST", None))


def test_a_trimmed_position_and_a_lost_shard_are_told_apart() -> None:
    for code, expected in (
        ("TrimmedDataAccessException", TrimmedDataError),
        ("ResourceNotFoundException", StreamGoneError),
    ):
        client = client_of(None, ScriptedTransport(fault(400, code)))
        with pytest.raises(expected, match=f"shard shardId-1 of stream {ARN}"):
            asyncio.run(client.shard_iterator(ARN, "shardId-1", "AT_SEQUENCE_NUMBER", "1"))


def test_records_are_returned_as_they_came() -> None:
    page = b'{"Records":[],"NextShardIterator":"next"}'
    transport = ScriptedTransport(HttpAnswer(200, page, 5.0))
    answer = asyncio.run(client_of(None, transport).get_records(f"{ARN}|1|AA=", 1000))
    assert (answer.body, answer.date_s) == (page, 5.0)
    assert transport.sent[0].body == f'{{"ShardIterator":"{ARN}|1|AA=","Limit":1000}}'.encode()
    target = transport.sent[0].headers["X-Amz-Target"]
    assert target == "DynamoDBStreams_20120810.GetRecords"


@pytest.mark.parametrize("limit", [0, 1001])
def test_a_limit_that_aws_refuses_is_a_bug(limit: int) -> None:
    with pytest.raises(InvariantError, match=f"limit is {limit}"):
        asyncio.run(client_of().get_records("iterator", limit))


@pytest.mark.parametrize(
    ("iterator", "named"),
    [(f"{ARN}|1|AAAAopaque", f"iterator of stream {ARN}"), ("opaque", "iterator of a stream")],
)
def test_an_expired_iterator_names_its_stream_and_not_itself(iterator: str, named: str) -> None:
    client = client_of(None, ScriptedTransport(fault(400, "ExpiredIteratorException")))
    with pytest.raises(IteratorExpiredError) as caught:
        asyncio.run(client.get_records(iterator, 10))
    assert f"dynamodb:GetRecords on {named}: " in str(caught.value)
    assert "opaque" not in str(caught.value)


def test_a_read_that_is_denied_names_the_stream_and_not_the_iterator() -> None:
    client = client_of(None, ScriptedTransport(fault(400, "AccessDeniedException")))
    with pytest.raises(AccessDeniedError) as caught:
        asyncio.run(client.get_records(f"{ARN}|1|AAAAopaque", 10))
    assert f"allow the action dynamodb:GetRecords on {ARN} to these" in str(caught.value)
    assert "opaque" not in str(caught.value)
