"""From a batch to bytes: the direct path when there is one, the general path when it is needed.

``PageEncoding`` is the work that a page takes with it into the producer's thread. It first asks
the batch for its own encoder for the task's converters. When that refuses an entry, when there is
no such encoder, or when the task has transforms, every record goes through Connect data, one at a
time, and ``errors.tolerance`` decides what becomes of a bad one. A record that a transform drops is
simply not there: its page is acknowledged without it. Order is kept in all cases, since nothing
leaves the thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from connectd.errors import ConvertError, FatalTaskError, InvariantError, RecordError
from connectd.model.record import (
    BatchPayload,
    Encoded,
    EncodedPage,
    RoutedPage,
    RoutedRecord,
    SourceRecord,
)
from connectd.plugins.chaining import TransformChain
from connectd.plugins.spi import Converter, HeaderConverter

_FAILURES_KEPT_MAX = 20
"""Failures remembered per page for the log; all are counted."""

_NO_TRANSFORMS = TransformChain()

_NO_TIMESTAMP_MS = -1
"""Kafka's own mark for a record without a time."""


@dataclass(frozen=True)
class Converters:
    """What a record passes on its way to bytes: transforms, if there are any, then converters."""

    key: Converter
    value: Converter
    header: HeaderConverter
    transforms: TransformChain = _NO_TRANSFORMS


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

    def __call__(self) -> Encoded:
        """The page as bytes.

        Raises:
            RecordError: a record failed and is not tolerated; nothing of the page is to be sent.
            FatalTaskError: a record has a timestamp that is none.
        """
        payload, self._payload = self._payload, None
        if payload is None:
            raise InvariantError("a page is encoded a second time")
        encoder = self._page_encoder(payload)
        if encoder is not None:
            try:
                return encoder()
            except ConvertError:
                # The general path finds out which record it is, and names it.
                pass
        return RoutedPage(list(self._converted(payload)))

    def _page_encoder(self, payload: BatchPayload) -> Callable[[], EncodedPage] | None:
        converters = self._converters
        if converters.transforms:
            return None
        return payload.page_encoder(converters.key.spec, converters.value.spec)

    def _converted(self, payload: BatchPayload) -> Iterator[RoutedRecord]:
        for record in payload.source_records():
            try:
                if isinstance(record, RecordError):
                    raise record
                transformed = self._converters.transforms.apply(record)
                if transformed is not None:
                    yield self._convert(transformed)
            except RecordError as error:
                if not self._tolerates_all:
                    raise
                self.failure_count += 1
                if len(self.failures) < _FAILURES_KEPT_MAX:
                    self.failures.append(error)

    def _convert(self, record: SourceRecord) -> RoutedRecord:
        """Headers, key and value, in Kafka's order."""
        converters, topic = self._converters, record.topic
        stage = "HEADER_CONVERTER"
        try:
            headers = [
                (name, converters.header.from_connect_header(topic, name, schema, value))
                for name, schema, value in record.headers
            ]
            stage = "KEY_CONVERTER"
            key = converters.key.from_connect_data(topic, record.key_schema, record.key)
            stage = "VALUE_CONVERTER"
            value = converters.value.from_connect_data(topic, record.value_schema, record.value)
        except ConvertError as error:
            error.stage = stage
            raise
        return RoutedRecord(
            topic, key, value, record.kafka_partition, _timestamp_ms(record), headers
        )


def _timestamp_ms(record: SourceRecord) -> int | None:
    timestamp_ms = record.timestamp_ms
    if timestamp_ms is None or timestamp_ms >= 0:
        return timestamp_ms
    if timestamp_ms == _NO_TIMESTAMP_MS:
        return None
    raise FatalTaskError(f"Invalid record timestamp {timestamp_ms}")
