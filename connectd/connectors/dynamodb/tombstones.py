"""``tombstones.on.delete=false``: a page without the tombstones behind its deletions.

Nothing else in a page has a null value, so they are told by that, on all roads. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from connectd.connectors.dynamodb.specimens import NoSpecimenError
from connectd.errors import RecordError
from connectd.model.record import (
    BatchPayload,
    Conversion,
    ConverterSpec,
    Encoded,
    EncodedPage,
    HasSpecimens,
    RoutedRecord,
    SourceRecord,
)


@dataclass(frozen=True)
class WithoutTombstones:
    """Wraps a page; implements ``BatchPayload``."""

    page: BatchPayload

    def __len__(self) -> int:
        return len(self.page)

    def source_records(self) -> Iterator[SourceRecord | RecordError]:
        """See ``BatchPayload``."""
        for record in self.page.source_records():
            if isinstance(record, RecordError) or record.value is not None:
                yield record

    def page_encoder(
        self, key: ConverterSpec, value: ConverterSpec
    ) -> Callable[[], EncodedPage] | None:
        """See ``BatchPayload``."""
        encode = self.page.page_encoder(key, value)
        if encode is None:
            return None

        def encode_without() -> EncodedPage:
            page = encode()
            return EncodedPage(page.topic, [each for each in page.records if each[1] is not None])

        return encode_without

    def encoded_by_specimens(self, conversion: Conversion) -> Encoded:
        """See ``HasSpecimens``."""
        if not isinstance(self.page, HasSpecimens):
            raise NoSpecimenError(f"{type(self.page).__name__} has none")

        def routed(record: SourceRecord) -> RoutedRecord | None:
            return None if record.value is None else conversion.routed(record)

        return self.page.encoded_by_specimens(replace(conversion, routed=routed))
