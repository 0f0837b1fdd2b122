"""Names: topics, Connect schemas and top-level attributes.

Each rule is one that people's consumers, schemas and access lists already depend on: topic names
as the Java connector and its forks build them, schema names adjusted as Debezium does, and
attribute names cleaned as release 0.12.0 of the Java connector does (spec dynamodb-connector 4.1,
4.3, 6.3). Pure; the cache of known-clean names is a matter of speed alone.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from connectd.errors import ConfigError

TOPIC_LENGTH_MAX = 249
"""Kafka's limit; table names may have 255 characters."""

_CLEAN_NAMES_MAX = 10_000
"""Names may be data (an item used as a map), so what is remembered of them has a bound."""

_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_UNCLEAN_ATTRIBUTE_CHARACTER = re.compile(r"^[^a-zA-Z_]|(?<!^)[^a-zA-Z0-9_]")
_BAD_SCHEMA_NAME_CHARACTER = re.compile(r"^[^a-zA-Z_]|(?<!^)[^a-zA-Z0-9_.]")


@dataclass(frozen=True)
class TopicNaming:
    """How a table's topic is called: ``prefix`` and then the table, or what the map says instead.

    ``suffix_by_table`` is the fork option ``kafka.topic.map``; with ``prefix_only`` every table
    goes to the one topic that the prefix names, as in another fork.
    """

    prefix: str = "dynamodb-"
    suffix_by_table: Mapping[str, str] = field(default_factory=dict)
    prefix_only: bool = False

    def topic(self, table: str) -> str:
        """The topic of a table. Nothing is put between prefix and name.

        Raises:
            ConfigError: Kafka would refuse the name.
        """
        suffix = "" if self.prefix_only else self.suffix_by_table.get(table, table)
        topic = self.prefix + suffix
        if not _TOPIC_NAME.fullmatch(topic) or topic in (".", ".."):
            raise ConfigError(
                f"topic of table {table} would be {topic!r}, expected letters, digits, '.', '_' "
                "or '-'; change kafka.topic.prefix or kafka.topic.map"
            )
        if len(topic) > TOPIC_LENGTH_MAX:
            raise ConfigError(
                f"topic of table {table} would have {len(topic)} characters, expected at most "
                f"{TOPIC_LENGTH_MAX}; shorten it with kafka.topic.map"
            )
        return topic


def parse_topic_map(text: str) -> dict[str, str]:
    """Read ``kafka.topic.map``: a JSON object from table name to topic suffix; empty text is none.

    Raises:
        ConfigError: it is anything else.
    """
    if not text.strip():
        return {}
    try:
        parsed: Any = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"kafka.topic.map is not JSON: {error}") from error
    if not isinstance(parsed, dict) or not all(isinstance(v, str) for v in parsed.values()):
        raise ConfigError(
            "kafka.topic.map must be a JSON object of strings, from table name to topic suffix"
        )
    return parsed


def schema_name(name: str) -> str:
    """A full schema name that Avro accepts: characters it does not know become ``_``.

    Dots stay, so they become parts of a namespace. Two tables may come to share a schema name
    (``a-b`` and ``a_b``); their topics differ and so do their subjects.
    """
    return _BAD_SCHEMA_NAME_CHARACTER.sub("_", name)


def sanitised_attribute(name: str) -> str:
    """What release 0.12.0 makes of an attribute name: other characters are deleted.

    The result may be empty, start with a digit, or equal another attribute's name:
    ``AttributeSanitiser`` decides what then happens.
    """
    return _UNCLEAN_ATTRIBUTE_CHARACTER.sub("", name)


class AttributeSanitiser:
    """Sanitises the names of one item at a time, without ever losing an attribute.

    The Java connector drops a record whose name becomes empty (``名前``, ``-``) and, of two names
    that become equal (``a-b`` and ``ab``), loses one value. Here such a name stays as it was: a
    name is only replaced when the new one is not empty, is not the name of an attribute of the same
    item, and no other attribute wants it. The outcome does not depend on the order of the
    attributes (field case V05).
    """

    def __init__(self) -> None:
        self._clean: set[str] = set()

    @property
    def remembered_names(self) -> int:
        """How many names are known to be clean; bounded."""
        return len(self._clean)

    def renamed(self, names: Collection[str]) -> dict[str, str]:
        """New names by old, for those that change; empty for most items."""
        if self._clean.issuperset(names):
            return {}
        wanted = {name: sanitised_attribute(name) for name in names}
        self._remember(name for name, clean in wanted.items() if name == clean)
        claims = Counter(wanted.values())
        return {
            name: clean
            for name, clean in wanted.items()
            if clean and claims[clean] == 1 and clean not in wanted
        }

    def _remember(self, names: Iterable[str]) -> None:
        if len(self._clean) >= _CLEAN_NAMES_MAX:
            self._clean.clear()
        self._clean.update(names)
