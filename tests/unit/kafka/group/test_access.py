"""The group client's settings are those of every other client of the worker."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from connectd.errors import ConfigError
from connectd.kafka.group import access
from connectd.kafka.group.access import Login
from tests.kit import certificates

BROKERS = {"bootstrap.servers": "one:9092, PLAINTEXT://two:9093,[::1]:9094"}
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";'


def test_brokers_and_deadlines() -> None:
    settings = {**BROKERS, "socket.connection.setup.timeout.ms": "700", "request.timeout.ms": "900"}
    found = access.read(settings, client_id="me")
    assert found.servers == (("one", 9092), ("two", 9093), ("::1", 9094))
    assert (found.client_id, found.connect_s, found.request_s) == ("me", 0.7, 0.9)
    assert found.tls is None
    assert found.login is None


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_login_in_jaas_form(mechanism: str) -> None:
    settings = {"security.protocol": "sasl_plaintext", "sasl.mechanism": mechanism}
    found = access.read({**BROKERS, **settings, "sasl.jaas.config": JAAS}, client_id="me")
    assert found.login == Login(mechanism, "u", "p")
    assert "'p'" not in repr(found.login)


def test_logins_that_are_not_spoken_are_refused_with_what_to_do() -> None:
    settings = {**BROKERS, "security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI"}
    with pytest.raises(ConfigError, match=r"found GSSAPI, expected PLAIN.*a listener of the"):
        access.read(settings, client_id="me")


def test_a_login_without_a_name_is_refused() -> None:
    settings = {**BROKERS, "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}
    with pytest.raises(ConfigError, match=r"sasl\.jaas\.config"):
        access.read(settings, client_id="me")


def test_tls_checks_names_unless_it_is_told_not_to() -> None:
    settings = {**BROKERS, "security.protocol": "SSL"}
    found = access.read(settings, client_id="me").tls
    assert found is not None
    assert found.check_hostname
    assert found.verify_mode is ssl.CERT_REQUIRED
    settings["ssl.endpoint.identification.algorithm"] = ""
    found = access.read(settings, client_id="me").tls
    assert found is not None
    assert not found.check_hostname
    assert found.verify_mode is ssl.CERT_REQUIRED


def test_only_the_authorities_that_are_named_are_trusted(tmp_path: Path) -> None:
    authority = tmp_path / "authority.pem"
    authority.write_text(certificates.authority().certificate_pem(), encoding="utf-8")
    settings = {
        **BROKERS,
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority),
    }
    found = access.read(settings, client_id="me").tls
    assert found is not None
    assert len(found.get_ca_certs()) == 1


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ssl.ca.location", "/nowhere/authority.pem"),
        ("ssl.certificate.location", "/nowhere/own.pem"),
        ("ssl.cipher.suites", "NO_SUCH_SUITE"),
    ],
)
def test_what_cannot_be_used_is_named(key: str, value: str) -> None:
    settings = {**BROKERS, "security.protocol": "SSL", key: value}
    with pytest.raises(ConfigError, match=r"^ssl\.\w+"):
        access.read(settings, client_id="me")


def test_a_server_without_a_port_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"bootstrap\.servers: found 'one', expected host:port"):
        access.read({"bootstrap.servers": "one"}, client_id="me")
