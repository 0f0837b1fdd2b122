"""What is remembered of a table between two lives, and its form in ``connect-offsets``.

Three kinds of source partitions belong to one table:

* ``{"table_name": t}``: the **table state**, in the Java connector's map, key for key and in its
  order (spec dynamodb-connector 3.5), so that either can take over from the other. What the Java
  connector does not know stands behind it.
* ``{"table_name": t, "segment": i}``: how far the scan of one segment is.
* ``{"table_name": t, "shard_id": s}``: the position in one shard of the table's stream. It stands
  for two facts: every record up to ``sequence_number`` has been handed over, and so has every
  change made before ``position_ms`` (service time) in this shard and its ancestors.

Segments and shards carry the start of the INIT_SYNC that they belong to, shards their stream too;
``stored_table`` sorts out those of another. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, TypeVar

from connectd.connectors.dynamodb import start_key
from connectd.connectors.dynamodb.envelope import InitSyncState, SourceInfo
from connectd.errors import ConfigError
from connectd.model.ids import SequenceNumber
from connectd.model.record import Primitive, SourceOffset

_EnumT = TypeVar("_EnumT", bound=Enum)

VERSION: Final = "1.0"
"""Version of the Java connector's map; it is written and not looked at."""


class PositionKind(Enum):
    """Where in a shard a position is."""

    TRIM_HORIZON = "TRIM_HORIZON"
    LATEST = "LATEST"
    AFTER_SEQUENCE_NUMBER = "AFTER_SEQUENCE_NUMBER"
    SHARD_END = "SHARD_END"


@dataclass(frozen=True)
class ExportChain:
    """Incremental exports that close a gap one after the other, and how far they are.

    Every change made before ``from_ms`` is in Kafka, except those that no key needs any more. The
    newest position of the stream that was known when the gap was found is ``newest_ms``. One export
    at a time is under way: it began as ``start_ms``, which names it and grows from one to the next;
    it ends at ``to_ms`` (None: none is under way), is called ``arn`` once it is requested, and
    has ``files`` once their list has been read, each of them a segment.
    """

    bucket: str
    from_ms: int
    newest_ms: int
    start_ms: int
    to_ms: int | None = None
    arn: str | None = None
    files: int | None = None

    def members(self) -> dict[str, Primitive]:
        """As members of the table state's JSON object."""
        return {f"chain_{name}": value for name, value in vars(self).items()}

    @classmethod
    def from_members(cls, read: _Reader) -> ExportChain | None:
        """Read one; None where there is none.

        Raises:
            ConfigError: there is a part of one.
        """
        bucket = read.optional_text("chain_bucket")
        if bucket is None:
            return None
        return cls(
            bucket=bucket,
            from_ms=read.number("chain_from_ms"),
            newest_ms=read.number("chain_newest_ms"),
            start_ms=read.number("chain_start_ms"),
            to_ms=read.optional_number("chain_to_ms"),
            arn=read.optional_text("chain_arn"),
            files=read.optional_number("chain_files"),
        )


