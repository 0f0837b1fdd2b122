"""Records of one topic into the client, by the shorter of two ways.

``Producer.produce`` finds its topic by name, among all that the client knows, in the order in which
they were first written to: once a thousand tables have been, that takes several times what
everything else about a record does (``make bench NAME=topics``). ``produce_batch`` looks once a
call, but takes longer about each record. It knows no headers and no timestamps, which the direct
path has none of, and raises nothing: what it did not take says so itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from connectd.model.record import EncodedRecord

NEAR_TOPICS: Final = 32
"""So many topics are found sooner than what a batch takes longer for each of its records."""

BATCH_RECORDS: Final = 256
"""In one call, which keeps the interpreter's lock: a fifth of a millisecond. Enough to make the
search for the topic small, even among some thousands."""

_ERROR: Final = "_error"
"""Where the client leaves the reason in a message of a batch that it did not take."""

Ack = Callable[[KafkaError | None, Message], None]


class Outcome(NamedTuple):
    """What a client took of some records: everything before ``taken``, but for what is ``refused``.

    ``refused`` has places before ``taken``, and why: records behind them were taken, so they can
    only come too late. From ``taken`` on, nothing was, and nothing forbids to try again.
    """

    taken: int
    refused: tuple[tuple[int, KafkaError], ...] = ()


class Batches:
    """See the module's docstring. Used by the one thread that produces with this client."""

    def __init__(self, producer: Producer, *, bytes_max: int) -> None:
        """A batch with a record, key and value, larger than ``bytes_max`` is left to the caller:
        for those who may send nothing behind a record that the client refuses.
        """
        self._producer = producer
        self._bytes_max = bytes_max
        self._order: dict[str, int] = {}

    def produce(self, topic: str, records: Sequence[EncodedRecord], ack: Ack) -> Outcome:
        """Produce records, in order, each with ``ack`` for its answer, as far as the client goes
        along.

        Raises:
            TypeError, ValueError, OverflowError: a record is not what the client takes; some of
                those before it may be on their way.
        """
        if self._order.setdefault(topic, len(self._order)) < NEAR_TOPICS:
            return self._one_by_one(topic, records, ack)
        for start in range(0, len(records), BATCH_RECORDS):
            some = records[start : start + BATCH_RECORDS]
            taken, refused = self._at_once(topic, some, ack)
            if taken < len(some) or refused:
                return Outcome(start + taken, tuple((start + place, why) for place, why in refused))
        return Outcome(len(records))

    def _one_by_one(self, topic: str, records: Sequence[EncodedRecord], ack: Ack) -> Outcome:
        """Hot: every instruction in here is paid per record."""
        produce = self._producer.produce
        left = iter(records)
        try:
            for key, value in left:
                produce(topic, value, key, -1, ack)
        except (BufferError, KafkaException):
            return Outcome(len(records) - 1 - sum(1 for _ in left))
        return Outcome(len(records))

    def _at_once(self, topic: str, records: Sequence[EncodedRecord], ack: Ack) -> Outcome:
        """Hot, as well."""
        messages: list[dict[str, Any]] = [
            {"value": value, "key": key}
            for key, value in records
            if len(value or b"") + len(key or b"") <= self._bytes_max
        ]
        if len(messages) < len(records):
            return Outcome(0)
        try:
            taken = self._producer.produce_batch(topic, messages, -1, ack)
        except KafkaException:  # what is wrong with a topic's name is said of each record
            return Outcome(0)
        if taken == len(messages):
            return Outcome(taken)
        while messages and _ERROR in messages[-1]:
            messages.pop()
        return Outcome(
            len(messages),
            tuple((place, each[_ERROR]) for place, each in enumerate(messages) if _ERROR in each),
        )
