"""Exports: what is asked of DynamoDB, and how objects of S3 are read and refused."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import boto3
import pytest
from botocore.stub import Stubber

from connectd.aws.clients import AwsClients
from connectd.aws.exports import (
    ExportDescription,
    ExportRequest,
    ExportsClient,
    ExportWindow,
    ObjectPart,
)
from connectd.aws.settings import AwsSettings
from connectd.errors import (
    AccessDeniedError,
    ConnectdError,
    InvalidRequestError,
    InvariantError,
    ThrottledError,
    TransientNetworkError,
)
from tests.unit.aws.doubles import DirectControl, HandClock, LoopbackServer, Reply, Request

T = TypeVar("T")

ARN = "arn:aws:dynamodb:eu-west-1:111122223333:table/orders"
KEYS: Any = {"access_key_id": "AKIDBASE", "secret_access_key": "secret"}
BOTO_KEYS: Any = {"aws_access_key_id": "AKIDBASE", "aws_secret_access_key": "secret"}


class Boto:
    """boto3's client of DynamoDB, as far as exports go."""

    def __init__(self, **members: Any) -> None:
        self.requests: list[dict[str, Any]] = []
        self._members = {"ExportArn": f"{ARN}/export/1", "ExportStatus": "IN_PROGRESS", **members}

    def export_table_to_point_in_time(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request)
        return {"ExportDescription": self._members}

    def describe_export(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request)
        return {"ExportDescription": self._members}


def client_of(boto: Any) -> ExportsClient:
    return ExportsClient(client=boto, make_s3=lambda: None, control=DirectControl())


def test_only_what_is_said_is_asked_for() -> None:
    boto = Boto()
    client = client_of(boto)
    asyncio.run(client.request(ExportRequest(ARN, "token", "bucket")))
    asyncio.run(
        client.request(ExportRequest(ARN, "token", "bucket", "some", "111122223333", "KMS", "key"))
    )
    least = {
        "TableArn": ARN,
        "ClientToken": "token",
        "S3Bucket": "bucket",
        "ExportFormat": "DYNAMODB_JSON",
        "ExportType": "FULL_EXPORT",
    }
    more = {
        "S3Prefix": "some",
        "S3BucketOwner": "111122223333",
        "S3SseAlgorithm": "KMS",
        "S3SseKmsKeyId": "key",
    }
    assert boto.requests == [least, least | more]


def test_an_incremental_export_is_asked_for_with_its_window_and_both_images() -> None:
    boto = Boto()
    window = ExportWindow(1_777_629_600_000, 1_777_633_200_000)
    asyncio.run(client_of(boto).request(ExportRequest(ARN, "token", "bucket", window=window)))
    (request,) = boto.requests
    assert request["ExportType"] == "INCREMENTAL_EXPORT"
    assert request["IncrementalExportSpecification"] == {
        "ExportFromTime": datetime(2026, 5, 1, 10, 0, 0, tzinfo=UTC),
        "ExportToTime": datetime(2026, 5, 1, 11, 0, 0, tzinfo=UTC),
        "ExportViewType": "NEW_AND_OLD_IMAGES",
    }


def test_the_parameters_of_an_incremental_export_are_those_of_the_api() -> None:
    """botocore refuses what the API's own description does not know."""
    client = boto3.client("dynamodb", region_name="eu-west-1", **BOTO_KEYS)
    window = ExportWindow(1_777_629_600_000, 1_777_633_200_000)
    with Stubber(client) as stub:
        description = {"ExportArn": f"{ARN}/export/1", "ExportStatus": "IN_PROGRESS"}
        stub.add_response("export_table_to_point_in_time", {"ExportDescription": description})
        export = asyncio.run(
            client_of(client).request(ExportRequest(ARN, "token", "bucket", window=window))
        )
    client.close()
    assert export.status == "IN_PROGRESS"


