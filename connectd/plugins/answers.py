"""What methods of plugins give, held against what they must: an ``async`` too many, one too few.

Without these checks the next line that uses the answer fails, with a text that names neither the
plugin nor the method.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping, Sequence
from typing import Final, TypeVar

from connectd.errors import ConfigError, FatalTaskError
from connectd.model.cluster import Config
from connectd.model.record import Emission, RecordBatch, Seal, SourcePartition
from connectd.plugins import spi

T = TypeVar("T")

ROW_DEPTH_MAX: Final = 2
"""Levels of dicts in a row, as ``scan`` is one; deeper ones are shown as texts."""

_NUMBER_MAX: Final = float(2**63)
"""Beyond it, and for NaN, there is nothing that all readers of JSON agree upon."""


def wrong(method: str, found: object, expected: str) -> FatalTaskError:
    """The error for an answer of another kind; ``method`` names plugin and method."""
    if inspect.iscoroutine(found):
        found.close()  # it would complain that nobody has awaited it
        return FatalTaskError(f"{method} is async, expected a plain method that gives {expected}")
    return FatalTaskError(f"{method} gave {_kind(found)}, expected {expected}")


async def awaited(method: str, answer: Awaitable[T]) -> T:
    """What a method gives that has to be async.

    Raises:
        FatalTaskError: it is not.
    """
    if not inspect.isawaitable(answer):
        raise FatalTaskError(
            f"{method} gave {_kind(answer)} without await, expected it to be async and to return"
        )
    return await answer


def emissions(method: str, polled: object) -> Sequence[Emission]:
    """What ``poll`` gives; None stands for nothing.

    Raises:
        FatalTaskError: it is something else than batches and seals.
    """
    expected = "a list of RecordBatch and Seal"
    if polled is None:
        return ()
    if not isinstance(polled, Sequence) or isinstance(polled, str):
        raise wrong(method, polled, expected)
    for each in polled:
        if not isinstance(each, RecordBatch | Seal):
            raise FatalTaskError(f"{method} gave a list with {_kind(each)}, expected {expected}")
        partition: object = each.source_partition
        if not isinstance(partition, SourcePartition):
            raise wrong(f"{method}: source_partition", partition, "SourcePartition")
    return polled


def configs(method: str, computed: object) -> Sequence[Config]:
    """What ``task_configs`` gives.

    Raises:
        FatalTaskError: it is something else than configs.
    """
    expected = "a list of dicts with texts as keys and values"
    if not isinstance(computed, Sequence) or isinstance(computed, str):
        raise wrong(method, computed, expected)
    for each in computed:
        if not isinstance(each, Mapping):
            raise FatalTaskError(f"{method} gave a list with {_kind(each)}, expected {expected}")
        for name, value in each.items():
            if not isinstance(name, str) or not isinstance(value, str):
                raise FatalTaskError(
                    f"{method} gave {name!r} with {_kind(value)}, expected {expected}"
                )
    return computed


def rows(method: str, told: object) -> Sequence[Mapping[str, object]]:
    """What ``tables`` gives, as values that can be shown: JSON types, and texts that are Unicode.

    Numbers that are none become None, and what is of another type its text.

    Raises:
        FatalTaskError: it is something else than rows.
    """
    expected = "a list of dicts with texts as keys"
    if not isinstance(told, Sequence) or isinstance(told, str):
        raise wrong(method, told, expected)
    return [_shown_row(method, each, expected, ROW_DEPTH_MAX) for each in told]


def _shown_row(method: str, row: object, expected: str, depth: int) -> dict[str, object]:
    if not isinstance(row, Mapping):
        raise FatalTaskError(f"{method} gave a list with {_kind(row)}, expected {expected}")
    shown: dict[str, object] = {}
    for name, value in row.items():
        if not isinstance(name, str):
            raise FatalTaskError(f"{method} gave a row with {_kind(name)}, expected {expected}")
        kind = type(value)  # most values are of these, and there are many thousands
        if value is None or kind is bool or (kind is str and value.isascii()):
            shown[name] = value
        elif kind is int or kind is float or isinstance(value, int | float):
            shown[name] = value if -_NUMBER_MAX < value < _NUMBER_MAX else None
        elif isinstance(value, Mapping) and depth:
            shown[name] = _shown_row(method, value, expected, depth - 1)
        else:
            text = str(value)
            is_plain = text.isascii()
            shown[name] = text if is_plain else text.encode(errors="replace").decode()
    return shown


def fill(method: str, told: object) -> spi.BufferFill | None:
    """What ``buffer`` gives.

    Raises:
        FatalTaskError: it is something else than how full a buffer is.
    """
    if told is None:
        return None
    if not isinstance(told, spi.BufferFill) or not all(
        isinstance(each, int) for each in (told.taken, told.places)
    ):
        raise wrong(method, told, "BufferFill with two numbers, or None")
    return told


def provided(method: str, found: object) -> spi.ProvidedValues:
    """What a config provider gives. No message has a value: they may be secrets.

    Raises:
        ConfigError: it is something else than values.
    """
    expected = "ProvidedValues with texts by key"
    if not isinstance(found, spi.ProvidedValues):
        raise ConfigError(str(wrong(method, found, expected)))
    if not isinstance(found.values, Mapping):
        raise ConfigError(f"{method} gave {_kind(found.values)} of values, expected {expected}")
    for key, value in found.values.items():
        if not isinstance(value, str):
            raise ConfigError(f"{method} gave {_kind(value)} for {key}, expected {expected}")
    return found


def _kind(value: object) -> str:
    name = type(value).__name__
    if value is None:
        return "None"
    return f"an {name}" if name[0].lower() in "aeio" else f"a {name}"
