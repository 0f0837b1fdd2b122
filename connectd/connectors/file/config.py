"""Settings of the FileStream source, under Kafka's names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connectd.configdef import parsing, validators
from connectd.configdef.definition import ConfigDef, ConfigKey, ConfigType, Importance
from connectd.model.cluster import Config

CONFIG_DEF: Final = ConfigDef(
    [
        ConfigKey(
            "file",
            ConfigType.STRING,
            "Path of the file to read, as the worker sees it. Not set: the worker's standard "
            "input, without positions.",
            Importance.HIGH,
            default=None,
            display_name="file",
        ),
        ConfigKey(
            "topic",
            ConfigType.STRING,
            "Topic that gets a record for every line.",
            Importance.HIGH,
            validator=validators.non_empty,
            display_name="topic",
        ),
        ConfigKey(
            "batch.size",
            ConfigType.INT,
            "How many lines are handed on together at most. Less than 1 counts as 1.",
            Importance.LOW,
            default=2000,
            display_name="batch.size",
        ),
    ]
)


@dataclass(frozen=True)
class FileSourceConfig:
    """``path`` is None for standard input."""

    path: str | None
    topic: str
    batch_lines_max: int

    @classmethod
    def from_config(cls, config: Config) -> FileSourceConfig:
        """Parsed.

        Raises:
            ConfigError: a value is missing or wrong.
        """
        parsed = parsing.parse(CONFIG_DEF, config)
        return cls(
            path=parsed.optional_string("file") or None,
            topic=parsed.string("topic"),
            batch_lines_max=max(1, parsed.integer("batch.size")),
        )
