"""Transforms and error policies on tables and their streams: a whole worker, a real broker."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.topics import TopicRecord, read_topic
from tests.integration.worker_rig import Rig, partition_text

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]

_T = "org.apache.kafka.connect.transforms."


def _transforms(**aliases: dict[str, str]) -> dict[str, str]:
    """Keys of transforms in this order, by alias; classes without their package."""
    keys = {"transforms": ",".join(aliases)}
    for alias, settings in aliases.items():
        kind, *_ = settings.values()
        given = {**settings, "type": _T + kind}
        keys |= {f"transforms.{alias}.{name}": text for name, text in given.items()}
    return keys


def _follow(rig: Rig, keys: dict[str, str], *, items: int = 2) -> None:
    rig.create_table("t", items=items)
    rig.create(**keys)
    rig.wait_following("t")


def _change_and_delete(rig: Rig) -> None:
    """Item k0 is written, changed and deleted; k1 after each."""
    for value in ("1", "2"):
        for number in (0, 1):
            rig.put("t", number, v={"N": value})
    rig.control.delete(table="t", key={"id": {"S": "k0"}})
    rig.put("t", 1, v={"N": "3"})


def _story(records: list[TopicRecord], key: object) -> list[str]:
    """What the records of a key say, in order; ``-`` is a tombstone."""
    return [
        "-" if record.value is None else record.value_json["op"]
        for record in records
        if record.key_json == key
    ]


def _all_of(rig: Rig, topic: str, count: int) -> list[TopicRecord]:
    rig.wait(lambda: len(read_topic(rig.broker.bootstrap, topic)) >= count, f"{count} of {topic}")
    return read_topic(rig.broker.bootstrap, topic)


def test_a_chain_for_topic_key_value_and_headers_keeps_every_record_and_its_place(rig: Rig) -> None:
    chain = _transforms(
        route={"type": "RegexRouter", "regex": "(.*)-t", "replacement": "$1-routed"},
        key={"type": "HoistField$Key", "field": "was"},
        stamp={"type": "InsertField$Value", "static.field": "by", "static.value": "me"},
        head={"type": "InsertHeader", "header": "h", "value.literal": "42"},
    )
    _follow(rig, chain)

    _change_and_delete(rig)

    records = _all_of(rig, rig.topic("routed"), 9)
    assert len(records) == 9
    assert _story(records, {"was": {"id": "k0"}}) == ["r", "u", "u", "d", "-"]
    assert _story(records, {"was": {"id": "k1"}}) == ["r", "u", "u", "u"]
    assert {record.value_json["by"] for record in records if record.value is not None} == {"me"}
    assert {record.headers for record in records} == {(("h", b"42"),)}
    assert rig.records("t") == []
    topics = rig.expect(200, "GET", f"{rig.path}/topics").body
    assert topics[rig.name]["topics"] == [rig.topic("routed")]


def test_tombstones_can_be_filtered_and_the_position_is_behind_them(rig: Rig) -> None:
    """T06."""
    chain = _transforms(drop={"type": "Filter", "predicate": "gone"})
    chain |= {
        "predicates": "gone",
        "predicates.gone.type": f"{_T}predicates.RecordIsTombstone",
    }
    _follow(rig, chain)

    _change_and_delete(rig)

    records = _all_of(rig, rig.topic("t"), 8)
    assert _story(records, {"id": "k0"}) == ["r", "u", "u", "d"]
    rig.control.delete(table="t", key={"id": {"S": "k1"}})
    assert _story(_all_of(rig, rig.topic("t"), 9), {"id": "k1"}) == ["r", "u", "u", "u", "d"]


def test_a_source_of_which_everything_is_filtered_still_moves_its_position(rig: Rig) -> None:
    """O06."""
    _follow(rig, _transforms(drop={"type": "Filter"}))

    _change_and_delete(rig)

    def positions() -> set[Any]:
        return {offset.get("sequence_number") for _, offset in rig.shard_offsets()}

    rig.wait(lambda: positions() - {None}, "a position")
    before = positions()
    rig.put("t", 7)
    rig.wait(lambda: positions() != before, "the position to move on")
    assert rig.records("t") == []
    assert rig.offsets()[partition_text({"table_name": "t"})]


def _key_as_number() -> dict[str, str]:
    return _transforms(number={"type": "Cast$Key", "spec": "id:int32"})


def _put(rig: Rig, key: str) -> None:
    rig.control.put(table="t", item={"id": {"S": key}})


def test_a_record_that_a_transform_refuses_fails_the_task_and_is_not_passed_over(rig: Rig) -> None:
    _follow(rig, _key_as_number(), items=0)
    for key in ("1", "two", "3"):
        _put(rig, key)

    rig.wait_states("RUNNING", "FAILED")

    trace = rig.status()["tasks"][0]["trace"]
    assert "ToleranceExceededError: Tolerance exceeded in error handler" in trace.splitlines()[0]
    assert "two" in trace
    config = rig.config(**_key_as_number(), errors__tolerance="all")
    rig.expect(200, "PUT", f"{rig.path}/config", config)
    rig.wait(lambda: {1, 3} <= {r.key_json["id"] for r in rig.records("t")}, "the others")
    assert rig.states() == ("RUNNING", "RUNNING")


@pytest.mark.parametrize("with_content", [False, True])
def test_what_is_skipped_is_told_in_kafkas_words_and_only_on_request_with_its_content(
    rig: Rig, with_content: bool
) -> None:
    policy = {"errors.tolerance": "all", "errors.log.enable": "true"}
    if with_content:
        policy["errors.log.include.messages"] = "true"
    _follow(rig, {**_key_as_number(), **policy}, items=0)

    for key in ("1", "two", "3"):
        _put(rig, key)

    rig.wait(lambda: len(rig.records("t")) == 2, "the others")
    (told,) = [
        line["event"]
        for line in rig.log_lines()
        if line["event"].startswith(f"Error encountered in task {rig.name}-0. ")
    ]
    sentence = (
        f"Error encountered in task {rig.name}-0. Executing stage 'TRANSFORMATION' with class "
        f"'{_T}Cast$Key'"
    )
    if with_content:
        assert told.startswith(f"{sentence}, where source record is = SourceRecord{{source")
        assert "key=Struct{id=two}" in told
    else:
        assert told == f"{sentence}."
