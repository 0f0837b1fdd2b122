"""Offsets on their way into a store, in the form in which they are stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from connectd.model.record import SourceOffset, SourcePartition
from connectd.stores import offset_format


@dataclass(frozen=True, eq=False)
class OffsetEntry:
    """An offset that was put; identity tells it from a later one with equal bytes."""

    connector: str
    partition: SourcePartition
    offset: SourceOffset | None
    value: bytes | None


def encoded(
    connector: str, offsets: Mapping[SourcePartition, SourceOffset | None]
) -> dict[bytes, OffsetEntry]:
    """The entries of a put, by serialised key.

    All are encoded before any is written: one bad offset fails the whole put.
    """
    return {
        offset_format.encode_key(connector, partition): OffsetEntry(
            connector, partition, offset, offset_format.encode_value(offset)
        )
        for partition, offset in offsets.items()
    }
