"""A worker and a locked Kafka: TLS, passwords, certificates, with the keys that Java users know.

Every test talks to Apache Kafka's own listeners of SASL_SSL and SSL. What is wrong with a key or a
certificate must be told in words, soon, and without any of the secrets that went in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from connectd.aio.clock import LoopClock
from connectd.errors import BrokerUnavailableError
from connectd.kafka.admin import KafkaAdmin, TopicSpec
from tests.harness.kafka_secured import PLAIN_PASSWORD, SCRAM_PASSWORD, SecuredBroker
from tests.harness.worker import WorkerProcess
from tests.integration.worker_rig import Rig
from tests.kit import certificates
from tests.kit.token_issuer import SECRET as TOKEN_SECRET
from tests.kit.token_issuer import TokenIssuer
from tests.security.client_keys import plain, prefixed, scram, token, trust

pytestmark = pytest.mark.kafka("exact", "control")

EXIT_DEADLINE_S = 30.0
ADMIN_S = 3.0
WRONG_PASSWORD = "wr0ng-passw0rd"
KEY_PASSWORD = "key-passw0rd"
SECRETS = (PLAIN_PASSWORD, SCRAM_PASSWORD, WRONG_PASSWORD, KEY_PASSWORD)


class Files:
    """What an operator mounts into the worker: trust and key stores."""

    def __init__(self, folder: Path) -> None:
        me = certificates.identity("worker")
        self.trusted = self._write(
            folder / "authority.pem", certificates.authority().certificate_pem().encode()
        )
        self.strangers = self._write(
            folder / "strangers.pem", certificates.authority("stranger").certificate_pem().encode()
        )
        self.pem = self._write(
            folder / "worker.pem", (me.key_pem(KEY_PASSWORD) + me.certificate_pem()).encode()
        )
        self.pkcs12 = self._write(folder / "worker.p12", me.pkcs12(KEY_PASSWORD))

    def _write(self, path: Path, content: bytes) -> str:
        path.write_bytes(content)
        return str(path)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """They are read when a worker starts."""
    return Files(tmp_path)


@pytest.fixture
def issuer() -> Iterator[TokenIssuer]:
    """Gives tokens that the broker takes."""
    with TokenIssuer() as found:
        yield found


def assert_copies_a_table(rig: Rig, **keys: str) -> None:
    """Scan and stream arrive, and nothing that went in as a secret shows."""
    rig.create_table("t", items=5)
    rig.expect(201, "PUT", f"{rig.path}/config", {**rig.config(), **keys})
    rig.wait_following("t")
    rig.put("t", 100)
    rig.wait_equal("t")
    assert rig.worker.sigterm() == 0
    assert no_secrets_in(rig.log_text())


def no_secrets_in(text: str) -> bool:
    return not any(each in text for each in SECRETS)


def test_passwords_of_both_mechanisms_and_an_admin_client_of_its_own(
    secured_broker: SecuredBroker, files: Files, kafka_prefix: str, tmp_path: Path
) -> None:
    """The worker logs in with SCRAM, its connectors' producers with PLAIN."""
    properties = {
        "bootstrap.servers": secured_broker.sasl,
        **scram(SCRAM_PASSWORD, files.trusted),
        **prefixed("producer.", plain(PLAIN_PASSWORD, files.trusted)),
        **prefixed("consumer.", plain(PLAIN_PASSWORD, files.trusted)),
        **prefixed("admin.", plain(PLAIN_PASSWORD, files.trusted)),
    }
    with Rig(secured_broker, kafka_prefix, tmp_path, properties=properties) as rig:
        assert_copies_a_table(
            rig,
            **{
                "topic.creation.default.partitions": "2",
                "topic.creation.default.replication.factor": "1",
            },
        )


def test_tokens_of_an_issuer(
    secured_broker: SecuredBroker,
    files: Files,
    issuer: TokenIssuer,
    kafka_prefix: str,
    tmp_path: Path,
) -> None:
    keys = token(issuer, files.trusted)
    properties = {
        "bootstrap.servers": secured_broker.token,
        **keys,
        **prefixed("producer.", keys),
        **prefixed("admin.", keys),
    }
    with Rig(secured_broker, kafka_prefix, tmp_path, properties=properties) as rig:
        assert_copies_a_table(rig)
        assert TOKEN_SECRET not in rig.log_text()
        assert issuer.token()[:20] not in rig.log_text()


def test_certificates_on_both_sides_out_of_pem_and_pkcs12_stores(
    secured_broker: SecuredBroker, files: Files, kafka_prefix: str, tmp_path: Path
) -> None:
    pem = {
        "security.protocol": "SSL",
        **trust(files.trusted),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": files.pem,
        "ssl.key.password": KEY_PASSWORD,
    }
    pkcs12 = {
        "security.protocol": "SSL",
        **trust(files.trusted),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": files.pkcs12,
        "ssl.keystore.password": KEY_PASSWORD,
    }
    properties = {
        "bootstrap.servers": secured_broker.mutual,
        **pem,
        **prefixed("producer.", pkcs12),
    }
    with Rig(secured_broker, kafka_prefix, tmp_path, properties=properties) as rig:
        assert_copies_a_table(rig)


