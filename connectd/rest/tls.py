"""What an ``https`` listener shows and checks: an ``ssl.SSLContext`` from Kafka's ``ssl.`` keys.

Key stores are PEM (as Kafka 2.7 and later reads them: key and certificates in one file, or as text
in the worker's file) or PKCS12. JKS is a format of Java's own; it is refused with the command that
converts it. A file tells by its first bytes what it is, and must be what ``type`` says.

Private keys do not touch the disk: OpenSSL wants files, and gets ones that live in memory where the
system has such. Messages name keys and files, never passwords.
"""

from __future__ import annotations

import contextlib
import os
import re
import ssl
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)

from connectd.configdef.tls_settings import ClientAuth, StoreSettings, TlsSettings
from connectd.configdef.values import Secret
from connectd.errors import ConfigError

_STORE_BYTES_MAX: Final = 4 * 1024 * 1024  # thousands of certificates
_JKS_BEGINNINGS: Final = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
_PEM_BEGINNING: Final = b"-----BEGIN "
_VERIFY_BY_CLIENT_AUTH: Final = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.REQUESTED: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRED: ssl.CERT_REQUIRED,
}
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_TLS13_SUITES: Final = frozenset(
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}
)


def server_context(settings: TlsSettings) -> ssl.SSLContext:
    """The context of a listener.

    Raises:
        ConfigError: a file cannot be read or used, or no cipher suite is left.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    versions = [_VERSIONS[each] for each in settings.protocols]
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
    if settings.cipher_suites:
        _choose_suites(context, settings.cipher_suites, settings.key_store.name)
    _load_identity(context, settings.key_store, settings.key_password)
    context.verify_mode = _VERIFY_BY_CLIENT_AUTH[settings.client_auth]
    if settings.trust_store.is_set:
        _load_authorities(context, settings.trust_store)
    elif settings.client_auth is not ClientAuth.NONE:
        context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
    return context


def client_context(settings: TlsSettings) -> ssl.SSLContext:
    """The context for asking workers with the same settings.

    Raises:
        ConfigError: as ``server_context``.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.checks_names
    versions = [_VERSIONS[each] for each in settings.protocols]
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
    _load_identity(context, settings.key_store, settings.key_password)
    if settings.trust_store.is_set:
        _load_authorities(context, settings.trust_store)
    else:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    return context


# -- cipher suites ------------------------------------------------------------------------------


def _choose_suites(context: ssl.SSLContext, suites: tuple[str, ...], store_name: str) -> None:
    """Those of TLS 1.3 are OpenSSL's own choice; without one in the list, 1.3 is not spoken."""
    older = [_openssl_name(each) for each in suites if each not in _TLS13_SUITES]
    name = store_name.replace("keystore", "cipher.suites")
    if len(older) == len(suites):
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    elif not older:
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    if context.minimum_version > context.maximum_version:
        raise ConfigError(f"{name} has no cipher suite of the TLS versions that are enabled")
    if older:
        try:
            context.set_ciphers(":".join(older))
        except ssl.SSLError as error:
            raise ConfigError(
                f"{name}: no cipher suite is known of {', '.join(suites)}; give names of Java "
                "(TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384) or of OpenSSL"
            ) from error


def _openssl_name(suite: str) -> str:
    """OpenSSL's name of a suite of TLS 1.2: ECDHE-RSA-AES256-GCM-SHA384."""
    if not suite.startswith("TLS_"):
        return suite
    exchange, _, cipher = suite.removeprefix("TLS_").partition("_WITH_")
    cipher = re.sub(r"AES_(\d+)", r"AES\1", cipher).replace("_CBC_", "_")
    if cipher.startswith("CHACHA20_POLY1305"):
        cipher = "CHACHA20_POLY1305"
    parts = [cipher] if exchange == "RSA" else [exchange, cipher]
    return "_".join(parts).replace("_", "-")


# -- who this worker is -------------------------------------------------------------------------


def _load_identity(
    context: ssl.SSLContext, store: StoreSettings, key_password: Secret | None
) -> None:
    """Key and certificate chain, as one PEM text without a password, from wherever they are."""
    if store.location is None:
        if store.pem_key is None or store.pem_certificates is None:
            raise ConfigError(
                f"{store.name}.key and {store.name}.certificate.chain belong together, but one of "
                "them is not set"
            )
        text = f"{store.pem_key.reveal()}\n{store.pem_certificates}".encode()
        pem = _plain_pem(text, key_password or store.password, f"{store.name}.key")
    elif _kind_of(store, content := _read(store)) == "PEM":
        pem = _plain_pem(content, key_password or store.password, f"{store.name}.location")
    else:
        pem = _pem_of_pkcs12(store, content, key_password)
    with _as_file(pem) as path:
        try:
            context.load_cert_chain(path)
        except (ssl.SSLError, OSError) as error:
            raise ConfigError(
                f"{store.name}: key and certificate do not fit together or cannot be used: "
                f"{getattr(error, 'reason', None) or error}; the certificate of the key comes "
                "first, those of its issuers follow"
            ) from error


