"""The promise of the Spark scan: its records are the daemon's, byte for byte.

A real daemon copies a table, then Spark copies it into the same topic, with the same configuration
and the same state; what the two have written is compared: partition, key, value and headers. The
table has every attribute type, and names and texts that other software has tripped over.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark import SparkContext

from connectd.connectors.dynamodb.scan_reports import Finished
from tests.harness.kafka import KafkaBroker
from tests.harness.processes import wait_for
from tests.harness.topics import TopicRecord, read_topic
from tests.harness.worker import WorkerProcess
from tests.integration.worker_rig import prefix_of
from tests.kit import items
from tests.kit.scripted_registry import ScriptedRegistry
from tests.spark.scan_rig import DEADLINE_S, JSON_CONVERTER, Scan, ScanRig

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

_CONFLUENT = "io.confluent.connect."
_STRING = "org.apache.kafka.connect.storage.StringConverter"
_T = "org.apache.kafka.connect.transforms."


def _converters(key: str, value: str, **settings: str) -> dict[str, str]:
    found = {"key.converter": key, "value.converter": value}
    for name, text in settings.items():
        for part in ("key", "value"):
            found[f"{part}.converter.{name.replace('_', '.')}"] = text
    return found


_PLAIN = _converters(JSON_CONVERTER, JSON_CONVERTER, schemas_enable="false")
_TRANSFORMED = {
    "transforms": "mask,header,from,only",
    "transforms.mask.type": f"{_T}MaskField$Value",
    "transforms.mask.fields": "op",
    "transforms.header.type": f"{_T}InsertHeader",
    "transforms.header.header": "origin",
    "transforms.header.value.literal": "dynamodb",
    "transforms.from.type": f"{_T}HeaderFrom$Value",
    "transforms.from.fields": "ts_ms",
    "transforms.from.headers": "when",
    "transforms.from.operation": "copy",
    "transforms.only.type": f"{_T}Filter",
    "transforms.only.predicate": "isDropped",
    "predicates": "isDropped",
    "predicates.isDropped.type": "FieldValueMatches",
    "predicates.isDropped.field": "document.id.s",
    "predicates.isDropped.pattern": "k[0-4]",
}
_UNWRAPPED = {
    "transforms": "unwrap",
    "transforms.unwrap.type": "UnwrapDynamoDb",
    "transforms.unwrap.add.fields": "op",
}

CASES: Mapping[str, Mapping[str, str]] = {
    "JSON": _PLAIN,
    "JSON with schemas": _converters(JSON_CONVERTER, JSON_CONVERTER, schemas_enable="true"),
    "text": _converters(_STRING, _STRING),
    "text and JSON": {**_PLAIN, "key.converter": _STRING},
    "Avro": _converters(f"{_CONFLUENT}avro.AvroConverter", f"{_CONFLUENT}avro.AvroConverter"),
    "JSON Schema": _converters(
        f"{_CONFLUENT}json.JsonSchemaConverter", f"{_CONFLUENT}json.JsonSchemaConverter"
    ),
    "Protobuf": _converters(
        f"{_CONFLUENT}protobuf.ProtobufConverter", f"{_CONFLUENT}protobuf.ProtobufConverter"
    ),
    "envelope 1.0": {**_PLAIN, "envelope.version": "1.0"},
    "plain documents": {**_PLAIN, "document.format": "plain"},
    "transforms": {**_PLAIN, **_TRANSFORMED},
    "transforms and Avro": {
        **_converters(_STRING, f"{_CONFLUENT}avro.AvroConverter"),
        **_TRANSFORMED,
    },
    "unwrapped": {**_PLAIN, **_UNWRAPPED},
}


@pytest.fixture(scope="module")
def rig(kafka_broker: KafkaBroker) -> Iterator[ScanRig]:
    with ScanRig(kafka_broker, prefix_of(__name__)) as rig:
        yield rig


@pytest.fixture(scope="module")
def registry() -> Iterator[ScriptedRegistry]:
    with ScriptedRegistry() as running:
        yield running


@pytest.fixture(scope="module")
def table(rig: ScanRig) -> str:
    """Every type, awkward names, and enough items for some pages."""
    name = rig.new_table(view_type=None)
    for item in _items():
        rig.control.put(table=name, item=item)
    rig.control.enable_stream(table=name)  # younger than all items, so it tells of none
    return name


def _items() -> Iterable[dict[str, Any]]:
    yield items.ALL_TYPES
    yield {"id": {"S": "deep"}, "nested": items.nested(30)}
    yield {"id": {"S": "names"}, **{name: {"S": name} for name in items.AWKWARD_NAMES}}
    yield {"id": {"S": 'quote " back \\ 名 😀 \x01'}, "long": {"S": '"\\\x1f名😀' * 4_000}}
    for number in range(60):
        yield {"id": {"S": f"k{number}"}, "v": {"N": f"{number}.50"}, "b": {"B": "AP8="}}


class Daemon:
    """A worker that copies the rig's tables."""

    def __init__(self, rig: ScanRig, worker: WorkerProcess) -> None:
        self._rig = rig
        self._worker = worker

    def copy(self, table: str, config: Mapping[str, str]) -> int:
        """Copy a table once; returns when its initial scan began, in ms."""
        path = f"/connectors/{config['name']}"
        self._ask(201, "PUT", f"{path}/config", config)
        is_told = wait_for(
            lambda: bool(self._states(path) & {"SYNC", "FAILED"}), deadline_s=DEADLINE_S
        )
        assert is_told
        assert self._states(path) == {"SYNC"}, self._worker.request("GET", f"{path}/status").body
        self._ask(204, "PUT", f"{path}/stop", None)
        offsets = self._ask(200, "GET", f"{path}/offsets", None)["offsets"]
        (state,) = [each for each in offsets if each["partition"] == {"table_name": table}]
        self._ask(204, "DELETE", path, None)
        start_ms: int = state["offset"]["init_sync_start"]
        return start_ms

    def _states(self, path: str) -> set[str]:
        """What the connector's tables are at; FAILED too when their task is."""
        rows = self._worker.request("GET", f"/connectd{path}/tables").body.get("tables", ())
        return {row["state"] for row in rows}

    def _ask(self, status: int, method: str, path: str, body: object) -> Any:
        answer = self._worker.request(method, path, body)
        assert answer.status == status, f"{method} {path}: {answer.body}"
        return answer.body


