"""A small AWS on loopback that looks at credentials: STS, DynamoDB, Streams and tagging.

It answers just enough of each call; what it checks is who asks. Time is the test's clock.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from urllib.parse import parse_qs

import orjson

from connectd.aio.clock import Clock
from tests.unit.aws.doubles import LoopbackServer, Reply, Request

ROLE = "arn:aws:iam::999988887777:role/reader"
STREAM = "arn:aws:dynamodb:eu-west-1:111122223333:table/orders/stream/2024-05-01T10:00:00.000"

_ASSUMED = """<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
<{action}Result><AssumedRoleUser>
<AssumedRoleId>AROA:connectd</AssumedRoleId>
<Arn>arn:aws:sts::999988887777:assumed-role/reader/connectd</Arn></AssumedRoleUser>
<Credentials><AccessKeyId>ASIA{number}</AccessKeyId><SecretAccessKey>secret{number}</SecretAccessKey>
<SessionToken>token-{number}</SessionToken><Expiration>{expiration}</Expiration></Credentials>
</{action}Result><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata>
</{action}Response>"""

_REFUSED = """<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error>
<Type>Sender</Type><Code>AccessDenied</Code><Message>{message}</Message></Error>
<RequestId>r</RequestId></ErrorResponse>"""

_ANSWERS: dict[str, object] = {
    "Scan": {"Count": 0, "ScannedCount": 0, "Items": []},
    "GetRecords": {"Records": []},
    "GetShardIterator": {"ShardIterator": "iterator"},
    "DescribeTable": {
        "Table": {
            "TableName": "orders",
            "TableArn": "arn:aws:dynamodb:eu-west-1:111122223333:table/orders",
            "TableStatus": "ACTIVE",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        }
    },
    "DescribeStream": {
        "StreamDescription": {"StreamArn": STREAM, "StreamStatus": "ENABLED", "Shards": []}
    },
    "GetResources": {"ResourceTagMappingList": [], "PaginationToken": ""},
}


class FakeCloud(LoopbackServer):
    """``lifetime_s`` is that of the credentials that its STS gives away.

    ``refuses`` makes STS refuse with that message; ``hangs`` makes it never answer. ``broken``
    makes every other service fail. ``revoked`` tokens are refused as expired although they are
    not; ``refusals`` counts requests refused.
    """

    def __init__(self, clock: Clock, *, lifetime_s: float = 3600) -> None:
        super().__init__(self._answer)
        self._clock = clock
        self._lifetime_s = lifetime_s
        self._ends: dict[str, float] = {}
        self.refuses: str | None = None
        self.hangs = False
        self.broken = False
        self.revoked: set[str] = set()
        self.refusals = 0
        self.assumed: list[dict[str, str]] = []

    def accept(self, token: str) -> None:
        """Know a session token that somebody else gives away."""
        self._ends[token] = float("inf")

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        if request.operation:
            return self._json(request)
        if self.hangs:
            await asyncio.Event().wait()
        form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        self.assumed.append({**form, "signed_by": signer_of(request)})
        if self.refuses is not None:
            return Reply(_REFUSED.format(message=self.refuses).encode(), status=403)
        number = len(self.assumed)
        end_s = self._clock.wall_s() + self._lifetime_s
        self._ends[f"token-{number}"] = end_s
        expiration = datetime.fromtimestamp(end_s, UTC).isoformat().replace("+00:00", "Z")
        answer = _ASSUMED.format(action=form["Action"], number=number, expiration=expiration)
        return Reply(answer.encode())

    def _json(self, request: Request) -> Reply:
        if self.broken:
            return Reply(b'{"__type":"x#InternalServerError","message":"broken"}', status=500)
        token = request.headers.get("x-amz-security-token")
        if token is not None:
            ends_s = self._ends.get(token, float("-inf"))
            if token in self.revoked or ends_s <= self._clock.wall_s():
                self.refusals += 1
                code = "com.amazon.coral.service#ExpiredTokenException"
                return Reply(orjson.dumps({"__type": code, "message": "expired"}), status=400)
        return Reply(orjson.dumps(_ANSWERS[request.operation]))


def signer_of(request: Request) -> str:
    """The access key id that a request was signed with; empty: it was not."""
    authorization = request.headers.get("authorization", "")
    return authorization.partition("Credential=")[2].partition("/")[0]
