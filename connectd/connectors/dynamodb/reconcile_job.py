"""A comparison on Spark: what it must know beside a ``ScanJob``, and what it answers.

The job is a scan that writes nothing: table, converters, transforms, AWS and pace stand in the
``ScanJob`` that Spark jobs are started with. In the same private directory lie ``JOB_FILE``, with
how to read the topics, and in the end ``RESULT_FILE``, with the first look at both sides. The
second look, and every repair, is the business of who has started the job. Pure.
"""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from connectd.connectors.dynamodb.reconciling import Compared, Counts
from connectd.connectors.dynamodb.second_look import Candidate
from connectd.errors import ConfigError

JOB_FILE: Final = "reconcile.json"
RESULT_FILE: Final = "result.json"

_BYTES: Final = ("key_id", "key", "item_key", "expected", "found")


@dataclass(frozen=True)
class ReconcileJob:
    """``consumer`` are librdkafka's settings; ``ends`` are the offsets up to which each partition
    of each topic is read. Of the differences at most ``differences_max`` are wanted."""

    consumer: Mapping[str, str] = field(repr=False)
    ends: Mapping[str, Mapping[int, int]]
    differences_max: int

    def to_json(self) -> bytes:
        """The content of ``JOB_FILE``."""
        ends = {
            topic: {str(partition): offset for partition, offset in each.items()}
            for topic, each in self.ends.items()
        }
        return orjson.dumps({**vars(self), "consumer": dict(self.consumer), "ends": ends})

    @classmethod
    def from_json(cls, text: bytes) -> ReconcileJob:
        """Read a job's file.

        Raises:
            ConfigError: it is none.
        """
        try:
            members = orjson.loads(text)
            return cls(
                consumer=members["consumer"],
                ends={
                    topic: {int(partition): offset for partition, offset in each.items()}
                    for topic, each in members["ends"].items()
                },
                differences_max=members["differences_max"],
            )
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise ConfigError(f"reading a reconcile job: {error!r}") from error


@dataclass(frozen=True)
class FirstLook:
    """What a comparison has found; ``differences`` are some of those that ``counts`` counts."""

    counts: Counts
    compared: Compared
    differences: tuple[Candidate, ...]

    def to_json(self) -> bytes:
        """The content of ``RESULT_FILE``."""
        return orjson.dumps(
            {
                "counts": vars(self.counts),
                "compared": self.compared.value,
                "differences": [_candidate_members(each) for each in self.differences],
            }
        )

    @classmethod
    def from_json(cls, text: bytes) -> FirstLook:
        """Read a result.

        Raises:
            ConfigError: it is none.
        """
        try:
            members = orjson.loads(text)
            return cls(
                Counts(**members["counts"]),
                Compared(members["compared"]),
                tuple(_candidate(each) for each in members["differences"]),
            )
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise ConfigError(f"reading the result of a comparison: {error!r}") from error


def _candidate_members(candidate: Candidate) -> dict[str, Any]:
    members = dataclasses.asdict(candidate)
    for name in _BYTES:
        value = members[name]
        members[name] = None if value is None else base64.b64encode(value).decode()
    return members


def _candidate(members: dict[str, Any]) -> Candidate:
    for name in _BYTES:
        value = members[name]
        members[name] = None if value is None else base64.b64decode(value)
    return Candidate(**members)
