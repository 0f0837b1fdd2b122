"""``connectd reconcile --spark``: the first look by a real local Spark, the rest here."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from connectd import cli
from tests.harness.kafka import KafkaBroker
from tests.harness.worker import properties_text
from tests.integration.worker_rig import prefix_of
from tests.spark.scan_rig import JSON_CONVERTER, ScanRig

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

CapSys = pytest.CaptureFixture[str]
ITEMS = 200


@pytest.fixture(scope="module")
def rig(kafka_broker: KafkaBroker) -> Iterator[ScanRig]:
    with ScanRig(kafka_broker, prefix_of(__name__)) as rig:
        yield rig


class Command:
    """Runs the command for one table."""

    def __init__(self, rig: ScanRig, table: str, capsys: CapSys, home: Path, **keys: str) -> None:
        self._capsys = capsys
        self._arguments = ["reconcile", "copy", table, "--json", "--settle", "0", "--show", "500"]
        worker = {
            "bootstrap.servers": rig.broker.bootstrap,
            "key.converter": JSON_CONVERTER,
            "value.converter": JSON_CONVERTER,
            "key.converter.schemas.enable": "false",
            "value.converter.schemas.enable": "false",
            "offset.storage.file.filename": str(home / "offsets"),
            "spark.master": "local[2]",
            "spark.conf.spark.sql.shuffle.partitions": "2",
            "spark.conf.spark.pyspark.python": sys.executable,
        }
        (home / "worker.properties").write_text(properties_text(worker), encoding="utf-8")
        self._arguments += ["-w", str(home / "worker.properties")]
        credentials = {"aws.access.key.id": "AKIATEST", "aws.secret.key": "an-ordinary-secret"}
        config = rig.config({"init.sync.segments": "3", **credentials, **keys})
        (home / "connector.json").write_text(json.dumps({"name": "copy", "config": config}))
        self._arguments += ["--file", str(home / "connector.json")]

    def __call__(self, *arguments: str) -> tuple[int, Any, str]:
        """Exit code, report, and what went to standard error."""
        self._capsys.readouterr()
        code = cli.main([*self._arguments, *arguments])
        out, err = self._capsys.readouterr()
        return code, json.loads(out) if out else None, err


def make_topic(rig: ScanRig, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": rig.broker.bootstrap, "log_level": 0})
    made = admin.create_topics([NewTopic(topic, 3, 1, config={"cleanup.policy": "compact"})])
    made[topic].result(20)


def hold(rig: ScanRig, table: str, item: dict[str, Any]) -> None:
    """Another table's record takes the key of an item."""
    (key,) = ({name: item[name]["S"]} for name in ("pk", "id") if name in item)
    value = {"version": "0.1", "document": "{}", "source": {"table_name": "other"}, "op": "r"}
    conf = {"bootstrap.servers": rig.broker.bootstrap, "partitioner": "murmur2_random"}
    producer = Producer({**conf, "log_level": 0})
    producer.produce(rig.topic(table), key=orjson.dumps(key), value=orjson.dumps(value))
    assert producer.flush(20) == 0


def test_spark_finds_the_same_differences(rig: ScanRig, capsys: CapSys, tmp_path: Path) -> None:
    table = rig.new_table(ITEMS)
    make_topic(rig, rig.topic(table))
    command = Command(rig, table, capsys, tmp_path)
    assert command("--repair")[1]["repaired"] == {"records": ITEMS, "tombstones": 0}
    items = rig.control.table_items(table=table)
    keys = [{"pk": item["pk"]} if "pk" in item else {"id": item["id"]} for item in items]
    for item in items[:3]:
        rig.control.put(table=table, item={**item, "changed": {"BOOL": True}})
    for key in keys[3:7]:
        rig.control.delete(table=table, key=key)
    for item in items[5:8]:
        hold(rig, table, item)
    rig.control.put(table=table, item={**items[0], **{name: {"S": "new"} for name in keys[0]}})

    here = command()
    there = command("--spark")

    counts = {
        "items": ITEMS - 3, "records": ITEMS + 3, "missing": 1, "stale": 3, "extra": 2,
        "conflict": 1, "foreign": 3,
    }  # fmt: skip
    assert there[1] is not None, there
    assert there[:2] == here[:2]
    assert {name: there[1]["counts"][name] for name in counts} == counts
    assert (there[0], there[1]["counts"]["unchecked"]) == (1, 0)


def test_items_without_a_record_are_told_the_same(
    rig: ScanRig, capsys: CapSys, tmp_path: Path
) -> None:
    table = rig.new_table(20)
    make_topic(rig, rig.topic(table))
    keys = {
        "transforms": "cast",
        "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value",
        "transforms.cast.spec": "version:int8",
    }
    command = Command(rig, table, capsys, tmp_path, **keys)

    here = command("--topic", rig.topic(table))
    there = command("--spark", "--topic", rig.topic(table))

    assert there[1] is not None, there
    assert there[:2] == here[:2]
    assert (there[0], there[1]["counts"]["unconvertible"], there[1]["counts"]["items"]) == (
        1, 20, 20,
    )  # fmt: skip
    assert "Cast" in there[1]["differences"][0]["reason"]


def test_an_empty_table_without_a_topic_needs_no_spark(
    rig: ScanRig, capsys: CapSys, tmp_path: Path
) -> None:
    table = rig.new_table(0)
    command = Command(rig, table, capsys, tmp_path)
    empty = command("--spark")
    some = rig.new_table(1)
    missing = Command(rig, some, capsys, tmp_path)("--spark")
    assert (empty[0], empty[1]["equal"], empty[1]["counts"]["items"]) == (0, True, 0)
    assert (missing[0], "does not exist" in missing[2]) == (2, True)