def test_a_description_says_how_it_went() -> None:
    boto = Boto(
        ExportStatus="FAILED",
        ExportTime=datetime(2026, 5, 1, 10, 0, 0, tzinfo=UTC),
        StartTime=datetime(2026, 5, 1, 10, 0, 7, tzinfo=UTC),
        ExportManifest="some/AWSDynamoDB/1/manifest-files.json",
        FailureCode="S3AccessDenied",
        FailureMessage="no",
        ItemCount=7,
        S3Bucket="exports",
        TableArn=ARN,
        ExportType="INCREMENTAL_EXPORT",
    )
    assert asyncio.run(client_of(boto).describe(f"{ARN}/export/1")) == ExportDescription(
        arn=f"{ARN}/export/1",
        status="FAILED",
        export_ms=1_777_629_600_000,
        manifest_key="some/AWSDynamoDB/1/manifest-files.json",
        item_count=7,
        failure="S3AccessDenied: no",
        bucket="exports",
        table_arn=ARN,
        kind="INCREMENTAL_EXPORT",
        started_ms=1_777_629_607_000,
    )
    assert boto.requests == [{"ExportArn": f"{ARN}/export/1"}]


def with_s3(
    answer: Callable[[Request], Reply], work: Callable[[AwsClients], Awaitable[T]]
) -> tuple[T, list[Request]]:
    """What comes of work with clients whose S3 answers like this."""

    async def handle(request: Request, writer: asyncio.StreamWriter) -> Reply:
        return answer(request)

    async def run() -> tuple[T, list[Request]]:
        async with LoopbackServer(handle) as server:
            settings = AwsSettings("eu-west-1", s3_endpoint=server.url, **KEYS)
            clients = AwsClients(settings, HandClock())
            await clients.open()
            try:
                return await work(clients), server.requests
            finally:
                await clients.close()

    return asyncio.run(run())


async def read(clients: AwsClients, start: int = 5, length: int = 3) -> ObjectPart:
    return await clients.exports.read_object("bucket", "some/key", start=start, length=length)


def test_a_part_of_an_object_is_read_signed() -> None:
    reply = Reply(b"fgh", 206, {"Content-Range": "bytes 5-7/26", "ETag": '"x"'})
    part, (request,) = with_s3(lambda request: reply, read)
    assert part == ObjectPart(b"fgh", 26)
    assert request.headers["range"] == "bytes=5-7"
    assert "Credential=AKIDBASE" in request.headers["authorization"]


def _fault(code: str, status: int) -> Reply:
    text = f"<Error><Code>{code}</Code><Message>words of S3</Message></Error>"
    return Reply(text.encode(), status, {"Content-Type": "application/xml"})


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        ("AccessDenied", 403, AccessDeniedError),
        ("KMS.DisabledException", 400, InvalidRequestError),
        ("NoSuchKey", 404, InvalidRequestError),
        ("NoSuchBucket", 404, InvalidRequestError),
        ("SlowDown", 503, ThrottledError),
        ("InternalError", 500, TransientNetworkError),
    ],
)
def test_what_s3_refuses_is_said_with_the_place(
    code: str, status: int, expected: type[ConnectdError]
) -> None:
    async def refused(clients: AwsClients) -> ConnectdError:
        with pytest.raises(ConnectdError) as caught:
            await read(clients)
        return caught.value

    error, requests = with_s3(lambda request: _fault(code, status), refused)
    assert type(error) is expected
    assert f"s3:GetObject on s3://bucket/some/key: {code}: words of S3" in str(error)
    assert len(requests) == 1
    if expected is AccessDeniedError:
        assert "allow the action s3:GetObject on s3://bucket/some/key" in str(error)


def test_there_is_nothing_beyond_the_end_and_in_an_empty_object() -> None:
    part, _ = with_s3(lambda request: _fault("InvalidRange", 416), read)
    assert part == ObjectPart(b"", 5)


def test_a_body_that_breaks_off_can_be_asked_for_again() -> None:
    reply = Reply(b"fg", 206, {"Content-Range": "bytes 5-7/26", "Content-Length": "3"}, closes=True)

    async def broken(clients: AwsClients) -> ConnectdError:
        with pytest.raises(TransientNetworkError) as caught:
            await read(clients)
        return caught.value

    with_s3(lambda request: reply, broken)


def test_parts_have_a_place_and_a_length() -> None:
    with pytest.raises(InvariantError, match="0 bytes from 5"):
        asyncio.run(client_of(Boto()).read_object("b", "k", start=5, length=0))
