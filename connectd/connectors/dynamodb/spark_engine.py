"""What a scan on Spark is made of, as seen by those who ask for one.

The composition root offers a ``SparkEngine`` among ``WorkerServices.resources``: the worker's
settings of Spark, the way from a connector's configuration to everything about its records, and
somebody who starts drivers (``spark_driver``, or a script in tests). A task binds it to itself as
its ``HandOff``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol, Self, TypeVar

from connectd.aio.toggles import Toggle
from connectd.configdef.spark_settings import SparkSettings
from connectd.connectors.dynamodb.scan_job import ErrorRules, ScanJob
from connectd.connectors.dynamodb.scan_reports import ScanReport
from connectd.errors import ConnectdError
from connectd.model.cluster import Config
from connectd.model.record import ConverterSpec

_Error = TypeVar("_Error", bound=Exception)


@dataclass(frozen=True)
class RecordSettings:
    """How a connector's records become bytes and where they go; see ``ScanJob``."""

    key_converter: ConverterSpec
    value_converter: ConverterSpec
    header_converter: ConverterSpec
    producer: Mapping[str, str] = field(repr=False)
    admin: Mapping[str, str] = field(repr=False)
    errors: ErrorRules
    creates_topics: bool
    reserved_topics: tuple[str, ...]


class ScanDriver(Protocol):
    """A driver that runs; it is ended when its block is left."""

    def reports(self) -> AsyncIterator[ScanReport]:
        """What it tells, until it says no more."""
        ...

    async def wait(self) -> int:
        """Its exit code, once it has ended."""
        ...

    def ask_to_end(self) -> None:
        """Ask for its end, soon; what it still reports counts."""
        ...

    def tail(self) -> list[str]:
        """The last lines that it wrote and that are no reports, without secrets."""
        ...


class DriverStarter(Protocol):
    """Starts drivers."""

    async def problem(self) -> str:
        """Why none can be started here; "" when nothing is in the way."""
        ...

    def start(self, job: ScanJob) -> AbstractAsyncContextManager[ScanDriver]:
        """Run a job for as long as the block lasts.

        Raises:
            ConfigError: there is nothing to start it with.
            RetriableError: the system refuses to start it now.
        """
        ...

    def verdict(self, code: int, tail: list[str]) -> ConnectdError:
        """What it means that a driver has ended with this exit code and has not said why.

        A ``RetriableError``, or a ``FatalTaskError`` where no other start would help.
        """
        ...

    def explanation(self, tail: list[str]) -> str:
        """What these last lines mean, in plain words; "" when that is not known."""
        ...


class DriverPlaces(Protocol):
    """Places for drivers: a semaphore, or one that several processes share."""

    def locked(self) -> bool:
        """Whether all are taken."""
        ...

    async def acquire(self) -> bool:
        """Wait for one."""
        ...

    def release(self) -> None:
        """Give one back."""
        ...


class Turns:
    """How many scans may have a driver at the same time; first come, first served."""

    def __init__(self, places: int | DriverPlaces) -> None:
        self._free: DriverPlaces = asyncio.Semaphore(places) if isinstance(places, int) else places

    def turn(self) -> Turn:
        """For one scan, which does not have it yet."""
        return Turn(self._free)


class Turn:
    """One scan's right to have a driver. Leaving the block gives it back."""

    def __init__(self, free: DriverPlaces) -> None:
        self._free = free
        self.is_held = False

    @property
    def must_wait(self) -> bool:
        """Whether ``take`` would wait for others."""
        return not self.is_held and self._free.locked()

    async def take(self) -> None:
        """Wait for it; whoever has it has it."""
        if not self.is_held:
            await self._free.acquire()
            self.is_held = True

    def give(self) -> None:
        """Let others have it."""
        if self.is_held:
            self.is_held = False
            self._free.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.give()


class Leftovers:
    """Until when executors that scans of this process have left behind may send, by table.

    The table's offset says so too, but users may remove that. Monotonic seconds; what is over is
    forgotten.
    """

    def __init__(self) -> None:
        self._until_s: dict[tuple[str, str], float] = {}

    def note(self, connector: str, table: str, until_s: float) -> None:
        """Some may send until then."""
        name = connector, table
        self._until_s[name] = max(until_s, self._until_s.get(name, until_s))

    def left_s(self, connector: str, table: str, now_s: float) -> float:
        """For how long from now on some may send; 0: none is left."""
        self._until_s = {name: until for name, until in self._until_s.items() if until > now_s}
        return self._until_s.get((connector, table), now_s) - now_s


@dataclass(frozen=True)
class SparkEngine:
    """See the module's docstring. ``records(connector, config)`` may raise ``ConfigError``."""

    settings: SparkSettings
    records: Callable[[str, Config], RecordSettings]
    starter: DriverStarter
    turns: Turns
    leftovers: Leftovers = field(default_factory=Leftovers)


@dataclass(frozen=True)
class HandOff:
    """A task's way to Spark. ``running`` is off while the connector is paused."""

    engine: SparkEngine
    connector: str
    config: Config = field(repr=False)
    running: Toggle


def with_output(error: _Error, tail: list[str]) -> _Error:
    """The error, with a driver's last lines as a note: a trace ends with its notes."""
    text = "\n".join(tail) or "(it wrote nothing)"
    error.add_note(f"the last lines of the Spark driver:\n{text}")
    return error


def hand_notes_on(error: BaseException, to: BaseException) -> None:
    """Let the notes of an error stand at the end of the trace of the one that follows from it."""
    for note in getattr(error, "__notes__", ()):
        to.add_note(note)
    error.__notes__ = []
