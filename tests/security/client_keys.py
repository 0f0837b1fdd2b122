"""Settings of Kafka clients as Java users write them, for the listeners of ``SecuredBroker``."""

from __future__ import annotations

from collections.abc import Mapping

from tests.harness.kafka_secured import USER
from tests.kit.token_issuer import SECRET, TokenIssuer


def trust(store: str) -> dict[str, str]:
    """A trust store, as a Java user writes it; PEM has no password, and Java takes none."""
    return {"ssl.truststore.type": "PEM", "ssl.truststore.location": store}


def plain(password: str, store: str) -> dict[str, str]:
    """SASL/PLAIN over TLS."""
    login = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{login} required username="{USER}" password="{password}";',
        "ssl.endpoint.identification.algorithm": "https",
        **trust(store),
    }


def scram(password: str, store: str) -> dict[str, str]:
    """SASL/SCRAM-SHA-512 over TLS."""
    login = "org.apache.kafka.common.security.scram.ScramLoginModule"
    return {
        **plain(password, store),
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{login} required username="{USER}" password="{password}";',
    }


def token(issuer: TokenIssuer, store: str, secret: str = SECRET) -> dict[str, str]:
    """SASL/OAUTHBEARER over TLS, with librdkafka's names where Java has a class."""
    return {
        "security.protocol": "SASL_SSL",
        "ssl.endpoint.identification.algorithm": "https",
        **issuer.settings(secret),
        **trust(store),
    }


def prefixed(prefix: str, settings: Mapping[str, str]) -> dict[str, str]:
    """The settings of one kind of client."""
    return {f"{prefix}{key}": value for key, value in settings.items()}
