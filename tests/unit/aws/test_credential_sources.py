"""Roles that the place of work gives: of a Kubernetes service account, a container, an instance.

What they hand out ends by itself. The clients fetch the next set in time, and at once when AWS
takes a set for ended before its time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from connectd.aws.clients import AwsClients
from tests.kit.local_http import LocalHttp, Quiet
from tests.unit.aws.cloud import ROLE, FakeCloud, signer_of
from tests.unit.aws.doubles import HandClock
from tests.unit.aws.test_credentials import scan, scan_and_describe, within_cloud

_CONTAINER = "/container/credentials"
_INSTANCE = "/latest/meta-data/iam/security-credentials/"
_SESSION = "imds-session"


class MetadataService(LocalHttp):
    """What answers at 169.254.169.254 and in ECS and EKS: one role, numbered sets of keys."""

    def __init__(self) -> None:
        self.authorizations: list[str | None] = []
        self.sets = 0
        service = self

        class Handler(Quiet, BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                service._reply(self, _SESSION if self.path == "/latest/api/token" else None)

            def do_GET(self) -> None:
                service._reply(self, service._answer(self))

        super().__init__(Handler)

    def _answer(self, request: BaseHTTPRequestHandler) -> str | None:
        if request.path == _CONTAINER:
            self.authorizations.append(request.headers.get("Authorization"))
            return self._keys()
        if request.headers.get("x-aws-ec2-metadata-token") != _SESSION:
            return None
        if request.path == _INSTANCE:
            return "reader"
        return self._keys() if request.path == f"{_INSTANCE}reader" else None

    def _keys(self) -> str:
        self.sets += 1
        end = datetime.now(UTC) + timedelta(hours=6)
        return json.dumps(
            {
                "Code": "Success",
                "AccessKeyId": f"ASIA{self.sets}",
                "SecretAccessKey": "secret",
                "Token": f"token-{self.sets}",
                "Expiration": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
        )

    def _reply(self, request: BaseHTTPRequestHandler, text: str | None) -> None:
        content = (text or "").encode()
        request.send_response(404 if text is None else 200)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)


@pytest.fixture
def metadata() -> Iterator[MetadataService]:
    with MetadataService() as service:
        yield service


def test_a_service_account_of_kubernetes_becomes_its_role_with_the_token_of_the_day(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """IRSA. The token file is written anew by the kubelet; each exchange reads it."""
    token = tmp_path / "token"
    monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(token))

    async def scenario(clients: AwsClients, cloud: FakeCloud, clock: HandClock) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", cloud.url)
        clock.now_s = datetime.now(UTC).timestamp()  # botocore renews these by the machine's clock
        token.write_text("monday")
        await scan_and_describe(clients, cloud, clock)
        token.write_text("tuesday")
        cloud.revoked.add("token-1")
        await scan_and_describe(clients, cloud, clock)

    cloud = within_cloud(scenario)

    assert [each["Action"] for each in cloud.assumed] == ["AssumeRoleWithWebIdentity"] * 2
    assert [each["WebIdentityToken"] for each in cloud.assumed] == ["monday", "tuesday"]
    assert [each["signed_by"] for each in cloud.assumed] == ["", ""]
    assert cloud.assumed[0]["RoleArn"] == ROLE
    assert cloud.refusals == 1  # the one that was told of the early end; its call went through


def test_the_role_of_a_service_account_may_take_on_another_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """For the tables of another account: aws.assume.role.arn on top of IRSA."""
    token = tmp_path / "token"
    token.write_text("monday")
    monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(token))

    async def scenario(clients: AwsClients, cloud: FakeCloud, clock: HandClock) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", cloud.url)
        clock.now_s = datetime.now(UTC).timestamp()
        await scan_and_describe(clients, cloud, clock)

    cloud = within_cloud(scenario, assume_role_arn=f"{ROLE}-elsewhere")

    assert [(each["Action"], each["signed_by"]) for each in cloud.assumed] == [
        ("AssumeRoleWithWebIdentity", ""),
        ("AssumeRole", "ASIA1"),
    ]
    calls = [each for each in cloud.requests if each.operation]
    assert [signer_of(each) for each in calls] == ["ASIA2", "ASIA2"]


async def scan_twice(clients: AwsClients, cloud: FakeCloud, clock: HandClock) -> None:
    """The first set of keys is taken for ended between the two."""
    for number in (1, 2):
        cloud.accept(f"token-{number}")
    await scan(clients)
    cloud.revoked.add("token-1")
    await scan(clients)


def test_the_role_of_a_container_is_used_and_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, metadata: MetadataService
) -> None:
    """ECS, and EKS Pod Identity with its token file."""
    authorization = tmp_path / "authorization"
    authorization.write_text("pod-token")
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{metadata.url}{_CONTAINER}")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(authorization))

    cloud = within_cloud(scan_twice)

    assert [signer_of(each) for each in cloud.requests] == ["ASIA1", "ASIA1", "ASIA2"]
    assert metadata.authorizations == ["pod-token", "pod-token"]


def test_the_role_of_an_instance_is_used_and_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, metadata: MetadataService
) -> None:
    """EC2, by the second version of its metadata service."""
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.url)

    cloud = within_cloud(scan_twice)

    assert [signer_of(each) for each in cloud.requests] == ["ASIA1", "ASIA1", "ASIA2"]
