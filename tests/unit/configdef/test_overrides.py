"""Policies for overriding the settings of Kafka clients."""

from __future__ import annotations

import pytest

from connectd.configdef.overrides import OverridePolicy, check_policy
from connectd.errors import ConfigError


def test_the_allowlist_lets_through_what_it_names() -> None:
    policy = OverridePolicy.named("Allowlist", ["linger.ms"])
    assert policy.errors("linger.ms") == []
    assert policy.errors("acks") == [
        "The 'Allowlist' policy does not allow 'acks' to be overridden in the connector "
        "configuration."
    ]


def test_principal_lets_through_who_logs_in() -> None:
    policy = OverridePolicy.named("Principal", [])
    assert policy.errors("sasl.jaas.config") == []
    assert policy.errors("bootstrap.servers") != []


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(ConfigError, match="Expected one of All, None, Principal, Allowlist"):
        check_policy("connector.client.config.override.policy", "all")
    check_policy("connector.client.config.override.policy", "All")
