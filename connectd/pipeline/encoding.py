"""From a batch to bytes: the direct path when there is one, the general path when it is needed.

``PageEncoding`` is the work that a page takes with it into the producer's thread. It first asks
the batch for its own encoder for the task's converters. When that refuses an entry, or when there
is no such encoder, every record goes through Connect data, one at a time, and
``errors.tolerance`` decides what becomes of a bad one. Order is kept in both cases, since nothing
leaves the thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from connectd.errors import ConvertError, InvariantError, RecordError
from connectd.model.record import BatchPayload, EncodedPage, EncodedRecord, SourceRecord
from connectd.plugins.spi import Converter

_FAILURES_KEPT_MAX = 20
"""Failures remembered per page for the log; all are counted."""


@dataclass(frozen=True)
class Converters:
    """The key and value converters of a task."""

    key: Converter
    value: Converter


class PageEncoding:
    """Encodes one page, once. ``failures`` and ``failure_count`` tell what was skipped.

    The page is let go of when it is encoded: its bytes are in the producer's buffer then, and a
    second copy of every page under way would double the memory of a slow broker.
    """

    def __init__(
        self, payload: BatchPayload, converters: Converters, *, tolerates_all: bool
    ) -> None:
        self.failures: list[RecordError] = []
        self.failure_count = 0
        self._payload: BatchPayload | None = payload
        self._converters = converters
        self._tolerates_all = tolerates_all

    def __call__(self) -> EncodedPage:
        """The page as bytes.

        Raises:
            RecordError: a record failed and is not tolerated; nothing of the page is to be sent.
        """
        payload, self._payload = self._payload, None
        if payload is None:
            raise InvariantError("a page is encoded a second time")
        encoder = payload.page_encoder(self._converters.key.spec, self._converters.value.spec)
        if encoder is not None:
            try:
                return encoder()
            except ConvertError:
                # The general path finds out which record it is, and names it.
                pass
        return self._encode_one_by_one(payload)

    def _encode_one_by_one(self, payload: BatchPayload) -> EncodedPage:
        converted = list(self._converted(payload))
        # All records of a page go to one topic: no transform routes them (yet).
        topic = converted[0][0] if converted else ""
        return EncodedPage(topic, [record for _, record in converted])

    def _converted(self, payload: BatchPayload) -> Iterator[tuple[str, EncodedRecord]]:
        for record in payload.source_records():
            try:
                if isinstance(record, RecordError):
                    raise record
                yield record.topic, self._convert(record)
            except RecordError as error:
                if not self._tolerates_all:
                    raise
                self.failure_count += 1
                if len(self.failures) < _FAILURES_KEPT_MAX:
                    self.failures.append(error)

    def _convert(self, record: SourceRecord) -> EncodedRecord:
        key = self._converters.key.from_connect_data(record.topic, record.key_schema, record.key)
        value = self._converters.value.from_connect_data(
            record.topic, record.value_schema, record.value
        )
        return key, value
