"""The connector: one file, one task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

import connectd
from connectd.configdef.definition import ConfigDef
from connectd.connectors.file import offsets as positions
from connectd.connectors.file.config import CONFIG_DEF, FileSourceConfig
from connectd.connectors.file.task import FileStreamSourceTask
from connectd.model.cluster import Config
from connectd.model.record import SourceOffset, SourcePartition
from connectd.plugins.spi import ConnectorContext

_NOT_EXACTLY_ONCE: Final = (
    "The connector does not support exactly-once semantics with the provided configuration."
)


class FileStreamSourceConnector:
    """Implements ``plugins.spi.SourceConnector``."""

    version: ClassVar[str] = connectd.__version__

    def __init__(self) -> None:
        self._config: Config = {}

    @classmethod
    def config_def(cls) -> ConfigDef:
        """See ``config``."""
        return CONFIG_DEF

    @classmethod
    def task_class(cls) -> type[FileStreamSourceTask]:
        """The class of its task."""
        return FileStreamSourceTask

    @classmethod
    def validate(cls, config: Config) -> Mapping[str, Sequence[str]]:
        """Standard input cannot be read again, so nothing from it can be written exactly once."""
        wants_exactly_once = config.get("exactly.once.support", "").lower() == "required"
        if wants_exactly_once and not config.get("file"):
            return {"exactly.once.support": [_NOT_EXACTLY_ONCE]}
        return {}

    async def start(self, context: ConnectorContext, config: Config) -> None:
        """Nothing to watch: the task does everything."""
        FileSourceConfig.from_config(config)
        self._config = dict(config)

    async def task_configs(self, tasks_max: int) -> Sequence[Config]:
        """One, whatever ``tasks_max`` allows: a file has one reader."""
        return [self._config]

    async def stop(self) -> None:
        """Nothing to release."""

    @classmethod
    def alter_offsets(
        cls, config: Config, offsets: Mapping[SourcePartition, SourceOffset | None]
    ) -> bool:
        """Check positions that a user wants to write, with Kafka's texts."""
        positions.check(FileSourceConfig.from_config(config).path, offsets)
        return True

    def tables(self) -> Sequence[Mapping[str, object]]:
        """The task shows the file."""
        return []
