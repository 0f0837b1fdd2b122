"""Settings: what counts as absent, what counts as equal, what is refused, what is hidden."""

from __future__ import annotations

from typing import Any

import pytest

from connectd.aws.settings import AwsSettings
from connectd.errors import ConfigError


def test_the_empty_string_is_not_a_key() -> None:
    """The trap of the Java connector's sample configuration."""
    settings = AwsSettings(region="eu-west-1", access_key_id="", secret_access_key="  ")
    assert settings.access_key_id is None
    assert settings.secret_access_key is None
    assert not settings.has_static_keys
    assert settings == AwsSettings(region="eu-west-1")


@pytest.mark.parametrize(
    "name",
    [
        "session_token",
        "assume_role_arn",
        "assume_role_external_id",
        "dynamodb_endpoint",
        "streams_endpoint",
        "tagging_endpoint",
        "sts_endpoint",
        "s3_endpoint",
        "role_session_name",
        "account_id_endpoint_mode",
    ],
)
def test_every_empty_string_means_the_default(name: str) -> None:
    empty: dict[str, Any] = {name: ""}
    assert AwsSettings(region="eu-west-1", **empty) == AwsSettings(region="eu-west-1")


def test_half_a_key_pair_is_not_a_pair() -> None:
    half = AwsSettings(region="eu-west-1", access_key_id="AKID", secret_access_key="")
    assert not half.has_static_keys
    assert half.has_half_a_key_pair
    whole = AwsSettings(region="eu-west-1", access_key_id="AKID", secret_access_key="secret")
    assert whole.has_static_keys
    assert not whole.has_half_a_key_pair


def test_the_streams_endpoint_follows_an_overridden_dynamodb_endpoint() -> None:
    one = AwsSettings(region="eu-west-1", dynamodb_endpoint="http://127.0.0.1:8000")
    assert one.streams_endpoint == "http://127.0.0.1:8000"
    both = AwsSettings(
        region="eu-west-1",
        dynamodb_endpoint="http://127.0.0.1:8000",
        streams_endpoint="http://127.0.0.1:9000",
    )
    assert both.streams_endpoint == "http://127.0.0.1:9000"
    assert AwsSettings(region="eu-west-1").streams_endpoint is None


def test_equal_settings_are_one_key() -> None:
    first = AwsSettings(region="eu-west-1", dynamodb_endpoint="http://h:1")
    second = AwsSettings(region="eu-west-1 ", dynamodb_endpoint="http://h:1", session_token="")
    assert {first: "clients"}[second] == "clients"
    assert first != AwsSettings(region="eu-west-2", dynamodb_endpoint="http://h:1")


def test_the_repr_shows_no_credential() -> None:
    settings = AwsSettings(
        region="eu-west-1",
        access_key_id="AKIDEXAMPLE",
        secret_access_key="s3cr3t",
        session_token="t0ken",
        assume_role_external_id="ext3rnal",
    )
    assert "eu-west-1" in repr(settings)
    for hidden in ("AKIDEXAMPLE", "s3cr3t", "t0ken", "ext3rnal"):
        assert hidden not in repr(settings)
        assert hidden not in str(settings)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("region", " ", "region is empty"),
        ("dynamodb_endpoint", "localhost:8000", "dynamodb endpoint is 'localhost:8000'"),
        ("dynamodb_endpoint", "http://host:99999", "dynamodb endpoint"),
        ("dynamodb_endpoint", "http://[host", "dynamodb endpoint"),
        ("streams_endpoint", "ftp://host", "expected http://host"),
        ("tagging_endpoint", "http://", "tagging endpoint"),
        ("sts_endpoint", "http://host/?a=1", "sts endpoint"),
        ("s3_endpoint", "host:9000", "s3 endpoint is 'host:9000'"),
        ("account_id_endpoint_mode", "always", "disabled"),
        ("connect_timeout_s", 0, "connect_timeout_s is 0"),
        ("read_timeout_s", -1.0, "read_timeout_s is -1.0"),
        ("pool_connections_max", 0, "pool_connections_max is 0"),
    ],
)
def test_what_cannot_work_is_refused(name: str, value: object, said: str) -> None:
    arguments: dict[str, Any] = {"region": "eu-west-1", name: value}
    with pytest.raises(ConfigError, match=said):
        AwsSettings(**arguments)


@pytest.mark.parametrize(
    ("endpoint", "told"),
    [
        ("http://user:hush@host", "'host'"),
        ("http://127.0.0.1:9/?token=hush", "'http://127.0.0.1:9/?…'"),
        ("http://host#hush", "'http://host#…'"),
        ("http://u@host?a=hush@host", "'host'"),
        ("host;password=hush", "'host;…'"),
    ],
)
def test_a_secret_in_an_endpoint_is_refused_without_being_repeated(
    endpoint: str, told: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        AwsSettings(region="eu-west-1", dynamodb_endpoint=endpoint)
    assert "hush" not in str(refused.value)
    assert f"is {told}: expected" in str(refused.value)
