"""Client settings: Java's names in, librdkafka's out, and nothing in between goes unnoticed."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from structlog.testing import capture_logs

from connectd.errors import ConfigError
from connectd.kafka import clientconf, clientkeys
from connectd.kafka.clientconf import ClientKind
from connectd.kafka.voice import ClientVoice

_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def _producer(**settings: str) -> dict[str, str]:
    names = {key.replace("__", "-").replace("_", "."): value for key, value in settings.items()}
    return clientconf.producer_conf(names, client_id="c")


def _accepts(kind: type[Producer] | type[Consumer], key: str) -> bool:
    """Whether librdkafka knows the key; a value that it refuses is answer enough."""
    try:
        kind({"group.id": "g", "log_level": 0, key: "\N{BLACK QUESTION MARK ORNAMENT}"})
    except KafkaException as error:
        return "No such configuration property" not in error.args[0].str()
    except (TypeError, ValueError):
        return True
    return True


@pytest.mark.parametrize(("given", "expected"), [("2000", 2000), ("0x100000", 1 << 20)])
def test_the_largest_record_is_known(given: str, expected: int) -> None:
    conf = clientconf.producer_conf({"max.request.size": given}, client_id="c")
    assert clientconf.message_bytes_max(conf) == expected


def test_a_largest_record_that_is_no_number_is_a_setting_to_mend() -> None:
    with pytest.raises(ConfigError, match=r"message\.max\.bytes is 'much'"):
        clientconf.message_bytes_max({"message.max.bytes": "much"})


def test_a_producer_loses_nothing_and_places_keys_as_java_does() -> None:
    conf = clientconf.producer_conf({"bootstrap.servers": "b:1"}, client_id="c")
    assert conf == {
        "bootstrap.servers": "b:1",
        "client.id": "c",
        "acks": "all",
        "enable.idempotence": "true",
        "partitioner": "murmur2_random",
        "compression.type": "lz4",
        "linger.ms": "40",
        "message.timeout.ms": "0",
        "message.max.bytes": "1048576",
        "queue.buffering.max.kbytes": "32768",
        "reconnect.backoff.ms": "50",
        "reconnect.backoff.max.ms": "1000",
        "socket.connection.setup.timeout.ms": "10000",
    }


def test_a_reader_assigns_by_itself_and_is_told_of_ends() -> None:
    conf = clientconf.consumer_conf({"enable.auto.commit": "true"}, client_id="c")
    assert conf["enable.auto.commit"] == "false"
    assert conf["enable.partition.eof"] == "true"
    assert conf["auto.offset.reset"] == "earliest"
    assert conf["isolation.level"] == "read_uncommitted"


def test_the_defaults_are_accepted_by_librdkafka() -> None:
    voice = ClientVoice("c")
    Producer(clientconf.with_voice(clientconf.producer_conf({}, client_id="c"), voice))
    Consumer(clientconf.with_voice(clientconf.consumer_conf({}, client_id="c"), voice)).close()
    AdminClient(clientconf.admin_conf({}, client_id="c"))


def test_the_question_to_librdkafka_can_be_answered_with_no() -> None:
    assert not _accepts(Producer, "no.such.key")
    assert not _accepts(Consumer, "no.such.key")


@pytest.mark.parametrize("key", sorted(clientkeys.COMMON | clientkeys.PRODUCER))
def test_every_key_passed_on_is_known_to_librdkafka(key: str) -> None:
    assert _accepts(Producer, key)


@pytest.mark.parametrize("key", sorted(set(clientkeys.RENAMED.values()) | clientkeys.CONSUMER))
def test_every_renamed_and_consumer_key_is_known_to_librdkafka(key: str) -> None:
    assert _accepts(Consumer, key)


def test_the_tables_do_not_contradict_each_other() -> None:
    passed = clientkeys.COMMON | clientkeys.PRODUCER | clientkeys.CONSUMER
    tables = [passed, clientkeys.DROPPED, clientkeys.REFUSED.keys(), clientkeys.FORBIDDEN]
    names = [name for table in tables for name in table]
    assert len(names) == len(set(names))
    assert not set(clientkeys.RENAMED) & set(names)


@pytest.mark.parametrize(
    ("key", "value", "ours", "translated"),
    [
        ("delivery.timeout.ms", "2147483647", "message.timeout.ms", "0"),
        ("delivery.timeout.ms", "120000", "message.timeout.ms", "120000"),
        ("max.request.size", "5000000", "message.max.bytes", "5000000"),
        ("buffer.memory", "33554432", "queue.buffering.max.kbytes", "32768"),
        ("buffer.memory", "100", "queue.buffering.max.kbytes", "1"),
        ("metadata.max.age.ms", "1000", "topic.metadata.refresh.interval.ms", "1000"),
        ("send.buffer.bytes", "-1", "socket.send.buffer.bytes", "0"),
        ("connections.max.idle.ms", "-1", "connections.max.idle.ms", "0"),
        ("request.timeout.ms", "30000", "request.timeout.ms", "30000"),
        ("compression.type", "zstd", "compression.type", "zstd"),
        ("linger.ms", "200", "linger.ms", "200"),
    ],
)
def test_java_names_and_units_are_translated(
    key: str, value: str, ours: str, translated: str
) -> None:
    conf = clientconf.producer_conf({key: value}, client_id="c")
    assert conf[ours] == translated


def test_the_request_timeout_of_other_clients_is_their_sockets() -> None:
    conf = clientconf.admin_conf({"request.timeout.ms": "40000"}, client_id="c")
    assert conf["socket.timeout.ms"] == "40000"


def test_readers_and_admin_clients_miss_a_silent_broker_sooner_than_their_library_would() -> None:
    for make in (clientconf.consumer_conf, clientconf.admin_conf):
        assert make({}, client_id="c")["socket.timeout.ms"] == "20000"
        assert make({"request.timeout.ms": "40000"}, client_id="c")["socket.timeout.ms"] == "40000"
        assert make({"socket.timeout.ms": "90000"}, client_id="c")["socket.timeout.ms"] == "90000"


@pytest.mark.parametrize("key", ["key.serializer", "value.serializer", "max.block.ms"])
def test_keys_without_a_counterpart_and_without_effect_are_dropped(key: str) -> None:
    assert key not in clientconf.producer_conf({key: "x"}, client_id="c")


@pytest.mark.parametrize(
    ("key", "meant"),
    [("linger.mss", "linger.ms"), ("compresion.type", "compression.type"), ("", None)],
)
def test_an_unknown_key_is_left_out_with_a_line_in_the_log(key: str, meant: str | None) -> None:
    """As Java's clients do: a config that ran there runs here."""
    with capture_logs() as lines:
        conf = clientconf.producer_conf({key: "a-secret"}, client_id="c")
    assert conf == clientconf.producer_conf({}, client_id="c")
    (line,) = lines
    assert (line["log_level"], line["key"], line.get("meant")) == ("warning", key, meant)
    assert "a-secret" not in str(line)


