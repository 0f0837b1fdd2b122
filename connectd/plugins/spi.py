"""The interfaces that plugins implement.

A *source connector* turns its config into task configs; a *source task* emits batches and seals; a
*converter* turns Connect data into bytes and back; a *config provider* has values that configs
refer to.
Methods that may wait are coroutines; all run on the event loop, with two exceptions:
``Converter``'s conversions are pure and may run in any thread, and ``ConfigProvider.get`` may
block and never runs on the loop.

Life of a task: ``start`` (raises to fail), then ``poll`` again and again until ``stop``. ``poll``
waits until there is something to emit; cancelling it loses nothing. While a task is paused it is
not polled: its own bounded buffer fills and its readers wait.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from connectd.aio.clock import Clock
from connectd.aio.scheduler import PollScheduler
from connectd.configdef.definition import ConfigDef
from connectd.model.cluster import Config
from connectd.model.record import (
    ConverterSpec,
    Emission,
    SourceOffset,
    SourcePartition,
    SourceRecord,
)
from connectd.model.schema import Schema, SchemaAndValue


class OffsetReader(Protocol):
    """A connector's own offsets, as durable as they are."""

    async def refresh(self) -> None:
        """Read to the end of the store."""
        ...

    def get(self, partition: SourcePartition) -> SourceOffset | None:
        """The stored offset of a partition."""
        ...

    def all(self) -> Mapping[SourcePartition, SourceOffset]:
        """All partitions with a stored offset."""
        ...


@dataclass(frozen=True)
class WorkerServices:
    """What the process shares with its plugins.

    ``resources`` holds what plugins open once per process, by type (an AWS client pool); the
    composition root fills it. Plugins depend on it by asking ``resource(SomeType)``.
    """

    clock: Clock
    scheduler: PollScheduler
    resources: Mapping[type[Any], Any]

    def resource(self, kind: type[Any]) -> Any:
        """The shared object of that type.

        Raises:
            KeyError: the composition root provides none.
        """
        return self.resources[kind]


class ConnectorContext(Protocol):
    """What a running connector may ask of its worker."""

    @property
    def connector(self) -> str:
        """Name of the connector."""
        ...

    @property
    def services(self) -> WorkerServices:
        """What the process shares."""
        ...

    @property
    def offsets(self) -> OffsetReader:
        """The connector's stored offsets."""
        ...

    def request_task_reconfiguration(self) -> None:
        """Ask for ``task_configs`` to be called again."""
        ...

    def raise_error(self, error: Exception) -> None:
        """Fail the connector: it shows FAILED with the error as its trace."""
        ...


class TaskContext(Protocol):
    """What a running task may ask of its worker."""

    @property
    def connector(self) -> str:
        """Name of the connector."""
        ...

    @property
    def task(self) -> int:
        """Number of the task."""
        ...

    @property
    def services(self) -> WorkerServices:
        """What the process shares."""
        ...

    @property
    def offsets(self) -> OffsetReader:
        """The connector's stored offsets."""
        ...

    def report_failure(self, error: Exception) -> None:
        """Show the task FAILED with the error as its trace while its other inputs go on.

        For a task that serves several inputs of which one has failed for good: it stays visible,
        the others stay alive. A restart of the task tries again.
        """
        ...


class SourceConnector(Protocol):
    """Splits a configuration into tasks and watches the outside for changes."""

    version: ClassVar[str]

    @classmethod
    def config_def(cls) -> ConfigDef:
        """The connector's own keys (the framework's are added by the worker)."""
        ...

    @classmethod
    def task_class(cls) -> type[SourceTask]:
        """The class that runs its tasks; ``task.class`` shows its ``class_name`` if it has one."""
        ...

    @classmethod
    def validate(cls, config: Config) -> Mapping[str, Sequence[str]]:
        """Messages by key for what ``config_def`` cannot express: keys that depend on others."""
        ...

    async def start(self, context: ConnectorContext, config: Config) -> None:
        """Begin watching. Raises to fail the connector."""
        ...

    async def task_configs(self, tasks_max: int) -> Sequence[Config]:
        """At most ``tasks_max`` configs; equal inputs give equal configs in equal order."""
        ...

    async def stop(self) -> None:
        """Release everything. Idempotent, bounded."""
        ...

    @classmethod
    def alter_offsets(
        cls, config: Config, offsets: Mapping[SourcePartition, SourceOffset | None]
    ) -> bool:
        """Check offsets that a user wants to write; True: nothing else needs to be altered.

        Raises:
            ConfigError: a partition or offset is not of this connector's form.
        """
        ...

    def tables(self) -> Sequence[Mapping[str, object]]:
        """Inputs that no task serves (skipped ones, with their reason), for people to look at."""
        ...


