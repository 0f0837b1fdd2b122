"""The worker's keys for its own Kafka clients: connections, TLS, logins (spec kafka-connect B.2).

All that a worker of Kafka 4.3 declares is declared here, so that a file which it would refuse is
refused here as well. Where the clients of this worker have no use for a key, its text says so;
``kafka.clientconf`` decides what becomes of the others.
"""

from __future__ import annotations

from typing import Final

from connectd.configdef import validators
from connectd.configdef.definition import ConfigKey, ConfigType, Importance, Validator
from connectd.configdef.key_group import KeyGroup

_HIGH, _MEDIUM, _LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
_BOOLEAN, _STRING, _CLASS = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.CLASS
_INT, _SHORT, _LONG = ConfigType.INT, ConfigType.SHORT, ConfigType.LONG
_DOUBLE, _LIST, _PASSWORD = ConfigType.DOUBLE, ConfigType.LIST, ConfigType.PASSWORD

_NOT_NEGATIVE: Final = validators.at_least(0)
_BUFFER: Final = validators.at_least(-1)
_JWT: Final = "org.apache.kafka.common.security.oauthbearer."
_NO_EFFECT: Final = "No effect here: "
_REFUSED: Final = "Not possible here, the worker does not start with it: "
_OF_JAVA: Final = f"{_NO_EFFECT}TLS is not Java's."
_OF_BROKERS: Final = f"{_NO_EFFECT}only brokers check tokens."
_BUILT_IN: Final = f"{_NO_EFFECT}renewed by the client, at times of its own."

# The declarations below read as tables.
# fmt: off


def client_keys() -> list[ConfigKey]:
    """The keys, in the order of the reference."""
    return [*_connections(), *_tls(), *_logins(), *_kerberos(), *_tokens()]


def _connections() -> list[ConfigKey]:
    group = KeyGroup("Kafka clients")
    key = group.key
    key("client.id", _STRING, "", _LOW,
        "Name under which the worker's own clients show in logs and quotas of brokers; empty is "
        "connect-<worker id>.")
    key("client.dns.lookup", _STRING, "use_all_dns_ips", _MEDIUM,
        "Whether all addresses of a broker's name are tried, or its canonical names.",
        validators.one_of("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"))
    key("security.protocol", _STRING, "PLAINTEXT", _MEDIUM,
        "How to talk to the brokers.",
        validators.one_of("SASL_SSL", "PLAINTEXT", "SSL", "SASL_PLAINTEXT", ignore_case=True))
    key("metadata.max.age.ms", _LONG, 300_000, _LOW,
        "Age at which what is known of the brokers is asked anew.", _NOT_NEGATIVE)
    key("metadata.recovery.strategy", _STRING, "rebootstrap", _LOW,
        "What to do when no known broker answers any more.",
        validators.one_of("REBOOTSTRAP", "NONE", ignore_case=True))
    key("metadata.recovery.rebootstrap.trigger.ms", _LONG, 300_000, _LOW,
        "How long no broker may have told of the others before rebootstrap begins.", _NOT_NEGATIVE)
    key("send.buffer.bytes", _INT, 131_072, _MEDIUM,
        "Send buffer of a connection; -1 is the system's own.", _BUFFER)
    key("receive.buffer.bytes", _INT, 32_768, _MEDIUM,
        "Receive buffer of a connection; -1 is the system's own.", _BUFFER)
    for name, default, doc in (
        ("reconnect.backoff.ms", 50, "First wait before a broken connection is made again."),
        ("reconnect.backoff.max.ms", 1_000, "Longest such wait."),
        ("retry.backoff.ms", 100, "First wait before a failed request is sent again."),
        ("retry.backoff.max.ms", 1_000, "Longest such wait."),
        ("socket.connection.setup.timeout.ms", 10_000,
         "How long a connection may take to be made."),
        ("socket.connection.setup.timeout.max.ms", 30_000, "Longest such time, after failures."),
    ):
        key(name, _LONG, default, _LOW, doc, _NOT_NEGATIVE)
    key("request.timeout.ms", _INT, 40_000, _MEDIUM, "How long a request may take.", _NOT_NEGATIVE)
    key("default.api.timeout.ms", _INT, 60_000, _LOW,
        "How long a worker that starts waits for a broker to answer, before it gives up.",
        _NOT_NEGATIVE)
    key("connections.max.idle.ms", _LONG, 540_000, _MEDIUM,
        "Age at which an idle connection is closed; -1 never.", _BUFFER)
    return group.keys