def test_a_key_of_another_client_is_left_out_too() -> None:
    with capture_logs() as lines:
        conf = clientconf.producer_conf({"fetch.min.bytes": "1"}, client_id="c")
    assert "fetch.min.bytes" not in conf
    assert lines[0]["reason"] == "it is of another kind of client"


@pytest.mark.parametrize("kind", list(ClientKind))
@pytest.mark.parametrize("key", sorted(clientkeys.FORBIDDEN))
def test_nothing_that_loads_code_or_runs_a_command_gets_through(key: str, kind: ClientKind) -> None:
    with pytest.raises(ConfigError, match="not allowed"):
        clientconf.translate({key: "/tmp/evil.so"}, kind)


@pytest.mark.parametrize("key", sorted(clientkeys.REFUSED))
def test_what_cannot_be_honoured_is_refused_with_advice(key: str) -> None:
    with pytest.raises(ConfigError, match="cannot be used here; "):
        clientconf.translate({key: "1"}, ClientKind.PRODUCER)


def test_a_number_that_is_none_is_named() -> None:
    with pytest.raises(ConfigError, match=r"buffer\.memory: found '32m', expected a whole number"):
        clientconf.producer_conf({"buffer.memory": "32m"}, client_id="c")


class TestOrder:
    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("acks", "0"),
            ("acks", "1"),
            ("request.required.acks", "1"),
            ("max.in.flight", "6"),
            ("partitioner", "random"),
            ("transactional.id", "mine"),
        ],
    )
    def test_what_would_lose_records_or_their_order_is_refused(self, key: str, value: str) -> None:
        with pytest.raises(ConfigError, match=f"^{key}: "):
            clientconf.producer_conf({key: value}, client_id="c")

    def test_no_retries_give_idempotence_up_and_keep_the_order(self) -> None:
        conf = _producer(retries="0")
        assert conf["enable.idempotence"] == "false"
        assert conf["max.in.flight.requests.per.connection"] == "1"

    def test_idempotence_switched_off_keeps_the_order(self) -> None:
        conf = _producer(enable_idempotence="false")
        assert conf["max.in.flight.requests.per.connection"] == "1"

    @pytest.mark.parametrize("key", ["max.in.flight.requests.per.connection", "max.in.flight"])
    def test_more_requests_in_flight_need_idempotence(self, key: str) -> None:
        conf = clientconf.producer_conf({key: "5"}, client_id="c")
        assert conf["max.in.flight.requests.per.connection"] == "5"
        with pytest.raises(ConfigError, match="could overtake each other"):
            clientconf.producer_conf({key: "2", "enable.idempotence": "False"}, client_id="c")

    def test_idempotence_that_was_asked_for_is_not_given_up_silently(self) -> None:
        conf = _producer(retries="0", enable_idempotence="true")
        with pytest.raises(KafkaException) as caught:
            Producer({**conf, "log_level": 0})
        assert caught.value.args[0].code() == KafkaError._INVALID_ARG


