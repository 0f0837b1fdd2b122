"""What flows: batches of one page each, and seals.

The unit of the data path is a **page** (DESIGN section 4). A ``RecordBatch`` carries the position
that holds *after* all of its records are acknowledged; the frontier commits nothing else. The end
of a segment or shard is a ``Seal`` of its own, because it may come with an empty page.

Batches offer their records twice, and both must give the same bytes: ``payload.source_records``
builds Connect data that every transform and converter understands, one record at a time;
``payload.page_encoder`` may know a direct way to the bytes of a known pair of converters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

from connectd.errors import RecordError
from connectd.model.schema import Schema
from connectd.model.text_marks import TextForm

Primitive = str | int | float | bool | None
SourceOffset = Mapping[str, Primitive]
"""A position in a source partition: a flat JSON object (spec kafka-connect C.3)."""

EncodedRecord = tuple[bytes | None, bytes | None]
"""Key and value as they go to Kafka; a None value is a tombstone."""


@dataclass(frozen=True)
class SourcePartition:
    """Names one input of a connector; equality is that of the serialised key, order included."""

    items: tuple[tuple[str, Primitive], ...]

    @classmethod
    def of(cls, members: Mapping[str, Primitive]) -> SourcePartition:
        """From a mapping, keeping its order."""
        return cls(tuple(members.items()))

    def to_dict(self) -> dict[str, Primitive]:
        """As a JSON object."""
        return dict(self.items)

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.items)


@dataclass(frozen=True)
class ConverterSpec:
    """A converter and its settings as a value: what a ready encoding is compiled for.

    ``class_name`` is the canonical Java name; ``settings`` are the effective ones, sorted by name.
    """

    class_name: str
    settings: tuple[tuple[str, str], ...] = ()

    def setting(self, name: str, default: str) -> str:
        """One setting, or the default."""
        return dict(self.settings).get(name, default)


@dataclass
class SourceRecord:
    """One record as Connect data, on its way through transforms and converters.

    ``origin`` names the item for messages of errors (table and key), never its content.
    ``offset_after`` gives the position once this record and all before it are acknowledged; None
    where there is no position between it and the next one. It is asked only when a page is cut
    because a later record of it fails; otherwise the position of the page is all that is needed.
    """

    topic: str
    key_schema: Schema | None
    key: object
    value_schema: Schema | None
    value: object
    kafka_partition: int | None = None
    timestamp_ms: int | None = None
    headers: list[tuple[str, Schema | None, object]] = field(default_factory=list)
    origin: str = ""
    offset_after: Callable[[], SourceOffset] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class EncodedPage:
    """All records of a page, ready for the producer, in order, for one topic.

    The form of the direct path: Kafka chooses partitions and timestamps, and there are no headers.
    """

    topic: str
    records: list[EncodedRecord]

    @property
    def topics(self) -> tuple[str, ...]:
        """Where it goes."""
        return (self.topic,)


class RoutedRecord(NamedTuple):
    """A record that says itself where it goes; None leaves partition or timestamp to Kafka."""

    topic: str
    key: bytes | None
    value: bytes | None
    kafka_partition: int | None = None
    timestamp_ms: int | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()


@dataclass(frozen=True)
class RoutedPage:
    """All records of a page, ready for the producer, in order: the form of the general path."""

    records: list[RoutedRecord]

    @property
    def topics(self) -> tuple[str, ...]:
        """Where its records go."""
        return tuple(dict.fromkeys(record.topic for record in self.records))


Encoded = EncodedPage | RoutedPage


class BatchPayload(Protocol):
    """The records of one page."""

    def __len__(self) -> int:
        """Number of source entries (a delete with its tombstone is one)."""
        ...

    def source_records(self) -> Iterator[SourceRecord | RecordError]:
        """The general path: Connect data, in order.

        An entry that cannot be expressed stands as its error in its place, so that
        ``errors.tolerance`` can skip that one alone.
        """
        ...

    def page_encoder(
        self, key: ConverterSpec, value: ConverterSpec
    ) -> Callable[[], EncodedPage] | None:
        """The direct path for this pair of converters, or None when there is none.

        The callable is pure and may run in any thread. It raises ``ConvertError`` when any entry
        cannot be encoded; the caller then takes the general path to find out which one.
        """
        ...


@dataclass(frozen=True)
class Conversion:
    """What becomes of each record of a task, all of it the same whatever its texts say.

    ``routed`` is its way through transforms and converters; None: a transform drops it. It raises
    what they raise. ``key_form`` and ``value_form`` are those of all texts in keys and values.
    """

    routed: Callable[[SourceRecord], RoutedRecord | None]
    key_form: TextForm
    value_form: TextForm


@runtime_checkable
class HasSpecimens(Protocol):
    """A payload of records that differ in little more than texts.

    It need not send each of them through transforms and converters: one specimen with marks in it
    shows what becomes of all that are like it (``text_marks``).
    """

    def encoded_by_specimens(self, conversion: Conversion) -> Encoded:
        """The page as the general path would have it.

        Raises:
            Exception: it cannot be told by specimens, or what the general path may raise; that path
                is to find out for which record.
        """
        ...


@dataclass(frozen=True)
class RecordList:
    """A page of records that exist as Connect data already; it has no direct path."""

    records: Sequence[SourceRecord]

    def __len__(self) -> int:
        return len(self.records)

    def source_records(self) -> Iterator[SourceRecord | RecordError]:
        """See ``BatchPayload``."""
        return iter(self.records)

    def page_encoder(
        self, key: ConverterSpec, value: ConverterSpec
    ) -> Callable[[], EncodedPage] | None:
        """See ``BatchPayload``."""
        return None


@dataclass(frozen=True)
class DeliveredElsewhere:
    """Records that Kafka has acknowledged to somebody who works for this task (a job on Spark).

    ``skipped`` more failed and were tolerated.
    """

    records: int
    topics: tuple[str, ...] = ()
    skipped: int = 0


class Acked(NamedTuple):
    """What became of a batch: ``records`` are in Kafka, ``skipped`` failed and were tolerated.

    What a transform has dropped is neither.
    """

    records: int = 0
    skipped: int = 0


@dataclass(frozen=True)
class RecordBatch:
    """A page of one source partition, and the position after it.

    Promise of the sender: batches of one partition come in source order. An empty payload moves the
    position alone (a filtered page, a heartbeat); ``delivered`` tells of records that lie before
    it and took another way.
    """

    source_partition: SourcePartition
    source_offset: SourceOffset
    payload: BatchPayload
    on_acked: Callable[[Acked], None] | None = None
    """Called on the loop when this and all earlier batches of the partition are acknowledged."""
    delivered: DeliveredElsewhere | None = None
    is_urgent: bool = False
    """Somebody waits for it: before the producer it may pass pages of other inputs, that is, of
    source partitions whose first member is another."""


@dataclass(frozen=True)
class Seal:
    """The end of a source partition: resolves when everything before it is acknowledged.

    A None offset removes the partition: what it stood for is over and needs no place any more.
    ``on_committed`` is called on the loop once the seal's offset is durable. A seal asks for a
    commit without waiting for the flush interval, since others (child shards) wait for it.
    """

    source_partition: SourcePartition
    source_offset: SourceOffset | None
    on_committed: Callable[[], None] | None = None


Emission = RecordBatch | Seal
