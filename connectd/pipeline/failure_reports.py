"""Records that could not be processed: counted, and written to the log (spec D.6.3, G.5).

With ``errors.log.enable`` each gets the line that Kafka Connect writes, word for word, since
people search for it and alert on it: that is why these messages are not constant. With
``errors.log.include.messages`` the line has the record itself. Without either, tolerated is not
unseen: one line per page says that records are left out, and why the first.

One ``FailureReports`` per task life, on the event loop. A page is reported once, when its fate is
known, and before its task fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from connectd.aio.clock import Clock, wall_ms
from connectd.errors import ConnectdError
from connectd.kafka import producer as kafka_producer
from connectd.model.record import SourceOffset, SourceRecord
from connectd.pipeline import record_text
from connectd.pipeline.encoding import PageEncoding
from connectd.pipeline.frontier import FrontierEntry
from connectd.pipeline.tolerance import SENDER, ErrorPolicy, Failure, Stage

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ErrorStatistics:
    """Kafka's ``task-error-metrics`` of one life of a task (spec kafka-connect G.5).

    ``record_failures`` counts tries, ``record_errors`` the records that finally failed, of which
    ``records_skipped`` were tolerated.
    """

    record_failures: int = 0
    record_errors: int = 0
    records_skipped: int = 0
    retries: int = 0
    errors_logged: int = 0
    last_error_timestamp_ms: int | None = None

    def metrics(self) -> dict[str, int]:
        """By the names of Kafka's attributes."""
        return {
            "total-record-failures": self.record_failures,
            "total-record-errors": self.record_errors,
            "total-records-skipped": self.records_skipped,
            "total-retries": self.retries,
            "total-errors-logged": self.errors_logged,
            "deadletterqueue-produce-requests": 0,
            "deadletterqueue-produce-failures": 0,
            "last-error-timestamp": self.last_error_timestamp_ms or 0,
        }


class FailureReports:
    """See the module's docstring. ``name`` is that of the task, as in ``orders-0``."""

    def __init__(
        self, policy: ErrorPolicy, name: str, *, clock: Clock, log_fields: Mapping[str, object]
    ) -> None:
        self._policy = policy
        self._name = name
        self._clock = clock
        self._log_fields = dict(log_fields)
        self._statistics = ErrorStatistics()

    def report(
        self,
        entry: FrontierEntry,
        encoding: PageEncoding,
        result: kafka_producer.SendResult | None = None,
    ) -> None:
        """Report what failed on a page: while it was encoded and, with its result, when sent."""
        sent = () if result is None else [_failure(entry, each) for each in result.failures]
        sent_count = 0 if result is None else result.failure_count
        count = encoding.failure_count + sent_count
        statistics = self._statistics
        statistics = replace(
            statistics,
            record_failures=statistics.record_failures + encoding.attempts_failed + sent_count,
            retries=statistics.retries + encoding.retries,
        )
        if count:
            statistics = replace(
                statistics,
                record_errors=statistics.record_errors + count,
                records_skipped=statistics.records_skipped
                + (count if self._policy.tolerates_all else 0),
                errors_logged=statistics.errors_logged
                + self._write(entry, [*encoding.failures, *sent], count),
                last_error_timestamp_ms=wall_ms(self._clock),
            )
        self._statistics = statistics

    def count_skipped(self, records: int) -> None:
        """Count records that somebody else has skipped, and reported, for this task."""
        if records:
            self._statistics = replace(
                self._statistics,
                record_failures=self._statistics.record_failures + records,
                record_errors=self._statistics.record_errors + records,
                records_skipped=self._statistics.records_skipped + records,
                last_error_timestamp_ms=wall_ms(self._clock),
            )

    def statistics(self) -> ErrorStatistics:
        """Counters since the start."""
        return self._statistics

    def _write(self, entry: FrontierEntry, failures: Sequence[Failure], count: int) -> int:
        source = str(entry.partition)
        if self._policy.logs_failures:
            for failure in failures:
                _log.error(
                    self._sentence(entry, failure),
                    source=source,
                    record=failure.origin,
                    error=str(failure.error),
                    exc_info=failure.error,
                    **self._log_fields,
                )
            return len(failures)
        if self._policy.tolerates_all:
            _log.warning(
                "records skipped, as errors.tolerance=all asks; errors.log.enable=true shows each",
                source=source,
                records=count,
                first=str(failures[0].error) if failures else "",
                **self._log_fields,
            )
        return 0

    def _sentence(self, entry: FrontierEntry, failure: Failure) -> str:
        record = ""
        if self._policy.logs_records and failure.record is not None:
            offset = _offset_of(failure.record, entry)
            text = record_text.of(entry.partition, offset, failure.record)
            record = f", where source record is = {text}"
        return (
            f"Error encountered in task {self._name}. Executing stage '{failure.stage.value}' "
            f"with class '{failure.class_name}'{record}."
        )


def _offset_of(record: SourceRecord, entry: FrontierEntry) -> SourceOffset | None:
    return entry.offset if record.offset_after is None else record.offset_after()


def _failure(entry: FrontierEntry, failure: kafka_producer.RecordFailure) -> Failure:
    return Failure(
        Stage.KAFKA_PRODUCE, SENDER, delivery_error(entry, failure), str(entry.partition)
    )


def delivery_error(entry: FrontierEntry, failure: kafka_producer.RecordFailure) -> ConnectdError:
    """Why Kafka does not have a record, with what identifies it: its source and its key."""
    key = "none" if failure.key is None else failure.key.decode(errors="replace")
    error = type(failure.error)(
        f"sending the record with key {key} of {entry.partition} to {failure.topic}: "
        f"{failure.error}"
    )
    error.__cause__ = failure.error
    return error
