from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.fakes.asking import Asked
from tests.fakes.wire import Answer

ROLE = "arn:aws:iam::999988887777:role/team/reader"


def _send(
    asked: Asked,
    credentials: Credentials | None,
    *,
    service: str = "dynamodb",
    body: bytes = b"{}",
    target: str | None = "DynamoDB_20120810.ListTables",
) -> Answer:
    """Sign with botocore and hand the request to the fake."""
    request = AWSRequest("POST", "http://127.0.0.1:1/", data=body, headers={"Host": "127.0.0.1:1"})
    if target:
        request.headers["X-Amz-Target"] = target
    if credentials is not None:
        SigV4Auth(credentials, service, "eu-west-1").add_auth(request)
    headers = {name.lower(): str(value) for name, value in request.headers.items()}
    return asked.aws.handle("POST", "/", headers, body)


def _sts(asked: Asked, action: str, **parameters: Any) -> Answer:
    body = urlencode({"Action": action, "Version": "2011-06-15", **parameters}).encode()
    return _send(asked, Credentials("AKIA", "secret"), service="sts", body=body, target=None)


def _assumed(asked: Asked, **parameters: Any) -> Credentials:
    answer = _sts(asked, "AssumeRole", RoleArn=ROLE, RoleSessionName="s", **parameters)
    assert answer.status == 200, answer.body
    text = answer.body.decode()

    def value(tag: str) -> str:
        found = re.search(f"<{tag}>([^<]+)</{tag}>", text)
        assert found is not None
        return found[1]

    return Credentials(value("AccessKeyId"), value("SecretAccessKey"), value("SessionToken"))


def test_any_caller_is_welcome_by_default(asked: Asked) -> None:
    assert _send(asked, None).status == 200
    assert _send(asked, Credentials("anything", "goes")).status == 200


def test_unknown_credentials_are_refused_once_some_are_known(asked: Asked) -> None:
    asked.control.require_credentials("AKIAKNOWN", "secret")
    assert _send(asked, Credentials("AKIAKNOWN", "secret")).status == 200
    answer = _send(asked, Credentials("AKIAOTHER", "secret"))
    assert (answer.status, b"UnrecognizedClientException" in answer.body) == (400, True)
    assert b"MissingAuthenticationToken" in _send(asked, None).body


@pytest.mark.parametrize(("secret", "status"), [("secret", 200), ("another", 400)])
def test_signatures_are_verified_on_request(asked: Asked, secret: str, status: int) -> None:
    asked.control.require_credentials("AKIAKNOWN", "secret")
    asked.control.verify_signatures()
    answer = _send(asked, Credentials("AKIAKNOWN", secret), body=b'{"Limit": 5}')
    assert answer.status == status
    assert (b"InvalidSignatureException" in answer.body) == (status == 400)


def test_an_assumed_role_is_a_principal_of_its_own(asked: Asked) -> None:
    asked.control.verify_signatures()
    assert _send(asked, _assumed(asked)).status == 200
    (entry,) = asked.control.journal("ListTables")
    assert entry.principal == "arn:aws:sts::999988887777:assumed-role/reader/s"


def test_session_credentials_expire_on_the_fakes_clock(asked: Asked) -> None:
    credentials = _assumed(asked, DurationSeconds=900)
    asked.control.clock_advance(899)
    assert _send(asked, credentials).status == 200
    asked.control.clock_advance(1)
    assert b"ExpiredTokenException" in _send(asked, credentials).body
    assert (
        b"ExpiredToken<"
        in _send(
            asked, credentials, service="sts", body=b"Action=GetCallerIdentity", target=None
        ).body
    )


def test_lifetimes_can_be_shortened_and_sessions_ended(asked: Asked) -> None:
    asked.control.session_lifetime(30)
    credentials = _assumed(asked)
    assert _send(asked, credentials).status == 200
    asked.control.clock_advance(31)
    assert b"ExpiredTokenException" in _send(asked, credentials).body
    asked.control.session_lifetime(None)
    credentials = _assumed(asked)
    asked.control.expire_sessions()
    assert b"ExpiredTokenException" in _send(asked, credentials).body


def test_a_session_token_belongs_to_its_key(asked: Asked) -> None:
    credentials = _assumed(asked)
    stolen = Credentials(credentials.access_key, credentials.secret_key, "another-token")
    assert b"UnrecognizedClientException" in _send(asked, stolen).body
    never = Credentials("ASIANEVERISSUED", "x", "y")
    assert b"UnrecognizedClientException" in _send(asked, never).body


def test_a_role_may_ask_for_its_external_id(asked: Asked) -> None:
    asked.control.add_role(ROLE, external_id="our-secret-word")
    for wrong in ({}, {"ExternalId": "guess"}):
        answer = _sts(asked, "AssumeRole", RoleArn=ROLE, RoleSessionName="s", **wrong)
        assert answer.status == 403
        assert b"<Code>AccessDenied</Code>" in answer.body
        assert f"sts:AssumeRole on resource: {ROLE}".encode() in answer.body
    _assumed(asked, ExternalId="our-secret-word")


def test_other_roles_may_not_be_assumed_once_one_is_known(asked: Asked) -> None:
    asked.control.add_role("arn:aws:iam::123456789012:role/other")
    assert _sts(asked, "AssumeRole", RoleArn=ROLE, RoleSessionName="s").status == 403


@pytest.mark.parametrize(
    "wrong", [{"DurationSeconds": 899}, {"DurationSeconds": 43_201}, {"RoleArn": "no-arn"}]
)
def test_senseless_sessions_are_refused(asked: Asked, wrong: dict[str, Any]) -> None:
    parameters = {"RoleArn": ROLE, "RoleSessionName": "s", **wrong}
    answer = _sts(asked, "AssumeRole", **parameters)
    assert (answer.status, b"ValidationError" in answer.body) == (400, True)


def test_sts_can_be_denied_throttled_and_asked_who_one_is(asked: Asked) -> None:
    assert b"user/connect</Arn>" in _sts(asked, "GetCallerIdentity").body
    asked.control.inject("GetCallerIdentity", "Throttling")
    assert b"<Code>Throttling</Code>" in _sts(asked, "GetCallerIdentity").body
    asked.control.deny("sts:AssumeRole")
    answer = _sts(asked, "AssumeRole", RoleArn=ROLE, RoleSessionName="s")
    assert (answer.status, b"<Code>AccessDenied</Code>" in answer.body) == (403, True)
    assert b"InvalidAction" in _sts(asked, "GetSessionToken").body
