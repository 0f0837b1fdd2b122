"""Which settings of its Kafka clients a connector may override (spec kafka-connect B.8).

The policy is the worker's; its names are Kafka's, as alias or as Java class.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from connectd.configdef.values import invalid_value

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
        alias = name.removeprefix(_JAVA_PACKAGE).removesuffix(_JAVA_SUFFIX)
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

    def errors(self, setting: str) -> list[str]:
        """Why a setting (without its prefix) may not be overridden; nothing when it may."""
        if self.allowed is None or setting in self.allowed:
            return []
        return [
            f"The '{self.name}' policy does not allow '{setting}' to be overridden in the "
            "connector configuration."
        ]


def check_policy(_name: str, value: object) -> None:
    """Validator of ``connector.client.config.override.policy``."""
    OverridePolicy.named(str(value or ""), ())
