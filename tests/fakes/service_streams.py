"""DynamoDB Streams: ListStreams, DescribeStream, GetShardIterator, GetRecords."""

from __future__ import annotations

import math
from typing import Any

import orjson

from tests.fakes.account import Account
from tests.fakes.iterators import LIFETIME_S, ShardIterator
from tests.fakes.listing import ShardEntry
from tests.fakes.shards import PAGE_RECORDS_MAX, RETENTION_S, Shard
from tests.fakes.streams import Stream
from tests.fakes.wire import AwsError, Operation, Payload, Reply, refuse_unknown, validation

LIST_MAX = 100

_DESCRIBE = frozenset({"StreamArn", "Limit", "ExclusiveStartShardId", "ShardFilter"})
_ITERATOR = frozenset({"StreamArn", "ShardId", "ShardIteratorType", "SequenceNumber", "Timestamp"})
_LIST = frozenset({"TableName", "Limit", "ExclusiveStartStreamArn"})


class StreamService:
    """The read side of table streams."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._serial = 0
        self._expired: dict[str | None, int] = {}  # table (None: every one): serials up to this
        self.operations: dict[str, Operation] = {
            "ListStreams": self.list_streams,
            "DescribeStream": self.describe_stream,
            "GetShardIterator": self.get_shard_iterator,
            "GetRecords": self.get_records,
        }

    def expire_iterators(self, table: str | None) -> None:
        """Let every iterator that is out there expire now, of one table or of all."""
        self._expired[table] = self._serial

    # -- lists ---------------------------------------------------------------------------------

    def list_streams(self, payload: Payload) -> Reply:
        """One page of streams, those of deleted tables and disabled ones included."""
        refuse_unknown("ListStreams", payload, _LIST)
        limit = _limit(payload, LIST_MAX)
        start = payload.get("ExclusiveStartStreamArn", "")
        table = payload.get("TableName")
        streams = [
            {"StreamArn": s.name.arn, "StreamLabel": s.name.label, "TableName": s.name.table}
            for s in self._account.streams()
            if s.name.arn > start and table in (None, s.name.table)
        ]
        body: dict[str, Any] = {"Streams": streams[:limit]}
        if len(streams) > limit:
            body["LastEvaluatedStreamArn"] = streams[limit - 1]["StreamArn"]
        return Reply.of(body, count=len(streams[:limit]))

    def describe_stream(self, payload: Payload) -> Reply:
        """One page of a stream's shards, in the order of their ids."""
        refuse_unknown("DescribeStream", payload, _DESCRIBE)
        stream = self._account.stream(payload.get("StreamArn"))
        limit = _limit(payload, LIST_MAX)
        entries = _filtered(stream.listed(self._account.clock.now_s()), payload.get("ShardFilter"))
        start = payload.get("ExclusiveStartShardId", "")
        entries = [entry for entry in entries if entry.shard_id > start]
        description = _description(stream)
        description["Shards"] = [entry.wire() for entry in entries[:limit]]
        if len(entries) > limit:
            description["LastEvaluatedShardId"] = entries[limit - 1].shard_id
        return Reply.of({"StreamDescription": description}, count=len(entries[:limit]))

    # -- iterators -----------------------------------------------------------------------------

    def get_shard_iterator(self, payload: Payload) -> Reply:
        """Turn a place in a shard into an iterator."""
        refuse_unknown("GetShardIterator", payload, _ITERATOR)
        stream = self._account.stream(payload.get("StreamArn"))
        now_s = self._account.clock.now_s()
        shard = stream.shard(str(payload.get("ShardId")), now_s)
        kind = payload.get("ShardIteratorType")
        if kind == "TRIM_HORIZON":
            position = shard.log.trimmed
        elif kind == "LATEST":
            position = shard.log.readable_end
        elif kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
            position = _position_of_sequence(
                stream, shard, payload.get("SequenceNumber"), after=kind.startswith("AFTER")
            )
        elif kind == "AT_TIMESTAMP":
            position = _position_of_time(shard, payload.get("Timestamp"), now_s)
        else:
            raise validation(
                f"1 validation error detected: Value '{kind}' at 'shardIteratorType' failed to "
                "satisfy constraint: Member must satisfy enum value set: [AFTER_SEQUENCE_NUMBER, "
                "AT_SEQUENCE_NUMBER, AT_TIMESTAMP, LATEST, TRIM_HORIZON]"
            )
        return Reply.of({"ShardIterator": self._token(stream, shard, position)})

    def _token(self, stream: Stream, shard: Shard, position: int) -> str:
        self._serial += 1
        now_s = self._account.clock.now_s()
        return ShardIterator(stream.name.arn, shard.shard_id, position, now_s, self._serial).token()

    def _check_age(self, iterator: ShardIterator, stream: Stream) -> None:
        age_s = self._account.clock.now_s() - iterator.issued_s
        expired = max(self._expired.get(None, 0), self._expired.get(stream.name.table, 0))
        if age_s > LIFETIME_S or iterator.serial <= expired:
            raise AwsError(
                "ExpiredIteratorException",
                f"Iterator expired. The iterator was created {age_s:.0f} s ago; iterators live "
                f"{LIFETIME_S:.0f} s",
            )

    # -- records -------------------------------------------------------------------------------

    def get_records(self, payload: Payload) -> Reply:
        """One page of records; a closed shard's last page has no next iterator."""
        refuse_unknown("GetRecords", payload, frozenset({"ShardIterator", "Limit"}))
        limit = _limit(payload, PAGE_RECORDS_MAX)
        iterator = ShardIterator.parse(payload.get("ShardIterator"))
        stream = self._account.stream(iterator.stream_arn)
        self._check_age(iterator, stream)
        shard = stream.shard(iterator.shard_id, self._account.clock.now_s())
        log = shard.log
        if iterator.position < log.trimmed:
            raise AwsError("TrimmedDataAccessException")
        if shard.empty_pages > 0:
            shard.empty_pages -= 1
            limit = 0
        records, position = log.read(iterator.position, limit)
        parts = [b'{"Records":[', b",".join(records), b"]"]
        if shard.is_open or position < log.end:
            token = self._token(stream, shard, position)
            parts += (b',"NextShardIterator":', orjson.dumps(token))
        parts.append(b"}")
        return Reply(b"".join(parts), len(records))


