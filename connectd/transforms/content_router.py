"""``ContentRouter`` and ``FieldValueMatches``: what becomes of a record by what is in it.

Both look at one field of the value or key, named by a path (KIP-821: dots descend, backticks keep a
dot in a name). A path goes on into a text that is a JSON object, so that ``document.status.s`` is
an attribute of a DynamoDB item while the envelope stays as it is. What is compared is the field's
text as Java writes it: a text itself, ``true``, ``7``, ``1.5``.

A router looks the text up in ``topic.by.value``; if it is not there, ``topic.format`` makes a topic
of it; without that, the record keeps its topic. Topics are bounded by ``topics.max``, because a
field with an id in it would make a topic of every record. A name that Kafka does not take is
refused, never changed: two values would otherwise meet in one topic.

State: the topics that a router has made so far, each added once and never removed; it may be added
to from any thread.
"""

from __future__ import annotations

import re
from typing import Final

import orjson

from connectd.configdef import validators
from connectd.configdef.definition import ConfigDef, ConfigKey, ConfigType
from connectd.configdef.parsing import ParsedConfig
from connectd.errors import ConfigError, TransformError
from connectd.model import java_regex, java_text, text_marks
from connectd.model.record import SourceRecord
from connectd.model.schema import Schema, Struct, or_default
from connectd.transforms import declared
from connectd.transforms.field_path import FieldPath
from connectd.transforms.side import Side, with_topic

TOPIC_LENGTH_MAX: Final = 249
_REFUSED_CHARACTER: Final = re.compile(r"[^a-zA-Z0-9._-]")


class ContentRouter:
    """The topic by the content of a field."""

    ignores_texts = True

    def __init__(self, settings: ParsedConfig) -> None:
        self._field = _FieldText(settings)
        self._topic_by_value = _mapping(settings.strings("topic.by.value"))
        self._format = settings.optional_string("topic.format")
        if not self._topic_by_value and self._format is None:
            raise ConfigError("Neither topic.by.value nor topic.format is set; set one or both")
        if self._format is not None and "${field}" not in self._format:
            raise ConfigError(
                f"topic.format is {self._format}, expected ${{field}} in it: without, every record "
                "goes to one topic, which RegexRouter does"
            )
        self._fails_without = settings.string("missing.field") == "fail"
        self._topics_max = settings.integer("topics.max")
        self._made: set[str] = set()

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _ROUTER_DEF

    def apply(self, record: SourceRecord) -> SourceRecord:
        """The record for its topic; a tombstone without the field keeps its topic, or fails."""
        text = self._field.of(record)
        if text is None:
            if self._fails_without:
                raise TransformError(
                    f"routing: {self._field} is missing or null "
                    f"({record.origin or 'topic ' + record.topic}); missing.field=keep leaves such "
                    "records in their topic"
                )
            return record
        topic = self._topic_by_value.get(text)
        if topic is None:
            if self._format is None:
                return record
            topic = self._format.replace("${topic}", record.topic).replace("${field}", text)
            self._admit(topic, record)
        return record if topic == record.topic else with_topic(record, topic)

    def _admit(self, topic: str, record: SourceRecord) -> None:
        if topic in self._made:
            return
        problem = topic_problem(topic)
        if problem is not None:
            raise TransformError(
                f"routing: {self._field} makes a topic name that {problem} "
                f"({record.origin or 'topic ' + record.topic}); give its value a topic in "
                "topic.by.value, or change topic.format"
            )
        if len(self._made) >= self._topics_max:
            raise TransformError(
                f"routing: {self._field} has made {self._topics_max} topics already, as many as "
                "topics.max allows; raise it if so many are meant, or choose a field with fewer "
                "values"
            )
        self._made.add(topic)


class FieldValueMatches:
    """The whole text of a field matches a regular expression; a missing one does not."""

    ignores_texts = True

    def __init__(self, settings: ParsedConfig) -> None:
        self._field = _FieldText(settings)
        self._pattern = java_regex.compiled(settings.string("pattern"))

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _PREDICATE_DEF

    def test(self, record: SourceRecord) -> bool:
        """Whether it holds."""
        text = self._field.of(record)
        return text is not None and java_regex.fullmatch(self._pattern, text) is not None


