"""TLS of an ``https`` listener: Kafka's ``ssl.`` keys as a typed view (spec kafka-connect A.1.1).

All keys come from one place: those under the listener's prefix (``listeners.https.``) if there is
any, else the worker's own. Values only: ``rest.tls`` opens the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from connectd.configdef import parsing, validators
from connectd.configdef.definition import ConfigDef, ConfigType, Importance, Validator
from connectd.configdef.key_group import KeyGroup
from connectd.configdef.parsing import ParsedConfig
from connectd.configdef.values import Secret
from connectd.errors import ConfigError

PROTOCOLS: Final = ("TLSv1.2", "TLSv1.3")


class ClientAuth(Enum):
    """Whether callers are asked for a certificate, and whether they need one."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


@dataclass(frozen=True)
class StoreSettings:
    """A key store or trust store: a file, or PEM text in its place.

    ``name`` is what its keys begin with in the worker's file. ``kind`` None: the file tells itself.
    """

    name: str
    kind: str | None
    location: str | None
    password: Secret | None
    pem_key: Secret | None
    pem_certificates: str | None

    @property
    def is_set(self) -> bool:
        """Whether there is anything in it."""
        return bool(self.location or self.pem_key or self.pem_certificates)


@dataclass(frozen=True)
class TlsSettings:
    """How an ``https`` listener proves who it is, and what it asks of callers.

    ``checks_names``: whether another worker's certificate has to be for the host that is asked.
    """

    key_store: StoreSettings
    key_password: Secret | None
    trust_store: StoreSettings
    client_auth: ClientAuth
    protocols: tuple[str, ...]
    cipher_suites: tuple[str, ...]
    checks_names: bool = True


# The declarations below read as tables.
# fmt: off


def _definition(prefix: str) -> ConfigDef:
    group = KeyGroup("TLS")
    string, password, words = ConfigType.STRING, ConfigType.PASSWORD, ConfigType.LIST

    def key(
        name: str, kind: ConfigType, default: object, doc: str, validator: Validator | None = None
    ) -> None:
        group.key(f"{prefix}{name}", kind, default, Importance.MEDIUM, doc, validator)

    for store in ("keystore", "truststore"):
        key(f"ssl.{store}.type", string, None, "PEM or PKCS12.")
        key(f"ssl.{store}.location", string, None, "Its file.")
        key(f"ssl.{store}.password", password, None, "Its password.")
    key("ssl.keystore.key", password, None, "Private key as PEM text.")
    key("ssl.keystore.certificate.chain", string, None, "Certificates as PEM text.")
    key("ssl.truststore.certificates", string, None, "Certificates as PEM text.")
    key("ssl.key.password", password, None, "Password of the private key.")
    key("ssl.client.auth", string, "none", "Whether callers need a certificate.",
        validators.one_of(*(each.value for each in ClientAuth), ignore_case=True))
    key("ssl.protocol", string, "TLSv1.3", "Newest version.",
        validators.one_of("TLS", *PROTOCOLS))
    key("ssl.enabled.protocols", words, PROTOCOLS, "Versions.", validators.distinct())
    key("ssl.endpoint.identification.algorithm", string, "https", "How names are checked.")
    key("ssl.cipher.suites", words, None, "Cipher suites, under Java's names or OpenSSL's.",
        validators.distinct(is_null_allowed=True))
    return ConfigDef(group.keys)


# fmt: on


def read(properties: Mapping[str, str], prefix: str) -> TlsSettings:
    """The settings of the listeners whose own keys have this prefix.

    Raises:
        ConfigError: a value is wrong, or there is no certificate to serve.
    """
    own = prefix if any(each.startswith(prefix) and each != prefix for each in properties) else ""
    parsed = parsing.parse(_definition(own), properties)
    settings = TlsSettings(
        key_store=_store(parsed, f"{own}ssl.keystore", "certificate.chain"),
        key_password=parsed.optional_secret(f"{own}ssl.key.password"),
        trust_store=_store(parsed, f"{own}ssl.truststore", "certificates"),
        client_auth=ClientAuth(parsed.string(f"{own}ssl.client.auth").lower()),
        protocols=_protocols(parsed, own),
        cipher_suites=parsed.optional_strings(f"{own}ssl.cipher.suites") or (),
        checks_names=bool(parsed.string(f"{own}ssl.endpoint.identification.algorithm").strip()),
    )
    if not settings.key_store.is_set:
        name = f"{prefix}ssl.keystore"
        raise ConfigError(
            f"{prefix.removesuffix('.https.')} has an https listener, which needs a certificate, "
            f"but {own}ssl.keystore.location is not set; set {name}.location and {name}.type=PEM, "
            f"or {name}.key and {name}.certificate.chain"
        )
    return settings


def _store(parsed: ParsedConfig, name: str, certificates: str) -> StoreSettings:
    has_key = name.endswith("keystore")
    return StoreSettings(
        name=name,
        kind=(parsed.optional_string(f"{name}.type") or "").upper() or None,
        location=parsed.optional_string(f"{name}.location") or None,
        password=parsed.optional_secret(f"{name}.password"),
        pem_key=parsed.optional_secret(f"{name}.key") if has_key else None,
        pem_certificates=parsed.optional_string(f"{name}.{certificates}") or None,
    )


def _protocols(parsed: ParsedConfig, prefix: str) -> tuple[str, ...]:
    """The versions in use: those enabled, none newer than ``ssl.protocol``."""
    name = f"{prefix}ssl.enabled.protocols"
    enabled = parsed.strings(name) or PROTOCOLS
    unknown = [each for each in enabled if each not in PROTOCOLS]
    if unknown:
        raise ConfigError(
            f"{name} has {', '.join(unknown)}, expected only {' and '.join(PROTOCOLS)}: older "
            "versions are not served"
        )
    newest = parsed.string(f"{prefix}ssl.protocol")
    if newest == "TLSv1.2" and not parsed.is_set(name):
        return ("TLSv1.2",)
    return tuple(each for each in PROTOCOLS if each in enabled)
