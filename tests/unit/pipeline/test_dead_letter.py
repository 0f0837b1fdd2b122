"""Letters for the dead letter queue of a sink."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from connectd.errors import ConvertError
from connectd.model.record import RoutedRecord
from connectd.observe import redaction
from connectd.pipeline.dead_letter import ConsumedRecord, DeadLetterQueue
from connectd.pipeline.tolerance import Failure, Stage

_RECORD = ConsumedRecord(
    topic="orders",
    kafka_partition=3,
    kafka_offset=42,
    key=b"k",
    value=b"poison",
    timestamp_ms=1_700_000_000_000,
    headers=[("h", b"1"), ("__connect.errors.topic", b"an earlier one")],
)
_QUEUE = DeadLetterQueue("dlq", "sink", 7)


@pytest.fixture(autouse=True)
def _forget_secrets() -> Iterator[None]:
    yield
    redaction.forget_secrets()


def _failure(error: Exception) -> Failure:
    return Failure(Stage.VALUE_CONVERTER, "org.example.Converter", error, "orders-3@42")


def test_a_letter_is_the_record_as_it_was_consumed() -> None:
    assert _QUEUE.letter(_RECORD, _failure(ConvertError("no JSON"))) == RoutedRecord(
        "dlq", b"k", b"poison", None, 1_700_000_000_000, list(_RECORD.headers)
    )


def test_headers_behind_its_own_say_where_it_comes_from_and_why() -> None:
    error = ConvertError("no JSON")
    letter = replace(_QUEUE, tells_why=True).letter(_RECORD, _failure(error))
    (*others, (last, trace)) = letter.headers
    assert others == [
        *_RECORD.headers,
        ("__connect.errors.topic", b"orders"),
        ("__connect.errors.partition", b"3"),
        ("__connect.errors.offset", b"42"),
        ("__connect.errors.connector.name", b"sink"),
        ("__connect.errors.task.id", b"7"),
        ("__connect.errors.stage", b"VALUE_CONVERTER"),
        ("__connect.errors.class.name", b"org.example.Converter"),
        ("__connect.errors.exception.class.name", b"connectd.errors.ConvertError"),
        ("__connect.errors.exception.message", b"no JSON"),
    ]
    assert last == "__connect.errors.exception.stacktrace"
    assert b"ConvertError: no JSON" in (trace or b"")


def test_a_failure_without_a_message_has_a_null_there() -> None:
    letter = replace(_QUEUE, tells_why=True).letter(_RECORD, _failure(ValueError()))
    assert dict(letter.headers)["__connect.errors.exception.message"] is None


def test_no_secret_gets_into_a_letter_and_any_text_does() -> None:
    redaction.register_secret("hush-hush-1")
    letter = replace(_QUEUE, tells_why=True).letter(
        _RECORD, _failure(ConvertError("password hush-hush-1, \ud800"))
    )
    headers = dict(letter.headers)
    assert b"hush-hush-1" not in (headers["__connect.errors.exception.stacktrace"] or b"")
    assert headers["__connect.errors.exception.message"] == b"password [hidden], ?"
