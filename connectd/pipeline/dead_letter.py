"""The dead letter queue of a sink: what is written when a consumed record fails (spec D.6.4).

Pure: who has sinks makes a letter here and gives it to a producer, ``RoutedRecord`` as any other.
The letter is the record as it was consumed, not what transforms made of it, and Kafka chooses its
partition. With ``errors.deadletterqueue.context.headers.enable`` headers behind its own say where
it comes from and why it is here; a record that fails twice has them twice.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from connectd.model.record import RoutedRecord
from connectd.observe import redaction
from connectd.pipeline.tolerance import Failure

HEADER_PREFIX: Final = "__connect.errors."
"""The beginning of every header that tells of the failure."""


@dataclass(frozen=True)
class ConsumedRecord:
    """A record of a topic, as bytes."""

    topic: str
    kafka_partition: int
    kafka_offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()


@dataclass(frozen=True)
class DeadLetterQueue:
    """Makes the letters of one task. ``tells_why`` adds the headers."""

    topic: str
    connector: str
    task: int
    tells_why: bool = False

    def letter(self, record: ConsumedRecord, failure: Failure) -> RoutedRecord:
        """What is to be written for a record that failed."""
        headers = list(record.headers)
        if self.tells_why:
            headers.extend(self._context(record, failure))
        return RoutedRecord(
            self.topic,
            record.key,
            record.value,
            timestamp_ms=record.timestamp_ms,
            headers=headers,
        )

    def _context(
        self, record: ConsumedRecord, failure: Failure
    ) -> Sequence[tuple[str, bytes | None]]:
        """In Kafka's order; all values are text. A failure without a message has a null there."""
        kind = type(failure.error)
        texts: dict[str, str | None] = {
            "topic": record.topic,
            "partition": str(record.kafka_partition),
            "offset": str(record.kafka_offset),
            "connector.name": self.connector,
            "task.id": str(self.task),
            "stage": failure.stage.value,
            "class.name": failure.class_name,
            "exception.class.name": f"{kind.__module__}.{kind.__qualname__}",
            "exception.message": _readable(str(failure.error)) or None,
            "exception.stacktrace": _readable("".join(traceback.format_exception(failure.error))),
        }
        return [
            (f"{HEADER_PREFIX}{name}", None if text is None else text.encode())
            for name, text in texts.items()
        ]


def _readable(text: str) -> str:
    """Without secrets and without what UTF-8 cannot write: topics are read by everybody."""
    return redaction.redact_text(text).encode(errors="replace").decode()
