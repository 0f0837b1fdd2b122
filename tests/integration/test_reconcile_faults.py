"""``connectd reconcile`` says "equal" only of what it has compared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]

from connectd.app import reconcile_parts, repairing
from connectd.kafka.producer import PageProducer
from connectd.model.record import RoutedRecord
from tests.component.dynamodb.exports import data_file, files_manifest, summary
from tests.fakes.objects import served
from tests.integration.reconcile_rig import (
    EXPORT,
    EXPORT_ARN,
    Alone,
    CapSys,
    Command,
    alone_with,
    append_envelope,
    create_topic,
    exported,
)
from tests.integration.worker_rig import Rig

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

INSERT_FIELD = {
    "transforms": "note",
    "transforms__note__type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms__note__static__field": "a",
    "transforms__note__static__value": "b",
}
UNWRAP = {"transforms": "unwrap", "transforms__unwrap__type": "UnwrapDynamoDb"}
NO_FIELD = {
    "transforms": "one",
    "transforms__one__type": "org.apache.kafka.connect.transforms.ExtractField$Value",
    "transforms__one__field": "nosuch",
}
BAD_CAST = {
    "transforms": "cast",
    "transforms__cast__type": "org.apache.kafka.connect.transforms.Cast$Value",
    "transforms__cast__spec": "version:int8,source:int8",
}
LONG_KEYS = {"key__converter": "org.apache.kafka.connect.converters.LongConverter"}
DROP_ALL = {
    "transforms": "drop",
    "transforms__drop__type": "org.apache.kafka.connect.transforms.Filter",
}
ROUTE = {
    "transforms": "route",
    "transforms__route__type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms__route__regex": "(.*)",
    "transforms__route__replacement": "$1-routed",
}


@pytest.fixture
def alone(rig: Rig, capsys: CapSys, tmp_path: Path) -> Alone:
    return alone_with(rig, Command(rig, capsys, tmp_path), tmp_path)


def append(rig: Rig, topic: str, key: bytes, value: bytes | None) -> None:
    conf = {"bootstrap.servers": rig.broker.bootstrap, "partitioner": "murmur2_random"}
    producer = Producer({**conf, "log_level": 0})
    producer.produce(rig.topic(topic), key=key, value=value)
    assert producer.flush(20) == 0


class TestAnEmptyTable:
    @pytest.fixture(autouse=True)
    def empty(self, rig: Rig, alone: Alone) -> None:
        for number in (1, 2):
            rig.control.delete(table="t", key={"id": {"S": f"k{number}"}})

    @pytest.mark.parametrize("keys", [{}, INSERT_FIELD, ROUTE], ids=["none", "insert", "route"])
    def test_is_compared_with_the_connectors_topic_whatever_transforms_there_are(
        self, rig: Rig, alone: Alone, keys: dict[str, str]
    ) -> None:
        create_topic(rig.broker.bootstrap, rig.topic("t"))
        for number in range(3):
            append_envelope(rig, "t", key=f'{{"id":"k{number}"}}'.encode(), table="t")

        told, repaired = alone(**keys), alone("--repair", **keys)

        assert told.differences == {("extra", f"k{number}") for number in range(3)}
        assert (told.code, told.report["topics"]) == (1, [rig.topic("t")])
        assert (repaired.code, repaired.report["repaired"]["tombstones"]) == (0, 3)

    def test_whose_topic_was_never_made_is_in_order(self, rig: Rig, alone: Alone) -> None:
        told = alone()
        assert (told.code, told.report["equal"]) == (0, True), told
        assert told.report["topics"] == [rig.topic("t")]
        assert f"topic {rig.topic('t')} does not exist" in told.report["notes"][0]

    @pytest.mark.parametrize("repair", [[], ["--repair"], ["--repair-extra"]])
    def test_without_any_topic_that_transforms_might_have_chosen_is_not_compared(
        self, alone: Alone, repair: list[str]
    ) -> None:
        told = alone(*repair, **INSERT_FIELD)
        assert (told.code, told.report) == (2, None)
        assert "no topic was compared" in told.err
        assert "--topic" in told.err


def test_items_that_transforms_drop_all_leave_the_connectors_topic_to_compare(
    rig: Rig, alone: Alone
) -> None:
    nothing = alone(**DROP_ALL)
    create_topic(rig.broker.bootstrap, rig.topic("t"))
    dropped = alone(**DROP_ALL)
    append_envelope(rig, "t", key=b'{"id":"k1"}', table="t")
    extra = alone(**DROP_ALL)

    assert (nothing.code, "no topic was compared" in nothing.err) == (2, True)
    assert (dropped.code, dropped.report["topics"]) == (0, [rig.topic("t")])
    assert dropped.report["counts"]["items"] == dropped.report["counts"]["skipped"] == 2
    assert (extra.code, extra.differences) == (1, {("extra", "k1")})


def test_a_topic_that_items_prove_to_be_routed_away_from_is_left_out_and_named(
    rig: Rig, alone: Alone
) -> None:
    for topic in ("t", "t-routed"):
        create_topic(rig.broker.bootstrap, rig.topic(topic))
    append_envelope(rig, "t", key=b'{"id":"old"}', table="t")

    repaired = alone("--repair", **ROUTE)
    both = alone("--topic", rig.topic("t"), **ROUTE)

    assert (repaired.code, repaired.report["topics"]) == (0, [rig.topic("t-routed")])
    assert f"no item goes to topic {rig.topic('t')}" in repaired.report["notes"][0]
    assert both.differences == {("extra", "old")}
    assert both.report["notes"] == []


@pytest.mark.parametrize(
    ("keys", "reason"),
    [(NO_FIELD, "nosuch"), (BAD_CAST, "Cast"), (LONG_KEYS, "LongConverter")],
    ids=["no field", "cast", "long"],
)
def test_an_item_that_cannot_be_converted_is_a_difference_of_its_own(
    rig: Rig, alone: Alone, keys: dict[str, str], reason: str
) -> None:
    create_topic(rig.broker.bootstrap, rig.topic("t"))
    keys = {"envelope__version": "1.0", "value__converter": "JsonConverter", **keys}

    for repair in ([], ["--repair"]):
        told = alone(*repair, **keys)

        assert told.code == 1, told
        assert told.differences == {("unconvertible", "k1"), ("unconvertible", "k2")}
        counts = told.report["counts"]
        assert (counts["items"], counts["unconvertible"], counts["skipped"]) == (2, 2, 0)
        assert all(reason in each["reason"] for each in told.report["differences"])
        assert reason in "".join(told.report["notes"])


def test_one_item_that_cannot_be_converted_is_one_difference_beside_its_older_record(
    rig: Rig, alone: Alone
) -> None:
    create_topic(rig.broker.bootstrap, rig.topic("t"))
    assert alone("--repair").code == 0

    told = alone("--repair", **NO_FIELD, envelope__version="1.0")

    assert told.differences == {("unconvertible", "k1"), ("unconvertible", "k2")}
    assert told.report["counts"]["extra"] == 0
    assert told.report["repaired"] == {"records": 0, "tombstones": 0}


@pytest.mark.parametrize(
    ("hash_type", "item", "alien"),
    [
        ("N", "1", ["abc", "", "1e126", "9" * 39, "NaN", "1_0"]),
        ("S", "k1", ["", "x" * 2049]),
        ("B", "AAE=", ["AAE", "?", ""]),
    ],
    ids=["N", "S", "B"],
)
def test_records_whose_keys_no_item_can_have_are_extra_and_the_rest_is_compared(
    rig: Rig, alone: Alone, hash_type: str, item: str, alien: list[str]
) -> None:
    rig.create_table("p", hash_type=hash_type, view_type=None)
    rig.control.put(table="p", item={"id": {hash_type: item}})
    create_topic(rig.broker.bootstrap, rig.topic("p"))
    for each in alien:
        append_envelope(rig, "p", key=json.dumps({"id": each}).encode(), table="p")
    append(rig, "p", json.dumps({"id": "x"} | {"id": alien[0]}).encode(), b"unwrapped")

    told = alone(table="p")
    repaired = alone("--repair", table="p")
    removed = alone("--repair-extra", table="p")

    expected = {("missing", item), *(("extra", each) for each in alien)}
    assert (told.code, told.differences) == (1, expected), told
    assert "do not lead back to an item" in "".join(told.report["notes"])
    assert repaired.report["repaired"] == {"records": 1, "tombstones": 0}
    assert repaired.differences == {("extra", each) for each in alien}
    assert (removed.code, removed.report["repaired"]["tombstones"]) == (0, len(alien))


def test_a_key_that_dynamodb_alone_knows_to_refuse_is_extra_too(
    rig: Rig, alone: Alone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("connectd.connectors.dynamodb.record_keys._can_be", lambda *_: True)
    rig.create_table("p", hash_type="N", view_type=None)
    rig.control.put(table="p", item={"id": {"N": "1"}})
    create_topic(rig.broker.bootstrap, rig.topic("p"))
    append_envelope(rig, "p", key=b'{"id":"abc"}', table="p")

    told = alone("--repair", table="p", **UNWRAP)

    assert told.differences == {("extra", "abc")}, told
    assert told.report["repaired"] == {"records": 1, "tombstones": 0}
    assert "do not lead back to an item" in "".join(told.report["notes"])


def test_a_repair_beside_an_export_that_a_change_overtakes_is_not_called_equal(
    rig: Rig, alone: Alone, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 3):
        rig.put("t", number)
    create_topic(rig.broker.bootstrap, rig.topic("t"))
    write, changed = repairing.Repair._write, list[str]()

    async def overtaken(
        self: repairing.Repair, producer: PageProducer, records: list[RoutedRecord]
    ) -> None:
        if not changed:
            changed.append("k1")
            rig.put("t", 1, late={"BOOL": True})
            append_envelope(rig, "t", key=b'{"id":"k1"}', table="t")  # of the worker
        await write(self, producer, records)

    monkeypatch.setattr(repairing.Repair, "_write", overtaken)
    with served(exported(range(1, 3))) as s3:
        raced = alone("--repair", "--export", EXPORT, aws__s3__endpoint=s3)
        again = alone("--repair", aws__s3__endpoint=s3)

    assert (raced.code, raced.differences) == (1, {("stale", "k1")}), raced
    assert "1 had changed meanwhile" in "".join(raced.report["notes"])
    assert (again.code, again.report["repaired"]["records"]) == (0, 1)


def test_an_item_of_another_table_in_an_export_is_named_by_file_and_line(
    alone: Alone, rig: Rig
) -> None:
    create_topic(rig.broker.bootstrap, rig.topic("t"))
    folder = EXPORT.removeprefix("s3://exports/")
    data, files = f"{folder}/data/a.json.gz", f"{folder}/manifest-files.json"
    content = data_file([{"id": {"S": "k1"}}, {"id": {"S": "k2"}}, {"other": {"S": "x"}}])
    table_arn = EXPORT_ARN.partition("/export/")[0]
    objects = {
        ("exports", f"{folder}/manifest-summary.json"): summary(EXPORT_ARN, table_arn, files, 3),
        ("exports", files): files_manifest({data: (content, 3)}),
        ("exports", data): content,
    }
    with served(objects) as s3:
        told = alone("--export", EXPORT, aws__s3__endpoint=s3)
    assert told.code == 2
    assert f"s3://exports/{data}, line 3: reading the key" in told.err


def test_partitions_that_are_added_meanwhile_end_the_comparison_and_the_repair(
    rig: Rig, alone: Alone, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_topic(rig.broker.bootstrap, rig.topic("t"))
    items = reconcile_parts.items_now

    async def growing(*arguments: Any) -> Sequence[Any]:
        admin = AdminClient({"bootstrap.servers": rig.broker.bootstrap, "log_level": 0})
        admin.create_partitions([NewPartitions(rig.topic("t"), 2)])[rig.topic("t")].result(20)
        return await items(*arguments)

    monkeypatch.setattr("connectd.app.repairing.items_now", growing)
    told = alone("--repair")

    assert (told.code, told.report) == (2, None)
    assert "had 1 partitions when its reading began, and has 2 now" in told.err
    assert rig.records("t") == []
