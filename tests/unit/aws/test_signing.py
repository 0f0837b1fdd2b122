"""The signer gives botocore's signature, byte for byte."""

from __future__ import annotations

from datetime import UTC, datetime

import botocore.auth
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectd.aws.endpoints import endpoint_at
from connectd.aws.signing import CONTENT_TYPE, FrozenCredentials, RequestSigner
from connectd.aws.transport import header_pairs
from connectd.errors import InvariantError

KEYS = FrozenCredentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
SESSION_KEYS = FrozenCredentials("ASIAEXAMPLE", "other/secret+key", "FQoGZXIvYXdz//token==")
SCAN = "DynamoDB_20120810.Scan"
NOON_S = 1_714_564_800.5


def botocore_headers(
    patch: pytest.MonkeyPatch,
    keys: FrozenCredentials,
    *,
    url: str,
    target: str,
    body: bytes,
    wall_s: float,
    region: str = "eu-west-1",
) -> dict[str, str]:
    """What botocore's own signer puts into the request."""
    frozen = ReadOnlyCredentials(
        keys.access_key_id, keys.secret_access_key, keys.session_token, None
    )
    headers = {"Content-Type": CONTENT_TYPE, "X-Amz-Target": target}
    request = AWSRequest(method="POST", url=url, data=body, headers=headers)
    patch.setattr(
        botocore.auth, "get_current_datetime", lambda: datetime.fromtimestamp(int(wall_s), UTC)
    )
    SigV4Auth(frozen, "dynamodb", region).add_auth(request)
    return {name.lower(): str(value) for name, value in request.headers.items()}


def ours(
    signer: RequestSigner, keys: FrozenCredentials, *, target: str, body: bytes, wall_s: float
) -> dict[str, str]:
    signed = signer.sign(keys, target=target, body=body, wall_s=wall_s)
    return {name.lower(): value for name, value in header_pairs(signed)}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    body=st.binary(max_size=2000),
    wall_s=st.floats(min_value=0, max_value=4_000_000_000),
    secret=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60),
    token=st.none()
    | st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=900),
    target=st.sampled_from([SCAN, "DynamoDBStreams_20120810.GetRecords"]),
    url=st.sampled_from(
        [
            "https://dynamodb.eu-west-1.amazonaws.com/",
            "http://127.0.0.1:4566/",
            "https://proxy.example:443/",
            "http://[::1]:8000/",
            "https://gateway.example/tables~v1/",
            "https://123456789012.streams-ddb.eu-west-1.amazonaws.com/",
        ]
    ),
)
def test_every_request_is_signed_as_botocore_signs_it(
    monkeypatch: pytest.MonkeyPatch,
    body: bytes,
    wall_s: float,
    secret: str,
    token: str | None,
    target: str,
    url: str,
) -> None:
    keys = FrozenCredentials("AKID", secret, token)
    signer = endpoint_at(url, region="eu-west-1").signer
    found = ours(signer, keys, target=target, body=body, wall_s=wall_s)
    expected = botocore_headers(monkeypatch, keys, url=url, target=target, body=body, wall_s=wall_s)
    assert {name: found[name] for name in expected} == expected
    assert set(found) - set(expected) == {"host"}


@pytest.mark.parametrize("keys", [KEYS, SESSION_KEYS], ids=["static", "session"])
def test_the_cache_changes_no_signature(
    monkeypatch: pytest.MonkeyPatch, keys: FrozenCredentials
) -> None:
    """One signer over seconds, days, targets and back: each as if it were the first request."""
    url = "https://dynamodb.eu-west-1.amazonaws.com/"
    signer = endpoint_at(url, region="eu-west-1").signer
    for wall_s in (NOON_S, NOON_S + 0.4, NOON_S + 1, NOON_S + 86_400, NOON_S):
        for target in (SCAN, "DynamoDB_20120810.Query", SCAN):
            for body in (b"", b"{}", b'{"TableName":"t"}'):
                found = ours(signer, keys, target=target, body=body, wall_s=wall_s)
                expected = botocore_headers(
                    monkeypatch, keys, url=url, target=target, body=body, wall_s=wall_s
                )
                assert found["authorization"] == expected["authorization"]


def test_new_credentials_are_used_within_the_same_second(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "https://dynamodb.eu-west-1.amazonaws.com/"
    signer = endpoint_at(url, region="eu-west-1").signer
    for keys in (KEYS, SESSION_KEYS, KEYS):
        found = ours(signer, keys, target=SCAN, body=b"{}", wall_s=NOON_S)
        expected = botocore_headers(
            monkeypatch, keys, url=url, target=SCAN, body=b"{}", wall_s=NOON_S
        )
        assert found["authorization"] == expected["authorization"]
        assert found.get("x-amz-security-token") == keys.session_token


@pytest.mark.parametrize("broken", ["a\r\nHost: elsewhere", "a\nb", "a\r"])
@pytest.mark.parametrize("token", [None, "session"])
def test_no_value_brings_another_header_along(broken: str, token: str | None) -> None:
    signer = endpoint_at("http://localhost:1/", region="eu-west-1").signer
    keys = (
        FrozenCredentials(broken, "secret")
        if token is None
        else FrozenCredentials("AKID", "secret", broken)
    )
    header = "Authorization" if token is None else "X-Amz-Security-Token"
    with pytest.raises(InvariantError, match=f"the header {header} has a line break") as raised:
        signer.sign(keys, target=SCAN, body=b"{}", wall_s=NOON_S)
    assert broken not in str(raised.value)


def test_many_targets_do_not_grow_the_cache() -> None:
    signer = endpoint_at("http://localhost:1/", region="eu-west-1").signer
    for number in range(1000):
        signer.sign(KEYS, target=f"Service.{number}", body=b"", wall_s=NOON_S)
    assert len(signer._frames) <= 16


def test_the_repr_of_credentials_shows_none_of_them() -> None:
    text = repr(SESSION_KEYS)
    assert not any(part in text for part in ("ASIAEXAMPLE", "other/secret", "FQoGZ"))
