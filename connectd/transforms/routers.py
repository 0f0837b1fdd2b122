"""``RegexRouter``, ``TimestampRouter`` and ``Filter``: where a record goes, or that it does not."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from connectd.configdef.definition import ConfigDef, ConfigType
from connectd.configdef.parsing import ParsedConfig
from connectd.errors import ConfigError, TransformError
from connectd.model import logical
from connectd.model.date_format import DateFormat, DateFormatError
from connectd.model.record import SourceRecord
from connectd.transforms import declared

_REFERENCE: Final = re.compile(r"\\(.)|\$(?:(\d)|\{(\w+)\})", re.DOTALL)


class RegexRouter:
    """A topic whose whole name matches gets another one, built from its groups."""

    def __init__(self, settings: ParsedConfig) -> None:
        self._regex = re.compile(settings.string("regex"))
        self._replacement = python_replacement(settings.string("replacement"), self._regex.groups)

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _REGEX_DEF

    def apply(self, record: SourceRecord) -> SourceRecord:
        """The record for the other topic."""
        if self._regex.fullmatch(record.topic) is None:
            return record
        topic = self._regex.sub(self._replacement, record.topic, count=1)
        return replace(record, topic=topic)


def python_replacement(text: str, groups: int) -> str:
    """A replacement in Java's form (``$1``, ``${name}``, ``\\$``) in Python's.

    ``$12`` is group 12 where there are so many groups, else group 1 and a 2.
    """

    def reference(found: re.Match[str]) -> str:
        escaped, digit, name = found.groups()
        if escaped is not None:
            return escaped.replace("\\", "\\\\")
        return f"\\g<{digit or name}>"

    pieces = []
    at = 0
    for found in _REFERENCE.finditer(text):
        if found.start() < at:
            continue
        pieces.append(text[at : found.start()].replace("\\", "\\\\"))
        at = found.end()
        if found[2] is not None:
            number = found[2]
            while at < len(text) and text[at].isdigit() and int(number + text[at]) <= groups:
                number += text[at]
                at += 1
            pieces.append(f"\\g<{number}>")
        else:
            pieces.append(reference(found))
    pieces.append(text[at:].replace("\\", "\\\\"))
    return "".join(pieces)


class TimestampRouter:
    """The topic gets the record's timestamp into its name."""

    def __init__(self, settings: ParsedConfig) -> None:
        self._topic_format = settings.string("topic.format")
        pattern = settings.string("timestamp.format")
        try:
            self._format = DateFormat(pattern)
        except DateFormatError as error:
            raise ConfigError(f"timestamp.format is {pattern}: {error}") from error

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
        return replace(record, topic=topic.replace("${timestamp}", stamp))


class Filter:
    """Drops every record that it sees; useful with a predicate."""

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
