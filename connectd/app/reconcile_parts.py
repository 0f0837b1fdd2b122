"""What a reconciliation is made with, and what it asks of it about single keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from connectd.aio.clock import Clock
from connectd.app.expected_records import ExpectedRecords, Unconvertible
from connectd.app.reconcile_on_spark import SparkLook
from connectd.connectors.dynamodb import reconciling
from connectd.connectors.dynamodb.decode import Raw
from connectd.connectors.dynamodb.export_pages import ExportReading
from connectd.connectors.dynamodb.reconciling import StateReader
from connectd.connectors.dynamodb.record_keys import KeyReader
from connectd.connectors.dynamodb.second_look import Candidate
from connectd.connectors.dynamodb.table_reading import TableReading
from connectd.errors import InvalidRequestError, NotFoundError
from connectd.kafka.following import OnRecords, TopicFollower
from connectd.kafka.producer import PageProducer
from connectd.model.record import RoutedRecord

CHUNK_KEYS: Final = 256
"""Items read again, or repaired, at once."""

OnProgress = Callable[[str, int, int | None], None]
"""Told of a step, how much of it is done, and of how much (None: nobody knows)."""


OpenFollower = Callable[[str, OnRecords, Mapping[int, int] | None], TopicFollower]
"""For a topic: who hears of its records, and where to begin (None: at the beginning)."""


@dataclass(frozen=True)
class Wishes:
    """What the caller wants. ``topics``: those to be read beside the ones that records go to.
    ``removes_extra``: a repair also removes extra records that do not lead back to an item, or do
    not name their table, on the user's word that they are no other table's."""

    settle_s: float
    shown: int
    topics: tuple[str, ...] = ()
    spill: Path | None = None
    removes_extra: bool = False


@dataclass(frozen=True)
class Parts:
    """What a comparison is made with; their owner closes them (``reconcile_wiring``)."""

    clock: Clock
    table: TableReading
    expected: ExpectedRecords
    states: StateReader
    keys: KeyReader
    topic: str
    """The topic without transforms."""
    may_be_routed: bool
    """Whether a transform may name another one."""
    open_follower: OpenFollower
    open_producer: Callable[[], PageProducer]
    spark: SparkLook | None = None
    """Does the first look, if the user wants that."""
    export: ExportReading | None = None
    """Is looked at first instead of the table, if the user wants that."""


class Now(NamedTuple):
    """An item as it is now: whether there is one, and the record that it has (None: none).
    ``reason``: why it cannot be converted."""

    exists: bool
    record: RoutedRecord | None
    reason: str | None = None


UNKNOWN: Final = Now(False, None)
"""What is known of an item whose key nobody knows: that the comparison has not seen it."""


def lead_back(parts: Parts, candidates: Iterable[Candidate]) -> None:
    """Find out which items the candidates are of, where their records' keys tell."""
    for each in candidates:
        if each.item_key is None:
            each.item_key = parts.keys.item_key(each.topic, each.key)


async def items_now(parts: Parts, candidates: Sequence[Candidate]) -> list[Now]:
    """The candidates' items, and what the connector would write of them.

    A key that was made of a record's, and that DynamoDB refuses, does not lead back to an item; it
    is taken from its candidate.

    Raises:
        ConnectdError: the table cannot be read.
    """
    keys = [each.item_key for each in candidates if each.item_key is not None]
    assert len(keys) == len(candidates), "only candidates with an item's key are asked for"
    found = await parts.table.items(keys)
    return [
        await _now(parts, candidate, each)
        for candidate, each in zip(candidates, found, strict=True)
    ]


async def _now(parts: Parts, candidate: Candidate, found: Raw | InvalidRequestError | None) -> Now:
    if found is None:
        return Now(False, None)
    if isinstance(found, InvalidRequestError):
        if candidate.expected is not None:
            raise found  # it is the key of an item, as the table itself has shown it
        candidate.item_key = None
        return UNKNOWN
    made = await parts.expected.of_item(found)
    if isinstance(made, Unconvertible):
        return Now(True, None, made.reason)
    return Now(True, made)


def digest_of(parts: Parts, candidate: Candidate, now: Now) -> bytes | None:
    """What a candidate's record should say, given its item."""
    if now.reason is not None:
        return reconciling.unconvertible(now.reason)
    record = now.record
    if record is None or reconciling.key_id(record.topic, record.key) != candidate.key_id:
        return None  # there is no item, or its record goes elsewhere now
    return parts.states.read(record.topic, record.value).digest


@contextmanager
def topic_named(topic: str) -> Iterator[None]:
    """Says what it may mean that there is no such topic."""
    try:
        yield
    except NotFoundError as error:
        raise NotFoundError(
            f"topic {topic} does not exist: the connector has not written to it, or "
            "kafka.topic.prefix, kafka.topic.map or the brokers are others than its own"
        ) from error
