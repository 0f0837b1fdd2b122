"""What is counted: pages on the hot path, from the body of an answer to their last acknowledgement.

The product's own parts do it, in their order and in one thread: the page is split, encoded, handed
to the producer's thread and acknowledged. Only librdkafka is not there; ``_Client`` takes its
place. Readers and the task's runner do something per page and nothing per record; they are left
out.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from unittest import mock

from connectd.aio.clock import LoopClock
from connectd.app import bundled
from connectd.connectors.dynamodb import decode
from connectd.connectors.dynamodb.envelope import EnvelopeSettings, InitSyncState, SourceInfo
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.connectors.dynamodb.payload import ScanPayload, StreamPayload
from connectd.connectors.dynamodb.plan import JSON_CONVERTER, TablePlan
from connectd.connectors.dynamodb.tiers import Tier
from connectd.converters.avro_converter import AvroConverter
from connectd.converters.json_converter import JsonConverter
from connectd.kafka import sending
from connectd.kafka.page import SendJob, SendResult
from connectd.kafka.schema_registry import RegistryClient
from connectd.kafka.sending import PageSender, Report, Settled
from connectd.model.record import BatchPayload, ConverterSpec, Encoded
from connectd.pipeline.encoding import Converters, PageEncoding
from connectd.pipeline.preparation import PagePreparation
from connectd.pipeline.tolerance import ErrorPolicy
from connectd.pipeline.topics import TaskTopics
from connectd.plugins import chaining
from tests.kit import items
from tests.unit.pipeline.pages import InlineEncoder

_INFO: Final = SourceInfo("orders", InitSyncState.RUNNING, 1557387726273)
_KEY: Final = KeySchema((KeyAttribute("id", "S"),))

Split = Callable[[bytes, TablePlan], BatchPayload]


def _item(number: int) -> items.Item:
    """400 bytes of an order, with most types, a quote and a letter beyond ASCII."""
    return {
        "id": {"S": f"order-{number:07}"},
        "customer": {"S": "Zoë 'Z' Müller" if number % 4 else 'Zoe "Z" Miller'},
        "quantity": {"N": "3"},
        "price": {"N": "129.95"},
        "paid": {"BOOL": True},
        "note": {"NULL": True},
        "tags": {"SS": ["new", "gift"]},
        "address": {"M": {"street": {"S": "1 Main Street"}, "zip": {"S": "12345"}}},
        "lines": {"L": [{"N": "1"}, {"S": "a line of the order"}]},
        "text": {"S": "What a customer has to say about an order, at some length. " * 2},
    }


def _scan_body(records: int) -> bytes:
    return items.scan_body([_item(number) for number in range(records)])


def _stream_body(records: int) -> bytes:
    """Two changes in four are modifications, one an insert, one a removal; all with old images."""
    changes = []
    for number in range(records):
        event_name = ("MODIFY", "INSERT", "MODIFY", "REMOVE")[number % 4]
        item = _item(number)
        changes.append(
            items.stream_record(
                event_name,
                {"id": item["id"]},
                new_image=None if event_name == "REMOVE" else item,
                old_image=None if event_name == "INSERT" else item,
                sequence_number=f"{number:021}",
            )
        )
    return items.records_body(changes)


def _split_scan(body: bytes, plan: TablePlan) -> BatchPayload:
    return ScanPayload(plan, _INFO, decode.decode_scan_page(body).items)


def _split_stream(body: bytes, plan: TablePlan) -> BatchPayload:
    return StreamPayload(plan, _INFO, decode.decode_records_page(body).records)


BODIES: Final[Mapping[str, tuple[Callable[[int], bytes], Split]]] = {
    "scan": (_scan_body, _split_scan),
    "stream": (_stream_body, _split_stream),
}


def _json() -> Converters:
    """JsonConverter without schemas, on both sides."""
    converter = JsonConverter(ConverterSpec(JSON_CONVERTER, (("schemas.enable", "false"),)))
    return Converters(converter, converter, converter)


def _transformed() -> Converters:
    """The same behind three transforms, of which one changes the value."""
    package = "org.apache.kafka.connect.transforms."
    config = {
        "transforms": "first,insert,last",
        "transforms.first.type": f"{package}RegexRouter",
        "transforms.first.regex": "(.*)",
        "transforms.first.replacement": "shop-$1",
        "transforms.insert.type": f"{package}InsertField$Value",
        "transforms.insert.static.field": "region",
        "transforms.insert.static.value": "eu",
        "transforms.last.type": f"{package}RegexRouter",
        "transforms.last.regex": "shop-(.*)",
        "transforms.last.replacement": "$1",
    }
    return replace(_json(), transforms=chaining.make_chain(bundled.plugin_registry(), config))


def _avro() -> Converters:
    """AvroConverter with a registry in memory."""
    registry = RegistryClient({"url": "mock://"})
    key, value = (
        AvroConverter(
            ConverterSpec(
                AvroConverter.class_name,
                (("converter.type", side), ("schema.registry.url", "mock://")),
            ),
            registry,
        )
        for side in ("key", "value")
    )
    return Converters(key, value, _json().header)


ROADS: Final[Mapping[str, Callable[[], Converters]]] = {
    "": _json,
    "three transforms": _transformed,
    "avro": _avro,
}


@dataclass(frozen=True)
class Case:
    """A way of pages through the worker."""

    path: str
    tier: Tier
    road: str = ""

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.path, self.tier.value, self.road)))

    def sending_of(self, records: int) -> Callable[[], None]:
        """What sends a page of so many records each time that it is called."""
        make_body, split = BODIES[self.path]
        body = make_body(records)
        plan = TablePlan("orders", "orders", _KEY, EnvelopeSettings(), self.tier)
        lane = _Lane(ROADS[self.road]())

        def send() -> None:
            lane.send(split(body, plan))

        return send


def cases(*, compiled: bool) -> list[Case]:
    """All of them; without the compiled tier where it cannot be had."""
    tiers = [tier for tier in Tier if compiled or tier is not Tier.COMPILED]
    return [Case(path, tier, road) for road in ROADS for path in BODIES for tier in tiers]


@dataclass
class _Client:
    """Takes the place of ``confluent_kafka.Producer``: everything is acknowledged when polled."""

    acks: list[Callable[[None, Any], None]] = field(default_factory=list)

    def produce(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        partition: int = -1,
        on_delivery: Any = None,
        timestamp: int = 0,
        headers: Any = None,
    ) -> None:
        assert isinstance(key, bytes)
        self.acks.append(on_delivery)

    def poll(self, wait_s: float) -> int:
        acks, self.acks = self.acks, []
        for ack in acks:
            ack(None, None)
        return len(acks)

    def __len__(self) -> int:
        return len(self.acks)


class _Lane:
    """A task's way to Kafka, walked by hand."""

    def __init__(self, converters: Converters) -> None:
        self._converters = converters
        self._preparation = PagePreparation(
            encoder=InlineEncoder(),
            policy=ErrorPolicy(),
            clock=LoopClock(),
            topics=TaskTopics(clock=LoopClock()),
            log_fields={},
        )
        with mock.patch.object(sending, "Producer", return_value=_Client()):
            self._sender = PageSender(
                {"message.max.bytes": "1048576"}, name="effort", report=self._on_report
            )
        self._results: list[SendResult] = []

    def send(self, payload: BatchPayload) -> None:
        """Send a page; all of its records are acknowledged then."""
        encode = self._prepared(PageEncoding(payload, self._converters, ErrorPolicy()))
        self._sender.put(SendJob(encode, lambda result: None), is_urgent=False)
        self._sender._step()
        result = self._results.pop()
        assert result.records >= len(payload)
        assert result.error is None
        assert result.failure_count == 0

    def _prepared(self, encoding: PageEncoding) -> Callable[[], Encoded]:
        preparing: Generator[None, None, Callable[[], Encoded]]
        preparing = self._preparation.prepare(encoding).__await__()
        try:
            next(preparing)
        except StopIteration as prepared:
            encode: Callable[[], Encoded] = prepared.value
            return encode
        raise AssertionError("there is nothing to wait for")

    def _on_report(self, report: Report) -> None:
        if isinstance(report, Settled):
            self._results.append(report.result)
