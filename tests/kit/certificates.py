"""Certificates made on the spot: an authority, and identities that it vouches for."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

_FROM = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
_UNTIL = datetime.datetime(2050, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class Identity:
    """A key and its certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    def key_pem(self, password: str | None = None) -> str:
        """The key as PKCS8."""
        pem = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, _encryption(password))
        return pem.decode()

    def certificate_pem(self) -> str:
        """The certificate."""
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def pkcs12(self, password: str | None) -> bytes:
        """Both as a key store."""
        return pkcs12.serialize_key_and_certificates(
            b"worker", self.key, self.certificate, None, _encryption(password)
        )


def _encryption(password: str | None) -> KeySerializationEncryption:
    return NoEncryption() if password is None else BestAvailableEncryption(password.encode())


@cache
def authority(name: str = "authority") -> Identity:
    """One that issues certificates; the same for the same name."""
    key = ec.generate_private_key(ec.SECP256R1())
    return Identity(key, _sign(key, name, key, name, is_authority=True))


def identity(name: str, issuer: Identity | None = None, *, host: str | None = None) -> Identity:
    """Somebody on this machine, or on ``host``."""
    issuer = issuer or authority()
    key = ec.generate_private_key(ec.SECP256R1())
    issuer_name = issuer.certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value
    signed = _sign(key, name, issuer.key, str(issuer_name), is_authority=False, host=host)
    return Identity(key, signed)


def _sign(
    key: ec.EllipticCurvePrivateKey,
    name: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    issuer: str,
    *,
    is_authority: bool,
    host: str | None = None,
) -> x509.Certificate:
    here = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    names: list[x509.GeneralName] = [*here] if host is None else [x509.DNSName(host)]
    return (
        x509.CertificateBuilder()
        .subject_name(_named(name))
        .issuer_name(_named(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_FROM)
        .not_valid_after(_UNTIL)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        .sign(issuer_key, hashes.SHA256())
    )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
