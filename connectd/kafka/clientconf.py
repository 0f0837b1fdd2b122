"""Explicit librdkafka settings from the names that Kafka Connect users know.

Callers hand in Java names (a connector's ``producer.override.*`` without the prefix, or a worker's
own keys through ``select``); librdkafka's names are accepted as well. The answer is the complete
configuration of one client. What is known and cannot be honoured is refused by name, so that nobody
believes in a setting that does nothing; what nobody knows is left out with a line in the log, as
Java's clients do. The tables stand in ``clientkeys``.

Producers are made for a source task (spec kafka-connect D.4.3): every record is acknowledged by all
in-sync replicas, in order, placed as Java places it, and never given up on. A broker outage is
back-pressure, not loss. Settings that would change that are refused, whoever gives them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final

import structlog

from connectd.configdef import client_dangers, spelling
from connectd.errors import ConfigError
from connectd.kafka import clientkeys, tls_files
from connectd.kafka.voice import ClientVoice

_log = structlog.get_logger(__name__)

Settings = Mapping[str, str]
"""Client settings as a user writes them."""

Conf = dict[str, Any]
"""The argument of a confluent_kafka client."""

BUFFER_KIB = 32 * 1024
"""Records that one producer holds, keys and values. With a 1 MB page in each of a few places of its
input queue this stays far below the memory target of the worker (250 MiB)."""

MESSAGE_BYTES_MAX = 1_048_576
"""Java's ``max.request.size``; librdkafka's own default is a little smaller."""

_RECONNECT = {
    "reconnect.backoff.ms": "50",
    "reconnect.backoff.max.ms": "1000",
    "socket.connection.setup.timeout.ms": "10000",
}
"""Java's defaults; with librdkafka's own, a client may stay away ten seconds longer than the
broker did, and half a minute where nothing refuses its connections. How soon a client that has lost
its brokers is found out follows from them (``stranded``)."""

_SILENCE = {"socket.timeout.ms": "20000"}
"""How long a request of a reader or an admin client may take, unless ``request.timeout.ms`` says
otherwise. So late, and ten seconds more for the next connection to be silent too, it is noticed
that a broker is; librdkafka's own default is 60 s. What they ask is answered at once, unlike what a
producer asks, which waits for replicas."""

_JAVA_INT_MAX = 2**31 - 1


class ClientKind(Enum):
    """Which client a configuration is for; the value names it in messages."""

    PRODUCER = "producer"
    CONSUMER = "consumer"
    ADMIN = "admin client"


_OWN_KEYS: dict[ClientKind, frozenset[str]] = {
    ClientKind.PRODUCER: clientkeys.PRODUCER,
    ClientKind.CONSUMER: clientkeys.CONSUMER,
    ClientKind.ADMIN: frozenset(),
}


def select(worker_settings: Settings) -> dict[str, str]:
    """The keys of a worker's configuration that its own Kafka clients understand.

    Unlike the prefixed ones, a worker's plain keys serve many readers, so the rest is not an error
    (spec kafka-connect B.2, "passing-through").
    """
    wanted = (
        clientkeys.COMMON
        | clientkeys.FORBIDDEN
        | {java for java, ours in clientkeys.RENAMED.items() if ours in clientkeys.COMMON}
        | _SSL_STORE_KEYS
        | {"sasl.jaas.config", "request.timeout.ms"}
    ) - {"client.id", "max.request.size"}
    return {key: value for key, value in worker_settings.items() if key in wanted}


_LINGER_MS: Final = "40"
"""Pages come in bursts. An idempotent librdkafka has one request per partition under way, and as
long as what waits behind it is older than this, its thread asks its sockets without a pause (see
``docs/benchmarks.md``): longer than a request takes. A change of a quiet table waits as long."""


def producer_conf(settings: Settings, *, client_id: str, buffer_kib: int = BUFFER_KIB) -> Conf:
    """A producer's configuration; ``settings`` win over the defaults.

    Raises:
        ConfigError: a key is refused or forbidden, a value cannot be translated, or records could
            be lost or overtake each other.
    """
    for problem in client_dangers.broken_promises(settings):
        raise ConfigError(problem)
    chosen = translate(settings, ClientKind.PRODUCER)
    conf: Conf = {
        **_RECONNECT,
        "client.id": client_id,
        "acks": "all",
        "enable.idempotence": "true",
        "partitioner": "murmur2_random",
        "compression.type": "lz4",
        "linger.ms": _LINGER_MS,
        "message.timeout.ms": "0",
        "message.max.bytes": str(MESSAGE_BYTES_MAX),
        "queue.buffering.max.kbytes": str(buffer_kib),
        **chosen,
    }
    return _ordered(conf, chosen)


def message_bytes_max(conf: Conf) -> int:
    """The largest record, key and value, of a producer with this configuration.

    Raises:
        ConfigError: it is no number.
    """
    value = conf["message.max.bytes"]
    try:
        return int(str(value), 0)  # as librdkafka reads it
    except ValueError as error:
        raise ConfigError(
            f"message.max.bytes is {value!r}, expected a number of bytes; "
            "set max.request.size as Java's producer takes it"
        ) from error


def consumer_conf(settings: Settings, *, client_id: str) -> Conf:
    """The configuration of a log's reader: assigns by itself, starts at the beginning, commits
    nothing, and is told of the end of each partition (spec kafka-connect C.1).

    Raises:
        ConfigError: as ``producer_conf``.
    """
    return {
        **_RECONNECT,
        **_SILENCE,
        "client.id": client_id,
        "group.id": client_id,  # librdkafka wants one; no group is ever joined
        "fetch.wait.max.ms": "250",  # how late the end is told; an idle log asks as often
        "isolation.level": "read_uncommitted",  # Java's default, not librdkafka's
        **translate(settings, ClientKind.CONSUMER),
        "enable.auto.commit": "false",
        "enable.partition.eof": "true",
        "auto.offset.reset": "earliest",
    }


def admin_conf(settings: Settings, *, client_id: str) -> Conf:
    """An admin client's configuration. Asking for a topic never creates it, as in Java's client.

    Raises:
        ConfigError: as ``producer_conf``.
    """
    return {
        **_RECONNECT,
        **_SILENCE,
        "client.id": client_id,
        **translate(settings, ClientKind.ADMIN),
        "allow.auto.create.topics": "false",
    }


def with_voice(conf: Conf, voice: ClientVoice) -> Conf:
    """The configuration, with what the client says going to ``voice``."""
    return {**conf, "error_cb": voice.on_error, "logger": voice}


def translate(settings: Settings, kind: ClientKind) -> dict[str, str]:
    """Java names and values to librdkafka's; no defaults are added.

    Raises:
        ConfigError: as ``producer_conf``.
    """
    _refuse(settings, kind)
    translated: dict[str, str] = {}
    for key, value in settings.items():
        if key in clientkeys.DROPPED or key in _SSL_STORE_KEYS or key in _SPECIAL_KEYS:
            continue
        name = _name_of(key, kind)
        if name is None:
            _warn_of(key, kind)
            continue
        convert = _VALUES.get(key)
        translated[name] = value if convert is None else convert(key, value)
    translated.update(_ssl_stores(settings))
    tls_files.check(settings)
    translated.update(_jaas(settings))
    return translated


def _name_of(key: str, kind: ClientKind) -> str | None:
    """librdkafka's name of a key; None when this kind of client has none."""
    if key == "request.timeout.ms":
        return key if kind is ClientKind.PRODUCER else "socket.timeout.ms"
    name = clientkeys.RENAMED.get(key, key)
    return name if name in clientkeys.COMMON | _OWN_KEYS[kind] else None


