"""What a position of the FileStream source looks like: ``{"filename": F}`` and ``{"position": N}``.

The keys and values of the offsets topic are compared as bytes with those of Kafka's connector, so
that either can go on where the other has stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connectd.errors import ConfigError, FatalTaskError
from connectd.model.record import SourceOffset, SourcePartition

_FILE: Final = "filename"
_POSITION: Final = "position"
_LONG_BITS: Final = 63


class OffsetRefusedError(ConfigError):
    """An offset that a user may not write. Kafka answers 500 here, which makes clients try again.

    As a ``ConfigError`` it is answered with 400 and the same text.
    """


def partition_of(path: str | None) -> SourcePartition:
    """The source partition of a file; standard input has one as well, without a name."""
    return SourcePartition.of({_FILE: path})


def offset_at(position: int | None) -> SourceOffset:
    """The offset of a position in bytes; None where there is no place to go back to."""
    return {_POSITION: position}


def stored_position(offset: SourceOffset | None) -> int:
    """Where to go on, from the start when nothing is stored.

    Raises:
        FatalTaskError: what is stored is no position.
    """
    position = None if offset is None else offset.get(_POSITION)
    if position is None:
        return 0
    if not isinstance(position, int) or isinstance(position, bool):
        raise FatalTaskError(
            f"Offset position is the incorrect type: {position!r}, expected a whole number; alter "
            "or delete the connector's offsets"
        )
    return position


def check(path: str | None, offsets: Mapping[SourcePartition, SourceOffset | None]) -> None:
    """Judge what a user wants to write, with Kafka's texts; any partition may be removed.

    Raises:
        OffsetRefusedError: one of them is of another form.
    """
    if path is None:
        raise OffsetRefusedError(
            "Offsets cannot be modified if the 'file' configuration is unspecified. This is "
            "because stdin is used for input and offsets are not tracked."
        )
    for partition, offset in offsets.items():
        if offset is not None:
            _check_offset(offset)
            if _FILE not in partition.to_dict():
                raise OffsetRefusedError("Partition objects should contain the key 'filename'")


def _check_offset(offset: SourceOffset) -> None:
    if _POSITION not in offset:
        raise OffsetRefusedError(
            "Offset objects should either be null or contain the key 'position'"
        )
    position = offset[_POSITION]
    if (
        not isinstance(position, int)
        or isinstance(position, bool)
        or position.bit_length() > _LONG_BITS
    ):
        raise OffsetRefusedError(
            "The value for the 'position' key in the offset is expected to be a Long value"
        )
    if position < 0:
        raise OffsetRefusedError(
            "The value for the 'position' key in the offset should be a non-negative value"
        )