def _tls() -> list[ConfigKey]:
    group = KeyGroup("TLS")
    key = group.key
    for name, value_type, doc in (
        ("ssl.key.password", _PASSWORD, "Password of the private key."),
        ("ssl.keystore.location", _STRING, "File with key and certificate of this client."),
        ("ssl.keystore.password", _PASSWORD, "Password of the key store."),
        ("ssl.keystore.key", _PASSWORD, "Private key as PEM text."),
        ("ssl.keystore.certificate.chain", _PASSWORD, "Certificate of this client as PEM text."),
        ("ssl.truststore.location", _STRING, "File with the certificates of trusted authorities."),
        ("ssl.truststore.password", _PASSWORD, "Password of the trust store."),
        ("ssl.truststore.certificates", _PASSWORD,
         "Certificates of trusted authorities as PEM text."),
    ):
        key(name, value_type, None, _HIGH, doc)
    key("ssl.keystore.type", _STRING, "JKS", _MEDIUM,
        "Kind of the key store: PEM or PKCS12 (JKS cannot be read here).")
    key("ssl.truststore.type", _STRING, "JKS", _MEDIUM,
        "Kind of the trust store: PEM (JKS cannot be read here).")
    key("ssl.protocol", _STRING, "TLSv1.3", _MEDIUM, "TLSv1.3, or TLSv1.2.")
    key("ssl.enabled.protocols", _LIST, "TLSv1.2,TLSv1.3", _MEDIUM, "TLSv1.2, TLSv1.3 or both.",
        validators.distinct())
    key("ssl.cipher.suites", _LIST, (), _LOW, "Cipher suites to offer; empty: the usual ones.",
        validators.distinct())
    key("ssl.endpoint.identification.algorithm", _STRING, "https", _LOW,
        'How the broker\'s name is checked against its certificate; "" does not check.')
    key("ssl.client.auth", _STRING, "none", _LOW,
        "Whether an https listener asks callers for a certificate.",
        validators.one_of("required", "requested", "none"))
    for name, importance, default in (
        ("ssl.provider", _MEDIUM, None),
        ("ssl.keymanager.algorithm", _LOW, "SunX509"),
        ("ssl.trustmanager.algorithm", _LOW, "PKIX"),
        ("ssl.secure.random.implementation", _LOW, None),
    ):
        key(name, _STRING, default, importance, _OF_JAVA)
    key("ssl.engine.factory.class", _CLASS, None, _LOW, f"{_REFUSED}a Java class.")
    return group.keys


def _logins() -> list[ConfigKey]:
    group = KeyGroup("Logins")
    key = group.key
    key("sasl.mechanism", _STRING, "GSSAPI", _MEDIUM,
        "How to log in to the brokers: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512. With others a worker "
        "cannot join its group.")
    key("sasl.jaas.config", _PASSWORD, None, _MEDIUM,
        'Login in JAAS form: <module> required username="…" password="…";')
    for name in (
        "sasl.login.class",
        "sasl.login.callback.handler.class",
        "sasl.client.callback.handler.class",
    ):
        key(name, _CLASS, None, _MEDIUM, f"{_REFUSED}a Java class.")
    for name, value_type, default, validator in (
        ("sasl.login.connect.timeout.ms", _INT, None, None),
        ("sasl.login.read.timeout.ms", _INT, None, None),
        ("sasl.login.retry.backoff.ms", _LONG, 100, None),
        ("sasl.login.retry.backoff.max.ms", _LONG, 10_000, None),
        ("sasl.login.refresh.window.factor", _DOUBLE, 0.8, validators.between(0.5, 1.0)),
        ("sasl.login.refresh.window.jitter", _DOUBLE, 0.05, validators.between(0.0, 0.25)),
        ("sasl.login.refresh.min.period.seconds", _SHORT, 60, validators.between(0, 900)),
        ("sasl.login.refresh.buffer.seconds", _SHORT, 300, validators.between(0, 3_600)),
    ):
        key(name, value_type, default, _LOW, _BUILT_IN, validator)
    return group.keys