@dataclass(frozen=True)
class TableState:
    """The table state. Times are milliseconds since the epoch, service time.

    ``start_key`` is DynamoDB's JSON (only the Java connector keeps it here). ``stream_arn`` tells
    our own states from the Java connector's. ``resyncs`` counts gaps repaired in a row, ``gaps``
    all gaps ever found, ``gap_ms`` is the time of the last one. ``spark_settle_ms``: executors of a
    cluster read for this INIT_SYNC, and may write for so long after the life that started them.

    An INIT_SYNC from an export names its bucket from the beginning, its ARN once it is requested,
    and ``export_ms``, the moment whose picture it is. Its segments are the export's data files:
    ``total_segments`` is known when their list has been read, and a position counts lines. While
    incremental exports close a gap, ``chain`` says how far they are; at its end ``export_ms`` is
    the end of the last of them.
    """

    table: str
    init_sync: InitSyncState
    init_sync_start_ms: int
    init_sync_end_ms: int | None = None
    init_sync_count: int = 0
    start_key: bytes | None = None
    src_shard_id: str | None = None
    src_sequence_number: str | None = None
    stream_arn: str | None = None
    table_id: str | None = None
    total_segments: int | None = None
    spark_settle_ms: int | None = None
    resyncs: int = 0
    gaps: int = 0
    gap_ms: int | None = None
    export_bucket: str | None = None
    export_arn: str | None = None
    export_ms: int | None = None
    chain: ExportChain | None = None

    @property
    def picture_ms(self) -> int:
        """From when on changes of the table are news to those who have read its INIT_SYNC."""
        return self.init_sync_start_ms if self.export_ms is None else self.export_ms

    def info(self) -> SourceInfo:
        """What records of this state say about it."""
        is_over = self.init_sync_end_ms is not None
        return SourceInfo(
            table_name=self.table,
            init_sync_state=self.init_sync,
            init_sync_start_ms=self.init_sync_start_ms,
            init_sync_end_ms=self.init_sync_end_ms,
            init_sync_count=self.init_sync_count if is_over else None,
        )

    def to_offset(self) -> SourceOffset:
        """As a JSON object."""
        offset: dict[str, Primitive] = {
            "version": VERSION,
            "table_name": self.table,
            "init_sync_state": self.init_sync.value,
            "init_sync_start": self.init_sync_start_ms,
        }
        if self.start_key is not None:
            offset["exclusive_start_key"] = start_key.to_offset(self.start_key)
        if self.init_sync_end_ms is not None:
            offset["init_sync_end"] = self.init_sync_end_ms
        offset["init_sync_count"] = self.init_sync_count
        offset["src_shard_id"] = self.src_shard_id
        offset["src_shard_sequence_no"] = self.src_sequence_number
        ours: dict[str, Primitive] = {
            "stream_arn": self.stream_arn,
            "table_id": self.table_id,
            "total_segments": self.total_segments,
            "spark_settle_ms": self.spark_settle_ms,
            "resyncs": self.resyncs or None,
            "gaps": self.gaps or None,
            "gap_ms": self.gap_ms,
            "export_bucket": self.export_bucket,
            "export_arn": self.export_arn,
            "export_ms": self.export_ms,
            **({} if self.chain is None else self.chain.members()),
        }
        offset.update({name: value for name, value in ours.items() if value is not None})
        return offset

    @classmethod
    def from_offset(cls, table: str, offset: SourceOffset) -> TableState:
        """Read a state that we or the Java connector wrote.

        Raises:
            ConfigError: it is not one; names what is wrong.
        """
        read = _Reader(f"offset of table {table}", offset)
        key_text = read.optional_text("exclusive_start_key")
        return cls(
            table=table,
            init_sync=read.one_of("init_sync_state", InitSyncState),
            init_sync_start_ms=read.number("init_sync_start"),
            init_sync_end_ms=read.optional_number("init_sync_end"),
            init_sync_count=read.optional_number("init_sync_count") or 0,
            start_key=None if key_text is None else start_key.from_offset(key_text),
            src_shard_id=read.optional_text("src_shard_id"),
            src_sequence_number=read.optional_text("src_shard_sequence_no"),
            stream_arn=read.optional_text("stream_arn"),
            table_id=read.optional_text("table_id"),
            total_segments=read.optional_number("total_segments"),
            spark_settle_ms=read.optional_number("spark_settle_ms"),
            resyncs=read.optional_number("resyncs") or 0,
            gaps=read.optional_number("gaps") or 0,
            gap_ms=read.optional_number("gap_ms"),
            export_bucket=read.optional_text("export_bucket"),
            export_arn=read.optional_text("export_arn"),
            export_ms=read.optional_number("export_ms"),
            chain=ExportChain.from_members(read),
        )


@dataclass(frozen=True)
class SegmentPosition:
    """How far the scan of a segment is: continue after ``start_key``; None: at its beginning."""

    segment: int
    total_segments: int
    init_sync_start_ms: int
    start_key: bytes | None = None
    count: int = 0
    is_finished: bool = False

    def after_page(self, start_key: bytes | None, items: int) -> SegmentPosition:
        """The position after a page; without a ``LastEvaluatedKey`` the segment is finished."""
        return replace(
            self,
            start_key=start_key,
            count=self.count + items,
            is_finished=start_key is None,
        )

    def to_offset(self) -> SourceOffset:
        """As a JSON object."""
        offset: dict[str, Primitive] = {
            "init_sync_start": self.init_sync_start_ms,
            "total_segments": self.total_segments,
            "state": (InitSyncState.FINISHED if self.is_finished else InitSyncState.RUNNING).value,
            "count": self.count,
        }
        if self.start_key is not None:
            offset["exclusive_start_key"] = start_key.to_offset(self.start_key)
        return offset

    @classmethod
    def from_offset(cls, segment: int, offset: SourceOffset) -> SegmentPosition:
        """Read a position.

        Raises:
            ConfigError: it is not one; names what is wrong.
        """
        read = _Reader(f"offset of segment {segment}", offset)
        key_text = read.optional_text("exclusive_start_key")
        total = read.number("total_segments")
        if not 0 <= segment < total:
            raise ConfigError(
                f"{read.what}: total_segments is {total}, expected more than {segment}"
            )
        return cls(
            segment=segment,
            total_segments=total,
            init_sync_start_ms=read.number("init_sync_start"),
            start_key=None if key_text is None else start_key.from_offset(key_text),
            count=read.optional_number("count") or 0,
            is_finished=read.one_of("state", InitSyncState) is InitSyncState.FINISHED,
        )


