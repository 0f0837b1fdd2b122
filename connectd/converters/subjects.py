"""Names of subjects: under which name a registry keeps a schema's versions (spec E.5). Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from connectd.errors import ConfigError, ConvertError

_PACKAGE: Final = "io.confluent.kafka.serializers.subject."
TOPIC_NAME: Final = f"{_PACKAGE}TopicNameStrategy"
RECORD_NAME: Final = f"{_PACKAGE}RecordNameStrategy"
TOPIC_RECORD_NAME: Final = f"{_PACKAGE}TopicRecordNameStrategy"

SubjectName = Callable[[str, str | None], str]
"""The subject of a topic and of the full name that a schema has, None if it has none."""


def strategy(class_name: str, *, is_key: bool) -> SubjectName:
    """The naming of a class name, in full or without its package.

    Raises:
        ConfigError: there is none of that name.
    """
    part = "key" if is_key else "value"

    def by_topic(topic: str, record: str | None) -> str:
        return f"{topic}-{part}"

    def by_record(topic: str, record: str | None) -> str:
        if record is None:
            raise ConvertError(
                f"In configuration {part}.subject.name.strategy = {class_name}, the message "
                f"{part} must only be a record schema; use TopicNameStrategy for schemas "
                "without a name"
            )
        return record

    def by_topic_and_record(topic: str, record: str | None) -> str:
        return f"{topic}-{by_record(topic, record)}"

    known: dict[str, SubjectName] = {
        TOPIC_NAME: by_topic,
        RECORD_NAME: by_record,
        TOPIC_RECORD_NAME: by_topic_and_record,
    }
    full_name = class_name if "." in class_name else f"{_PACKAGE}{class_name}"
    if full_name not in known:
        raise ConfigError(
            f"{part}.subject.name.strategy is {class_name}; expected one of {', '.join(known)}"
        )
    return known[full_name]
