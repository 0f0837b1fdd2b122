"""A Kafka broker whose doors are locked: TLS, passwords, certificates of clients.

``SecuredBroker`` has the plain listener of every broker of the harness, for those who look after
it, and one listener for each way in that a worker has to find: ``sasl`` (TLS and a password, PLAIN
or SCRAM-SHA-512), ``token`` (TLS and an unsigned token), ``mutual`` (TLS, and the client shows a
certificate too) and ``misnamed`` (TLS with a certificate of another host). All certificates are
made on the spot by one authority.
"""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path

from tests.harness import kafka_launch
from tests.harness.kafka import KafkaBroker
from tests.harness.processes import HarnessError, free_ports
from tests.kit import certificates

USER = "worker"
PLAIN_PASSWORD = "plain-passw0rd"
SCRAM_PASSWORD = "scram-passw0rd"

_PROTOCOLS = {"SASL": "SASL_SSL", "TOKEN": "SASL_SSL", "MUTUAL": "SSL", "MISNAMED": "SSL"}
_LOGIN = "org.apache.kafka.common.security"


class SecuredBroker(KafkaBroker):
    """See the module's docstring; Apache Kafka alone can be locked."""

    def __init__(self) -> None:
        launch = kafka_launch.choose()
        if not isinstance(launch, kafka_launch.ApacheKafka):
            raise HarnessError(f"{launch.kind} has no locked listeners; Apache Kafka is needed.")
        home = Path(tempfile.mkdtemp(prefix="connectd-kafka-tls-"))
        ports = dict(zip(_PROTOCOLS, free_ports(len(_PROTOCOLS)), strict=True))
        addresses = (f"127.0.0.1:{each}" for each in ports.values())
        self.sasl, self.token, self.mutual, self.misnamed = addresses
        locked = dataclasses.replace(
            launch,
            settings={**launch.settings, **_settings(home)},
            further_listeners=ports,
            scram_users={USER: SCRAM_PASSWORD},
        )
        super().__init__(locked)
        self._home = home


def _settings(home: Path) -> dict[str, str]:
    here = _pem(home / "broker.pem", certificates.identity("broker"))
    elsewhere = _pem(home / "elsewhere.pem", certificates.identity("broker", host="kafka.example"))
    trusted = home / "authority.pem"
    trusted.write_text(certificates.authority().certificate_pem(), encoding="utf-8")
    protocols = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", **_PROTOCOLS}
    of_sasl = "listener.name.sasl"
    return {
        "listener.security.protocol.map": ",".join(f"{k}:{v}" for k, v in protocols.items()),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(here),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trusted),
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.misnamed.ssl.keystore.location": str(elsewhere),
        "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.token.sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.token.oauthbearer.sasl.jaas.config": (
            f"{_LOGIN}.oauthbearer.OAuthBearerLoginModule required "
            'unsecuredLoginStringClaim_sub="broker";'
        ),
        f"{of_sasl}.plain.sasl.jaas.config": (
            f'{_LOGIN}.plain.PlainLoginModule required user_{USER}="{PLAIN_PASSWORD}";'
        ),
        f"{of_sasl}.scram-sha-512.sasl.jaas.config": (f"{_LOGIN}.scram.ScramLoginModule required;"),
    }


def _pem(path: Path, owner: certificates.Identity) -> Path:
    path.write_text(owner.key_pem() + owner.certificate_pem(), encoding="utf-8")
    return path
