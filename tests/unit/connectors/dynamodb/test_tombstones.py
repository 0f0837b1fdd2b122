"""``tombstones.on.delete=false`` takes tombstones away, on both roads, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from connectd.connectors.dynamodb.specimens import NoSpecimenError
from connectd.connectors.dynamodb.tombstones import WithoutTombstones
from connectd.errors import ConvertError, RecordError
from connectd.model.record import Conversion, ConverterSpec, EncodedPage, SourceRecord
from connectd.model.text_marks import TextForm

SPEC = ConverterSpec("json")
ERROR = ConvertError("this one cannot be expressed")


class Page:
    """A deletion with its tombstone, a bad record, a change."""

    has_encoder = True

    def __len__(self) -> int:
        return 3

    def source_records(self) -> Iterator[SourceRecord | RecordError]:
        yield SourceRecord("t", None, "k", None, "deletion")
        yield SourceRecord("t", None, "k", None, None)
        yield ERROR
        yield SourceRecord("t", None, "k", None, "change")

    def page_encoder(
        self, key: ConverterSpec, value: ConverterSpec
    ) -> Callable[[], EncodedPage] | None:
        if not self.has_encoder:
            return None
        return lambda: EncodedPage("t", [(b"k", b"deletion"), (b"k", None), (b"k", b"change")])


def test_the_general_road_skips_tombstones_and_keeps_errors_in_their_place() -> None:
    records = list(WithoutTombstones(Page()).source_records())
    values = [each if isinstance(each, RecordError) else each.value for each in records]
    assert values == ["deletion", ERROR, "change"]


def test_the_direct_road_skips_them_too() -> None:
    encode = WithoutTombstones(Page()).page_encoder(SPEC, SPEC)
    assert encode is not None
    assert encode().records == [(b"k", b"deletion"), (b"k", b"change")]
    assert encode().topic == "t"


def test_without_a_direct_road_there_is_none() -> None:
    page = Page()
    page.has_encoder = False
    assert WithoutTombstones(page).page_encoder(SPEC, SPEC) is None


def test_entries_are_counted_as_before() -> None:
    assert len(WithoutTombstones(Page())) == 3


def test_a_page_that_has_no_specimens_has_none_without_tombstones() -> None:
    conversion = Conversion(lambda record: None, TextForm.JSON, TextForm.JSON)
    with pytest.raises(NoSpecimenError, match="Page has none"):
        WithoutTombstones(Page()).encoded_by_specimens(conversion)