@pytest.fixture(scope="module")
def daemon(
    rig: ScanRig, kafka_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Daemon]:
    worker = WorkerProcess(
        kafka_broker.bootstrap,
        group_id=f"{rig.prefix}group",
        topics_prefix=rig.prefix,
        home=tmp_path_factory.mktemp("worker"),
        properties={"offset.flush.interval.ms": "100", "status.storage.partitions": "1"},
    )
    with worker:
        yield Daemon(rig, worker)


@dataclass(frozen=True)
class Sides:
    """The two that copy, and what they copy from and to."""

    rig: ScanRig
    spark: SparkContext
    daemon: Daemon
    registry: ScriptedRegistry

    def compare(
        self,
        table: str,
        settings: Mapping[str, str],
        *,
        name: str,
        key: tuple[tuple[str, str], ...] = (("id", "S"),),
    ) -> int:
        """Both copy the table; returns how many records each has written, the same ones."""
        rig = self.rig
        config = rig.config(
            {
                **settings,
                "name": name,
                "kafka.topic.prefix": f"{rig.prefix}{name}-",
                "dynamodb.table.whitelist": table,
                "resource.tagging.service.endpoint": rig.url,
                "init.sync.segments": "3",
                "key.converter.schema.registry.url": self.registry.url,
                "value.converter.schema.registry.url": self.registry.url,
                "topic.creation.default.partitions": "2",
                "topic.creation.default.replication.factor": "1",
            }
        )
        start_ms = self.daemon.copy(table, {**config, **_KEYS})
        topic = f"{rig.prefix}{name}-{table}"
        ours = read_topic(rig.broker.bootstrap, topic)

        scan = Scan(rig, self.spark)
        job = rig.job(table, config, start_ms=start_ms, page_size=10, chunk_items=20, key=key)
        assert scan.run(job) == Finished(), scan.reports

        both = read_topic(rig.broker.bootstrap, topic)
        seen = {(each.partition, each.offset) for each in ours}
        theirs = [each for each in both if (each.partition, each.offset) not in seen]
        assert sorted(map(_content, theirs), key=repr) == sorted(map(_content, ours), key=repr)
        return len(ours)


@pytest.fixture
def sides(
    rig: ScanRig, spark_context: SparkContext, daemon: Daemon, registry: ScriptedRegistry
) -> Sides:
    return Sides(rig, spark_context, daemon, registry)


@pytest.mark.parametrize("case", CASES)
def test_records_of_spark_are_those_of_the_daemon(sides: Sides, table: str, case: str) -> None:
    count = sides.compare(table, CASES[case], name=f"c{list(CASES).index(case)}")
    assert count == (64 - 5 if "transforms" in case else 64)


def test_so_are_those_of_a_table_with_a_key_of_two_binary_and_numeric_parts(sides: Sides) -> None:
    """Field case I10: the keys that chunks continue from are binary."""
    control = sides.rig.control
    table = sides.rig.new_table(
        view_type=None, hash_key="at", hash_type="N", range_key="b", range_type="B"
    )
    for number in range(50):
        blob = base64.b64encode(bytes([0, number, 255])).decode()
        control.put(table=table, item={"at": {"N": str(number % 7)}, "b": {"B": blob}})
    control.enable_stream(table=table)
    assert sides.compare(table, _PLAIN, name="parts", key=(("at", "N"), ("b", "B"))) == 50


_KEYS = {"aws.access.key.id": "AKIATEST", "aws.secret.key": "an-ordinary-secret"}
"""The daemon's alone: Spark has them from its environment."""


def _content(record: TopicRecord) -> tuple[object, ...]:
    return record.partition, record.key, record.value, record.headers