def _warn_of(key: str, kind: ClientKind) -> None:
    known = clientkeys.COMMON | _OWN_KEYS[kind] | clientkeys.RENAMED.keys()
    is_of_another = any(key in keys for keys in _OWN_KEYS.values())
    nearest = None if is_of_another else spelling.nearest(key, known)
    _log.warning(
        "client setting has no effect",
        key=key,
        client=kind.value,
        reason="it is of another kind of client" if is_of_another else "nobody knows it",
        **({} if nearest is None else {"meant": nearest}),
    )


def _refuse(settings: Settings, kind: ClientKind) -> None:
    for key, value in settings.items():
        if key in clientkeys.FORBIDDEN:
            reason = client_dangers.NEVER[key]
            raise ConfigError(f"{key}: not allowed in any Kafka client: {reason}; remove it")
        if key in clientkeys.REFUSED:
            raise ConfigError(f"{key}: cannot be used here; {clientkeys.REFUSED[key]}")
        if key in _SPECIAL_KEYS:
            _SPECIAL_KEYS[key](value)


def _ordered(conf: Conf, chosen: Settings) -> Conf:
    """Keep the order of records when a user gives idempotence up.

    Without retries there is none; unless it was asked for in so many words it gives way, as in
    Java's client. One request in flight takes its place.
    """
    if conf.get("retries") == "0" and "enable.idempotence" not in chosen:
        conf["enable.idempotence"] = "false"
    if conf["enable.idempotence"].strip().lower() == "false":
        in_flight = conf.setdefault("max.in.flight.requests.per.connection", "1")
        if in_flight != "1":
            raise ConfigError(
                f"max.in.flight.requests.per.connection: found {in_flight}, expected 1 without "
                "enable.idempotence: records could overtake each other. Remove one of the two"
            )
    return conf


