"""Whose keys sign: static, the chain's, a role's; and what happens when they run out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import structlog

from connectd.aio.clock import LoopClock
from connectd.aws.clients import AwsClients
from connectd.aws.credentials import _margins_s
from connectd.aws.settings import AwsSettings
from connectd.errors import AccessDeniedError, ConfigError, TransientNetworkError
from tests.unit.aws.cloud import ROLE, FakeCloud, signer_of
from tests.unit.aws.doubles import HandClock

STATIC: dict[str, Any] = {"access_key_id": "AKIDBASE", "secret_access_key": "secret"}

Scenario = Callable[[AwsClients, FakeCloud, HandClock], Awaitable[None]]


def within_cloud(scenario: Scenario, *, lifetime_s: float = 3600, **more: Any) -> FakeCloud:
    """Run a scenario with clients of these settings; the cloud is returned for its records."""

    async def run() -> FakeCloud:
        clock = HandClock()
        async with FakeCloud(clock, lifetime_s=lifetime_s) as cloud:
            settings = AwsSettings(
                region="eu-west-1",
                dynamodb_endpoint=cloud.url,
                tagging_endpoint=cloud.url,
                sts_endpoint=cloud.url,
                **more,
            )
            clients = AwsClients(settings, clock)
            await clients.open()
            try:
                await scenario(clients, cloud, clock)
            finally:
                await clients.close()
            return cloud

    return asyncio.run(run())


async def scan(clients: AwsClients) -> None:
    await clients.dynamodb.scan(
        "orders", segment=0, total_segments=1, exclusive_start_key=None, limit=None
    )


async def scan_and_describe(clients: AwsClients, cloud: FakeCloud, clock: HandClock) -> None:
    await scan(clients)
    await clients.dynamodb.describe_table("orders")


async def denied(clients: AwsClients, cloud: FakeCloud, clock: HandClock) -> None:
    for road in (scan(clients), clients.dynamodb.describe_table("orders")):
        with pytest.raises(AccessDeniedError, match=r"set aws\.access\.key\.id"):
            await road


def test_static_keys_sign_on_both_roads() -> None:
    cloud = within_cloud(scan_and_describe, **STATIC)
    assert [signer_of(each) for each in cloud.requests] == ["AKIDBASE", "AKIDBASE"]
    assert not any("x-amz-security-token" in each.headers for each in cloud.requests)


def test_empty_keys_are_no_keys_and_the_chain_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trap of the Java connector's sample: "" there is an empty key that AWS refuses."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    cloud = within_cloud(scan_and_describe, access_key_id="", secret_access_key="")
    assert [signer_of(each) for each in cloud.requests] == ["AKIDENV", "AKIDENV"]


def test_static_keys_win_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    cloud = within_cloud(scan_and_describe, **STATIC)
    assert {signer_of(each) for each in cloud.requests} == {"AKIDBASE"}


def test_half_a_key_pair_is_ignored_loudly() -> None:
    with structlog.testing.capture_logs() as lines:
        within_cloud(denied, access_key_id="AKIDHALF")
    (line,) = [each for each in lines if "has_access_key_id" in each]
    assert line["log_level"] == "warning"
    assert line["has_access_key_id"] is True
    assert "AKIDHALF" not in str(line)


def test_no_credentials_at_all_is_a_denial_that_says_what_to_set() -> None:
    cloud = within_cloud(denied)
    assert cloud.requests == []


def test_a_profile_of_the_chain_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "credentials"
    path.write_text("[ops]\naws_access_key_id = AKIDOPS\naws_secret_access_key = secret\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(path))
    monkeypatch.setenv("AWS_PROFILE", "ops")
    cloud = within_cloud(scan_and_describe)
    assert {signer_of(each) for each in cloud.requests} == {"AKIDOPS"}


def test_a_profile_that_does_not_exist_is_a_configuration_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "missing")
    with pytest.raises(ConfigError, match="missing"):
        within_cloud(scan_and_describe)


def test_a_role_is_assumed_with_the_external_id_and_used_on_both_roads() -> None:
    """Spec field-cases X06."""
    cloud = within_cloud(
        scan_and_describe, assume_role_arn=ROLE, assume_role_external_id="ext-1", **STATIC
    )
    (assumed,) = cloud.assumed
    assert assumed["RoleArn"] == ROLE
    assert assumed["ExternalId"] == "ext-1"
    assert assumed["RoleSessionName"] == "connectd"
    assert assumed["signed_by"] == "AKIDBASE"
    calls = [each for each in cloud.requests if each.operation]
    assert [each.headers["x-amz-security-token"] for each in calls] == ["token-1", "token-1"]


def test_a_role_without_an_external_id_sends_none() -> None:
    cloud = within_cloud(scan_and_describe, assume_role_arn=ROLE, **STATIC)
    assert "ExternalId" not in cloud.assumed[0]


def test_role_credentials_of_two_seconds_last_for_ever() -> None:
    """Spec field-cases X07: ten seconds of work, not one refused request."""

    async def scenario(clients: AwsClients, cloud: FakeCloud, clock: HandClock) -> None:
        for _ in range(100):
            await scan_and_describe(clients, cloud, clock)
            clock.now_s += 0.1

    cloud = within_cloud(scenario, lifetime_s=2, assume_role_arn=ROLE, **STATIC)
    assert cloud.refusals == 0
    assert 5 <= len(cloud.assumed) <= 10
    assert len([each for each in cloud.requests if each.operation == "Scan"]) == 100


def test_an_hour_s_credentials_are_renewed_before_they_end() -> None:
    async def scenario(clients: AwsClients, cloud: FakeCloud, clock: HandClock) -> None:
        for _ in range(24):
            await scan_and_describe(clients, cloud, clock)
            clock.now_s += 600

    cloud = within_cloud(scenario, assume_role_arn=ROLE, **STATIC)
    assert cloud.refusals == 0
    assert len(cloud.assumed) == 5


def test_many_requests_share_one_refresh() -> None:
    async def scenario(clients: AwsClients, cloud: FakeCloud, clock: HandClock) -> None:
        for _ in range(2):
            await asyncio.gather(*(scan(clients) for _ in range(200)))
            clock.now_s += 3601

    cloud = within_cloud(scenario, assume_role_arn=ROLE, **STATIC)
    assert len(cloud.assumed) == 2


def test_a_token_refused_early_is_replaced_once() -> None:
    async def scenario(clients: AwsClients, cloud: FakeCloud, clock: HandClock) -> None:
        await scan(clients)
        cloud.revoked.add("token-1")
        await asyncio.gather(*(scan(clients) for _ in range(20)))
        cloud.revoked.add("token-2")
        await clients.dynamodb.describe_table("orders")
        await scan(clients)

    cloud = within_cloud(scenario, assume_role_arn=ROLE, **STATIC)
    assert len(cloud.assumed) == 3


def test_a_static_token_that_has_ended_is_a_denial_on_both_roads() -> None:
    async def scenario(clients: AwsClients, cloud: FakeCloud, clock: HandClock) -> None:
        for road in (scan(clients), clients.dynamodb.describe_table("orders")):
            with pytest.raises(AccessDeniedError, match="ExpiredTokenException"):
                await road

    cloud = within_cloud(scenario, session_token="stale", **STATIC)
    assert cloud.refusals == 2


def test_a_refused_role_names_the_action_and_the_role() -> None:
    async def scenario(clients: AwsClients, cloud: FakeCloud, clock: HandClock) -> None:
        cloud.refuses = (
            "User: arn:aws:iam::111122223333:user/x is not authorized to perform: "
            f"sts:AssumeRole on resource: {ROLE}"
        )
        for road in (scan(clients), clients.dynamodb.describe_table("orders")):
            with pytest.raises(AccessDeniedError) as caught:
                await road
            assert f"allow the action sts:AssumeRole on {ROLE}" in str(caught.value)
            assert caught.value.__cause__ is not None

    within_cloud(scenario, assume_role_arn=ROLE, **STATIC)


def test_a_role_refused_for_a_while_works_afterwards() -> None:
    async def scenario(clients: AwsClients, cloud: FakeCloud, clock: HandClock) -> None:
        cloud.refuses = "not yet"
        with pytest.raises(AccessDeniedError):
            await scan(clients)
        cloud.refuses = None
        await scan(clients)

    within_cloud(scenario, assume_role_arn=ROLE, **STATIC)


def test_a_refresh_that_fails_in_good_time_does_no_harm() -> None:
    async def scenario(clients: AwsClients, cloud: FakeCloud, clock: HandClock) -> None:
        await scan(clients)
        cloud.refuses = "hiccup"
        clock.now_s += 3600 - 800
        await scan(clients)
        clock.now_s += 800
        with pytest.raises(AccessDeniedError, match="hiccup"):
            await scan(clients)

    cloud = within_cloud(scenario, assume_role_arn=ROLE, **STATIC)
    assert cloud.refusals == 0


def test_credentials_that_are_born_expired_are_refused() -> None:
    async def scenario(clients: AwsClients, cloud: FakeCloud, clock: HandClock) -> None:
        with pytest.raises(AccessDeniedError, match="expired"):
            await scan(clients)

    within_cloud(scenario, lifetime_s=-1, assume_role_arn=ROLE, **STATIC)


def test_a_source_that_does_not_answer_ends_at_the_deadline() -> None:
    async def scenario(clients: AwsClients, cloud: FakeCloud, clock: HandClock) -> None:
        cloud.hangs = True
        waiting = [scan(clients) for _ in range(3)]
        found = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(each) for each in found] == [TransientNetworkError] * 3

    cloud = within_cloud(
        scenario, assume_role_arn=ROLE, connect_timeout_s=0.05, read_timeout_s=0.05, **STATIC
    )
    # All three wait for one, which a busy machine may not even have sent by then.
    assert len(cloud.requests) <= 1


def test_a_clock_that_only_its_loop_can_read_serves_the_threads_too() -> None:
    """The worker's clock asks the running loop; boto3's threads have none."""

    async def run() -> FakeCloud:
        clock = LoopClock(wall_anchor_s=1_714_557_600.0)
        async with FakeCloud(clock) as cloud:
            settings = AwsSettings(
                region="eu-west-1",
                dynamodb_endpoint=cloud.url,
                sts_endpoint=cloud.url,
                assume_role_arn=ROLE,
                **STATIC,
            )
            clients = AwsClients(settings, clock)
            await clients.open()
            await clients.dynamodb.describe_table("orders")
            await scan(clients)
            await clients.close()
            return cloud

    assert len(asyncio.run(run()).assumed) == 1


@pytest.mark.parametrize(
    ("lifetime_s", "margins_s"),
    [
        (2.0, (0.5, 0.25)),
        (900.0, (225.0, 112.5)),
        (3600.0, (900.0, 450.0)),
        (43200.0, (900.0, 600.0)),
    ],
)
def test_margins_follow_the_lifetime(lifetime_s: float, margins_s: tuple[float, float]) -> None:
    assert _margins_s(lifetime_s) == margins_s


def test_no_credential_shows_in_a_repr() -> None:
    async def scenario(clients: AwsClients, cloud: FakeCloud, clock: HandClock) -> None:
        await scan(clients)
        assert clients._keys is not None
        text = repr(await clients._keys.current()) + repr(clients.settings)
        assert not any(part in text for part in ("ASIA1", "secret1", "token-1", "AKIDBASE"))

    within_cloud(scenario, assume_role_arn=ROLE, **STATIC)
