"""TLS of listeners: where its keys come from (spec kafka-connect A.1.1)."""

from __future__ import annotations

import pytest

from connectd.configdef import tls_settings
from connectd.configdef.tls_settings import ClientAuth
from connectd.configdef.worker import WorkerConfig
from connectd.errors import ConfigError
from tests.kit.control_plane import WORKER_PROPERTIES

PREFIX = "listeners.https."
WORKERS_OWN = {"ssl.keystore.location": "/own.pem", "ssl.client.auth": "required"}


def test_the_keys_of_the_worker_serve_where_the_listener_has_none() -> None:
    settings = tls_settings.read(WORKERS_OWN, PREFIX)
    assert settings.key_store.location == "/own.pem"
    assert settings.key_store.name == "ssl.keystore"
    assert settings.client_auth is ClientAuth.REQUIRED
    assert settings.protocols == ("TLSv1.2", "TLSv1.3")


def test_one_key_of_the_listener_replaces_all_of_the_worker() -> None:
    own = {**WORKERS_OWN, f"{PREFIX}ssl.keystore.location": "/listener.p12"}
    settings = tls_settings.read(own, PREFIX)
    assert settings.key_store.location == "/listener.p12"
    assert settings.key_store.name == "listeners.https.ssl.keystore"
    assert settings.client_auth is ClientAuth.NONE
    with pytest.raises(ConfigError, match=r"listeners\.https\.ssl\.keystore\.location is not set"):
        tls_settings.read({**WORKERS_OWN, f"{PREFIX}ssl.client.auth": "none"}, PREFIX)


def test_admin_listeners_have_a_prefix_of_their_own() -> None:
    properties = {
        **WORKER_PROPERTIES,
        "listeners": "https://:0",
        "admin.listeners": "https://:0",
        f"{PREFIX}ssl.keystore.location": "/main.pem",
        "admin.listeners.https.ssl.keystore.location": "/admin.pem",
    }
    rest = WorkerConfig.from_properties(properties).rest
    assert rest.tls is not None
    assert rest.admin_tls is not None
    assert rest.tls.key_store.location == "/main.pem"
    assert rest.admin_tls.key_store.location == "/admin.pem"


def test_without_an_https_listener_nothing_is_asked() -> None:
    rest = WorkerConfig.from_properties({**WORKER_PROPERTIES, "ssl.client.auth": "required"}).rest
    assert (rest.tls, rest.admin_tls) == (None, None)


def test_an_https_listener_needs_a_certificate() -> None:
    with pytest.raises(ConfigError, match=r"listeners has an https listener.*is not set; set list"):
        WorkerConfig.from_properties({**WORKER_PROPERTIES, "listeners": "https://:8443"})


@pytest.mark.parametrize(
    ("keys", "protocols"),
    [
        ({}, ("TLSv1.2", "TLSv1.3")),
        ({"ssl.protocol": "TLSv1.2"}, ("TLSv1.2",)),
        ({"ssl.enabled.protocols": "TLSv1.3"}, ("TLSv1.3",)),
        (
            {"ssl.enabled.protocols": "TLSv1.3,TLSv1.2", "ssl.protocol": "TLSv1.2"},
            ("TLSv1.2", "TLSv1.3"),
        ),
    ],
)
def test_versions_of_tls(keys: dict[str, str], protocols: tuple[str, ...]) -> None:
    assert tls_settings.read({**WORKERS_OWN, **keys}, PREFIX).protocols == protocols


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"ssl.enabled.protocols": "TLSv1.1,TLSv1.2"}, "has TLSv1.1, expected only TLSv1.2 and"),
        ({"ssl.client.auth": "maybe"}, "Invalid value maybe for configuration ssl.client.auth"),
        ({"ssl.protocol": "SSLv3"}, "Invalid value SSLv3 for configuration ssl.protocol"),
    ],
)
def test_other_values_are_refused(keys: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        tls_settings.read({**WORKERS_OWN, **keys}, PREFIX)


def test_passwords_do_not_print_and_are_known_as_secrets() -> None:
    properties = {
        **WORKER_PROPERTIES,
        "listeners": "https://:0",
        f"{PREFIX}ssl.keystore.location": "/main.p12",
        f"{PREFIX}ssl.keystore.password": "hunter2",
        f"{PREFIX}ssl.key.password": "hunter3",
    }
    config = WorkerConfig.from_properties(properties)
    assert "hunter" not in repr(config.rest)
    assert {"hunter2", "hunter3"} <= set(config.secrets())
