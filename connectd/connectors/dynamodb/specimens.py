"""Pages whose records pass transforms, or other converters than JSON's: encoded by specimens.

Most transforms never look into a text: they route, rename, drop, mask, add. What they and the
converters make of an item depends on its document and its key only in that these stand somewhere in
the bytes. So one record with marks instead of them (``model.text_marks``) takes the general road,
its bytes are cut open, and all others of its kind are poured into that mould. A page has few kinds:
one of a scan, and of a stream one per operation and second.

Nothing here knows a transform or a converter. Who calls has made sure that they do the same
whatever texts say (``plugins.texts``); where a specimen is not to be cut, because a text went
into a header or into another text, the answer is that there is none, and the general road is taken.
``test_specimens`` holds both roads to the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from connectd.connectors.dynamodb.plan import TablePlan
from connectd.errors import ConvertError
from connectd.model import text_marks
from connectd.model.record import (
    Conversion,
    Encoded,
    EncodedPage,
    EncodedRecord,
    RoutedPage,
    RoutedRecord,
    SourceRecord,
)
from connectd.model.text_marks import MARKS, Pattern, TextForm

if TYPE_CHECKING:
    from connectd.connectors.dynamodb.page_scanner import PageScanner

KEY_PARTS_MAX: Final = 2
DOCUMENT, OLD_DOCUMENT = KEY_PARTS_MAX, KEY_PARTS_MAX + 1
"""Positions of marks; those of the key come first."""

KEY_MARKS: Final = MARKS[:KEY_PARTS_MAX]
DOCUMENT_MARK: Final = MARKS[DOCUMENT]
OLD_DOCUMENT_MARK: Final = MARKS[OLD_DOCUMENT]


class Route(NamedTuple):
    """Where a record goes, and with what beside key and value."""

    topic: str
    kafka_partition: int | None
    timestamp_ms: int | None
    headers: tuple[tuple[str, bytes | None], ...]

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing but a topic."""
        return self.kafka_partition is None and self.timestamp_ms is None and not self.headers


@dataclass(frozen=True)
class Shape:
    """What a record of a kind becomes: bytes around its texts; None: null."""

    route: Route
    key: Pattern | None
    value: Pattern | None


class NoSpecimenError(ConvertError):
    """What becomes of a record cannot be told by a specimen."""


Pour = Callable[[Sequence[Any]], EncodedRecord]
"""Makes key and value of texts by the positions of their marks: ``str`` in a key, else UTF-8."""


class Moulds:
    """Makes shapes of specimens, and bytes of shapes, for one page."""

    def __init__(self, conversion: Conversion) -> None:
        self.conversion = conversion
        self._key_encoders = _encoders(conversion.key_form)
        self._value_encoders = _encoders(conversion.value_form)
        self._routes: dict[Route, Route] = {}  # equal ones are one

    def shape(self, specimen: SourceRecord) -> Shape | None:
        """What becomes of records like this one; None: they are dropped.

        Raises:
            NoSpecimenError: that cannot be told.
            Exception: what transforms and converters raise.
        """
        routed = self.conversion.routed(specimen)
        if routed is None:
            return None
        headers = tuple(routed.headers)
        route = Route(routed.topic, routed.kafka_partition, routed.timestamp_ms, headers)
        route = self._routes.setdefault(route, route)
        conversion = self.conversion
        return Shape(
            route,
            None if routed.key is None else self._cut(routed.key, conversion.key_form),
            None if routed.value is None else self._cut(routed.value, conversion.value_form),
        )

    @staticmethod
    def _cut(data: bytes, form: TextForm) -> Pattern:
        pattern = text_marks.cut(data, form)
        if pattern is None:
            raise NoSpecimenError("a text went into another one")
        return pattern

    def pour(self, shape: Shape) -> Pour:
        """What makes records of a shape."""
        key = _writer(shape.key, self._key_encoders)
        value = _writer(shape.value, self._value_encoders)
        return lambda texts: (key(texts), value(texts))

    def scanner(self, plan: TablePlan, key: Pattern) -> PageScanner | None:
        """A compiled scanner for records whose key is that and has all parts in their order.

        None: the portable tier.
        """
        return plan.scanner(
            key.pieces[:-1],
            key.pieces[-1],
            key_form=self.conversion.key_form,
            value_form=self.conversion.value_form,
        )


class PouredPage:
    """Collects the records of a page; one that needs no more than a topic stays simple."""

    def __init__(self) -> None:
        self.records: list[EncodedRecord] = []
        self._runs: list[tuple[Route, int]] = []

    def begin(self, route: Route) -> None:
        """Records that are added from now on go there."""
        self._runs.append((route, len(self.records)))

    def encoded(self) -> Encoded:
        """All of them, in order."""
        routes = {route for route, _ in self._runs}
        if len(routes) == 1 and self._runs[0][0].is_plain:
            return EncodedPage(self._runs[0][0].topic, self.records)
        routed: list[RoutedRecord] = []
        ends = [start for _, start in self._runs[1:]] + [len(self.records)]
        for (route, start), end in zip(self._runs, ends, strict=True):
            headers = list(route.headers)
            routed += [
                RoutedRecord(
                    route.topic, key, value, route.kafka_partition, route.timestamp_ms, headers
                )
                for key, value in self.records[start:end]
            ]
        return RoutedPage(routed)


def _encoders(form: TextForm) -> list[Callable[[Any], bytes]]:
    """What gives texts their form, by the positions of their marks."""
    text, document = text_marks.text_encoder(form), text_marks.utf8_encoder(form)
    return [text] * KEY_PARTS_MAX + [document] * 2


def _writer(
    pattern: Pattern | None, encoders: Sequence[Callable[[Any], bytes]]
) -> Callable[[Sequence[Any]], bytes | None]:
    return pattern.fill(encoders) if pattern else lambda texts: None
