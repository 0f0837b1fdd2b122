"""What is said at one end is what is heard at the other."""

from __future__ import annotations

import math

import pytest

from connectd.errors import (
    AccessDeniedError,
    FatalTaskError,
    ProducerLostError,
    RetriableError,
    SendAgainError,
    TaskProcessLostError,
    ThrottledError,
    TopicGoneError,
    WorkerError,
)
from connectd.model.record import SourcePartition
from connectd.observe import redaction
from connectd.runtime.cores import messages
from connectd.runtime.cores.failures import error_of, failure_of
from connectd.runtime.statuses import summary_of, trace_of


def test_every_message_has_a_way_of_its_own() -> None:
    start = messages.StartTask(7, "c", 0, 3, {"a": "b"}, {}, True, b"[]", ["hush"])
    assert messages.from_parent(messages.encode(start)) == start
    lease = messages.MayWrite(math.inf)
    assert messages.from_parent(messages.encode(lease)) == lease
    assert messages.from_child(messages.encode(messages.LetGo(7))) == messages.LetGo(7)
    report = messages.Report(
        [messages.TaskReport(7, [{"table": "t", "age": 0.5, "reason": None}], {"g": {"n": 1}})],
        messages.ProcessReport(aws={"Scan": {"calls_total": 3}}),
    )
    assert messages.from_child(messages.encode(report)) == report


def test_offsets_arrive_with_their_order_their_types_and_whatever_texts_they_hold() -> None:
    partition = SourcePartition.of({"table_name": "t\ud800", "n": 1, "x": None, "b": True})
    other = SourcePartition.of({"table_name": "ü"})
    offsets = {partition: {"long": 2**70, "f": 0.5}, other: None}
    arrived = messages.offsets_of(messages.offsets_text(offsets))
    assert list(arrived.items()) == list(offsets.items())


def _raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TopicGoneError("t"), TopicGoneError),
        (ProducerLostError("p"), ProducerLostError),
        (SendAgainError("s"), SendAgainError),
        (TaskProcessLostError("p"), TaskProcessLostError),
        (ThrottledError("slow"), RetriableError),
        (WorkerError("w"), WorkerError),
    ],
)
def test_what_is_acted_upon_stays_what_it_is(error: Exception, kind: type[Exception]) -> None:
    assert type(error_of(failure_of(error))) is kind


def test_a_failure_is_shown_as_it_was_where_it_happened() -> None:
    error = _raised(AccessDeniedError("no ListTables"))
    error.__cause__ = KeyError("x")
    carried = error_of(failure_of(error))
    assert isinstance(carried, FatalTaskError)
    assert trace_of(carried) == trace_of(error)
    assert summary_of(carried) == summary_of(error)
    assert trace_of(carried).startswith("connectd.errors.AccessDeniedError: no ListTables\n")


def test_a_failure_travels_without_secrets_and_with_any_text() -> None:
    with redaction.forgetting():
        redaction.register_secret("s3cr3t-of-somebody")
        failure = failure_of(_raised(ValueError("s3cr3t-of-somebody \ud800")))
    assert "s3cr3t" not in failure.trace + failure.summary
    ended = messages.TaskEnded(1, failure)
    assert messages.from_child(messages.encode(ended)) == ended
