"""Where requests go: an override wins, account-id endpoints are botocore's to know (S22)."""

from __future__ import annotations

import asyncio
from typing import Any

import botocore.session
import pytest
from botocore.auth import SigV4Auth

from connectd.aws.blocking import BlockingCalls
from connectd.aws.control import ControlPlane
from connectd.aws.credentials import NotedTime
from connectd.aws.endpoints import FixedEndpoint, ProbedEndpoints, account_of, endpoint_at
from connectd.aws.errors import Call
from connectd.aws.session import AwsSession
from connectd.aws.settings import AwsSettings
from tests.unit.aws.doubles import CALL, HandClock, ScriptedKeys

ARN = "arn:aws:dynamodb:eu-west-1:111122223333:table/orders/stream/2024-05-01T10:00:00.000"


@pytest.mark.parametrize(
    ("url", "normal", "host"),
    [
        ("https://dynamodb.eu-west-1.amazonaws.com", None, "dynamodb.eu-west-1.amazonaws.com"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/", "127.0.0.1:8000"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/", "127.0.0.1:8000"),
        ("https://Gateway.example:443/x/", "https://gateway.example/x/", "gateway.example"),
        ("http://[::1]:8000", "http://[::1]:8000/", "[::1]:8000"),
    ],
)
def test_urls_are_brought_into_one_form(url: str, normal: str | None, host: str) -> None:
    endpoint = endpoint_at(url, region="eu-west-1")
    assert endpoint.url == (normal or url + "/")
    assert endpoint.signer._host == host


@pytest.mark.parametrize(
    ("text", "account"),
    [
        (ARN, "111122223333"),
        (ARN + "|1|AAAAopaque", "111122223333"),
        ("orders", ""),
        ("arn:aws", ""),
        ("a:b:c:d:e:f", ""),
        ("", ""),
    ],
)
def test_the_account_is_read_from_an_arn(text: str, account: str) -> None:
    assert account_of(text) == account


def test_a_fixed_endpoint_is_the_same_for_all() -> None:
    async def scenario() -> None:
        endpoints = FixedEndpoint("http://127.0.0.1:8000", region="eu-west-1")
        first = await endpoints.resolve(CALL, "scan", {"TableName": "a"})
        assert await endpoints.resolve(CALL, "get_records", {"ShardIterator": "x"}) is first

    asyncio.run(scenario())


def settings(**more: Any) -> AwsSettings:
    return AwsSettings(region="eu-west-1", access_key_id="AKID", secret_access_key="secret", **more)


def probed(service: Any, method: str, *parameters: dict[str, Any]) -> list[str]:
    """The URLs for a method, with account-id endpoints preferred."""

    async def scenario() -> list[str]:
        session = AwsSession(settings(account_id_endpoint_mode="preferred"), NotedTime(HandClock()))
        blocking = BlockingCalls(threads_max=1)
        control = ControlPlane(blocking=blocking, keys=ScriptedKeys(), deadline_s=5)
        endpoints = ProbedEndpoints(lambda: session.client(service), control, region="eu-west-1")
        found = [(await endpoints.resolve(CALL, method, each)).url for each in parameters]
        assert await blocking.close(deadline_s=5)
        return found

    return asyncio.run(scenario())


def test_botocore_is_asked_without_sending_anything() -> None:
    """Static keys carry no account, so the table's ARN or nothing decides."""
    by_name, by_arn = probed(
        "dynamodb",
        "scan",
        {"TableName": "orders"},
        {"TableName": "arn:aws:dynamodb:eu-west-1:111122223333:table/orders"},
    )
    assert by_name == "https://dynamodb.eu-west-1.amazonaws.com/"
    assert by_arn in {by_name, "https://111122223333.ddb.eu-west-1.amazonaws.com/"}


def test_a_stream_is_asked_for_where_botocore_would_ask() -> None:
    """botocore 1.44 goes to the account's own host, older releases to the region's."""
    url, again = probed(
        "dynamodbstreams",
        "get_records",
        {"ShardIterator": f"{ARN}|1|AAAA"},
        {"ShardIterator": f"{ARN}|2|BBBB"},
    )
    assert url == again
    assert url in {
        "https://streams.dynamodb.eu-west-1.amazonaws.com/",
        "https://111122223333.streams-ddb.eu-west-1.amazonaws.com/",
    }


def test_endpoints_are_probed_once_per_method_and_account() -> None:
    asked: list[dict[str, Any]] = []

    class Client:
        class Events:
            def register(self, *_arguments: object) -> None: ...

        class Meta:
            events: Any = None

        meta = Meta()
        meta.events = Events()

        def scan(self, **parameters: Any) -> dict[str, Any]:
            asked.append(parameters)
            url = f"https://h{len(asked)}.example/"
            return {"ResponseMetadata": {"HTTPHeaders": {"x-connectd-endpoint": url}}}

    async def scenario() -> list[str]:
        blocking = BlockingCalls(threads_max=1)
        control = ControlPlane(blocking=blocking, keys=ScriptedKeys(), deadline_s=5)
        endpoints = ProbedEndpoints(Client, control, region="eu-west-1")
        tables = ["a", "b", "arn:aws:dynamodb:eu-west-1:1:table/c", "a"]
        found = [(await endpoints.resolve(CALL, "scan", {"TableName": t})).url for t in tables]
        assert await blocking.close(deadline_s=5)
        return found

    first, second = "https://h1.example/", "https://h2.example/"
    assert asyncio.run(scenario()) == [first, first, second, first]


def mode_of(client: Any) -> str:
    return str(client.meta.config.account_id_endpoint_mode)


@pytest.mark.parametrize("service", ["dynamodb", "dynamodbstreams"])
@pytest.mark.parametrize("mode", ["disabled", "preferred", "required"])
def test_an_override_switches_account_id_endpoints_off(service: Any, mode: str) -> None:
    session = AwsSession(
        settings(dynamodb_endpoint="http://127.0.0.1:8000", account_id_endpoint_mode=mode),
        NotedTime(HandClock()),
    )
    client = session.client(service)
    assert client.meta.endpoint_url == "http://127.0.0.1:8000"
    assert mode_of(client) == "disabled"


@pytest.mark.parametrize("mode", ["disabled", "preferred", "required"])
def test_the_mode_is_passed_on_where_nothing_is_overridden(mode: str) -> None:
    session = AwsSession(settings(account_id_endpoint_mode=mode), NotedTime(HandClock()))
    assert mode_of(session.client("dynamodbstreams")) == mode


@pytest.mark.parametrize("service", ["dynamodb", "dynamodbstreams"])
def test_both_services_sign_as_dynamodb(service: str) -> None:
    model = botocore.session.Session().get_service_model(service)
    assert model.signing_name == "dynamodb"
    assert SigV4Auth.REQUIRES_REGION
    assert str(Call("dynamodb:GetRecords", "x")) == "dynamodb:GetRecords on x"
