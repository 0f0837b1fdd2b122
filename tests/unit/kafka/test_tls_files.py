"""Files of TLS are told of by their key and path, before librdkafka tells of them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from connectd.errors import ConfigError
from connectd.kafka import clientconf

KEYS = [
    "ssl.truststore.location",
    "ssl.keystore.location",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
    "ssl.crl.location",
    "https.ca.location",
]
TYPES = {"ssl.truststore.type": "PEM", "ssl.keystore.type": "PEM"}


def conf(protocol: str, **settings: str) -> clientconf.Conf:
    return clientconf.admin_conf(
        {"security.protocol": protocol, **TYPES, **settings}, client_id="c"
    )


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("protocol", ["SSL", "sasl_ssl"])
def test_a_file_that_is_not_there_is_told_by_key_and_path(key: str, protocol: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{key}: cannot read the file /nope\.pem: No such"):
        conf(protocol, **{key: "/nope.pem"})


@pytest.mark.parametrize("key", KEYS)
def test_a_file_of_another_kind_is_told_by_key_and_path(key: str, tmp_path: Path) -> None:
    file = tmp_path / "it.der"
    file.write_bytes(b"\x30\x82\x01")
    with pytest.raises(ConfigError, match=rf"^{key}: {file} has no .* in it as PEM"):
        conf("SSL", **{key: str(file)})


@pytest.mark.parametrize("key", KEYS)
def test_a_directory_is_told_of_where_only_a_file_will_do(key: str, tmp_path: Path) -> None:
    if key in ("ssl.ca.location", "https.ca.location"):
        assert conf("SSL", **{key: str(tmp_path)})[key] == str(tmp_path)
        return
    with pytest.raises(ConfigError, match=rf"^{key}: cannot read the file .*: Is a directory"):
        conf("SSL", **{key: str(tmp_path)})


def test_what_is_there_is_used(tmp_path: Path) -> None:
    file = tmp_path / "all.pem"
    file.write_text(
        "-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n-----BEGIN X509 CRL-----\n"
    )
    for key in KEYS:
        assert str(file) in conf("SSL", **{key: str(file)}).values()
    assert conf("SSL", **{"ssl.ca.location": "probe"})["ssl.ca.location"] == "probe"


def test_a_key_store_with_a_password_is_left_to_the_client(tmp_path: Path) -> None:
    file = tmp_path / "me.p12"
    file.write_bytes(b"\x30\x82\x01")
    more = {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": str(file)}
    assert conf("SSL", **more)["ssl.keystore.location"] == str(file)


def test_without_tls_no_file_is_asked_for() -> None:
    assert conf("SASL_PLAINTEXT", **{"ssl.ca.location": "/nope.pem"})