class SourceTask(Protocol):
    """Reads its inputs and emits batches and seals."""

    async def start(self, context: TaskContext, config: Config) -> None:
        """Open everything. Raises to fail the task."""
        ...

    async def poll(self) -> Sequence[Emission]:
        """Wait for the next emissions (at least one).

        Raises:
            RetriableError: the worker logs it and polls again.
            FatalTaskError: the task fails.
        """
        ...

    async def stop(self) -> None:
        """Stop reading and release everything. Idempotent, bounded."""
        ...

    def tables(self) -> Sequence[Mapping[str, object]]:
        """Progress of every input, for people to look at."""
        ...


@runtime_checkable
class WatchesPauses(Protocol):
    """A source task that is told when it is paused and resumed, beside not being polled.

    For one that has others work for it: they are to rest too.
    """

    def set_running(self, is_running: bool) -> None:
        """Paused (False) or resumed. Does not wait; may be called before ``start`` has ended.

        What it raises fails the task when that is polled next.
        """
        ...


@dataclass(frozen=True)
class BufferFill:
    """How full a task's buffer is: places taken, and places that there are."""

    taken: int
    places: int


@runtime_checkable
class HasBuffer(Protocol):
    """A source task with a bounded buffer between its readers and ``poll``, for metrics."""

    def buffer(self) -> BufferFill | None:
        """How full it is; None while there is none."""
        ...


class Transformation(Protocol):
    """Changes one record after the other; pure, safe in any thread once made.

    Made from its parsed settings: ``cls(settings)`` raises ``ConfigError`` for what no single key
    can know. One that never looks into texts may say so: ``texts.ignores_texts``.
    """

    @classmethod
    def config_def(cls) -> ConfigDef:
        """Its settings, without the ``transforms.<alias>.`` prefix."""
        ...

    def apply(self, record: SourceRecord) -> SourceRecord | None:
        """Another record, or None to drop this one; the given record is not changed.

        Raises:
            TransformError: the record is not of the form that the transform expects.
        """
        ...


class Predicate(Protocol):
    """A condition on records; made as a transformation is."""

    @classmethod
    def config_def(cls) -> ConfigDef:
        """Its settings, without the ``predicates.<alias>.`` prefix."""
        ...

    def test(self, record: SourceRecord) -> bool:
        """Whether it holds for the record."""
        ...


class Converter(Protocol):
    """Connect data to bytes and back; immutable after construction.

    One that writes all texts in one form may say which: ``texts.form_of``.
    """

    spec: ConverterSpec

    def __init__(self, spec: ConverterSpec) -> None:
        """Made for its settings.

        Raises:
            ConfigError: one of them cannot be used.
        """
        ...

    @classmethod
    def config_def(cls) -> ConfigDef:
        """Its settings, without the ``key.converter.`` or ``value.converter.`` prefix."""
        ...

    def from_connect_data(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        """The bytes of a key or value.

        Raises:
            ConvertError: the value does not fit its schema or this format.
        """
        ...

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        """The key or value of the bytes.

        Raises:
            ConvertError: the bytes are none of this format.
        """
        ...


class HeaderConverter(Protocol):
    """The value of a record's header to bytes and back; immutable after construction."""

    spec: ConverterSpec

    def __init__(self, spec: ConverterSpec) -> None:
        """Made for its settings.

        Raises:
            ConfigError: one of them cannot be used.
        """
        ...

    @classmethod
    def config_def(cls) -> ConfigDef:
        """Its settings, without the ``header.converter.`` prefix."""
        ...

    def from_connect_header(
        self, topic: str, name: str, schema: Schema | None, value: object
    ) -> bytes | None:
        """The bytes of a header's value. Pure; runs in any thread.

        Raises:
            ConvertError: the value does not fit its schema or this format.
        """
        ...

    def to_connect_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:
        """The header's value of the bytes. Pure; runs in any thread.

        Raises:
            ConvertError: the bytes are none of this format.
        """
        ...


@dataclass(frozen=True)
class ProvidedValues:
    """What a config provider knows by now: values by key.

    ``ttl_ms`` is how long they are good for; None when the provider does not say.
    """

    values: Mapping[str, str]
    ttl_ms: int | None = None


class ConfigProvider(Protocol):
    """Knows the values behind ``${provider:path:key}`` (KIP-297)."""

    @classmethod
    def from_params(cls, params: Mapping[str, str]) -> ConfigProvider:
        """Make one from the worker's ``config.providers.<name>.param.*``, without that prefix.

        Raises:
            ConfigError: a parameter is wrong.
        """
        ...

    def get(self, path: str, keys: Collection[str]) -> ProvidedValues:
        """The values of those keys that exist under a path; ``""`` is no path. May block.

        Several threads may call it at the same time, each for another path.

        Raises:
            ConfigError: the path cannot be read.
        """
        ...
