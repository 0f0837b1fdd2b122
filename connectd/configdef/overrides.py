"""Which settings of its Kafka clients a connector may override (spec kafka-connect B.8).

The policy is the worker's; its names are Kafka's, as alias or as Java class. Whatever it allows, it
never allows what ``client_dangers`` lists.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from connectd.configdef import client_dangers
from connectd.configdef.values import invalid_value, trim
from connectd.errors import ConfigError

OVERRIDE_PREFIXES: Final = ("producer.override.", "consumer.override.", "admin.override.")

_POLICIES: Final = ("All", "None", "Principal", "Allowlist")
_PRINCIPAL_KEYS: Final = frozenset({"sasl.jaas.config", "sasl.mechanism", "security.protocol"})
_JAVA_PACKAGE: Final = "org.apache.kafka.connect.connector.policy."
_JAVA_SUFFIX: Final = "ConnectorClientConfigOverridePolicy"


@dataclass(frozen=True)
class OverridePolicy:
    """A policy and what it lets through; ``allowed`` None is everything."""

    name: str
    allowed: frozenset[str] | None

    @classmethod
    def named(cls, name: str, allowlist: Collection[str]) -> OverridePolicy:
        """The policy of that alias or Java class.

        Raises:
            ConfigError: there is none of that name.
        """
        alias = trim(name).removeprefix(_JAVA_PACKAGE).removesuffix(_JAVA_SUFFIX)
        match alias:
            case "All":
                return cls(alias, None)
            case "None":
                return cls(alias, frozenset())
            case "Principal":
                return cls(alias, _PRINCIPAL_KEYS)
            case "Allowlist":
                return cls(alias, frozenset(allowlist))
        raise invalid_value(
            "connector.client.config.override.policy",
            name,
            f"Expected one of {', '.join(_POLICIES)}",
        )

    def errors(
        self, setting: str, value: str | None = None, *, client: str = "producer"
    ) -> list[str]:
        """Why a setting (without its prefix) may not be overridden like that; nothing when it may.

        ``client`` is ``producer``, ``consumer`` or ``admin``.
        """
        found = []
        if self.allowed is not None and setting not in self.allowed:
            found.append(
                f"The '{self.name}' policy does not allow '{setting}' to be overridden in the "
                "connector configuration."
            )
        danger = client_dangers.danger(setting, value)
        if danger is not None:
            found.append(danger)
        if client == "producer":
            found.extend(client_dangers.broken_promises({setting: value}))
        return found

    def check(self, client: str, overrides: Mapping[str, str]) -> None:
        """Hold the overrides of one client, without prefix, against the policy.

        Raises:
            ConfigError: some are not allowed. Their values are not in the text.
        """
        problems = [
            problem
            for setting, value in overrides.items()
            for problem in self.errors(setting, value, client=client)
        ]
        if problems:
            raise ConfigError(f"Client Config Overrides not allowed: {' '.join(problems)}")


def check_policy(_name: str, value: object) -> None:
    """Validator of ``connector.client.config.override.policy``."""
    OverridePolicy.named(str(value or ""), ())