class TestSecurity:
    def test_plain_credentials_are_read_out_of_jaas(self) -> None:
        text = f'{_PLAIN} required username="alice" password="s\\"3;cret=";'
        conf = clientconf.admin_conf(
            {"sasl.jaas.config": text, "sasl.mechanism": "PLAIN", "security.protocol": "SASL_SSL"},
            client_id="c",
        )
        assert conf["sasl.username"] == "alice"
        assert conf["sasl.password"] == 's"3;cret='
        assert "sasl.jaas.config" not in conf
        AdminClient({**conf, "log_level": 0})

    def test_scram_credentials_over_several_lines(self) -> None:
        text = f"{_SCRAM} required\n  username='bob'\n  password='pw'\n;"
        conf = clientconf.admin_conf({"sasl.jaas.config": text}, client_id="c")
        assert (conf["sasl.username"], conf["sasl.password"]) == ("bob", "pw")

    @pytest.mark.parametrize(
        "text",
        [
            "nonsense",
            f'{_PLAIN} required username="alice-the-secret";',
            'com.sun.security.auth.module.Krb5LoginModule required keyTab="/the-secret";',
            'org.x.OAuthBearerLoginModule required clientSecret="the-secret";',
            'com.evil.LoginModule required username="a" password="the-secret";',
        ],
    )
    def test_other_login_modules_are_refused_without_their_secrets(self, text: str) -> None:
        with pytest.raises(ConfigError, match=r"^sasl\.jaas\.config: ") as caught:
            clientconf.admin_conf({"sasl.jaas.config": text}, client_id="c")
        assert "the-secret" not in str(caught.value)

    @pytest.mark.parametrize("part", ["location", "password", "type"])
    @pytest.mark.parametrize("store", ["truststore", "keystore"])
    def test_java_key_stores_are_refused_with_what_to_do(self, store: str, part: str) -> None:
        value = "JKS" if part == "type" else "/etc/kafka/client.jks"
        with pytest.raises(ConfigError, match=r"as PEM in ssl\.\w+\.location"):
            clientconf.admin_conf({f"ssl.{store}.{part}": value}, client_id="c")

    def test_pem_stores_are_used(self) -> None:
        conf = clientconf.admin_conf(
            {
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": "/ca.pem",
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": "/me.pem",
                "ssl.truststore.certificates": "-----BEGIN",
            },
            client_id="c",
        )
        assert conf["ssl.ca.location"] == "/ca.pem"
        assert conf["ssl.key.location"] == conf["ssl.certificate.location"] == "/me.pem"
        assert conf["ssl.ca.pem"] == "-----BEGIN"
        assert not any(key.startswith("ssl.truststore") for key in conf)

    def test_a_pkcs12_key_store_is_used(self) -> None:
        settings = {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": "/me.p12",
            "ssl.keystore.password": "pw",
        }
        conf = clientconf.admin_conf(settings, client_id="c")
        assert conf["ssl.keystore.location"] == "/me.p12"
        assert conf["ssl.keystore.password"] == "pw"

    def test_an_empty_host_name_check_is_none(self) -> None:
        key = "ssl.endpoint.identification.algorithm"
        assert clientconf.admin_conf({key: ""}, client_id="c")[key] == "none"

    def test_old_tls_versions_are_refused(self) -> None:
        clientconf.admin_conf({"ssl.enabled.protocols": "TLSv1.2, TLSv1.3"}, client_id="c")
        with pytest.raises(ConfigError, match=r"TLSv1\.1"):
            clientconf.admin_conf({"ssl.enabled.protocols": "TLSv1.1"}, client_id="c")

    def test_a_partitioner_class_is_refused_with_what_to_do(self) -> None:
        with pytest.raises(ConfigError, match="key 'partitioner'"):
            clientconf.producer_conf({"partitioner.class": "com.x.Mine"}, client_id="c")


def test_a_workers_plain_keys_give_its_clients_what_they_understand_and_no_more() -> None:
    worker = {
        "bootstrap.servers": "b:1",
        "security.protocol": "SASL_SSL",
        "sasl.jaas.config": f'{_PLAIN} required username="a" password="b";',
        "metadata.max.age.ms": "1000",
        "request.timeout.ms": "40000",
        "client.id": "w",
        "group.id": "g",
        "session.timeout.ms": "10000",
        "offset.storage.topic": "o",
        "listeners": "http://:8083",
    }
    chosen = clientconf.select(worker)
    assert chosen.keys() == {
        "bootstrap.servers",
        "security.protocol",
        "sasl.jaas.config",
        "metadata.max.age.ms",
        "request.timeout.ms",
    }
    for kind in ClientKind:
        clientconf.translate(chosen, kind)


def test_a_workers_forbidden_and_unreadable_keys_are_not_overlooked() -> None:
    worker = {"ssl.truststore.location": "/x.jks", "ssl.engine.location": "/x.so"}
    assert clientconf.select(worker) == worker
