"""What becomes of a record that cannot be processed: retried, skipped, or the end of its task.

``ErrorPolicy`` is the connector's ``errors.*`` (spec kafka-connect D.6). Transforms and converters
run under it, one record at a time:

* A ``RetriableError`` says that the outside is away (a schema registry), not that the record is
  bad. It is tried again, with Kafka's growing waits, for ``errors.retry.timeout``. Records behind
  it wait: nothing is overtaken. Without that key there is no limit; the task shows what it waits
  for. That differs from Kafka, whose default is not to try again.
* A ``FatalTaskError`` is not about the record either: the task ends.
* Everything else, and retries that are used up, is a failed record: skipped with
  ``errors.tolerance=all``, otherwise the end of the task. Kafka skips a record whose retries are
  used up even with ``none``, without a word; here nothing is lost that nobody has agreed to lose.

Records that Kafka refuses (stage ``KAFKA_PRODUCE``) are never sent again from here, since that
would put them behind their successors; librdkafka has tried for as long as it may.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import Enum
from typing import Final

from connectd.errors import FatalTaskError
from connectd.model.record import SourceRecord

SENDER: Final = "org.apache.kafka.connect.runtime.WorkerSourceTask"
"""The class that Kafka names for records that its producer did not take, or could not deliver."""

RETRY_DELAY_MIN_S: Final = 0.3
"""Kafka's first wait; it doubles."""

RETRY_DELAY_FLOOR_S: Final = 0.01
"""``errors.retry.delay.max.ms=0`` must not become a loop without a breath."""

_DOUBLINGS_MAX: Final = 30


class Stage(Enum):
    """Where a record failed, under the names of Kafka's logs and headers (spec D.6.1)."""

    TRANSFORMATION = "TRANSFORMATION"
    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    KAFKA_PRODUCE = "KAFKA_PRODUCE"
    KAFKA_CONSUME = "KAFKA_CONSUME"
    TASK_POLL = "TASK_POLL"
    TASK_PUT = "TASK_PUT"


@dataclass(frozen=True)
class Failure:
    """One record that could not be processed: where, by which class, and why.

    ``record`` is as the source made it, where that is still known; ``origin`` names it in any case.
    """

    stage: Stage
    class_name: str
    error: Exception
    origin: str
    record: SourceRecord | None = None


@dataclass(frozen=True)
class ErrorPolicy:
    """A connector's ``errors.*``; a ``retry_timeout_s`` of None knows no end."""

    tolerates_all: bool = False
    retry_timeout_s: float | None = None
    retry_delay_max_s: float = 60.0
    logs_failures: bool = False
    logs_records: bool = False

    def retry_delay_s(self, attempt: int, *, tried_for_s: float) -> float | None:
        """The wait after the ``attempt``-th failure (from 1); None: enough has been tried."""
        left_s = float("inf")
        if self.retry_timeout_s is not None:
            left_s = self.retry_timeout_s - tried_for_s
            if left_s <= 0:
                return None
        delay_s = RETRY_DELAY_MIN_S * 2.0 ** min(attempt - 1, _DOUBLINGS_MAX)
        if delay_s > self.retry_delay_max_s:
            delay_s = random.uniform(0, self.retry_delay_max_s)  # noqa: S311  not a secret
        return min(max(delay_s, RETRY_DELAY_FLOOR_S), left_s)


class ToleranceExceededError(FatalTaskError):
    """A record has failed and may not be skipped; its cause says why, in Kafka's words."""

    def __init__(self, failure: Failure) -> None:
        super().__init__("Tolerance exceeded in error handler")
        self.failure = failure
        self.__cause__ = failure.error
