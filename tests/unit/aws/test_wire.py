"""One data-plane call: signed, sent, and answered or refused; renewed keys once."""

from __future__ import annotations

import asyncio

import pytest

from connectd.aws.signing import FrozenCredentials
from connectd.aws.transport import HttpAnswer, RawResponse
from connectd.errors import (
    AccessDeniedError,
    RetriableError,
    ThrottledError,
    TransientNetworkError,
)
from tests.unit.aws.doubles import CALL, ScriptedKeys, ScriptedTransport, fault, wire_over

FIRST = FrozenCredentials("FIRST", "secret", "old")
SECOND = FrozenCredentials("SECOND", "secret", "new")
OK = HttpAnswer(200, b'{"Count":0}', 12.0)
EXPIRED = fault(400, "ExpiredTokenException")


def call(transport: ScriptedTransport, keys: ScriptedKeys | None = None) -> RawResponse:
    return asyncio.run(
        wire_over(transport, keys).call(
            CALL,
            target="DynamoDB_20120810.Scan",
            method="scan",
            parameters={"TableName": "orders"},
            body=b"{}",
        )
    )


def test_a_good_answer_is_passed_on_as_it_came() -> None:
    transport = ScriptedTransport(OK)
    assert call(transport) == RawResponse(b'{"Count":0}', 12.0)
    (sent,) = transport.sent
    assert sent.url == "http://ddb.test/"
    assert sent.deadline_s == 7.0
    assert sent.headers["Host"] == "ddb.test"
    assert sent.headers["X-Amz-Target"] == "DynamoDB_20120810.Scan"
    assert sent.headers["Authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKID/20240501/")


def test_an_expired_token_is_renewed_once() -> None:
    transport, keys = ScriptedTransport(EXPIRED, OK), ScriptedKeys(FIRST, SECOND)
    assert call(transport, keys).body == OK.body
    assert [each.headers["X-Amz-Security-Token"] for each in transport.sent] == ["old", "new"]
    assert keys.renewals == 1


def test_new_credentials_that_have_run_out_too_are_the_caller_s_to_wait_for() -> None:
    transport, keys = ScriptedTransport(EXPIRED, EXPIRED), ScriptedKeys(FIRST, SECOND)
    with pytest.raises(RetriableError, match=r"ExpiredTokenException.*renewed just before"):
        call(transport, keys)
    assert len(transport.sent) == 2


def test_the_answer_after_a_renewal_speaks_for_itself() -> None:
    transport = ScriptedTransport(EXPIRED, fault(400, "ThrottlingException"))
    with pytest.raises(ThrottledError):
        call(transport, ScriptedKeys(FIRST, SECOND))


def test_keys_that_cannot_be_renewed_are_not_tried_again() -> None:
    transport, keys = ScriptedTransport(EXPIRED), ScriptedKeys(FIRST)
    with pytest.raises(AccessDeniedError, match="renew the session token"):
        call(transport, keys)
    assert len(transport.sent) == 1


def test_throttling_is_the_caller_s_to_wait_for() -> None:
    """Spec field-cases I07 and D06: an error of its own, and no hidden retry."""
    transport = ScriptedTransport(fault(400, "ProvisionedThroughputExceededException"))
    with pytest.raises(ThrottledError, match="dynamodb:Scan on table orders"):
        call(transport)
    assert len(transport.sent) == 1


def test_an_outage_is_the_caller_s_to_wait_for() -> None:
    transport = ScriptedTransport(TransientNetworkError("reset"))
    with pytest.raises(TransientNetworkError, match="reset"):
        call(transport)
    assert len(transport.sent) == 1