def _plain_pem(pem: bytes, password: Secret | None, name: str) -> bytes:
    blocks = re.findall(rb"-----BEGIN [^-]+-----.*?-----END [^-]+-----", pem, re.DOTALL)
    keys = [each for each in blocks if b"PRIVATE KEY-----" in each.partition(b"\n")[0]]
    certificates = [each for each in blocks if each not in keys]
    if len(keys) != 1 or not certificates:
        raise ConfigError(
            f"{name} has {len(keys)} private keys and {len(certificates)} certificates as PEM, "
            "expected one key and its certificates"
        )
    secret = None if password is None else password.reveal().encode()
    is_encrypted = b"ENCRYPTED" in keys[0]
    try:
        key = load_pem_private_key(keys[0], secret if is_encrypted else None)
    except (TypeError, ValueError):
        prefix = name.partition("ssl.")[0]
        raise ConfigError(
            f"{name}: the private key cannot be read; "
            + (
                f"it is encrypted, so check {prefix}ssl.key.password"
                if is_encrypted
                else "expected PKCS8 or a key as OpenSSL writes it"
            )
        ) from None
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return b"\n".join([plain, *certificates, b""])


def _pem_of_pkcs12(store: StoreSettings, content: bytes, key_password: Secret | None) -> bytes:
    bundle = _open_pkcs12(store, content, key_password)
    if bundle.key is None or bundle.cert is None:
        raise ConfigError(f"{store.name}.location {store.location} has no private key in it")
    key = bundle.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    chain = [bundle.cert, *bundle.additional_certs]
    return key + b"".join(each.certificate.public_bytes(Encoding.PEM) for each in chain)


# -- whom it trusts -----------------------------------------------------------------------------


def _load_authorities(context: ssl.SSLContext, store: StoreSettings) -> None:
    if store.location is None:
        pem = (store.pem_certificates or "").encode()
    elif _kind_of(store, content := _read(store)) == "PEM":
        pem = content
    else:
        bundle = _open_pkcs12(store, content, None)
        found = [each.certificate for each in bundle.additional_certs]
        if bundle.cert is not None:
            found.append(bundle.cert.certificate)
        pem = b"".join(each.public_bytes(Encoding.PEM) for each in found)
    try:
        certificates = x509.load_pem_x509_certificates(pem)
        context.load_verify_locations(
            cadata=b"".join(each.public_bytes(Encoding.DER) for each in certificates)
        )
    except (ValueError, ssl.SSLError) as error:
        where = store.location or f"the text of {store.name}.certificates"
        raise ConfigError(f"{store.name}: no certificates can be read from {where}") from error


# -- stores -------------------------------------------------------------------------------------


def _read(store: StoreSettings) -> bytes:
    path = store.location or ""
    try:
        with Path(path).open("rb") as file:
            content = file.read(_STORE_BYTES_MAX + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(f"{store.name}.location: cannot read {path}: {reason}") from error
    if len(content) > _STORE_BYTES_MAX:
        raise ConfigError(
            f"{store.name}.location: {path} is larger than {_STORE_BYTES_MAX} bytes, which no "
            "store is"
        )
    return content


def _kind_of(store: StoreSettings, content: bytes) -> str:
    """PEM or PKCS12, by the content; ``type`` must not say something else."""
    if content.startswith(_JKS_BEGINNINGS) or store.kind in ("JCEKS", "BKS"):
        raise ConfigError(
            f"{store.name}.location: {store.location} is a JKS store, which only Java can read; "
            f"convert it with keytool -importkeystore -srckeystore {store.location} -destkeystore "
            f"store.p12 -deststoretype PKCS12, and set {store.name}.type=PKCS12"
        )
    found = "PEM" if _PEM_BEGINNING in content[:65_536] else "PKCS12"
    # Java reads PKCS12 where JKS is asked for, and JKS is what it asks for where nothing is said.
    if store.kind not in (None, found) and not (store.kind == "JKS" and found == "PKCS12"):
        raise ConfigError(
            f"{store.name}.type is {store.kind}, but {store.location} looks like {found}, expected "
            "PEM or PKCS12 and a file that is it"
        )
    return found


def _open_pkcs12(
    store: StoreSettings, content: bytes, key_password: Secret | None
) -> pkcs12.PKCS12KeyAndCertificates:
    password = store.password or key_password
    try:
        return pkcs12.load_pkcs12(content, None if password is None else password.reveal().encode())
    except ValueError:
        raise ConfigError(
            f"{store.name}.location: {store.location} cannot be opened as PKCS12; check "
            f"{store.name}.password"
        ) from None


@contextlib.contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """A path from which OpenSSL can read this, gone afterwards."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("identity")
        try:
            with open(descriptor, "wb", closefd=False) as file:
                file.write(content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
        return
    with tempfile.NamedTemporaryFile("wb") as file:  # readable by its owner only
        file.write(content)
        file.flush()
        yield file.name
