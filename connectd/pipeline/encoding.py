"""From a batch to bytes: the direct path when there is one, the general path when it is needed.

``PageEncoding`` is the work that a page needs before it can be sent. It first asks the batch for
its own encoder for the task's converters. Where there is none, or the task has transforms, but all
of these say that they never look into texts, it asks for the bytes that specimens show: one record
of each kind passes transforms and converters for all. When either refuses an entry, or neither is
there, every record goes through Connect data, one at a time, and the connector's ``ErrorPolicy``
decides what becomes of a bad one. A record that a transform drops is simply not there: its page is
acknowledged without it. Order is kept in all cases, since one page is encoded by one thread from
its first record to its last.

A failure that ends the task cuts the page: what came before it is the page then, and ``ended_by``
says why there is no more. So a bad record keeps back nothing but itself and what follows it, as in
Kafka Connect.

Something outside that is away (``RetriableError``) interrupts the work between two records; calling
again goes on with the record that was interrupted. Who calls, and when, is ``preparation``'s
business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from connectd.errors import (
    ConvertError,
    FatalTaskError,
    InvariantError,
    RecordError,
    RetriableError,
)
from connectd.model import text_marks
from connectd.model.record import (
    BatchPayload,
    Conversion,
    Encoded,
    EncodedPage,
    HasSpecimens,
    RoutedPage,
    RoutedRecord,
    SourceOffset,
    SourceRecord,
)
from connectd.pipeline import producible
from connectd.pipeline.tolerance import (
    SENDER,
    ErrorPolicy,
    Failure,
    Stage,
    ToleranceExceededError,
)
from connectd.pipeline.topics import illegal_name
from connectd.plugins import answers, containment, texts
from connectd.plugins.chaining import TransformChain
from connectd.plugins.spi import Converter, HeaderConverter

_FAILURES_KEPT_MAX: Final = 20
"""Failures remembered per page; all are counted. With ``errors.log.enable`` all are remembered."""

_SPECIMENS_FROM: Final = 4
"""Records of a page from which on a specimen is less work than they are."""

_NO_TRANSFORMS: Final = TransformChain()

_OF_DATA: Final = "from_connect_data"
_OF_HEADER: Final = "from_connect_header"

_NOT_THE_RECORDS_FAULT: Final = (FatalTaskError, AssertionError, MemoryError)
"""What no policy tolerates: every record would be skipped, and the cause hidden (credentials that a
registry refuses, a defect)."""


@dataclass(frozen=True)
class Converters:
    """What a record passes on its way to bytes: transforms, if there are any, then converters."""

    key: Converter
    value: Converter
    header: HeaderConverter
    transforms: TransformChain = _NO_TRANSFORMS

    @cached_property
    def by_specimens(self) -> Conversion | None:
        """The same for all records that differ in texts alone; None: not all of them say so."""
        key_form, value_form = texts.form_of(self.key), texts.form_of(self.value)
        if key_form is None or value_form is None or not self.transforms.ignores_texts:
            return None
        return Conversion(lambda record: _SpecimenWay(self).routed(record), key_form, value_form)


class _RefusedTopicError(Exception):
    """Kafka would not have a topic of that name."""

    def __init__(self, error: FatalTaskError) -> None:
        super().__init__(str(error))
        self.error = error


class _Way:
    """A record's way to bytes; where one is, or has failed, say ``stage`` and ``class_name``."""

    def __init__(self, converters: Converters) -> None:
        self.stage, self.class_name = Stage.TRANSFORMATION, ""
        self._converters = converters
        self._legal_topics: set[str] = set()

    def routed(self, entry: SourceRecord) -> RoutedRecord | None:
        """Transforms, then headers, key and value, in Kafka's order; None: dropped.

        Raises:
            _RefusedTopicError: where it is to go.
            Exception: whatever plugins raise.
        """
        converters, record = self._converters, entry
        self.stage, self.class_name = Stage.TRANSFORMATION, ""
        for step in converters.transforms.steps:
            self.class_name = step.class_name
            changed = step.apply(record)
            if changed is None:
                return None
            record = changed
        topic = record.topic
        if type(topic) is not str or topic not in self._legal_topics:
            topic = self._admitted(record, entry)
        headers: list[tuple[str, bytes | None]] = []
        if record.headers != []:
            self.stage, self.class_name = Stage.HEADER_CONVERTER, converters.header.spec.class_name
            headers = self._headers(topic, record, entry)
        self.stage, self.class_name = Stage.KEY_CONVERTER, converters.key.spec.class_name
        key = converters.key.from_connect_data(topic, record.key_schema, record.key)
        if type(key) is not bytes:
            key = producible.bytes_of(self.class_name, _OF_DATA, key)
        self.stage, self.class_name = Stage.VALUE_CONVERTER, converters.value.spec.class_name
        value = converters.value.from_connect_data(topic, record.value_schema, record.value)
        if type(value) is not bytes:
            value = producible.bytes_of(self.class_name, _OF_DATA, value)
        partition = producible.partition_of(record)
        return RoutedRecord(topic, key, value, partition, producible.timestamp_of(record), headers)

    def _admitted(self, record: SourceRecord, entry: SourceRecord) -> str:
        """The topic of a record, if Kafka has one of that name."""
        topic = producible.topic_of(record, _origin(entry))
        if topic not in self._legal_topics:
            illegal = illegal_name(topic)
            if illegal is not None:
                raise _RefusedTopicError(illegal)
            self._legal_topics.add(topic)
        return topic

    def _headers(
        self, topic: str, record: SourceRecord, entry: SourceRecord
    ) -> list[tuple[str, bytes | None]]:
        convert = self._converters.header.from_connect_header
        return [
            (
                name,
                producible.bytes_of(
                    self.class_name, _OF_HEADER, convert(topic, name, schema, value)
                ),
            )
            for name, schema, value in producible.headers_of(record, _origin(entry))
        ]


