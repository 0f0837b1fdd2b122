"""What a scenario left in the three internal topics, normalised.

The records of the config topic are compared connector by connector, in their order: what is written
of two connectors at the same time has none. Statuses are compared key by key, without immediate
repetitions; offsets by the last value of each key, because how often a task commits on its way is a
matter of time. The session key is written whenever a worker becomes leader, so its records belong
to no scenario and are left out (``session_key`` holds the last one).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from tests.conformance.rest.normalisation import Normaliser
from tests.conformance.rest.steps import compact
from tests.harness.processes import wait_for
from tests.harness.topics import TopicReader, TopicRecord

SETTLED_WITHIN_S: Final = 15.0
SESSION_KEY: Final = "session-key"
_ABOUT: Final = re.compile(
    r"(?:target-state|restart-connector|connector|commit|tasks-fencing)-(?P<connector>.*)"
    r"|task-(?P<of_task>.*)-\d+"
)
_VERSION: Final = re.compile(r'"version":(null|"<version>")')


@dataclass
class InternalTopics:
    """Reads the internal topics of one worker, each time what is new."""

    reader: TopicReader
    prefix: str
    session_key: dict[str, Any] = field(default_factory=dict)
    """The value of the last session key that was read."""

    def skip(self) -> None:
        """Pass over everything that is there."""
        self._new_records()

    def records_of_scenario(self, normaliser: Normaliser) -> dict[str, Any]:
        """Everything since the last call, once every status has ended with a tombstone."""
        records: list[TopicRecord] = []

        def settled() -> bool:
            records.extend(self._new_records())
            last = {record.key: record.value for record in self._of(records, "status")}
            return all(value is None for value in last.values())

        wait_for(settled, deadline_s=SETTLED_WITHIN_S)
        return {
            "configs": _configs(self._of(records, "configs"), normaliser),
            "offsets": {
                normaliser.text(_text(record.key)): _plain(record.value, normaliser)
                for record in self._of(records, "offsets")
            },
            "statuses": _histories(self._of(records, "status"), normaliser),
        }

    def _new_records(self) -> list[TopicRecord]:
        records = []
        for record in self.reader.read_to_end():
            if record.key == SESSION_KEY.encode():
                self.session_key = record.value_json
            else:
                records.append(record)
        return records

    def _of(self, records: list[TopicRecord], topic: str) -> list[TopicRecord]:
        return [each for each in records if each.topic == f"{self.prefix}connect-{topic}"]


@contextmanager
def of_worker(bootstrap: str, prefix: str) -> Iterator[InternalTopics]:
    """The internal topics of a worker that was given this ``topics_prefix``."""
    names = [f"{prefix}connect-{each}" for each in ("configs", "offsets", "status")]
    with TopicReader(bootstrap, names) as reader:
        yield InternalTopics(reader, prefix)


def _configs(records: list[TopicRecord], normaliser: Normaliser) -> dict[str, list[Any]]:
    by_connector: dict[str, list[Any]] = {}
    for record in records:
        key = _text(record.key)
        about = _ABOUT.fullmatch(key)
        connector = (about["connector"] or about["of_task"]) if about else key
        entry = {"key": key, "value": _config(record.value, normaliser)}
        by_connector.setdefault(normaliser.text(connector), []).append(entry)
    return by_connector


def _histories(records: list[TopicRecord], normaliser: Normaliser) -> dict[str, list[Any]]:
    histories: dict[str, list[Any]] = {}
    for record in records:
        history = histories.setdefault(normaliser.text(_text(record.key)), [])
        value = _status(record.value, normaliser)
        if not history or history[-1] != value:
            history.append(value)
    return histories


def _status(value: bytes | None, normaliser: Normaliser) -> Any:
    """As ``_plain``; a Java worker that gives up a task may or may not still know its version."""
    text = _plain(value, normaliser)
    if text is not None and '"state":"UNASSIGNED"' in text:
        text = _VERSION.sub('"version":"<version or null>"', text)
    return text


def _config(value: bytes | None, normaliser: Normaliser) -> Any:
    """Properties as an object, everything else as text: there the order of members counts."""
    if value is None:
        return None
    parsed = json.loads(value)
    if isinstance(parsed, dict) and list(parsed) == ["properties"]:
        return normaliser.value(parsed)
    return _plain(value, normaliser)


def _plain(value: bytes | None, normaliser: Normaliser) -> Any:
    """The text of a value, spaces and order of members as they were written."""
    if value is None:
        return None
    text = value.decode()
    normalised = compact(normaliser.value(json.loads(text)))
    return normalised if text == compact(json.loads(text)) else f"{normalised} (not compact)"


def _text(key: bytes | None) -> str:
    return "" if key is None else key.decode()
