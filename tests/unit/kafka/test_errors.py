"""Every error code of Kafka has its place in our tree."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from connectd.errors import (
    AccessDeniedError,
    BrokerUnavailableError,
    ConnectdError,
    FatalTaskError,
    InvalidRequestError,
    InvariantError,
    ProduceError,
    RecordTooLargeError,
    RetriableError,
    TopicGoneError,
)
from connectd.kafka import errors

_NAMES = sorted(
    name
    for name in dir(KafkaError)
    if not name.startswith("__") and isinstance(getattr(KafkaError, name), int)
)
_ERROR_NAMES = [name for name in _NAMES if name not in ("NO_ERROR", "_PARTITION_EOF")]


def test_every_code_is_listed_exactly_once() -> None:
    listed = [name for names in errors.NAMES_BY_KIND.values() for name in names.split()]
    assert len(listed) == len(set(listed))
    assert set(_NAMES) <= set(listed)


@pytest.mark.parametrize("name", _ERROR_NAMES)
def test_a_translated_error_says_what_was_done_and_keeps_its_cause(name: str) -> None:
    theirs = KafkaError(getattr(KafkaError, name))
    ours = errors.translate(KafkaException(theirs), "creating topic orders")
    assert isinstance(ours, ConnectdError)
    assert str(ours).startswith("creating topic orders: ")
    assert name in str(ours)
    assert isinstance(ours.__cause__, KafkaException)


_TOPIC_GONE = ("UNKNOWN_TOPIC_ID", "UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_PARTITION", "_UNKNOWN_TOPIC")


@pytest.mark.parametrize("name", sorted(set(_ERROR_NAMES) - set(_TOPIC_GONE)))
def test_a_failed_delivery_is_never_retriable(name: str) -> None:
    ours = errors.delivery_error(KafkaError(getattr(KafkaError, name)), "orders", 10)
    assert isinstance(ours, FatalTaskError | RecordTooLargeError)
    assert not isinstance(ours, RetriableError)
    assert "orders" in str(ours)


@pytest.mark.parametrize("name", _TOPIC_GONE)
def test_a_topic_that_is_gone_sends_back_to_the_last_position(name: str) -> None:
    ours = errors.delivery_error(KafkaError(getattr(KafkaError, name)), "orders", 10)
    assert isinstance(ours, TopicGoneError)
    assert str(ours) == (
        f"producing to topic orders: there is no such topic, or partition of it ({name}); "
        "create it, or allow the worker to create topics"
    )


@pytest.mark.parametrize("code", [KafkaError.NO_ERROR, KafkaError._PARTITION_EOF])
def test_an_event_is_not_an_error(code: int) -> None:
    with pytest.raises(InvariantError):
        errors.translate(KafkaError(code), "reading")


def test_a_code_that_nobody_knows_is_a_refused_request() -> None:
    assert isinstance(errors.translate(KafkaError(9999), "reading"), InvalidRequestError)


def test_kinds_say_how_to_recover() -> None:
    def kind(code: int) -> type[ConnectdError]:
        return type(errors.translate(KafkaError(code), "x"))

    assert kind(KafkaError._ALL_BROKERS_DOWN) is BrokerUnavailableError
    assert kind(KafkaError.TOPIC_AUTHORIZATION_FAILED) is AccessDeniedError
    assert kind(KafkaError.MSG_SIZE_TOO_LARGE) is RecordTooLargeError


def test_a_fatal_error_is_a_produce_error_whatever_its_code() -> None:
    fatal = KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, "no", fatal=True)
    assert isinstance(errors.translate(fatal, "producing"), ProduceError)


def test_a_record_that_is_too_large_says_what_to_set() -> None:
    theirs = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)
    ours = errors.delivery_error(theirs, "orders", 2_400_000)
    assert "orders" in str(ours)
    assert "2400000 bytes" in str(ours)
    assert "producer.override.max.request.size" in str(ours)
    assert "max.message.bytes" in str(ours)


def test_a_record_that_timed_out_says_which_setting_gave_up() -> None:
    ours = errors.delivery_error(KafkaError(KafkaError._MSG_TIMED_OUT), "orders", 1)
    assert isinstance(ours, ProduceError)
    assert "producer.override.delivery.timeout.ms" in str(ours)


def test_an_exception_without_a_kafka_error_is_still_translated() -> None:
    assert "boom" in str(errors.translate(KafkaException("boom"), "reading"))