def _limit(payload: Payload, most: int) -> int:
    limit = payload.get("Limit", most)
    if not isinstance(limit, int) or not 1 <= limit <= most:
        is_low = isinstance(limit, int) and limit < 1
        bound = "greater than or equal to 1" if is_low else f"less than or equal to {most}"
        raise validation(
            f"1 validation error detected: Value '{limit}' at 'limit' failed to satisfy "
            f"constraint: Member must have value {bound}"
        )
    return limit


def _filtered(entries: list[ShardEntry], filter_: Payload | None) -> list[ShardEntry]:
    """The children of one closed shard, if a filter asks for them."""
    if filter_ is None:
        return entries
    if filter_.get("Type") != "CHILD_SHARDS" or not filter_.get("ShardId"):
        raise validation(
            "ShardFilter: expected Type CHILD_SHARDS and the ShardId of the parent, found "
            f"{filter_}"
        )
    return [entry for entry in entries if entry.parent_id == filter_["ShardId"]]


def _description(stream: Stream) -> dict[str, Any]:
    schema = stream.schema
    keys = [{"AttributeName": schema.hash_name, "KeyType": "HASH"}]
    if schema.range_name is not None:
        keys.append({"AttributeName": schema.range_name, "KeyType": "RANGE"})
    return {
        "CreationRequestDateTime": stream.created_s,
        "KeySchema": keys,
        "StreamArn": stream.name.arn,
        "StreamLabel": stream.name.label,
        "StreamStatus": stream.status,
        "StreamViewType": stream.format.view_type,
        "TableName": stream.name.table,
    }


def _position_of_sequence(stream: Stream, shard: Shard, text: object, *, after: bool) -> int:
    if not isinstance(text, str) or not text.isdecimal():
        raise validation(
            "SequenceNumber is required, and must be a decimal number, for this ShardIteratorType"
        )
    sequence = int(text)
    last = shard.ending_sequence if shard.ending_sequence is not None else stream.last_sequence
    if not shard.starting_sequence <= sequence <= last:
        raise validation(
            f"Invalid SequenceNumber: {text} is not within the range of shard {shard.shard_id}"
        )
    if shard.log.trimmed and sequence <= shard.log.last_trimmed_sequence:
        raise AwsError("TrimmedDataAccessException")
    return shard.log.position_of_sequence(sequence, after=after)


def _position_of_time(shard: Shard, at_s: object, now_s: float) -> int:
    if not isinstance(at_s, int | float):
        raise validation("Timestamp is required for ShardIteratorType AT_TIMESTAMP")
    if at_s > now_s:
        raise validation("Timestamp must not be in the future")
    if at_s < now_s - RETENTION_S:
        return shard.log.trimmed
    return shard.log.position_of_time(math.floor(at_s))
