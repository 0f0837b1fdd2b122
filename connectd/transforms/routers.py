"""``RegexRouter``, ``TimestampRouter`` and ``Filter``: where a record goes, or that it does not."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from connectd.configdef.definition import ConfigDef, ConfigType
from connectd.configdef.parsing import ParsedConfig
from connectd.errors import ConfigError, TransformError
from connectd.model import java_regex, logical
from connectd.model.date_format import DateFormat, DateFormatError
from connectd.model.record import SourceRecord
from connectd.transforms import declared, side

_ROUTES_KEPT_MAX: Final = 1000
"""A task writes to few topics, and asks for each record."""


class RegexRouter:
    """A topic whose whole name matches gets another one, built from its groups."""

    ignores_texts = True

    def __init__(self, settings: ParsedConfig) -> None:
        self._regex = java_regex.compiled(settings.string("regex"))
        self._replacement = settings.string("replacement")
        try:
            java_regex.check_replacement(self._regex, self._replacement)
        except java_regex.UnsupportedPatternError as error:
            raise ConfigError(f"replacement is {self._replacement}: {error}") from error
        self._routes: dict[str, str] = {}

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _REGEX_DEF

    def apply(self, record: SourceRecord) -> SourceRecord:
        """The record for the other topic."""
        topic = self._routes.get(record.topic)
        if topic is None:
            topic = self._route(record.topic)
            if len(self._routes) >= _ROUTES_KEPT_MAX:
                self._routes.clear()
            self._routes[record.topic] = topic
        return record if topic == record.topic else side.with_topic(record, topic)

    def _route(self, topic: str) -> str:
        if java_regex.fullmatch(self._regex, topic) is None:
            return topic
        return java_regex.with_first_replaced(self._regex, self._replacement, topic)


class TimestampRouter:
    """The topic gets the record's timestamp into its name."""

    ignores_texts = True

    def __init__(self, settings: ParsedConfig) -> None:
        self._topic_format = settings.string("topic.format")
        self._pattern = settings.string("timestamp.format")

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _TIMESTAMP_DEF

    def apply(self, record: SourceRecord) -> SourceRecord:
        """The record for the other topic."""
        if record.timestamp_ms is None:
            raise TransformError(
                f"Timestamp missing on record: {record.origin or 'of topic ' + record.topic}"
            )
        stamp = self._format.format(logical.moment_of(record.timestamp_ms))
        topic = self._topic_format.replace("${topic}", record.topic)
        return side.with_topic(record, topic.replace("${timestamp}", stamp))

    @cached_property
    def _format(self) -> DateFormat:
        """Compiled for the first record, as in Java: a wrong pattern is an error of each record."""
        try:
            return DateFormat(self._pattern)
        except DateFormatError as error:
            raise TransformError(f"timestamp.format is {self._pattern}: {error}") from error


class Filter:
    """Drops every record that it sees; useful with a predicate."""

    ignores_texts = True

    def __init__(self, settings: ParsedConfig) -> None:
        """Nothing is to be set."""

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told: nothing."""
        return _FILTER_DEF

    def apply(self, record: SourceRecord) -> None:
        """Nothing is left of it."""


_REGEX_DEF: Final = ConfigDef(
    [
        declared.key(
            "regex",
            ConfigType.STRING,
            "Regular expression for the whole name of the topic.",
            declared.HIGH,
            validator=declared.regex,
        ),
        declared.key(
            "replacement",
            ConfigType.STRING,
            "The new name; $1 stands for the first group.",
            declared.HIGH,
        ),
    ]
)
_TIMESTAMP_DEF: Final = ConfigDef(
    [
        declared.key(
            "topic.format",
            ConfigType.STRING,
            "The new name; ${topic} and ${timestamp} stand for the old one and the time.",
            declared.HIGH,
            "${topic}-${timestamp}",
        ),
        declared.key(
            "timestamp.format",
            ConfigType.STRING,
            "Pattern of Java's SimpleDateFormat for the time, in UTC.",
            declared.HIGH,
            "yyyyMMdd",
        ),
    ]
)
_FILTER_DEF: Final = ConfigDef([])
