"""The records that a connector would write of a table's items today, item by item.

They take the road of the connector itself: ``ScanPayload``, its transforms, its converters. So what
is expected of a topic is never a second idea of how an item looks. An item that cannot take this
road is expected too, with the reason: the topic cannot have what the table has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import orjson

from connectd.aio.backoff import Backoff, retry
from connectd.aio.clock import Clock
from connectd.connectors.dynamodb import reconciling
from connectd.connectors.dynamodb.decode import Raw
from connectd.connectors.dynamodb.digest_file import Expected
from connectd.connectors.dynamodb.document import parse_item
from connectd.connectors.dynamodb.envelope import SourceInfo
from connectd.connectors.dynamodb.payload import ScanPayload
from connectd.connectors.dynamodb.plan import TablePlan
from connectd.connectors.dynamodb.reconciling import Compared, StateReader
from connectd.errors import ConvertError, FatalTaskError, RetriableError
from connectd.model.record import Encoded, EncodedPage, RoutedRecord
from connectd.pipeline.encoding import Converters, PageEncoding
from connectd.pipeline.tolerance import ErrorPolicy, Failure

_RETRY: Final = Backoff(initial_s=0.5, max_s=10.0, attempts_max=8)
"""About a minute for a schema registry that is away."""

_SKIPS: Final = ErrorPolicy(tolerates_all=True)
"""An item that cannot be converted is told of; the rest is compared."""

Made: TypeAlias = "RoutedRecord | Unconvertible | None"
"""What the connector makes of an item; None: a transform drops it."""


@dataclass(frozen=True)
class Unconvertible:
    """An item of which no record can be made."""

    reason: str


class ForeignItemError(FatalTaskError):
    """An item that cannot be of the table: it has not its key. ``index``: its place in the page."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


@dataclass(frozen=True)
class ExpectedState:
    """What is expected of one item; ``compared`` None: it cannot be converted."""

    row: Expected
    compared: Compared | None


class ExpectedRecords:
    """Makes them for one table. ``skipped`` counts items that the topic is to have nothing of."""

    def __init__(
        self,
        plan: TablePlan,
        info: SourceInfo,
        converters: Converters,
        states: StateReader,
        clock: Clock,
    ) -> None:
        self._plan = plan
        self._info = info
        self._converters = converters
        self._states = states
        self._clock = clock
        self._key_names = [each.name for each in plan.key_schema.attributes]
        self.skipped = 0

    async def of_items(self, items: Sequence[Raw]) -> list[ExpectedState]:
        """What is expected of some items, without those that are skipped.

        Raises:
            RetriableError: what a converter needs (a schema registry) is away.
            FatalTaskError: no item can be converted until somebody helps; as ``ForeignItemError``,
                one has not the key of the table.
        """
        records: Sequence[Made] = []
        if not self._converters.transforms:
            records, _ = await self._encoded(items)
        if len(records) != len(items):  # somebody is missing: one by one, it is known who
            records = [await self.of_item(item) for item in items]
        states = [
            self._state(index, item, made)
            for index, (item, made) in enumerate(zip(items, records, strict=True))
        ]
        expected = [each for each in states if each is not None]
        self.skipped += len(states) - len(expected)
        return expected

    async def of_item(self, item: Raw) -> Made:
        """What becomes of one item. Counts nothing; raises as ``of_items``."""
        records, failures = await self._encoded([item])
        if failures:
            return Unconvertible(_told(failures[0]))
        return records[0] if records else None

    def _state(self, index: int, item: Raw, made: Made) -> ExpectedState | None:
        if made is None:
            return None
        try:
            item_key = self._item_key(item)
        except ConvertError as error:
            raise ForeignItemError(index, str(error)) from error
        if isinstance(made, Unconvertible):
            key_id, digest = reconciling.item_id(item_key), reconciling.unconvertible(made.reason)
            row = Expected(key_id, reconciling.NO_TOPIC, item_key, item_key, digest)
            return ExpectedState(row, None)
        state = self._states.read(made.topic, made.value)
        if state.digest is None:
            return None
        key_id = reconciling.key_id(made.topic, made.key)
        row = Expected(key_id, made.topic, made.key, item_key, state.digest)
        return ExpectedState(row, state.compared)

    async def _encoded(
        self, items: Sequence[Raw]
    ) -> tuple[Sequence[RoutedRecord], Sequence[Failure]]:
        payload = ScanPayload(self._plan, self._info, items)
        encoding = PageEncoding(payload, self._converters, _SKIPS)

        async def encode() -> Encoded:
            return encoding()

        try:
            encoded = encoding()
        except RetriableError:
            encoded = await retry(encode, clock=self._clock, policy=_RETRY)
        if encoding.ended_by is not None:
            raise encoding.ended_by
        if isinstance(encoded, EncodedPage):
            topic = encoded.topic
            return [RoutedRecord(topic, key, value) for key, value in encoded.records], ()
        return encoded.records, encoding.failures

    def _item_key(self, item: Raw) -> bytes:
        attributes = parse_item(item)
        self._plan.key_schema.values(attributes)  # raises ConvertError
        return orjson.dumps({name: attributes[name] for name in self._key_names})


def _told(failure: Failure) -> str:
    """Where an item failed, and why, in one line."""
    where = failure.class_name.rpartition(".")[2]
    why = " ".join(str(failure.error).split()) or type(failure.error).__name__
    return f"{where}: {why}"