def _kerberos() -> list[ConfigKey]:
    group = KeyGroup("Logins")
    key = group.key
    key("sasl.kerberos.service.name", _STRING, None, _MEDIUM,
        "Name of the brokers in Kerberos, where the Kafka client is built with it.")
    key("sasl.kerberos.kinit.cmd", _STRING, "/usr/bin/kinit", _LOW,
        f"{_REFUSED}a command for a shell.")
    key("sasl.kerberos.min.time.before.relogin", _LONG, 60_000, _LOW,
        "Shortest time between two Kerberos logins.")
    key("sasl.kerberos.ticket.renew.jitter", _DOUBLE, 0.05, _LOW, _BUILT_IN)
    key("sasl.kerberos.ticket.renew.window.factor", _DOUBLE, 0.8, _LOW, _BUILT_IN)
    return group.keys


def _tokens() -> list[ConfigKey]:
    group = KeyGroup("OAuth tokens")
    key = group.key
    key("sasl.oauthbearer.token.endpoint.url", _STRING, None, _MEDIUM, "Where tokens come from.")
    key("sasl.oauthbearer.client.credentials.client.id", _STRING, None, _MEDIUM,
        "Whom tokens are for.")
    key("sasl.oauthbearer.client.credentials.client.secret", _PASSWORD, None, _MEDIUM,
        "Password at the token endpoint.")
    key("sasl.oauthbearer.scope", _STRING, None, _MEDIUM, "What tokens are to allow.")
    key("sasl.oauthbearer.sub.claim.name", _STRING, "sub", _LOW, "Claim with the name of the user.")
    for name in ("file", "private.key.file"):
        key(f"sasl.oauthbearer.assertion.{name}", _STRING, None, _MEDIUM,
            f"{_REFUSED}assertions are not supported.")
    key("sasl.oauthbearer.assertion.private.key.passphrase", _PASSWORD, None, _MEDIUM,
        f"{_NO_EFFECT}assertions are not supported.")
    seconds: dict[str, tuple[int, Validator]] = {
        "exp": (300, validators.between(0, 86_400)),
        "nbf": (60, validators.between(0, 3_600)),
    }
    for claim, (default, validator) in seconds.items():
        key(f"sasl.oauthbearer.assertion.claim.{claim}.seconds", _INT, default, _LOW,
            f"{_NO_EFFECT}assertions are not supported.", validator)
    key("sasl.oauthbearer.assertion.algorithm", _STRING, "RS256", _MEDIUM,
        f"{_NO_EFFECT}assertions are not supported.",
        validators.one_of("ES256", "RS256", ignore_case=True))
    key("sasl.oauthbearer.assertion.claim.jti.include", _BOOLEAN, False, _MEDIUM,
        f"{_NO_EFFECT}assertions are not supported.")
    for name in ("claim.aud", "claim.iss", "claim.sub", "template.file"):
        key(f"sasl.oauthbearer.assertion.{name}", _STRING, None, _MEDIUM,
            f"{_NO_EFFECT}assertions are not supported.")
    key("sasl.oauthbearer.header.urlencode", _BOOLEAN, False, _LOW,
        f"{_NO_EFFECT}the client decides how it sends its credentials.")
    key("sasl.oauthbearer.jwt.retriever.class", _CLASS, f"{_JWT}DefaultJwtRetriever", _MEDIUM,
        f"{_REFUSED}a Java class.")
    key("sasl.oauthbearer.jwt.validator.class", _CLASS, f"{_JWT}DefaultJwtValidator", _MEDIUM,
        f"{_REFUSED}a Java class.")
    key("sasl.oauthbearer.expected.audience", _LIST, (), _HIGH, _OF_BROKERS,
        validators.distinct())
    key("sasl.oauthbearer.expected.issuer", _STRING, None, _HIGH, _OF_BROKERS)
    key("sasl.oauthbearer.jwks.endpoint.url", _STRING, None, _MEDIUM,
        _OF_BROKERS)
    for name, value_type, value in (
        ("jwks.endpoint.refresh.ms", _LONG, 3_600_000),
        ("jwks.endpoint.retry.backoff.ms", _LONG, 100),
        ("jwks.endpoint.retry.backoff.max.ms", _LONG, 10_000),
        ("clock.skew.seconds", _INT, 30),
        ("scope.claim.name", _STRING, "scope"),
    ):
        key(f"sasl.oauthbearer.{name}", value_type, value, _LOW, _OF_BROKERS)
    return group.keys


# fmt: on