# --- values whose units or words differ ---------------------------------------------------------


def _integer(key: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ConfigError(f"{key}: found {value!r}, expected a whole number") from None


def _whole(key: str, value: str) -> str:
    return str(_integer(key, value))


def _unlimited_is_zero(key: str, value: str) -> str:
    number = _integer(key, value)
    return "0" if number in (-1, _JAVA_INT_MAX) else str(number)


def _kib(key: str, value: str) -> str:
    return str(max(1, _integer(key, value) // 1024))


def _hostname_check(key: str, value: str) -> str:
    return value.strip() or "none"


def _offset_reset(key: str, value: str) -> str:
    return "error" if value == "none" else value


_VALUES: dict[str, Callable[[str, str], str]] = {
    "delivery.timeout.ms": _unlimited_is_zero,
    "send.buffer.bytes": _unlimited_is_zero,
    "receive.buffer.bytes": _unlimited_is_zero,
    "connections.max.idle.ms": _unlimited_is_zero,
    "buffer.memory": _kib,
    "max.in.flight.requests.per.connection": _whole,
    "reconnect.backoff.max.ms": _whole,
    "socket.connection.setup.timeout.ms": _whole,
    "ssl.endpoint.identification.algorithm": _hostname_check,
    "auto.offset.reset": _offset_reset,
}


# --- keys that need more than a new name --------------------------------------------------------

_SSL_STORE_KEYS = frozenset(
    f"ssl.{store}.{part}"
    for store in ("truststore", "keystore")
    for part in ("location", "password", "type")
)


def _ssl_stores(settings: Settings) -> dict[str, str]:
    """Java's stores, where they are files that OpenSSL can read: PEM, and PKCS#12 for the key."""
    translated: dict[str, str] = {}
    trust_type = settings.get("ssl.truststore.type", "JKS").upper()
    if _mentions(settings, "ssl.truststore."):
        if trust_type != "PEM":
            raise ConfigError(
                f"ssl.truststore.location: a {trust_type} trust store cannot be read here; give "
                "the authorities' certificates as PEM in ssl.ca.location, or set "
                "ssl.truststore.type=PEM"
            )
        if "ssl.truststore.location" in settings:
            translated["ssl.ca.location"] = settings["ssl.truststore.location"]
    key_type = settings.get("ssl.keystore.type", "JKS").upper()
    if _mentions(settings, "ssl.keystore."):
        if key_type not in ("PEM", "PKCS12"):
            raise ConfigError(
                f"ssl.keystore.location: a {key_type} key store cannot be read here; give key and "
                "certificate as PEM in ssl.key.location and ssl.certificate.location, or convert "
                "the store and set ssl.keystore.type=PKCS12"
            )
        location = settings.get("ssl.keystore.location")
        if location and key_type == "PEM":
            translated["ssl.key.location"] = translated["ssl.certificate.location"] = location
        elif location:
            translated["ssl.keystore.location"] = location
            translated["ssl.keystore.password"] = settings.get("ssl.keystore.password", "")
    return translated


def _mentions(settings: Settings, prefix: str) -> bool:
    return any(key.startswith(prefix) for key in settings.keys() & _SSL_STORE_KEYS)


_JAAS_MODULE = re.compile(r"\s*(?P<module>[\w.$]+)\s+\w+\s*(?P<options>.*?);?\s*\Z", re.DOTALL)
_JAAS_OPTION = re.compile(r"""(\w+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;]+)""")
_JAAS_ADVICE = {
    "Krb5LoginModule": "use sasl.kerberos.service.name, .principal and .keytab",
    "OAuthBearerLoginModule": "use sasl.oauthbearer.method=oidc and its other keys",
}


def _jaas(settings: Settings) -> dict[str, str]:
    """User name and password out of ``sasl.jaas.config``. Its text never reaches a message."""
    text = settings.get("sasl.jaas.config")
    if text is None:
        return {}
    match = _JAAS_MODULE.match(text)
    if match is None:
        raise ConfigError("sasl.jaas.config: expected '<module> required <name>=<value> ...;'")
    module = match["module"].rsplit(".", 1)[-1]
    if module not in ("PlainLoginModule", "ScramLoginModule"):
        advice = _JAAS_ADVICE.get(module, "expected PlainLoginModule or ScramLoginModule")
        raise ConfigError(f"sasl.jaas.config: {module} cannot be used here; {advice}")
    options = {name: _unquoted(value) for name, value in _JAAS_OPTION.findall(match["options"])}
    if not {"username", "password"} <= options.keys():
        raise ConfigError(f"sasl.jaas.config: {module} needs username and password")
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


def _unquoted(value: str) -> str:
    if value[:1] in ("'", '"'):
        return re.sub(r"\\(.)", r"\1", value[1:-1])
    return value


_JAVA_DEFAULT_PARTITIONERS = frozenset(
    {"", "org.apache.kafka.clients.producer.internals.DefaultPartitioner"}
)
_OPEN_TLS_PROTOCOLS = frozenset({"TLS", "TLSv1.2", "TLSv1.3", ""})


def _check_partitioner(value: str) -> None:
    if value.strip() not in _JAVA_DEFAULT_PARTITIONERS:
        raise ConfigError(
            f"partitioner.class: found {value}, which is Java code; remove it, or choose one of "
            "librdkafka's with the key 'partitioner' (the default places keys as Java does)"
        )


def _check_protocols(value: str) -> None:
    wanted = {name.strip() for name in value.split(",")}
    if not wanted <= _OPEN_TLS_PROTOCOLS:
        raise ConfigError(
            f"ssl.enabled.protocols, ssl.protocol: found {value}, expected TLSv1.2 or TLSv1.3"
        )


def _checked_elsewhere(value: str) -> None:
    """``sasl.jaas.config`` is parsed by ``_jaas``."""


_SPECIAL_KEYS: dict[str, Callable[[str], None]] = {
    "partitioner.class": _check_partitioner,
    "ssl.enabled.protocols": _check_protocols,
    "ssl.protocol": _check_protocols,
    "sasl.jaas.config": _checked_elsewhere,
}
