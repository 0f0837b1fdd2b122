"""The keys that all converters with a schema registry have (spec kafka-connect E.5), and a typed
view of them.

Undeclared keys of the Java converters are accepted and not read, as everywhere; what could not be
done and would be missed is refused: see ``RegistrySettings.of``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connectd.configdef import validators
from connectd.configdef.definition import REQUIRED, ConfigDef, ConfigKey, ConfigType, Importance
from connectd.converters import subjects
from connectd.converters.declared import CONVERTER_TYPE
from connectd.errors import ConfigError
from connectd.model.record import ConverterSpec

_SCHEMAS_CACHED_MAX: Final = 1000
_NO_ID: Final = -1
_SSL: Final = "schema.registry.ssl."
_LOGIN_SOURCES: Final = ("URL", "USER_INFO")
_TOKEN_SOURCES: Final = ("STATIC_TOKEN",)


@dataclass(frozen=True)
class RegistrySettings:
    """How a converter finds schemas, and where. ``client`` goes to ``RegistryClient``."""

    client: dict[str, str]
    subject: subjects.SubjectName
    auto_register: bool
    use_latest: bool
    use_id: int | None
    latest_strict: bool
    id_strict: bool
    normalize: bool
    schemas_cached_max: int
    ignore_default_for_nullables: bool

    @classmethod
    def of(cls, spec: ConverterSpec) -> RegistrySettings:
        """From a converter's settings.

        Raises:
            ConfigError: one of them is wrong, or asks for what cannot be done here.
        """
        is_key = spec.setting("converter.type", "value") == "key"
        part = "key" if is_key else "value"
        use_id = int(spec.setting("use.schema.id", str(_NO_ID)))
        return cls(
            client=_client_settings(spec),
            subject=subjects.strategy(
                spec.setting(f"{part}.subject.name.strategy", subjects.TOPIC_NAME), is_key=is_key
            ),
            auto_register=flag(spec, "auto.register.schemas", default=True),
            use_latest=flag(spec, "use.latest.version"),
            use_id=None if use_id < 0 else use_id,
            latest_strict=flag(spec, "latest.compatibility.strict", default=True),
            id_strict=flag(spec, "id.compatibility.strict", default=True),
            normalize=flag(spec, "normalize.schemas"),
            schemas_cached_max=int(spec.setting("schemas.cache.config", str(_SCHEMAS_CACHED_MAX))),
            ignore_default_for_nullables=flag(spec, "ignore.default.for.nullables"),
        )


def flag(spec: ConverterSpec, name: str, *, default: bool = False) -> bool:
    """A setting that is true or false."""
    return spec.setting(name, str(default)).strip().lower() == "true"


def _client_settings(spec: ConverterSpec) -> dict[str, str]:
    client = {"url": spec.setting("schema.registry.url", "")}
    source = spec.setting("basic.auth.credentials.source", "URL").upper()
    if source not in _LOGIN_SOURCES:
        raise ConfigError(
            f"basic.auth.credentials.source is {source}, which is not supported; expected one of "
            f"{', '.join(_LOGIN_SOURCES)}"
        )
    if source == "USER_INFO":
        login = spec.setting("basic.auth.user.info", "")
        if ":" not in login:
            raise ConfigError("basic.auth.user.info is missing; expected user:password")
        client["basic.auth.user.info"] = login
    return client | _token(spec) | _tls_settings(spec)


def _token(spec: ConverterSpec) -> dict[str, str]:
    source = spec.setting("bearer.auth.credentials.source", "").upper()
    token = spec.setting("bearer.auth.token", "")
    if not source and not token:
        return {}
    if source not in ("", *_TOKEN_SOURCES):
        raise ConfigError(
            f"bearer.auth.credentials.source is {source}, which is not supported; expected "
            f"{', '.join(_TOKEN_SOURCES)}"
        )
    if not token:
        raise ConfigError("bearer.auth.token is missing, which STATIC_TOKEN needs")
    return {"bearer.auth.token": token}


def _tls_settings(spec: ConverterSpec) -> dict[str, str]:
    """Java's stores, where they are PEM files, which OpenSSL can read."""
    found = {}
    for store in ("truststore", "keystore"):
        location = spec.setting(f"{_SSL}{store}.location", "")
        kind = spec.setting(f"{_SSL}{store}.type", "JKS").upper()
        if location and kind != "PEM":
            raise ConfigError(
                f"{_SSL}{store}.location: a {kind} store cannot be read here; convert it to PEM "
                f"and set {_SSL}{store}.type=PEM"
            )
        if location:
            found["ssl.ca.location" if store == "truststore" else "ssl.certificate.location"] = (
                location
            )
    password = spec.setting(f"{_SSL}key.password", "")
    if password and "ssl.certificate.location" in found:
        found["ssl.key.location"] = found["ssl.certificate.location"]
        found["ssl.key.password"] = password
    return found


