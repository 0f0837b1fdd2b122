"""A schema registry behind TLS, with certificates on both sides."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from connectd.converters.avro_converter import AvroConverter
from connectd.errors import TransientNetworkError
from connectd.model.record import ConverterSpec
from connectd.model.schema import STRING
from tests.kit import certificates
from tests.kit.scripted_registry import ScriptedRegistry


def write(url: str, settings: dict[str, str]) -> bytes:
    """A record."""
    merged = tuple(sorted({"schema.registry.url": url, **settings}.items()))
    record = AvroConverter(ConverterSpec("avro", merged)).from_connect_data("topic", STRING, "x")
    assert record is not None
    return record


def test_tls_with_files_in_pem(tmp_path: Path) -> None:
    """Both sides show certificates: the registry's, and the converter's with its key."""
    server, client = certificates.identity("registry"), certificates.identity("connectd")
    files = {name: tmp_path / f"{name}.pem" for name in ("authority", "server", "client")}
    files["authority"].write_text(certificates.authority().certificate_pem())
    files["server"].write_text(server.key_pem() + server.certificate_pem())
    files["client"].write_text(client.key_pem("secret") + client.certificate_pem())
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(files["authority"]))
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_cert_chain(files["server"])
    settings = {
        "schema.registry.ssl.truststore.location": str(files["authority"]),
        "schema.registry.ssl.truststore.type": "PEM",
        "schema.registry.ssl.keystore.location": str(files["client"]),
        "schema.registry.ssl.keystore.type": "PEM",
        "schema.registry.ssl.key.password": "secret",
    }
    with ScriptedRegistry(tls=tls) as registry:
        assert write(registry.url, settings)[4] == 1
        with pytest.raises(TransientNetworkError, match="CERTIFICATE_VERIFY_FAILED"):
            write(registry.url, {})
