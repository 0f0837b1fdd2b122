"""What becomes of the settings of Kafka clients, ``docs/kafka-clients.md``, made of ``clientkeys``.

Kept beside the tables that it shows; ``connectd reference --kafka-clients`` prints it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from connectd.configdef import client_dangers
from connectd.kafka import clientkeys

_INTRODUCTION: Final = """\
# Settings of Kafka clients

Generated from the tables that the worker reads, by `connectd reference --kafka-clients`; do not
edit.

Kafka's clients are librdkafka's here. Settings have the names that users of Kafka Connect know, and
are translated; names of librdkafka work as well. They stand in the worker's file, plain for its own
clients and with `producer.`, `consumer.` or `admin.` for those of connectors, and in a connector as
`producer.override.` or `admin.override.`, as far as the worker's policy allows
(`connector.client.config.override.policy`).

## TLS and passwords

| Java | Here |
|---|---|
| `security.protocol` | the same: `PLAINTEXT`, `SSL`, `SASL_PLAINTEXT`, `SASL_SSL` |
| `sasl.mechanism` | the same: `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`, \
`OAUTHBEARER` with `sasl.oauthbearer.method=oidc` (a token for a client's secret) |
| `sasl.jaas.config` | `PlainLoginModule` and `ScramLoginModule` are read and give user name and \
password; `Krb5LoginModule` and `OAuthBearerLoginModule` are refused with the keys to use instead; \
others are refused |
| `ssl.truststore.type=PEM`, `ssl.truststore.location` | `ssl.ca.location` |
| `ssl.truststore.certificates` | `ssl.ca.pem` |
| `ssl.truststore.type=JKS` (Java's default) or `PKCS12` | refused: OpenSSL cannot read it as a \
trust store. Make a file to name with `keytool -exportcert -rfc -keystore trust.jks -alias ca` |
| `ssl.keystore.type=PEM`, `ssl.keystore.location`, `ssl.key.password` | `ssl.key.location` and \
`ssl.certificate.location`, the same file for both |
| `ssl.keystore.key`, `ssl.keystore.certificate.chain` | `ssl.key.pem`, `ssl.certificate.pem` |
| `ssl.keystore.type=PKCS12`, `ssl.keystore.location`, `ssl.keystore.password` | the same |
| `ssl.keystore.type=JKS` (Java's default) | refused; `keytool -importkeystore -srckeystore \
key.jks -destkeystore key.p12 -deststoretype PKCS12` converts it |
| `ssl.endpoint.identification.algorithm` | `https` as it is; empty means `none` |
| `ssl.enabled.protocols`, `ssl.protocol` | `TLS`, `TLSv1.2` and `TLSv1.3` are accepted, and what \
brokers offer is used; others are refused |

A worker that no broker lets in says why when it gives up (`default.api.timeout.ms`), and warns
after three seconds. A connector's producer that is not let in waits, since passwords may be right a
minute later: the reason stands at its tables (`GET /connectd/connectors/{name}/tables`).
"""


def render() -> str:
    """The whole page."""
    return "\n".join(
        [
            _INTRODUCTION,
            *_section("Passed on under the same name, to every client", clientkeys.COMMON),
            *_section("Passed on to producers alone", clientkeys.PRODUCER),
            *_section("Passed on to consumers alone", clientkeys.CONSUMER),
            *_table("Passed on under another name", "Here", clientkeys.RENAMED),
            *_section("Accepted without an effect, which nobody would notice", clientkeys.DROPPED),
            *_table("Refused, with what to do instead", "Why", clientkeys.REFUSED),
            *_table("Never allowed", "Why", _forbidden()),
            "Any other key is left out, with a warning that names it and the key it may be meant "
            "to be.",
            "",
        ]
    )


def _forbidden() -> Mapping[str, str]:
    return {key: client_dangers.NEVER[key] for key in clientkeys.FORBIDDEN}


def _section(title: str, keys: Iterable[str]) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    yield ", ".join(f"`{key}`" for key in sorted(keys))
    yield ""


def _table(title: str, second: str, rows: Mapping[str, str]) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    yield f"| Key | {second} |"
    yield "|---|---|"
    for key, text in sorted(rows.items()):
        shown = f"`{text}`" if rows is clientkeys.RENAMED else text
        yield f"| `{key}` | {shown} |"
    yield ""