def test_a_connector_brings_its_own_password_and_a_wrong_one_is_told_at_its_tables(
    secured_broker: SecuredBroker, files: Files, kafka_prefix: str, tmp_path: Path
) -> None:
    """The records wait: a password may be right a minute later, when brokers have heard of it.

    So may an address; who looks at a table that stands still must find out why.
    """
    properties = {
        "bootstrap.servers": secured_broker.sasl,
        **scram(SCRAM_PASSWORD, files.trusted),
        "offset.flush.timeout.ms": "500",  # what records that cannot be sent are waited for
    }
    wrong = prefixed("producer.override.", scram(WRONG_PASSWORD, files.trusted))
    right = prefixed("producer.override.", plain(PLAIN_PASSWORD, files.trusted))
    with Rig(secured_broker, kafka_prefix, tmp_path, properties=properties) as rig:
        rig.create_table("t", items=5)
        rig.expect(201, "PUT", f"{rig.path}/config", {**rig.config(), **wrong})
        rig.wait(lambda: "SASL authentication error" in str(rig.row("t")), "the reason")
        assert "check sasl.mechanism, user name and password" in rig.row("t")["reason"]
        assert rig.states() == ("RUNNING", "RUNNING")

        elsewhere = {"producer.override.bootstrap.servers": "no-such-host.invalid:9092"}
        rig.expect(200, "PUT", f"{rig.path}/config", {**rig.config(), **wrong, **elsewhere})
        rig.wait(lambda: "no-such-host.invalid" in str(rig.row("t")), "another reason")

        rig.expect(200, "PUT", f"{rig.path}/config", {**rig.config(), **right})
        rig.wait_equal("t")
        rig.wait(lambda: not rig.row("t")["reason"], "no reason any more")
        assert no_secrets_in(rig.log_text())


def test_what_is_wrong_with_the_door_ends_the_worker_with_words(
    secured_broker: SecuredBroker,
    files: Files,
    issuer: TokenIssuer,
    kafka_prefix: str,
    tmp_path: Path,
) -> None:
    """Side by side, since each has to wait for its deadline."""
    broker = secured_broker
    doors = (broker.sasl, broker.token, broker.mutual, broker.misnamed)
    sasl, tokens, mutual, misnamed = ({"bootstrap.servers": each} for each in doors)
    tls = {"security.protocol": "SSL", **trust(files.trusted)}
    advice = "for the host that bootstrap.servers names"
    cases = {
        "plain": ({**sasl, **plain(WRONG_PASSWORD, files.trusted)}, "Authentication failed"),
        "scram": ({**sasl, **scram(WRONG_PASSWORD, files.trusted)}, "SASL authentication error"),
        "token": ({**tokens, **token(issuer, files.trusted, WRONG_PASSWORD)}, "invalid_client"),
        "untrusted": ({**sasl, **plain(PLAIN_PASSWORD, files.strangers)}, "verify failed"),
        "misnamed": ({**misnamed, **tls}, advice),
        "nameless": ({**mutual, **tls}, "bad certificate"),
    }
    workers = {
        name: WorkerProcess(
            secured_broker.bootstrap,
            group_id=f"{kafka_prefix}{name}",
            topics_prefix=f"{kafka_prefix}{name}-",
            home=tmp_path / name,
            properties={"default.api.timeout.ms": "5000", **properties},
        )
        for name, (properties, _) in cases.items()
    }
    try:
        for worker in workers.values():
            worker.launch()
        for name, (_, expected) in cases.items():
            assert workers[name].wait_exit(deadline_s=EXIT_DEADLINE_S) == 1, name
            log = workers[name].log_tail()
            last = log.splitlines()[-1]
            assert "no Kafka broker answered within 5 s" in last, log
            assert expected in last, log
            assert no_secrets_in(log), name
    finally:
        for worker in workers.values():
            worker.close()


def test_stores_that_cannot_be_read_are_refused_with_what_to_do_instead(
    secured_broker: SecuredBroker, files: Files, kafka_prefix: str, tmp_path: Path
) -> None:
    """Java's own format is Java's alone; nobody may believe that it is used."""
    java = {
        "security.protocol": "SSL",
        "ssl.truststore.location": "/etc/kafka/trust.jks",
        "ssl.truststore.password": KEY_PASSWORD,
    }
    worker = WorkerProcess(
        secured_broker.mutual,
        group_id=f"{kafka_prefix}group",
        topics_prefix=kafka_prefix,
        home=tmp_path,
        properties=java,
    )
    try:
        worker.launch()
        assert worker.wait_exit(deadline_s=EXIT_DEADLINE_S) == 2
        log = worker.log_tail()
        assert "a JKS trust store cannot be read here; give the authorities' certificates" in log
        assert no_secrets_in(log)
    finally:
        worker.close()


@pytest.mark.parametrize("login", [plain, scram])
def test_an_admin_client_with_a_wrong_password_says_so_and_not_that_it_timed_out(
    secured_broker: SecuredBroker, files: Files, login: Callable[[str, str], dict[str, str]]
) -> None:
    settings = {"bootstrap.servers": secured_broker.sasl, **login(WRONG_PASSWORD, files.trusted)}

    async def ask() -> list[str]:
        admin = KafkaAdmin(settings, client_id="admin", clock=LoopClock())
        spec = TopicSpec("t", partitions=1, replication_factor=1)
        questions = (
            admin.exists("t", ADMIN_S),
            admin.create(spec, ADMIN_S),
            admin.wait_broker(ADMIN_S),
        )
        answers = await asyncio.gather(*questions, return_exceptions=True)
        assert all(isinstance(each, BrokerUnavailableError) for each in answers), answers
        return [str(each) for each in answers]

    for told in asyncio.run(ask()):
        assert "uthentication" in told
        assert "check sasl.mechanism, user name and password" in told
        assert no_secrets_in(told)