def topic_problem(topic: str) -> str | None:
    """Why Kafka does not take this name for a topic, without the name itself; None: it does."""
    if not topic:
        return "is empty"
    if topic in (".", ".."):
        return f"is {topic!r}, which Kafka keeps for itself"
    if len(topic) > TOPIC_LENGTH_MAX:
        return f"has {len(topic)} characters, and Kafka allows {TOPIC_LENGTH_MAX}"
    refused = _REFUSED_CHARACTER.search(topic)
    if refused is None:
        return None
    return (
        f"has {refused[0]!r} (U+{ord(refused[0]):04X}) at position {refused.start() + 1}, and "
        "Kafka allows letters, digits, '.', '_' and '-'"
    )


class _FieldText:
    """Finds a field and makes text of it; ``str`` names it for messages."""

    def __init__(self, settings: ParsedConfig) -> None:
        self._side = Side(settings.string("field.of").lower())
        self._path = FieldPath.parse(settings.string("field"), "V2")

    def __str__(self) -> str:
        return f"the field {self._path.text} of the {self._side.value}"

    def of(self, record: SourceRecord) -> str | None:
        """The text; None when the field is not there, or null.

        Raises:
            TransformError: the field has no text that could be compared: it is a list, a map, …
        """
        schema, found = self._side.of(record)
        for name in self._path.steps:
            schema, found = _member(schema, found, name)
            if found is None:
                return None
        if found is None:
            return None
        if isinstance(found, str):
            return text_marks.read(found)
        if isinstance(found, bytes | list | dict | Struct):
            raise TransformError(
                f"{self} is a {type(found).__name__}, expected a text, a number or a boolean; name "
                "a field inside of it"
            )
        return java_text.of(schema, found)


def _member(schema: Schema | None, value: object, name: str) -> tuple[Schema | None, object]:
    """One step of a path: the member of that name with its schema; null where there is none."""
    if isinstance(value, str) and text_marks.read(value).startswith("{"):
        schema, value = None, _parsed(value)
    if isinstance(value, Struct):
        field = value.schema.field(name)
        if field is None:
            return None, None
        return field.schema, or_default(field.schema, value.get(name, with_default=False))
    if isinstance(value, dict):
        return None if schema is None else schema.value_schema, value.get(name)
    return None, None


def _parsed(text: str) -> object:
    try:
        return orjson.loads(text)
    except ValueError:
        return None  # a text that only looks like JSON has no fields


def _mapping(entries: tuple[str, ...]) -> dict[str, str]:
    """Topics by value; each entry is split at its last colon, because no topic has one."""
    topics: dict[str, str] = {}
    for entry in entries:
        value, colon, topic = entry.rpartition(":")
        if not colon:
            raise ConfigError(f"topic.by.value has {entry}, expected value:topic")
        problem = topic_problem(topic)
        if problem is not None:
            raise ConfigError(f"topic.by.value has {entry}, whose topic {problem}")
        if value in topics:
            raise ConfigError(f"topic.by.value has two topics for {value}, expected one")
        topics[value] = topic
    return topics


_OF_FIELD: Final[list[ConfigKey]] = [
    declared.key(
        "field",
        ConfigType.STRING,
        "The field to look at: a path whose dots descend, a name that has dots of its own between "
        "backticks. It goes on into a text that is a JSON object: document.status.s.",
        declared.HIGH,
        validator=validators.non_empty,
    ),
    declared.key(
        "field.of",
        ConfigType.STRING,
        "Where that field is: value or key.",
        declared.MEDIUM,
        "value",
        validators.one_of("value", "key", ignore_case=True),
    ),
]
_ROUTER_DEF: Final = ConfigDef(
    [
        *_OF_FIELD,
        declared.key(
            "topic.by.value",
            ConfigType.LIST,
            "Topics of single values, each as value:topic.",
            declared.HIGH,
            (),
            validators.distinct(),
        ),
        declared.key(
            "topic.format",
            ConfigType.STRING,
            "The topic of all other values: ${field} stands for the value, ${topic} for the topic "
            "so far. Without it they keep their topic.",
            declared.HIGH,
            None,
        ),
        declared.key(
            "missing.field",
            ConfigType.STRING,
            "A record without the field, or with a null there, as a tombstone: keep leaves it "
            "in its topic, fail refuses it.",
            declared.MEDIUM,
            "keep",
            validators.one_of("keep", "fail"),
        ),
        declared.key(
            "topics.max",
            ConfigType.INT,
            "How many topics topic.format may make before records are refused.",
            declared.LOW,
            100,
            validators.between(1, 10_000),
        ),
    ]
)
_PREDICATE_DEF: Final = ConfigDef(
    [
        *_OF_FIELD,
        declared.key(
            "pattern",
            ConfigType.STRING,
            "Regular expression for the whole text of the field.",
            declared.HIGH,
            validator=declared.regex,
        ),
    ]
)
