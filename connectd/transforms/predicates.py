"""Predicates: conditions under which a transform is applied (spec F.3)."""

from __future__ import annotations

from typing import Final

from connectd.configdef import validators
from connectd.configdef.definition import ConfigDef, ConfigType
from connectd.configdef.parsing import ParsedConfig
from connectd.model import java_regex
from connectd.model.record import SourceRecord
from connectd.transforms import declared

_TOPICS_KEPT_MAX: Final = 1000
"""A task writes to few topics, and asks for each record."""


class HasHeaderKey:
    """The record has a header of that name."""

    ignores_texts = True

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

    ignores_texts = True

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

    ignores_texts = True

    def __init__(self, settings: ParsedConfig) -> None:
        self._pattern = java_regex.compiled(settings.string("pattern"))
        self._holds: dict[str, bool] = {}

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _TOPIC_DEF

    def test(self, record: SourceRecord) -> bool:
        """Whether it holds."""
        topic = record.topic
        holds = self._holds.get(topic)
        if holds is None:
            holds = java_regex.fullmatch(self._pattern, topic) is not None
            if len(self._holds) >= _TOPICS_KEPT_MAX:
                self._holds.clear()
            self._holds[topic] = holds
        return holds


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