@dataclass(frozen=True)
class ShardPosition:
    """The position in a shard; see the module's docstring for what it stands for.

    ``pinned_at_ms``: the stream was first read from LATEST at that time; older records of this
    shard are not wanted, whatever position a restart begins at.
    """

    shard_id: str
    stream_arn: str
    init_sync_start_ms: int
    kind: PositionKind
    position_ms: int
    sequence_number: SequenceNumber | None = None
    parent_shard_id: str | None = None
    pinned_at_ms: int | None = None

    @property
    def is_sealed(self) -> bool:
        """Whether the shard has been read to its end."""
        return self.kind is PositionKind.SHARD_END

    @property
    def is_sentinel(self) -> bool:
        """Whether nothing of the shard has been handed over: its beginning must be there."""
        return self.kind in (PositionKind.TRIM_HORIZON, PositionKind.LATEST)

    def after(self, sequence_number: SequenceNumber, created_ms: int) -> ShardPosition:
        """The position after a record."""
        return replace(
            self,
            kind=PositionKind.AFTER_SEQUENCE_NUMBER,
            sequence_number=sequence_number,
            position_ms=max(self.position_ms, created_ms),
        )

    def known_good_at(self, now_ms: int) -> ShardPosition:
        """The same position, known to be at the tip of the shard at that time."""
        return replace(self, position_ms=max(self.position_ms, now_ms))

    def sealed(self) -> ShardPosition:
        """The end of the shard."""
        return replace(self, kind=PositionKind.SHARD_END)

    def to_offset(self) -> SourceOffset:
        """As a JSON object."""
        offset: dict[str, Primitive] = {
            "stream_arn": self.stream_arn,
            "init_sync_start": self.init_sync_start_ms,
            "position": self.kind.value,
            "sequence_number": None if self.sequence_number is None else self.sequence_number.text,
            "parent_shard_id": self.parent_shard_id,
            "position_ms": self.position_ms,
        }
        if self.pinned_at_ms is not None:
            offset["pinned_at"] = self.pinned_at_ms
        return offset

    @classmethod
    def from_offset(cls, shard_id: str, offset: SourceOffset) -> ShardPosition:
        """Read a position.

        Raises:
            ConfigError: it is not one; names what is wrong.
        """
        read = _Reader(f"offset of shard {shard_id}", offset)
        kind = read.one_of("position", PositionKind)
        text = read.optional_text("sequence_number")
        try:
            number = None if text is None else SequenceNumber(text)
        except ValueError as error:
            raise ConfigError(f"{read.what}: {error}") from error
        if kind is PositionKind.AFTER_SEQUENCE_NUMBER and number is None:
            raise ConfigError(f"{read.what}: position is {kind.value}, expected a sequence_number")
        return cls(
            shard_id=shard_id,
            stream_arn=read.text("stream_arn"),
            init_sync_start_ms=read.number("init_sync_start"),
            kind=kind,
            position_ms=read.number("position_ms"),
            sequence_number=number,
            parent_shard_id=read.optional_text("parent_shard_id"),
            pinned_at_ms=read.optional_number("pinned_at"),
        )


class _Reader:
    """Typed members of an offset; ``what`` begins every message."""

    def __init__(self, what: str, offset: SourceOffset) -> None:
        self.what = what
        self._offset = offset

    def optional_text(self, name: str) -> str | None:
        value = self._offset.get(name)
        if value is not None and not isinstance(value, str):
            raise self._wrong(name, value, "text")
        return value

    def text(self, name: str) -> str:
        value = self.optional_text(name)
        if value is None:
            raise self._wrong(name, None, "text")
        return value

    def optional_number(self, name: str) -> int | None:
        value = self._offset.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise self._wrong(name, value, "a whole number")
        return value

    def number(self, name: str) -> int:
        value = self.optional_number(name)
        if value is None:
            raise self._wrong(name, None, "a whole number")
        return value

    def one_of(self, name: str, choices: type[_EnumT]) -> _EnumT:
        value = self._offset.get(name)
        for choice in choices:
            if choice.value == value:
                return choice
        wanted = ", ".join(str(choice.value) for choice in choices)
        raise self._wrong(name, value, f"one of {wanted}")

    def _wrong(self, name: str, value: Primitive, expected: str) -> ConfigError:
        found = "missing" if value is None else repr(value)
        return ConfigError(
            f"{self.what}: {name} is {found}, expected {expected}; correct it with PATCH on the "
            "connector's offsets, or remove it with DELETE to begin anew"
        )
