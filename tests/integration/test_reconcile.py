"""``connectd reconcile`` against a worker, a table and a topic."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.objects import served
from tests.harness.processes import free_ports
from tests.harness.transactions import transactional_producer
from tests.integration.reconcile_rig import (
    ALL_TYPES,
    EXPORT,
    EXPORT_ARN,
    Alone,
    CapSys,
    Command,
    alone_with,
    append_envelope,
    create_topic,
    exported,
    in_sync,
    stopped,
)
from tests.integration.worker_rig import Rig
from tests.kit.scripted_registry import ScriptedRegistry

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]


@pytest.fixture
def reconcile(rig: Rig, capsys: CapSys, tmp_path: Path) -> Command:
    return Command(rig, capsys, tmp_path)


ENVELOPES = {
    "0.1 typed": {"envelope__version": "0.1"},
    "1.0 with schemas": {
        "envelope__version": "1.0",
        "key__converter": "JsonConverter",
        "value__converter": "JsonConverter",
    },
    "0.1 plain with old images": {
        "document__format": "plain",
        "include__old__image": "true",
        "include__user__identity": "true",
    },
}


@pytest.mark.parametrize("keys", ENVELOPES.values(), ids=ENVELOPES)
def test_a_topic_that_followed_its_table_equals_it(
    rig: Rig, reconcile: Command, keys: dict[str, str]
) -> None:
    in_sync(rig, **keys)
    rig.put("t", 1, **ALL_TYPES)
    rig.put("t", 7, **ALL_TYPES)
    rig.control.delete(table="t", key={"id": {"S": "k2"}})
    rig.wait_records("t", 7)

    outcome = reconcile()

    assert outcome.code == 0, outcome
    assert outcome.report["equal"] is True
    assert outcome.report["compared"] == "documents"
    assert outcome.report["topics"] == [rig.topic("t")]
    assert outcome.report["counts"] == {
        "items": 3, "records": 7, "keys": 3, "equal": 3, "missing": 0, "stale": 0, "extra": 0,
        "skipped": 0, "foreign": 0, "unchecked": 0, "conflict": 0, "unconvertible": 0,
    }  # fmt: skip


def test_what_is_missing_stale_and_extra_is_told_and_repaired(rig: Rig, reconcile: Command) -> None:
    in_sync(rig, 5)
    stopped(rig)
    rig.put("t", 1, **ALL_TYPES)
    rig.put("t", 8, **ALL_TYPES)
    rig.control.delete(table="t", key={"id": {"S": "k2"}})

    told = reconcile()
    repaired = reconcile("--repair")
    after = reconcile()

    assert told.code == 1
    assert told.differences == {("stale", "k1"), ("missing", "k8"), ("extra", "k2")}
    assert told.report["repaired"] is None
    assert told.report["counts"]["unchecked"] == 0
    assert repaired.code == 0, repaired
    assert repaired.report["repaired"] == {"records": 2, "tombstones": 1}
    assert (after.code, after.report["counts"]["equal"]) == (0, 5)
    rig.assert_topic_equals_table("t")
    assert rig.ops("t")[-2:] == ["r", "r"]


def test_what_changes_during_the_comparison_is_no_difference(rig: Rig, reconcile: Command) -> None:
    in_sync(rig, 4)
    after_scan = {"operation": "Scan", "table": "t"}
    for number in (0, 9):
        item = {"id": {"S": f"k{number}"}, "late": {"BOOL": True}}
        rig.control.after_call(**after_scan, command="put", arguments={"table": "t", "item": item})
    key = {"id": {"S": "k3"}}
    rig.control.after_call(**after_scan, command="delete", arguments={"table": "t", "key": key})

    outcome = reconcile(settle="60")

    assert outcome.code == 0, outcome
    assert outcome.report["counts"]["unchecked"] == 0
    assert rig.ops("t")[4:] == ["u", "c", "d"]


def test_an_item_that_may_not_be_read_again_leaves_its_difference_unchecked(
    rig: Rig, reconcile: Command
) -> None:
    in_sync(rig)
    stopped(rig)
    rig.put("t", 5)
    rig.control.inject(operation="GetItem", error="AccessDeniedException", times=None)

    told, repaired = reconcile(), reconcile("--repair")

    assert (told.code, told.report["counts"]["unchecked"]) == (1, 1)
    assert "dynamodb:GetItem" in told.report["notes"][0]
    assert (repaired.code, repaired.report) == (2, None)
    assert "dynamodb:GetItem" in repaired.err


def test_an_export_stands_for_the_table_and_what_changed_since_is_asked_of_the_table(
    rig: Rig, reconcile: Command
) -> None:
    with served(exported(range(5))) as s3:
        in_sync(rig, 5, aws__s3__endpoint=s3)
        rig.put("t", 0, late={"BOOL": True})
        rig.put("t", 9)
        rig.control.delete(table="t", key={"id": {"S": "k3"}})
        rig.wait_records("t", 9)
        rig.control.inject(operation="Scan", error="AccessDeniedException", times=None)

        followed = reconcile("--export", EXPORT)
        stopped(rig)
        rig.put("t", 0, late={"BOOL": False})
        rig.put("t", 3)
        rig.control.delete(table="t", key={"id": {"S": "k9"}})
        told = reconcile("--export", EXPORT)
        repaired = reconcile("--export", EXPORT, "--repair")

    assert followed.code == 0, followed
    assert followed.report["export"] == {"arn": EXPORT_ARN, "time": "2026-05-01T10:00:00.000Z"}
    assert followed.report["counts"]["items"] == 5
    assert "3 keys that differed were looked at again" in followed.report["notes"][0]
    assert told.differences == {("stale", "k0"), ("missing", "k3"), ("extra", "k9")}
    assert (told.code, told.report["counts"]["unchecked"]) == (1, 0)
    assert (repaired.code, repaired.report["repaired"]) == (0, {"records": 2, "tombstones": 1})
    rig.assert_topic_equals_table("t")


def test_beside_an_export_too_what_another_table_holds_is_left(
    rig: Rig, reconcile: Command
) -> None:
    with served(exported(range(2))) as s3:
        in_sync(rig, 2, aws__s3__endpoint=s3)
        stopped(rig)
        rig.control.delete(table="t", key={"id": {"S": "k1"}})
        for key in (b'{"id":"k0"}', b'{"id":"k1"}'):
            append_envelope(rig, "t", key=key, table="u")

        outcome = reconcile("--export", EXPORT, "--repair")

    assert outcome.differences == {("conflict", "k0")}
    assert (outcome.code, outcome.report["repaired"]) == (1, {"records": 0, "tombstones": 0})


def test_an_export_that_cannot_be_read_ends_the_comparison(rig: Rig, reconcile: Command) -> None:
    objects = exported(range(3))
    with served(objects) as s3:
        in_sync(rig, 3, aws__s3__endpoint=s3)
        (key,) = [key for key in objects if key[1].endswith(".json.gz")]
        objects[key] = b"damaged"
        damaged = reconcile("--export", EXPORT)
        other = reconcile("--export", "s3://exports/other")

    assert (damaged.code, other.code) == (2, 2)
    assert "its MD5 is" in damaged.err
    assert "s3://exports/other/manifest-summary.json" in other.err


class TestWithoutAWorker:
    """``--file``: the connector's config; topics are filled by ``--repair``."""

    @pytest.fixture
    def alone(self, rig: Rig, reconcile: Command, tmp_path: Path) -> Alone:
        return alone_with(rig, reconcile, tmp_path)

    def test_avro_is_compared_by_document_whatever_the_schema_ids_are(
        self, rig: Rig, alone: Alone
    ) -> None:
        create_topic(rig.broker.bootstrap, rig.topic("t"))
        with ScriptedRegistry() as registry:
            avro = {
                f"{part}__converter{setting}": value
                for part in ("key", "value")
                for setting, value in (
                    ("", "io.confluent.connect.avro.AvroConverter"),
                    ("__schema__registry__url", registry.url),
                )
            }
            keys = {"envelope__version": "1.0", **avro}
            assert alone("--repair", **keys).report["repaired"] == {"records": 2, "tombstones": 0}
            rig.put("t", 1, **ALL_TYPES, more={"S": "x"})
            rig.control.delete(table="t", key={"id": {"S": "k2"}})
            told = alone(include__old__image="true", **keys)

        assert told.report["compared"] == "documents"
        assert told.differences == {("stale", "k1"), ("extra", "k2")}

    def test_what_transforms_change_is_compared_as_a_whole_in_every_topic(
        self, rig: Rig, alone: Alone
    ) -> None:
        keys = {
            "transforms": "route,unwrap",
            "transforms__route__type": "ContentRouter",
            "transforms__route__field": "document.tenant.s",
            "transforms__route__topic__format": "${topic}-${field}",
            "transforms__unwrap__type": "UnwrapDynamoDb",
        }
        for topic in (rig.topic("t"), rig.topic("t-acme"), rig.topic("t-gone")):
            create_topic(rig.broker.bootstrap, topic)
        assert alone("--repair", **keys).code == 0
        rig.put("t", 2, tenant={"S": "gone"})

        told = alone("--topic", rig.topic("t-acme"), **keys)

        assert told.report["topics"] == [rig.topic(each) for each in ("t", "t-acme", "t-gone")]
        assert told.report["compared"] == "json"
        assert told.differences == {("extra", "k2"), ("missing", "k2")}
        left = alone("--topic", rig.topic("t-acme"), "--repair", **keys)
        assert left.differences == {("extra", "k2")}  # it does not say which table it is of
        assert "--repair-extra" in "".join(left.report["notes"])
        assert alone("--topic", rig.topic("t-acme"), "--repair-extra", **keys).code == 0
        assert [each.value is None for each in rig.records("t-acme")] == [False, True]

    def test_what_a_transaction_has_not_committed_is_not_in_the_topic(
        self, rig: Rig, alone: Alone
    ) -> None:
        create_topic(rig.broker.bootstrap, rig.topic("t"))
        alone("--repair")
        writer = rig.broker.bootstrap, rig.topic("writer")
        producer = transactional_producer(*writer)
        for end in (producer.abort_transaction, producer.commit_transaction):
            producer.begin_transaction()
            producer.produce(rig.topic("t"), key=b'{"id":"k1"}', value=None)
            assert producer.flush(20) == 0
            told = alone()  # the transaction is open
            assert (told.code, told.report["counts"]["records"]) == (0, 2)
            end(20)
        transactional_producer(*writer)  # the markers are there

        assert alone().differences == {("missing", "k1")}

    def test_records_of_other_tables_in_the_topic_are_left_alone(
        self, rig: Rig, reconcile: Command, alone: Alone
    ) -> None:
        rig.create_table("u", items=5, view_type=None)
        keys = {"kafka__topic__map": '{"t":"both","u":"both"}'}
        create_topic(rig.broker.bootstrap, rig.topic("both"))
        alone("--repair", **keys)
        rig.control.delete(table="t", key={"id": {"S": "k2"}})
        append_envelope(rig, "both", key=b'{"id":"k77"}', table="u")

        told = alone(**keys)

        assert told.differences == {("extra", "k2")}
        assert told.report["counts"]["foreign"] == 1

        append_envelope(rig, "both", key=b'{"id":"k2"}', table="u")
        append_envelope(rig, "both", key=b'{"id":"k1"}', table="u")
        taken = alone("--repair", **keys)
        extra_too = alone("--repair-extra", **keys)

        assert taken.differences == extra_too.differences == {("conflict", "k1")}
        assert [each["held_by"] for each in taken.report["differences"]] == ["u"]
        nothing = {"records": 0, "tombstones": 0}
        assert taken.report["repaired"] == extra_too.report["repaired"] == nothing
        assert "kafka.topic.map" in "".join(taken.report["notes"])
        assert None not in [each.value for each in rig.records("both")]

    def test_extra_records_that_lead_to_no_item_are_removed_on_the_users_word(
        self, rig: Rig, alone: Alone
    ) -> None:
        keys = {
            "transforms": "bare",
            "transforms__bare__type": "org.apache.kafka.connect.transforms.ExtractField$Key",
            "transforms__bare__field": "id",
        }
        create_topic(rig.broker.bootstrap, rig.topic("t"))
        assert alone("--repair", **keys).code == 0
        rig.control.delete(table="t", key={"id": {"S": "k2"}})

        left = alone("--repair", **keys)
        exported = alone("--repair-extra", "--export", EXPORT, **keys)
        removed = alone("--repair-extra", **keys)

        assert (left.code, left.report["repaired"]) == (1, {"records": 0, "tombstones": 0})
        assert left.report["counts"]["extra"] == 1
        assert "do not lead back to an item" in left.report["notes"][0]
        assert "--repair-extra" in left.report["notes"][0]
        assert (exported.code, "--repair-extra needs a scan" in exported.err) == (2, True)
        assert (removed.code, removed.report["repaired"]) == (0, {"records": 0, "tombstones": 1})
        assert removed.report["notes"] == []
        *_, last = rig.records("t")
        assert last.value is None

    def test_extra_records_without_a_key_or_beside_unknown_ones_stay(
        self, rig: Rig, alone: Alone
    ) -> None:
        create_topic(rig.broker.bootstrap, rig.topic("t"), "delete")
        alone("--repair")
        append_envelope(rig, "t", key=None, table="t")
        keyless = alone("--repair-extra")
        append_envelope(rig, "t", key=b"somebody", table="t")
        drop = {
            "transforms": "drop",
            "transforms__drop__type": "Filter",
            "transforms__drop__predicate": "isAcme",
            "predicates": "isAcme",
            "predicates__isAcme__type": "FieldValueMatches",
            "predicates__isAcme__field": "document.tenant.s",
            "predicates__isAcme__pattern": "acme",
        }
        unknown = alone("--repair-extra", **drop)

        assert (keyless.code, keyless.report["counts"]["extra"]) == (1, 1)
        assert "1 extra records have no key" in keyless.report["notes"][0]
        assert unknown.report["counts"]["extra"] == 3
        assert "may be of the items that have no record now" in unknown.report["notes"][1]
        for outcome in (keyless, unknown):
            assert outcome.report["repaired"] == {"records": 0, "tombstones": 0}

    def test_an_item_that_a_transform_drops_is_told_and_left_alone(
        self, rig: Rig, alone: Alone
    ) -> None:
        create_topic(rig.broker.bootstrap, rig.topic("t"))
        alone("--repair")
        drop = {
            "transforms": "drop",
            "transforms__drop__type": "Filter",
            "transforms__drop__predicate": "isAcme",
            "predicates": "isAcme",
            "predicates__isAcme__type": "FieldValueMatches",
            "predicates__isAcme__field": "document.tenant.s",
            "predicates__isAcme__pattern": "acme",
        }

        told = alone("--repair", **drop)

        assert told.differences == {("extra", "k2")}
        assert told.report["counts"]["skipped"] == 1
        assert told.report["repaired"] == {"records": 0, "tombstones": 0}
        assert told.report["counts"]["unconvertible"] == 0
        assert told.report["counts"]["items"] == 2
        assert "1 items are to have nothing in the topic" in "".join(told.report["notes"])

    def test_a_file_of_another_connector_is_refused(
        self, reconcile: Command, alone: Alone, tmp_path: Path
    ) -> None:
        create = {"connector__class": "FileStreamSource", "topic": "t"}
        wrong_kind = alone(**create)
        file = ("--file", str(tmp_path / "connector.json"))
        wrong_name = reconcile(connector="another", source=file)

        assert (wrong_kind.code, wrong_name.code) == (2, 2)
        assert "FileStreamSource" in wrong_kind.err
        assert "expected another" in wrong_name.err

    def test_what_cannot_be_compared_says_why(
        self,
        rig: Rig,
        reconcile: Command,
        alone: Alone,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        no_topic = alone()
        create_topic(rig.broker.bootstrap, rig.topic("t"))
        rig.control.inject(operation="Scan", error="AccessDeniedException", times=None)
        denied = alone()
        rig.control.clear_faults()
        no_table = alone(kafka__topic__prefix="x-", table="nowhere")
        no_connector = reconcile(connector="nobody")
        port = free_ports(1)[0]
        no_worker = reconcile(source=("--url", f"http://127.0.0.1:{port}"))
        monkeypatch.setattr("connectd.app.reconcile_wiring.BROKER_S", 1.0)
        monkeypatch.setenv("CONNECT_BOOTSTRAP_SERVERS", f"127.0.0.1:{port}")
        no_broker = alone()

        told = {
            f"topic {rig.topic('t')} does not exist": no_topic,
            "dynamodb:Scan": denied,
            "nowhere": no_table,
            "Connector nobody not found": no_connector,
            f"no worker answers at http://127.0.0.1:{port}": no_worker,
            "none answered within": no_broker,
        }
        assert [text for text, each in told.items() if text not in each.err] == []
        assert {each.code for each in told.values()} == {2}
        assert all(each.report is None for each in told.values())
