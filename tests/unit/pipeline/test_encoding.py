"""A page becomes bytes: transforms, converters, and the records that fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from connectd.errors import ConvertError, FatalTaskError, TransformError
from connectd.model.record import (
    ConverterSpec,
    EncodedPage,
    RecordList,
    RoutedPage,
    RoutedRecord,
    SourceRecord,
)
from connectd.model.schema import Schema
from connectd.pipeline.encoding import Converters, PageEncoding
from connectd.pipeline.tolerance import ErrorPolicy, Stage, ToleranceExceededError
from connectd.plugins.chaining import Step, TransformChain


class _Text:
    """A converter that writes what ``str`` says."""

    spec = ConverterSpec("text")

    def from_connect_data(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        return None if value is None else str(value).encode()


class _Header:
    """A header converter that writes the name as well; refuses what is no text."""

    spec = ConverterSpec("header")

    def from_connect_header(
        self, topic: str, name: str, schema: Schema | None, value: object
    ) -> bytes | None:
        if not isinstance(value, str):
            raise ConvertError("no text")
        return f"{name} {value}".encode()


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
    return Converters(text, text, _Header(), chain)  # type: ignore[arg-type]


def _records(*values: int) -> list[SourceRecord]:
    return [SourceRecord("t", None, None, None, value) for value in values]


def test_without_transforms_a_page_takes_its_direct_way() -> None:
    encoded = PageEncoding(_Page(_records(1)), _converters(transformed=False), ErrorPolicy())()
    assert isinstance(encoded, EncodedPage)


def test_transforms_see_every_record_and_may_drop_it() -> None:
    encoding = PageEncoding(_Page(_records(0, 1, 2)), _converters(transformed=True), ErrorPolicy())
    encoded = encoding()
    assert isinstance(encoded, RoutedPage)
    assert [(record.topic, record.value) for record in encoded.records] == [
        ("t1", b"1"),
        ("t2", b"2"),
    ]
    assert encoding.failure_count == 0


def test_a_record_that_a_transform_refuses_cuts_the_page_or_is_skipped() -> None:
    strict = PageEncoding(_Page(_records(1, 3, 2)), _converters(transformed=True), ErrorPolicy())
    assert strict().topics == ("t1",)
    assert isinstance(strict.ended_by, ToleranceExceededError)
    assert str(strict.ended_by.__cause__) == "not three"
    tolerant = PageEncoding(
        _Page(_records(1, 3, 2)), _converters(transformed=True), ErrorPolicy(tolerates_all=True)
    )
    encoded = tolerant()
    assert encoded.topics == ("t1", "t2")
    assert (tolerant.failure_count, tolerant.failures[0].stage) == (1, Stage.TRANSFORMATION)


def test_records_of_one_page_say_themselves_where_they_go_and_when() -> None:
    records = [
        SourceRecord("t", None, 1, None, "a", kafka_partition=3, timestamp_ms=0),
        SourceRecord("u", None, None, None, None, headers=[("h", None, "x"), ("h", None, "y")]),
        SourceRecord("t", None, 2, None, "c", timestamp_ms=-1),
    ]
    encoded = PageEncoding(RecordList(records), _converters(transformed=False), ErrorPolicy())()
    assert isinstance(encoded, RoutedPage)
    assert encoded.topics == ("t", "u")
    assert encoded.records == [
        RoutedRecord("t", b"1", b"a", 3, 0, []),
        RoutedRecord("u", None, None, None, None, [("h", b"h x"), ("h", b"h y")]),
        RoutedRecord("t", b"2", b"c", None, None, []),
    ]


def test_an_error_names_the_stage_that_it_came_from() -> None:
    record = SourceRecord("t", None, None, None, 1, headers=[("h", None, 1)])
    tolerant = PageEncoding(
        RecordList([record]), _converters(transformed=False), ErrorPolicy(tolerates_all=True)
    )
    assert tolerant() == RoutedPage([])
    assert [failure.stage for failure in tolerant.failures] == [Stage.HEADER_CONVERTER]


def test_a_time_before_1970_fails_the_task_whatever_is_tolerated() -> None:
    record = SourceRecord("t", None, None, None, 1, timestamp_ms=-2)
    encoding = PageEncoding(
        RecordList([record]), _converters(transformed=False), ErrorPolicy(tolerates_all=True)
    )
    assert encoding() == RoutedPage([])
    assert isinstance(encoding.ended_by, FatalTaskError)
    assert str(encoding.ended_by) == "Invalid record timestamp -2"


def test_a_page_that_is_cut_knows_the_last_position_before_the_record_that_failed() -> None:
    def positioned(value: int, number: int | None) -> SourceRecord:
        after = None if number is None else lambda: {"n": number}
        return SourceRecord("t", None, None, None, value, offset_after=after)

    def reached(*records: SourceRecord) -> tuple[int, object]:
        work = PageEncoding(RecordList(records), _converters(transformed=True), ErrorPolicy())
        page = work()
        assert work.ended_by is not None
        return len(page.records), work.offset_reached()

    bad = positioned(3, 9)
    assert reached(bad, positioned(1, 1)) == (0, None)
    assert reached(positioned(1, 1), bad) == (1, {"n": 1})
    # The records of one change have their position behind the last of them.
    assert reached(positioned(1, 1), positioned(1, None), bad) == (2, {"n": 1})
    # One that a transform drops has passed too.
    assert reached(positioned(1, 1), positioned(0, 2), bad) == (1, {"n": 2})


class _Gives:
    """A converter that gives whatever it is told to."""

    spec = ConverterSpec("acme.Gives")

    def __init__(self, given: object) -> None:
        self._given = given

    def from_connect_data(self, topic: str, schema: object, value: object) -> Any:
        if isinstance(self._given, BaseException):
            raise self._given
        return self._given

    def from_connect_header(self, topic: str, name: str, schema: object, value: object) -> Any:
        return self._given


def _ended_by(record: Any, **converters: object) -> str:
    plain = _Gives(b"1")
    all_three = {"key": plain, "value": plain, "header": plain, **converters}
    policy = ErrorPolicy(tolerates_all=True)
    work = PageEncoding(RecordList([record]), Converters(**all_three), policy)  # type: ignore[arg-type]
    assert work() == RoutedPage([])
    assert work.failure_count == 0  # nobody's record is at fault
    return str(work.ended_by)


@pytest.mark.parametrize("part", ["key", "value", "header"])
@pytest.mark.parametrize("given", [1, {}, "text", [b"1"]])
def test_what_a_converter_gives_is_bytes_or_ends_the_task(part: str, given: object) -> None:
    record = SourceRecord("t", None, 1, None, 2, headers=[("h", None, 3)])
    method = "from_connect_header" if part == "header" else "from_connect_data"
    assert _ended_by(record, **{part: _Gives(given)}).startswith(f"acme.Gives: {method} gave ")


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (SourceRecord(None, None, 1, None, 2), "the topic is None, expected a text"),  # type: ignore[arg-type]
        (SourceRecord(7, None, 1, None, 2), "the topic is 7, expected a text"),  # type: ignore[arg-type]
        (SourceRecord("t", None, 1, None, 2, kafka_partition=-1), "Invalid partition: -1."),
        (SourceRecord("t", None, 1, None, 2, kafka_partition=2**40), "Invalid partition: 1099"),
        (SourceRecord("t", None, 1, None, 2, kafka_partition="1"), "Invalid partition: '1'."),  # type: ignore[arg-type]
        (SourceRecord("t", None, 1, None, 2, headers="x"), "the headers are str, expected a list"),  # type: ignore[arg-type]
        (SourceRecord("t", None, 1, None, 2, headers=["x"]), "the headers are list, expected"),  # type: ignore[list-item]
        ("text", "source_records gave a str, expected SourceRecord"),
        (SourceRecord("t", None, 1, None, 2, timestamp_ms="now"), "Invalid record timestamp now"),  # type: ignore[arg-type]
        (SourceRecord("t", None, 1, None, 2, timestamp_ms=2**63), "Invalid record timestamp 9223"),
    ],
)
def test_where_and_when_a_record_is_has_a_form(record: Any, words: str) -> None:
    assert words in _ended_by(record)


def test_a_converter_that_leaves_ends_its_task_and_is_named() -> None:
    record = SourceRecord("t", None, 1, None, 2)
    assert _ended_by(record, value=_Gives(SystemExit(3))).startswith(
        "VALUE_CONVERTER (acme.Gives): SystemExit(3)"
    )
