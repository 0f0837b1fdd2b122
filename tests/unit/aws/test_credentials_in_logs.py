"""What botocore says at DEBUG, which operators can ask for, freed of secrets as our log does it."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from connectd.aws.clients import AwsClients
from connectd.observe import redaction
from tests.unit.aws.cloud import ROLE, FakeCloud
from tests.unit.aws.doubles import HandClock
from tests.unit.aws.test_credentials import STATIC, scan_and_describe, within_cloud


@pytest.fixture(autouse=True)
def _forget_secrets() -> Iterator[None]:
    redaction.forget_secrets()
    yield
    redaction.forget_secrets()


def test_the_keys_of_a_role_are_hidden_from_their_first_line_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """STS gives them in XML, a signature repeats the token in lines of its own."""

    async def scenario(clients: AwsClients, cloud: FakeCloud, clock: HandClock) -> None:
        for _ in range(3):
            await scan_and_describe(clients, cloud, clock)
            clock.now_s += 3600

    with caplog.at_level(logging.DEBUG, logger="botocore"):
        cloud = within_cloud(scenario, assume_role_arn=ROLE, **STATIC)

    assert len(cloud.assumed) == 3
    said = "\n".join(record.getMessage() for record in caplog.records)
    assert "token-3" in said
    assert "<SecretAccessKey>secret3<" in said
    shown = "\n".join(redaction.redact_text(record.getMessage()) for record in caplog.records)
    leaked = [
        secret
        for number in (2, 3)
        for secret in (f"token-{number}", f"secret{number}")
        if secret in shown
    ]
    assert leaked == []
