"""Pages, plugins and threads that these tests share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from connectd.errors import RetriableError
from connectd.model.record import ConverterSpec, Encoded, RecordList, SourceRecord
from connectd.model.schema import Schema, SchemaAndValue
from connectd.pipeline.encoding import Converters, PageEncoding
from connectd.pipeline.tolerance import ErrorPolicy
from connectd.plugins.chaining import Step, TransformChain


class InlineEncoder:
    """Encodes on the loop, so that time can be virtual."""

    async def run(self, work: Callable[[], Encoded]) -> Encoded:
        return work()

    def close(self) -> None:
        return None


@dataclass
class Registry:
    """A converter that needs something outside, which is away for so many calls of a value."""

    away: dict[object, int] = field(default_factory=dict)
    refused: frozenset[object] = frozenset()
    seen: list[object] = field(default_factory=list)
    spec: ConverterSpec = field(default=ConverterSpec("test.Registry"))

    def from_connect_data(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        self.seen.append(value)
        if self.away.get(value, 0) > 0:
            self.away[value] -= 1
            raise RetriableError("registry does not answer")
        if value in self.refused:
            raise ValueError(f"cannot write {value}")
        return None if value is None else str(value).encode()

    def from_connect_header(
        self, topic: str, name: str, schema: Schema | None, value: object
    ) -> bytes | None:
        return str(value).encode()

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        return None, data

    def to_connect_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:
        return None, data


@dataclass
class Odd:
    """A transform that drops 0 and sends the others to a topic of their own."""

    def apply(self, record: SourceRecord) -> SourceRecord | None:
        return None if record.value == 0 else replace(record, topic=f"t{record.value}")


def page(*values: object) -> RecordList:
    """Records with these values, and no key."""
    return RecordList([SourceRecord("t", None, None, None, value) for value in values])


def chain(transform: object, *, alias: str = "odd") -> TransformChain:
    """One step."""
    return TransformChain((Step(alias, transform, class_name="test.Odd"),))  # type: ignore[arg-type]


def encoding(
    values: Sequence[object],
    registry: Registry,
    policy: ErrorPolicy,
    transforms: TransformChain | None = None,
) -> PageEncoding:
    """What is to be done with a page of these values."""
    plain = Registry()
    converters = Converters(plain, registry, plain, transforms or TransformChain())  # type: ignore[arg-type]
    return PageEncoding(page(*values), converters, policy)
