"""What authors of plugins import: the names they need, and a source that fits in twenty lines.

Everything here is a part of connectd that keeps its name and meaning. A transform, a predicate, a
converter and a config provider are classes with the methods of ``spi`` and need no parent. A source
needs more of them; ``SingleTaskSource`` and ``PollingTask`` have them all but ``poll``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from connectd.configdef.definition import (
    REQUIRED,
    ConfigDef,
    ConfigKey,
    ConfigType,
    Importance,
)
from connectd.configdef.parsing import ParsedConfig
from connectd.errors import (
    ConfigError,
    ConvertError,
    FatalTaskError,
    RetriableError,
    TransformError,
)
from connectd.model.cluster import Config
from connectd.model.record import (
    ConverterSpec,
    Emission,
    RecordBatch,
    RecordList,
    Seal,
    SourceOffset,
    SourcePartition,
    SourceRecord,
)
from connectd.model.schema import Field, Schema, SchemaType, Struct
from connectd.plugins.registry import UNDEFINED_VERSION
from connectd.plugins.spi import ConnectorContext, ProvidedValues, TaskContext

__all__ = [
    "Config",
    "ConfigDef",
    "ConfigError",
    "ConfigKey",
    "ConfigType",
    "ConvertError",
    "ConverterSpec",
    "Emission",
    "FatalTaskError",
    "Field",
    "Importance",
    "ParsedConfig",
    "PollingTask",
    "ProvidedValues",
    "RecordBatch",
    "RecordList",
    "RetriableError",
    "Schema",
    "SchemaType",
    "Seal",
    "SingleTaskSource",
    "SourceOffset",
    "SourcePartition",
    "SourceRecord",
    "Struct",
    "TaskContext",
    "TransformError",
    "key",
]

_T = TypeVar("_T", str, int, float, bool)


def key(
    name: str,
    value_type: str,
    doc: str = "",
    *,
    default: object = REQUIRED,
    importance: str = "MEDIUM",
) -> ConfigKey:
    """A setting; required, unless it has a default. Types and importances are those of Kafka.

    Raises:
        ValueError: there is no such type or importance.
    """
    return ConfigKey(name, ConfigType(value_type), doc, Importance(importance), default)


class PollingTask:
    """A ``spi.SourceTask`` that only has to ``poll``.

    ``context`` and ``config`` are there from ``start`` on. A subclass that opens something opens it
    in ``start``, after the one of this class, and closes it in ``stop``.
    """

    context: TaskContext
    config: Config

    async def start(self, context: TaskContext, config: Config) -> None:
        """See ``spi.SourceTask``."""
        self.context, self.config = context, config

    def stored(self, partition: SourcePartition, name: str, default: _T) -> _T:
        """One member of the partition's stored offset, or the default where none is stored.

        Raises:
            FatalTaskError: what is stored is of another type than the default.
        """
        offset = self.context.offsets.get(partition) or {}
        found = offset.get(name, default)
        if type(found) is not type(default):
            raise FatalTaskError(
                f"the stored offset of {partition} has {name} = {found!r}, expected "
                f"{type(default).__name__}; alter or delete the connector's offsets"
            )
        return found

    async def stop(self) -> None:
        """Nothing to release."""

    def tables(self) -> Sequence[Mapping[str, object]]:
        """Nothing to tell of its inputs."""
        return []


class SingleTaskSource:
    """A ``spi.SourceConnector`` with one task, which gets the connector's own config.

    A subclass says what its ``keys`` are and which class its ``task`` is.
    """

    version: ClassVar[str] = UNDEFINED_VERSION
    keys: ClassVar[ConfigDef] = ConfigDef([])
    task: ClassVar[type[Any]]

    config: Config

    @classmethod
    def config_def(cls) -> ConfigDef:
        """See ``spi.SourceConnector``."""
        return cls.keys

    @classmethod
    def task_class(cls) -> type[Any]:
        """See ``spi.SourceConnector``."""
        return cls.task

    @classmethod
    def validate(cls, config: Config) -> Mapping[str, Sequence[str]]:
        """Nothing that ``keys`` does not say."""
        return {}

    async def start(self, context: ConnectorContext, config: Config) -> None:
        """See ``spi.SourceConnector``."""
        self.config = config

    async def task_configs(self, tasks_max: int) -> Sequence[Config]:
        """One, whatever is allowed."""
        return [self.config]

    async def stop(self) -> None:
        """Nothing to release."""

    @classmethod
    def alter_offsets(
        cls, config: Config, offsets: Mapping[SourcePartition, SourceOffset | None]
    ) -> bool:
        """Takes any offset, unseen."""
        return False

    def tables(self) -> Sequence[Mapping[str, object]]:
        """Nothing to tell."""
        return []
