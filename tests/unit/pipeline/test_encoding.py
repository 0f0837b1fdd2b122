"""A page becomes bytes: transforms, converters, and the records that fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from connectd.errors import RecordError, TransformError
from connectd.model.record import (
    ConverterSpec,
    EncodedPage,
    RecordList,
    RoutedPage,
    SourceRecord,
)
from connectd.model.schema import Schema
from connectd.pipeline.encoding import Converters, PageEncoding
from connectd.plugins.chaining import Step, TransformChain


class _Text:
    """A converter that writes what ``str`` says."""

    spec = ConverterSpec("text")

    def from_connect_data(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        return None if value is None else str(value).encode()


class _Page(RecordList):
    """A page that has a direct way to bytes."""

    def page_encoder(
        self, key: ConverterSpec, value: ConverterSpec
    ) -> Callable[[], EncodedPage] | None:
        return lambda: EncodedPage("direct", [])


class _Odd:
    """Drops 0, refuses 3, sends the others to a topic of their own."""

    def apply(self, record: SourceRecord) -> SourceRecord | None:
        if record.value == 0:
            return None
        if record.value == 3:
            raise TransformError("not three")
        return replace(record, topic=f"t{record.value}")


def _converters(*, transformed: bool) -> Converters:
    text = _Text()
    chain = TransformChain((Step("odd", _Odd()),)) if transformed else TransformChain()  # type: ignore[arg-type]
    return Converters(text, text, chain)  # type: ignore[arg-type]


def _records(*values: int) -> list[SourceRecord]:
    return [SourceRecord("t", None, None, None, value) for value in values]


def test_without_transforms_a_page_takes_its_direct_way() -> None:
    encoded = PageEncoding(
        _Page(_records(1)), _converters(transformed=False), tolerates_all=False
    )()
    assert isinstance(encoded, EncodedPage)


def test_transforms_see_every_record_and_may_drop_it() -> None:
    encoding = PageEncoding(
        _Page(_records(0, 1, 2)), _converters(transformed=True), tolerates_all=False
    )
    encoded = encoding()
    assert isinstance(encoded, RoutedPage)
    assert [(record.topic, record.value) for record in encoded.records] == [
        ("t1", b"1"),
        ("t2", b"2"),
    ]
    assert encoding.failure_count == 0


def test_a_record_that_a_transform_refuses_fails_the_page_or_is_skipped() -> None:
    strict = PageEncoding(_Page(_records(1, 3)), _converters(transformed=True), tolerates_all=False)
    with pytest.raises(RecordError, match="not three"):
        strict()
    tolerant = PageEncoding(
        _Page(_records(1, 3, 2)), _converters(transformed=True), tolerates_all=True
    )
    encoded = tolerant()
    assert encoded.topics == ("t1", "t2")
    assert (tolerant.failure_count, tolerant.failures[0].stage) == (1, "TRANSFORMATION")
