"""The records that a connector would write of a table's items today, item by item.

They take the road of the connector itself: ``ScanPayload``, its transforms, its converters. So what
is expected of a topic is never a second idea of how an item looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from connectd.aio.backoff import Backoff, retry
from connectd.aio.clock import Clock
from connectd.connectors.dynamodb.decode import Raw
from connectd.connectors.dynamodb.document import parse_item
from connectd.connectors.dynamodb.envelope import SourceInfo
from connectd.connectors.dynamodb.payload import ScanPayload
from connectd.connectors.dynamodb.plan import TablePlan
from connectd.errors import RetriableError
from connectd.model.record import Encoded, EncodedPage, RoutedRecord
from connectd.pipeline.encoding import Converters, PageEncoding
from connectd.pipeline.tolerance import ErrorPolicy

_RETRY: Final = Backoff(initial_s=0.5, max_s=10.0, attempts_max=8)
"""About a minute for a schema registry that is away."""

_SKIPS: Final = ErrorPolicy(tolerates_all=True)
"""An item that cannot be converted is counted; the rest is compared."""


@dataclass(frozen=True)
class ExpectedRecord:
    """What should be there of one item, and the item's key as DynamoDB's JSON."""

    item_key: bytes
    record: RoutedRecord


class ExpectedRecords:
    """Makes them for one table. ``skipped`` counts items without a record."""

    def __init__(
        self, plan: TablePlan, info: SourceInfo, converters: Converters, clock: Clock
    ) -> None:
        self._plan = plan
        self._info = info
        self._converters = converters
        self._clock = clock
        self._key_names = [each.name for each in plan.key_schema.attributes]
        self.skipped = 0

    async def of_items(self, items: Sequence[Raw]) -> list[ExpectedRecord]:
        """The records of some items; those that have none are left out.

        Raises:
            RetriableError: what a converter needs (a schema registry) is away.
            FatalTaskError: no item can be converted until somebody helps.
        """
        records = [] if self._converters.transforms else await self._encoded(items)
        if len(records) == len(items):
            pairs = list(zip(items, records, strict=True))
        else:  # somebody is missing: one by one, it is known who
            pairs = [(item, record) for item in items for record in await self._encoded([item])]
        self.skipped += len(items) - len(pairs)
        return [ExpectedRecord(self._item_key(item), record) for item, record in pairs]

    async def of_item(self, item: Raw) -> RoutedRecord | None:
        """The record of one item, None: it has none. Counts nothing; raises as ``of_items``."""
        records = await self._encoded([item])
        return records[0] if records else None

    async def _encoded(self, items: Sequence[Raw]) -> list[RoutedRecord]:
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
            return [RoutedRecord(encoded.topic, key, value) for key, value in encoded.records]
        return encoded.records

    def _item_key(self, item: Raw) -> bytes:
        attributes = parse_item(item)
        return orjson.dumps({name: attributes[name] for name in self._key_names})
