"""DynamoDB Streams: the shards of a stream (control plane) and their records (data plane).

What shards do (split, roll over, get trimmed) is the connector's business; here they are listed
completely and read page by page. Facts: spec streams-and-leases 4.5.
"""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import orjson

from connectd.aws.control import ControlPlane
from connectd.aws.errors import Call
from connectd.aws.rate import TokenBucket
from connectd.aws.transport import RawResponse
from connectd.aws.wire import JsonWire
from connectd.errors import InvariantError, TransientNetworkError

if TYPE_CHECKING:
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient as BotoStreams
    from mypy_boto3_dynamodbstreams.type_defs import ShardTypeDef

IteratorKind = Literal["TRIM_HORIZON", "LATEST", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"]

GET_RECORDS_LIMIT_MAX = 1000

# AWS allows ten calls per second and account; half of that leaves room for others (spec
# streams-and-leases 5, row 9).
DESCRIBE_STREAM_PER_S = 5.0

_SHARDS_PER_PAGE = 100
# A table of 10,000 partitions lists about 70,000 shards. Beyond this the answer goes in circles.
_PAGES_MAX = 2000

_GET_RECORDS = "dynamodb:GetRecords"
_GET_RECORDS_TARGET = "DynamoDBStreams_20120810.GetRecords"
_GET_ITERATOR_TARGET = "DynamoDBStreams_20120810.GetShardIterator"


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of a stream. An open shard has no ``ending_sequence_number``.

    The parent may be trimmed already, that is, not be listed any more. Emulators list shards
    without a ``starting_sequence_number`` as long as they are empty.
    """

    shard_id: str
    parent_shard_id: str | None
    starting_sequence_number: str | None
    ending_sequence_number: str | None


@dataclass(frozen=True, slots=True)
class StreamDescription:
    """A stream with all its shards, each once, in the order in which AWS lists them.

    The pages were read one after the other, so a shard that was born meanwhile may be missing and
    a parent may look open although its child is listed.
    """

    arn: str
    status: str
    view_type: str | None
    shards: tuple[Shard, ...]


class _Iterator(msgspec.Struct):
    iterator: str = msgspec.field(name="ShardIterator")


_iterator_decoder = msgspec.json.Decoder(_Iterator)


class StreamsClient:
    """Reads table streams. Shared by all jobs of the process.

    ``describe_bucket`` is shared by all that call DescribeStream with the same credentials.
    """

    def __init__(
        self,
        *,
        client: BotoStreams,
        wire: JsonWire,
        control: ControlPlane,
        describe_bucket: TokenBucket,
    ) -> None:
        self._client = client
        self._wire = wire
        self._control = control
        self._describe_bucket = describe_bucket

    async def describe_stream(self, arn: str, *, can_wait: bool = False) -> StreamDescription:
        """The stream and every one of its shards, however many pages that takes.

        ``can_wait``: calls of others go first (``rate.TokenBucket``), which may take minutes.

        Raises ``StreamGoneError``, ``AccessDeniedError``, ``ThrottledError`` and
        ``TransientNetworkError``; a listing that does not end counts as the last.
        """
        call = Call("dynamodb:DescribeStream", f"stream {arn}")
        shards: dict[str, Shard] = {}
        request: dict[str, Any] = {"StreamArn": arn, "Limit": _SHARDS_PER_PAGE}
        for _ in range(_PAGES_MAX):
            await self._describe_bucket.take(can_wait=can_wait)
            answer = await self._control.call(call, self._client.describe_stream, **request)
            page = answer["StreamDescription"]
            for listed in page.get("Shards", ()):
                shard = parse_shard(listed)
                shards[shard.shard_id] = shard
            last = page.get("LastEvaluatedShardId")
            if not last:
                return StreamDescription(
                    arn=page["StreamArn"],
                    status=page["StreamStatus"],
                    view_type=page.get("StreamViewType"),
                    shards=tuple(shards.values()),
                )
            if last == request.get("ExclusiveStartShardId"):
                raise TransientNetworkError(f"{call}: the page after shard {last} ends there again")
            request["ExclusiveStartShardId"] = last
        raise TransientNetworkError(
            f"{call}: the list of shards has not ended after {_PAGES_MAX} pages"
        )

    async def shard_iterator(
        self, arn: str, shard_id: str, kind: IteratorKind, sequence_number: str | None
    ) -> str:
        """An iterator, good for 15 minutes, at the position named.

        The sequence number belongs to the two kinds that are called after it, and to no other.
        Raises ``TrimmedDataError`` for a position older than the stream keeps,
        ``StreamGoneError`` when the stream or the shard is no longer there, ``ThrottledError``,
        ``TransientNetworkError``, ``AccessDeniedError``.
        """
        call = Call("dynamodb:GetShardIterator", f"shard {shard_id} of stream {arn}")
        if (sequence_number is None) != (kind in {"TRIM_HORIZON", "LATEST"}):
            raise InvariantError(f"{call}: {kind} with sequence number {sequence_number}")
        request = {"StreamArn": arn, "ShardId": shard_id, "ShardIteratorType": kind}
        if sequence_number is not None:
            request["SequenceNumber"] = sequence_number
        answer = await self._wire.call(
            call,
            target=_GET_ITERATOR_TARGET,
            method="get_shard_iterator",
            parameters=request,
            body=orjson.dumps(request),
        )
        try:
            return _iterator_decoder.decode(answer.body).iterator
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise TransientNetworkError(f"{call}: the answer has no iterator: {error}") from error

    def get_records(self, iterator: str, limit: int) -> Coroutine[Any, Any, RawResponse]:
        """One page of at most ``limit`` records (1 to 1000), as the bytes that came.

        A page may be empty in the middle of a shard; a shard has ended when the answer has no
        ``NextShardIterator``, and that page may still carry records. Raises
        ``IteratorExpiredError``, ``TrimmedDataError``, ``StreamGoneError``, ``ThrottledError``,
        ``TransientNetworkError``, ``AccessDeniedError``.
        """
        call = _ReadCall(_GET_RECORDS, iterator)
        if not 1 <= limit <= GET_RECORDS_LIMIT_MAX:
            raise InvariantError(f"{call}: limit is {limit}, expected 1 to {GET_RECORDS_LIMIT_MAX}")
        return self._wire.call(
            call,
            target=_GET_RECORDS_TARGET,
            method="get_records",
            parameters={"ShardIterator": iterator},
            body=b'{"ShardIterator":%b,"Limit":%d}' % (orjson.dumps(iterator), limit),
        )


def parse_shard(listed: ShardTypeDef) -> Shard:
    """boto3's answer as ours; an empty string counts as absent."""
    numbers = listed.get("SequenceNumberRange", {})
    return Shard(
        shard_id=listed["ShardId"],
        parent_shard_id=listed.get("ParentShardId") or None,
        starting_sequence_number=numbers.get("StartingSequenceNumber") or None,
        ending_sequence_number=numbers.get("EndingSequenceNumber") or None,
    )


class _ReadCall(Call, frozen=True, gc=False):
    """A call whose resource is an iterator, which is opaque and long.

    At the head of one from AWS is the stream's ARN, which people get to see; it is looked for when
    there is something to tell, since thousands of calls a second have nothing.
    """

    @property
    def shown(self) -> str:
        """The stream of the iterator, as far as that can be told."""
        head, bar, _ = self.resource.partition("|")
        stream = f"stream {head}" if bar and head.startswith("arn:") else "a stream"
        return f"iterator of {stream}"
