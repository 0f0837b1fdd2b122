"""Who one is and how to be sure of a broker, from the settings of every Kafka client.

The settings are translated as for librdkafka (``clientconf``), so that a worker's file means the
same for all of its clients; what OpenSSL is to do with them is said here once more, in the terms of
Python's ``ssl``. Passwords are in memory only, and in no message.
"""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)

from connectd.errors import ConfigError
from connectd.kafka import clientconf
from connectd.kafka.clientconf import ClientKind, Settings
from connectd.kafka.group import bearer
from connectd.kafka.group.bearer import BearerLogin
from connectd.kafka.group.scram import DIGEST_BY_MECHANISM

PLAIN: Final = "PLAIN"
MECHANISMS: Final = (PLAIN, *DIGEST_BY_MECHANISM, bearer.MECHANISM)

_PORT_MAX: Final = 65535
_CONNECT_MS: Final = "10000"
_REQUEST_MS: Final = "40000"


@dataclass(frozen=True)
class Login:
    """A name and a password, and how they are proved."""

    mechanism: str
    user: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class Access:
    """Where the brokers are, and how to come in; times in seconds."""

    servers: tuple[tuple[str, int], ...]
    client_id: str
    tls: ssl.SSLContext | None = None
    login: Login | BearerLogin | None = None
    connect_s: float = 10.0
    request_s: float = 40.0


def read(settings: Settings, *, client_id: str) -> Access:
    """From a worker's settings of its own Kafka clients, under Java's names.

    Raises:
        ConfigError: a value cannot be used, or the login is of a kind that is not spoken here.
    """
    conf = clientconf.translate(settings, ClientKind.ADMIN)
    protocol = conf.get("security.protocol", "PLAINTEXT").strip().upper()
    return Access(
        servers=tuple(_server(text.strip()) for text in conf["bootstrap.servers"].split(",")),
        client_id=client_id,
        tls=_tls(conf) if protocol in ("SSL", "SASL_SSL") else None,
        login=_login(conf) if protocol.startswith("SASL_") else None,
        connect_s=int(conf.get("socket.connection.setup.timeout.ms", _CONNECT_MS)) / 1000,
        request_s=int(settings.get("request.timeout.ms", _REQUEST_MS)) / 1000,
    )


def _server(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit() or int(port) > _PORT_MAX:
        raise ConfigError(f"bootstrap.servers: found {text!r}, expected host:port")
    return host.strip("[]"), int(port)


def _login(conf: Mapping[str, str]) -> Login | BearerLogin:
    mechanism = conf.get("sasl.mechanism", conf.get("sasl.mechanisms", "GSSAPI")).strip().upper()
    if mechanism not in MECHANISMS:
        raise ConfigError(
            f"sasl.mechanism: found {mechanism}, expected {', '.join(MECHANISMS)}: a worker joins "
            "its group with a client of its own, which knows no other login; give "
            "bootstrap.servers a listener of the brokers that takes one of these"
        )
    if mechanism == bearer.MECHANISM:
        return bearer.read(conf)
    user, password = conf.get("sasl.username"), conf.get("sasl.password")
    if user is None or password is None:
        raise ConfigError(
            "sasl.jaas.config: found no user name or no password, expected both in it (or in "
            "sasl.username and sasl.password)"
        )
    return Login(mechanism, user, password)


def _tls(conf: Mapping[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if conf.get("ssl.endpoint.identification.algorithm", "https").strip().lower() == "none":
        context.check_hostname = False
    if conf.get("enable.ssl.certificate.verification", "true").strip().lower() == "false":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    location, text = conf.get("ssl.ca.location"), conf.get("ssl.ca.pem")
    if location or text:
        context = _trusting_only(context)
        _load(lambda: _load_authorities(context, location, text), "ssl.truststore.location")
    if "ssl.cipher.suites" in conf and conf["ssl.cipher.suites"].strip():
        suites = conf["ssl.cipher.suites"].replace(",", ":")
        _load(lambda: context.set_ciphers(suites), "ssl.cipher.suites")
    _load(lambda: _load_identity(context, conf), "ssl.keystore.location")
    return context


def _trusting_only(like: ssl.SSLContext) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = like.check_hostname
    context.verify_mode = like.verify_mode
    return context


def _load(step: Callable[[], object], key: str) -> None:
    """Do one step of making a context; a failure is told in OpenSSL's words, by the key."""
    try:
        step()
    except (ssl.SSLError, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or getattr(error, "reason", None) or error
        raise ConfigError(f"{key}: cannot be used: {reason}; expected PEM") from error


def _load_authorities(context: ssl.SSLContext, location: str | None, text: str | None) -> None:
    if location and Path(location).is_dir():
        context.load_verify_locations(capath=location)
    elif location:
        context.load_verify_locations(cafile=location)
    if text:
        context.load_verify_locations(cadata=text)


def _load_identity(context: ssl.SSLContext, conf: Mapping[str, str]) -> None:
    password = conf.get("ssl.key.password")
    if "ssl.certificate.location" in conf:
        key = conf.get("ssl.key.location", conf["ssl.certificate.location"])
        context.load_cert_chain(conf["ssl.certificate.location"], key, password)
        return
    if "ssl.certificate.pem" in conf:
        pem = f"{conf['ssl.certificate.pem']}\n{conf.get('ssl.key.pem', '')}\n".encode()
    elif "ssl.keystore.location" in conf:
        pem = _pem_of_pkcs12(conf["ssl.keystore.location"], conf.get("ssl.keystore.password"))
        password = None
    else:
        return
    with tempfile.NamedTemporaryFile("wb", prefix="connectd-") as file:  # readable by us only
        file.write(pem)
        file.flush()
        context.load_cert_chain(file.name, password=password)


def _pem_of_pkcs12(location: str, password: str | None) -> bytes:
    content = Path(location).read_bytes()
    bundle = pkcs12.load_pkcs12(content, None if not password else password.encode())
    if bundle.key is None or bundle.cert is None:
        raise ValueError(f"{location} has no private key and certificate in it")
    key = bundle.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    chain = [bundle.cert, *bundle.additional_certs]
    return key + b"".join(each.certificate.public_bytes(Encoding.PEM) for each in chain)
