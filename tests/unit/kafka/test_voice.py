"""What a client says of brokers that do not answer, in one sentence."""

from __future__ import annotations

from confluent_kafka import KafkaError
from structlog.testing import capture_logs

from connectd.kafka.voice import ClientVoice


def test_the_cause_is_kept_and_not_that_all_brokers_are_down() -> None:
    voice = ClientVoice("c")
    with capture_logs() as lines:
        voice.on_error(KafkaError(KafkaError._AUTHENTICATION, "wrong password"))
        voice.on_error(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    assert voice.trouble == (
        "Kafka does not answer: wrong password (_AUTHENTICATION); "
        "check sasl.mechanism, user name and password"
    )
    assert [line["event"] for line in lines] == ["kafka does not answer, trying again"]


def test_a_single_lost_connection_is_no_trouble_and_explains_a_later_one() -> None:
    voice = ClientVoice("c")
    voice.on_error(KafkaError(KafkaError._RESOLVE, "no such host"))
    assert voice.trouble == ""
    voice.on_error(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    assert voice.trouble == "Kafka does not answer: no such host (_RESOLVE)"


def test_an_answer_ends_it_and_forgets_the_cause() -> None:
    voice = ClientVoice("c")
    voice.on_error(KafkaError(KafkaError._SSL, "verify failed"))
    voice.on_answer()
    assert voice.trouble == ""
    voice.on_error(KafkaError(KafkaError._ALL_BROKERS_DOWN, "2/2 brokers are down"))
    assert voice.trouble == "Kafka does not answer: 2/2 brokers are down (_ALL_BROKERS_DOWN)"
