"""Settings of Kafka clients that no override policy lets a connector choose, each with its reason.

Whoever may create a connector chooses the settings of its clients, and clients can be told to load
a library, to run a command, or to read a file and send it somewhere (CVE-2023-25194, KIP-1038,
CVE-2025-27817). Kafka leaves that to the policy, whose default allows everything; here it is never
allowed, for the settings of the Java clients and of librdkafka alike. What librdkafka would not
understand is on the list too: the same config may reach a Java worker of the same group.

The second table is about promises instead of attacks: what would lose records without a word, or
let two changes of one key overtake each other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

_LIBRARY: Final = "it loads a library into the worker's process"
_CLASS: Final = "it names a class to load into the worker"
_COMMAND: Final = "it is a command that the worker runs in a shell"
_FILE: Final = "it names a file of the worker that is read and sent elsewhere"
_HOOK: Final = "it is a hook of the worker itself"

NEVER: Final[Mapping[str, str]] = {
    "plugin.library.paths": _LIBRARY,
    "interceptors": _LIBRARY,
    "ssl.engine.location": _LIBRARY,
    "ssl.engine.id": _LIBRARY,
    "ssl.providers": _LIBRARY,
    "security.providers": _CLASS,
    "interceptor.classes": _CLASS,
    "metric.reporters": _CLASS,
    "ssl.engine.factory.class": _CLASS,
    "sasl.login.class": _CLASS,
    "sasl.login.callback.handler.class": _CLASS,
    "sasl.client.callback.handler.class": _CLASS,
    "sasl.server.callback.handler.class": _CLASS,
    "sasl.oauthbearer.jwt.retriever.class": _CLASS,
    "sasl.oauthbearer.jwt.validator.class": _CLASS,
    "config.providers": "it makes the client read files and environment of the worker",
    "sasl.kerberos.kinit.cmd": _COMMAND,
    "sasl.oauthbearer.assertion.file": _FILE,
    "sasl.oauthbearer.assertion.private.key.file": _FILE,
    "sasl.oauthbearer.assertion.jwt.template.file": _FILE,
    "sasl.oauthbearer.jwks.endpoint.url": "only brokers need it, and it can name a file",
    "sasl.oauthbearer.metadata.authentication.type": "it takes the machine's identity",
    **dict.fromkeys(
        (
            "opaque", "default_topic_conf", "open_cb", "socket_cb", "connect_cb",
            "closesocket_cb", "resolve_cb", "oauth_cb", "error_cb", "throttle_cb", "stats_cb",
            "log_cb", "logger", "on_delivery", "on_commit", "partitioner_cb", "background_event_cb",
            "oauthbearer_token_refresh_cb", "ssl.certificate.verify_cb", "ssl_ca_store",
        ),
        _HOOK,
    ),
}  # fmt: skip
"""Settings that are never allowed, whatever their value, and why."""

_NEVER_BEGINNINGS: Final = {
    "ssl.engine.": _LIBRARY,
    "config.providers.": "it makes the client read files and environment of the worker",
}
_NEVER_ENDINGS: Final = {".class": _CLASS, ".classes": _CLASS}
"""For what newer clients bring."""

LOGIN_MODULES: Final = frozenset(
    {
        "org.apache.kafka.common.security.plain.PlainLoginModule",
        "org.apache.kafka.common.security.scram.ScramLoginModule",
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
    }
)
"""The login modules that do nothing but log in. Others run commands or look things up by JNDI."""

Check = Callable[[str], str | None]
"""What is wrong with a value; None when nothing is."""

_JAAS_QUOTED: Final = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""", re.DOTALL)
_CLASS_NAME: Final = re.compile(r"[\w$]+(?:\.[\w$]+)+")
_KERBEROS_NAME: Final = re.compile(r"[\w@/.:-]*", re.ASCII)
_JAVA_SERIALIZERS: Final = "org.apache.kafka.common.serialization."
_JAVA_PARTITIONERS: Final = ("", "org.apache.kafka.clients.producer.internals.DefaultPartitioner")
_LOSSLESS_ACKS: Final = ("all", "-1")
_IN_FLIGHT_MAX: Final = 5  # with so many, idempotent producers keep the order (KIP-98)


