"""Predicates: conditions under which a transform is applied (spec F.3)."""

from __future__ import annotations

from typing import Final

from connectd.configdef import validators
from connectd.configdef.definition import ConfigDef, ConfigType
from connectd.configdef.parsing import ParsedConfig
from connectd.model.record import SourceRecord
from connectd.transforms import declared, java_regex


class HasHeaderKey:
    """The record has a header of that name."""

    def __init__(self, settings: ParsedConfig) -> None:
        self._name = settings.string("name")

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _HEADER_DEF

    def test(self, record: SourceRecord) -> bool:
        """Whether it holds."""
        return any(name == self._name for name, _, _ in record.headers)


class RecordIsTombstone:
    """The record has no value."""

    def __init__(self, settings: ParsedConfig) -> None:
        """Nothing is to be set."""

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told: nothing."""
        return _NO_DEF

    def test(self, record: SourceRecord) -> bool:
        """Whether it holds."""
        return record.value is None


class TopicNameMatches:
    """The whole name of the record's topic matches a regular expression."""

    def __init__(self, settings: ParsedConfig) -> None:
        self._pattern = java_regex.compiled(settings.string("pattern"))

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _TOPIC_DEF

    def test(self, record: SourceRecord) -> bool:
        """Whether it holds."""
        return self._pattern.fullmatch(record.topic) is not None


_HEADER_DEF: Final = ConfigDef(
    [
        declared.key(
            "name",
            ConfigType.STRING,
            "Name of the header.",
            declared.MEDIUM,
            validator=validators.non_empty,
        )
    ]
)
_NO_DEF: Final = ConfigDef([])
_TOPIC_DEF: Final = ConfigDef(
    [
        declared.key(
            "pattern",
            ConfigType.STRING,
            "Regular expression for the whole name of the topic.",
            declared.MEDIUM,
            validator=declared.non_empty_regex,
        )
    ]
)