class _SpecimenWay(_Way):
    """That of a record with marks in the place of its texts: only key and value may have them."""

    def _admitted(self, record: SourceRecord, entry: SourceRecord) -> str:
        if text_marks.are_in(record.topic):
            raise text_marks.MarkedTextError("a text became a topic")
        return super()._admitted(record, entry)

    def _headers(
        self, topic: str, record: SourceRecord, entry: SourceRecord
    ) -> list[tuple[str, bytes | None]]:
        if any(text_marks.are_in(value) for _, _, value in record.headers):
            raise text_marks.MarkedTextError("a text went into a header")
        return super()._headers(topic, record, entry)


class PageEncoding:
    """Encodes one page, once. ``failures`` and ``failure_count`` tell what was skipped.

    ``attempts_failed`` counts every try that failed, those that were repeated too (``retries``,
    which the caller counts). The page is let go of when it is encoded: its bytes are in the
    producer's buffer then, and a second copy of every page under way would double the memory of a
    slow broker.

    ``ended_by`` is the failure that ends the task, if there is one; ``offset_reached`` is the
    position before it.
    """

    def __init__(self, payload: BatchPayload, converters: Converters, policy: ErrorPolicy) -> None:
        self.failures: list[Failure] = []
        self.failure_count = 0
        self.attempts_failed = self.retries = 0
        self.ended_by: FatalTaskError | None = None
        self._converters = converters
        self._policy = policy
        self._source = f"{type(payload).__module__}.{type(payload).__qualname__}"
        self._payload: BatchPayload | None = payload
        self._direct = None if converters.transforms else _page_encoder(payload, converters)
        self._entries: Iterator[SourceRecord | RecordError] = iter(())
        self._current: SourceRecord | RecordError | None = None
        self._interrupted: Failure | None = None
        self._entries_done = 0
        self._done: list[RoutedRecord] = []
        self._way = _Way(converters)
        self._offset_after: Callable[[], SourceOffset] | None = None
        self._offsets_before: dict[int, Callable[[], SourceOffset]] = {}

    @property
    def is_direct(self) -> bool:
        """Whether the page knows its own way to bytes, which touches nothing outside."""
        return self._direct is not None

    @property
    def interrupted_by(self) -> Failure | None:
        """What the last call was interrupted by."""
        return self._interrupted

    @property
    def entries_done(self) -> int:
        """How many entries have passed by now, or were skipped."""
        return self._entries_done

    def __call__(self) -> Encoded:
        """The page as bytes, up to what ended the task: see ``ended_by``.

        Raises:
            RetriableError: interrupted, see the module's docstring.
        """
        payload, self._payload = self._payload, None
        if payload is not None:
            encoded = self._encoded_directly() or self._encoded_by_specimens(payload)
            if encoded is not None:
                return encoded
            self._entries = payload.source_records()
        elif self._interrupted is None:
            raise InvariantError("a page is encoded a second time")
        self._interrupted = None
        try:
            while self.ended_by is None and (entry := self._next_entry()) is not None:
                self._pass(entry)
        except FatalTaskError as error:
            self.ended_by = error
        if self.ended_by is None:
            self._offset_after = None  # it may hold on to the page
        done, self._done = self._done, []
        return RoutedPage(done)

    def give_up(self) -> None:
        """Enough has been tried: what interrupted the work is a failure of its record.

        The next call goes on behind it or, when it may not be skipped, ends with what there is.
        """
        if self._interrupted is None:
            raise InvariantError("a page that was not interrupted is given up")
        self._fail(self._interrupted)

    def offset_reached(self) -> SourceOffset | None:
        """The last position that all records before ``ended_by`` give; None: the page has none."""
        return None if self._offset_after is None else self._offset_after()

    def offset_before(self, index: int | None) -> SourceOffset | None:
        """The last position that the page has before one of its encoded records; None: none."""
        before = None if index is None else self._offsets_before.get(index)
        return None if before is None else before()

    def _encoded_directly(self) -> EncodedPage | None:
        direct, self._direct = self._direct, None
        if direct is None:
            return None
        try:
            return direct()
        except ConvertError:
            return None  # the general path finds out which record it is, and names it

    def _encoded_by_specimens(self, payload: BatchPayload) -> Encoded | None:
        conversion = self._converters.by_specimens
        if (
            conversion is None
            or len(payload) < _SPECIMENS_FROM
            or not isinstance(payload, HasSpecimens)
        ):
            return None
        try:
            with containment.contained(f"encoding specimens of {self._source}"):
                return payload.encoded_by_specimens(conversion)
        except (AssertionError, MemoryError):
            raise
        except Exception:
            return None  # the general path finds out whose fault it is, if there is one

    def _next_entry(self) -> SourceRecord | RecordError | None:
        if self._current is None:
            self._current = next(self._entries, None)
        return self._current

    def _pass(self, entry: SourceRecord | RecordError) -> None:
        if isinstance(entry, RecordError):
            self.attempts_failed += 1
            self._fail(Failure(Stage(entry.stage), self._source, entry, str(entry)))
            return
        if not isinstance(entry, SourceRecord):
            raise answers.wrong(f"{self._source}: source_records", entry, "SourceRecord")
        routed = self._routed(entry)
        if routed is not None:
            if self._offset_after is not None and not self._policy.tolerates_all:
                self._offsets_before[len(self._done)] = self._offset_after
            self._done.append(routed)
            self._finish_entry()

    def _routed(self, entry: SourceRecord) -> RoutedRecord | None:
        """What becomes of a record; None: dropped or failed."""
        way = self._way
        try:
            routed = way.routed(entry)
        except _NOT_THE_RECORDS_FAULT:
            raise
        except RetriableError as error:
            self.attempts_failed += 1
            self._interrupted = Failure(way.stage, way.class_name, error, _origin(entry), entry)
            raise
        except _RefusedTopicError as refused:
            self._refuse(entry, refused.error)
            return None
        except Exception as error:  # plugins may raise anything; the policy judges all of it
            self.attempts_failed += 1
            self._fail(Failure(way.stage, way.class_name, error, _origin(entry), entry))
            return None
        except BaseException as error:
            raise containment.escape(f"{way.stage.value} ({way.class_name})", error) from error
        if routed is None:
            self._finish_entry()
        return routed

    def _refuse(self, entry: SourceRecord, illegal: FatalTaskError) -> None:
        """A topic that Kafka would not have: a failed send, which may be tolerated (D.4.4)."""
        if not self._policy.tolerates_all:
            raise illegal
        self._fail(Failure(Stage.KAFKA_PRODUCE, SENDER, illegal, _origin(entry), entry))

    def _fail(self, failure: Failure) -> None:
        self.failure_count += 1
        if self._policy.logs_failures or len(self.failures) < _FAILURES_KEPT_MAX:
            self.failures.append(failure)
        if self._policy.tolerates_all:
            self._finish_entry()
        else:
            self.ended_by = ToleranceExceededError(failure)

    def _finish_entry(self) -> None:
        entry = self._current
        if isinstance(entry, SourceRecord) and entry.offset_after is not None:
            self._offset_after = entry.offset_after
        self._current = None
        self._entries_done += 1


def _page_encoder(
    payload: BatchPayload, converters: Converters
) -> Callable[[], EncodedPage] | None:
    return payload.page_encoder(converters.key.spec, converters.value.spec)


def _origin(record: SourceRecord) -> str:
    return record.origin or f"a record for topic {record.topic}"