def _jaas(text: str) -> str | None:
    for entry in _JAAS_QUOTED.sub('""', text).split(";"):
        words = entry.split()
        if words and words[0] not in LOGIN_MODULES:
            # Anything but a class name may be a part of a password.
            module = words[0] if _CLASS_NAME.fullmatch(words[0]) else "no class name"
            return (
                f"its login module is {module}, expected PlainLoginModule, ScramLoginModule or "
                "OAuthBearerLoginModule of org.apache.kafka.common.security"
            )
    return None


def _token_url(url: str) -> str | None:
    if urlsplit(url.strip()).scheme.lower() == "https":
        return None
    return (
        "it does not begin with https: the worker would read a file, or send credentials to a "
        "service of its own network"
    )


def _kerberos(name: str) -> str | None:
    if _KERBEROS_NAME.fullmatch(name):
        return None
    return "it becomes part of a shell command; only letters, digits and @ / . : _ - are allowed"


def _serializer(name: str) -> str | None:
    return None if name.strip().startswith(_JAVA_SERIALIZERS) else _CLASS


def _partitioner(name: str) -> str | None:
    return None if name.strip() in _JAVA_PARTITIONERS else _CLASS


_CHECKS: Final[Mapping[str, Check]] = {
    "sasl.jaas.config": _jaas,
    "sasl.oauthbearer.token.endpoint.url": _token_url,
    "sasl.kerberos.principal": _kerberos,
    "sasl.kerberos.keytab": _kerberos,
    "sasl.kerberos.service.name": _kerberos,
    "key.serializer": _serializer,
    "value.serializer": _serializer,
    "key.deserializer": _serializer,
    "value.deserializer": _serializer,
    "partitioner.class": _partitioner,
}
"""Settings whose value decides."""


def danger(setting: str, value: str | None) -> str | None:
    """Why a connector must not choose this, as a sentence for its user; None when it may."""
    reason = _reason(setting, value)
    if reason is None:
        return None
    return (
        f"'{setting}' cannot be overridden in a connector configuration under any policy: "
        f"{reason}. Remove it; what all connectors need belongs into the worker's configuration."
    )


def _reason(setting: str, value: str | None) -> str | None:
    if setting in NEVER:
        return NEVER[setting]
    if setting in _CHECKS:
        return None if value is None else _CHECKS[setting](value)
    for beginning, reason in _NEVER_BEGINNINGS.items():
        if setting.startswith(beginning):
            return reason
    return next(
        (reason for ending, reason in _NEVER_ENDINGS.items() if setting.endswith(ending)), None
    )


# --- promises of a source task's producer -------------------------------------------------------


def _acks(value: str) -> str | None:
    if value.strip() in _LOSSLESS_ACKS:
        return None
    return (
        f"found {value.strip()}, expected all: a position is committed when its record is "
        "acknowledged, and with fewer acknowledgements such a record can still be lost"
    )


def _in_flight(value: str) -> str | None:
    text = value.strip()
    if not text.isdecimal() or int(text) <= _IN_FLIGHT_MAX:
        return None
    return f"found {text}, expected at most {_IN_FLIGHT_MAX}: records could overtake each other"


def _placement(value: str) -> str | None:
    if value.strip() != "random":
        return None
    return "found random: changes of one key would be spread over partitions and lose their order"


def _transactional(value: str) -> str | None:
    return "transactions are not used here; the worker would have to choose the id itself"


_PROMISES: Final[Mapping[str, Check]] = {
    "acks": _acks,
    "request.required.acks": _acks,
    "max.in.flight.requests.per.connection": _in_flight,
    "max.in.flight": _in_flight,
    "partitioner": _placement,
    "transactional.id": _transactional,
}


def broken_promises(settings: Mapping[str, str | None]) -> Iterator[str]:
    """What a producer with these settings would lose or mix up, as sentences."""
    for setting, check in _PROMISES.items():
        value = settings.get(setting)
        problem = None if value is None else check(value)
        if problem is not None:
            yield f"{setting}: {problem}. Remove it"
