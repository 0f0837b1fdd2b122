"""What methods of plugins give, held against what they must: an ``async`` too many, one too few.

Without these checks the next line that uses the answer fails, with a text that names neither the
plugin nor the method.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping, Sequence
from typing import TypeVar

from connectd.errors import ConfigError, FatalTaskError
from connectd.model.cluster import Config
from connectd.model.record import Emission, RecordBatch, Seal, SourcePartition
from connectd.plugins import spi

T = TypeVar("T")


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