def _key(
    name: str,
    kind: ConfigType,
    default: object,
    importance: Importance,
    doc: str,
) -> ConfigKey:
    return ConfigKey(name, kind, doc, importance, default=default)


def _strategy(part: str) -> ConfigKey:
    return _key(
        f"{part}.subject.name.strategy",
        ConfigType.STRING,
        subjects.TOPIC_NAME,
        Importance.MEDIUM,
        f"How subjects of {part} schemas are named: by topic, by record, or by both.",
    )


REGISTRY_DEF: Final = ConfigDef(
    [
        CONVERTER_TYPE,
        _key(
            "schema.registry.url",
            ConfigType.STRING,
            REQUIRED,
            Importance.HIGH,
            "Addresses of the schema registry, by comma.",
        ),
        _key(
            "auto.register.schemas",
            ConfigType.BOOLEAN,
            True,
            Importance.MEDIUM,
            "Register schemas that the registry does not know.",
        ),
        _key(
            "use.latest.version",
            ConfigType.BOOLEAN,
            False,
            Importance.LOW,
            "Write with the latest version of the subject; needs auto.register.schemas=false.",
        ),
        _key(
            "use.schema.id",
            ConfigType.INT,
            _NO_ID,
            Importance.LOW,
            "Write with the schema of this id; needs auto.register.schemas=false.",
        ),
        _key(
            "latest.compatibility.strict",
            ConfigType.BOOLEAN,
            True,
            Importance.LOW,
            "With use.latest.version: refuse schemas that are not compatible with it, by the rule "
            "that the registry has for the subject.",
        ),
        _key(
            "id.compatibility.strict",
            ConfigType.BOOLEAN,
            True,
            Importance.LOW,
            "With use.schema.id: refuse schemas that could not follow the subject's latest one.",
        ),
        _key(
            "normalize.schemas",
            ConfigType.BOOLEAN,
            False,
            Importance.MEDIUM,
            "Let the registry compare schemas without their order and spelling.",
        ),
        _strategy("key"),
        _strategy("value"),
        _key(
            "basic.auth.credentials.source",
            ConfigType.STRING,
            "URL",
            Importance.MEDIUM,
            "Where the login is: URL, in the address, or USER_INFO.",
        ),
        _key(
            "basic.auth.user.info",
            ConfigType.PASSWORD,
            "",
            Importance.MEDIUM,
            "User and password, by colon.",
        ),
        _key(
            "bearer.auth.credentials.source",
            ConfigType.STRING,
            "",
            Importance.MEDIUM,
            "Where a token is: STATIC_TOKEN, in bearer.auth.token. Others are not supported.",
        ),
        _key(
            "bearer.auth.token",
            ConfigType.PASSWORD,
            "",
            Importance.MEDIUM,
            "A token that is sent instead of a login.",
        ),
        *(
            _key(
                f"{_SSL}{store}.{what}",
                ConfigType.STRING,
                default,
                Importance.MEDIUM,
                doc,
            )
            for store, holds in (
                ("truststore", "the authorities' certificates"),
                ("keystore", "the client's certificate and private key"),
            )
            for what, default, doc in (
                ("location", None, f"File with {holds}."),
                ("type", "JKS", f"What the file with {holds} is; PEM alone can be read."),
            )
        ),
        _key(
            f"{_SSL}key.password",
            ConfigType.PASSWORD,
            None,
            Importance.MEDIUM,
            "Password of the client's private key.",
        ),
        ConfigKey(
            "schemas.cache.config",
            ConfigType.INT,
            "How many schemas are kept in their translated form.",
            Importance.LOW,
            default=_SCHEMAS_CACHED_MAX,
            validator=validators.at_least(1),
        ),
        _key(
            "ignore.default.for.nullables",
            ConfigType.BOOLEAN,
            False,
            Importance.MEDIUM,
            "Write null, and not the default, where an optional field is null.",
        ),
    ]
)
