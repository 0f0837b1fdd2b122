"""What a report says in words: the reason that it is, and what a repair leaves."""

from __future__ import annotations

import pytest

from connectd.app import reconcile_notes
from connectd.app.reconcile_notes import CANDIDATES_MAX, Leftovers
from connectd.connectors.dynamodb import reconciling
from connectd.connectors.dynamodb.reconciling import Counts, StateReader
from connectd.connectors.dynamodb.second_look import Candidate

STATES = StateReader(reconciling.json_decoder(carries_schema=False), "t", plain_documents=False)


def record(table: str) -> bytes:
    return f'{{"version":"1","document":"","source":{{"table_name":"{table}"}}}}'.encode()


def left(*candidates: tuple[bytes | None, bytes | None, bytes, bytes | None]) -> Leftovers:
    """Of candidates by key, item's key, value, and what is expected."""
    leftovers = Leftovers()
    for key, item_key, value, expected in candidates:
        found = STATES.found("topic", value).digest
        leftovers.add(Candidate(b"", "topic", key, item_key, expected, found, 0, 0, 0))
    return leftovers


AIMLESS = (b"k1", None, record("t"), None)
NAMELESS = (b"k1", b"{}", b'{"id":"k1"}', None)
KEYLESS = (None, None, record("t"), None)
OURS = (b"k1", b"{}", record("t"), None)
STALE = (b"k1", b"{}", b'{"id":"k1"}', b"other")


def test_what_is_repaired_is_not_spoken_of() -> None:
    leftovers = left(OURS, STALE)
    assert reconcile_notes.of_leftovers(leftovers, 0, removes_extra=False) == []


@pytest.mark.parametrize(
    ("candidate", "text"),
    [
        (AIMLESS, "the keys of 5 extra records do not lead back to an item"),
        (NAMELESS, "5 extra records do not say which table they are of"),
    ],
)
def test_what_only_the_user_may_remove_says_so(
    candidate: tuple[bytes | None, bytes | None, bytes, bytes | None], text: str
) -> None:
    (note,) = reconcile_notes.of_leftovers(left(*[candidate] * 5), 0, removes_extra=False)
    assert text in note
    assert "--repair leaves them" in note
    assert "--repair-extra writes their tombstones" in note
    assert str(CANDIDATES_MAX) not in note


def test_what_even_then_stays_says_why() -> None:
    assert reconcile_notes.of_leftovers(left(NAMELESS), 0, removes_extra=True) == []
    (unknown,) = reconcile_notes.of_leftovers(left(AIMLESS), 3, removes_extra=True)
    assert "may be of the items that have no record now" in unknown
    (later,) = reconcile_notes.of_leftovers(left(AIMLESS), 0, removes_extra=True)
    assert "run it again" in later
    (keyless,) = reconcile_notes.of_leftovers(left(KEYLESS), 0, removes_extra=True)
    assert "no tombstone can remove them" in keyless


def test_tables_that_hold_keys_are_named_some_of_them() -> None:
    def held(*tables: str) -> str:
        leftovers = left(*[(b"k", b"{}", record(table), b"1") for table in tables])
        (note,) = reconcile_notes.of_leftovers(leftovers, 0, removes_extra=False)
        return note

    assert "another table's (a, b), so" in held("b", "a", "b")
    assert "another table's (0, 1, 2, 3, 4, …), so" in held(*map(str, range(9)))
    assert "kafka.topic.map" in held("a")


def test_only_what_had_no_second_look_is_doubtful() -> None:
    assert reconcile_notes.of_doubt(Counts(extra=5), 5, None) == []
    (note,) = reconcile_notes.of_doubt(Counts(extra=7, conflict=1), 5, None)
    assert note.startswith("3 differences were not looked at again")
    assert str(CANDIDATES_MAX) in note


def test_the_first_reasons_why_items_cannot_be_converted_are_given() -> None:
    leftovers = Leftovers()
    for number in range(9):
        expected = reconciling.unconvertible(f"reason {number // 2}")
        leftovers.add(Candidate(b"", "", b"{}", b"{}", expected, None, None, None, None))
    (note,) = reconcile_notes.of_items(Counts(unconvertible=9), leftovers, {})
    assert note.startswith("9 items cannot be converted")
    assert note.endswith("reason 0; reason 1; reason 2")
    assert reconcile_notes.of_leftovers(leftovers, 9, removes_extra=False) == []


def test_items_that_are_dropped_are_no_difference() -> None:
    (note,) = reconcile_notes.of_items(Counts(skipped=2), Leftovers(), {})
    assert note.startswith("2 items are to have nothing in the topic, which is no difference")


def test_what_a_repair_has_written_over_is_told() -> None:
    assert "2 keys" in reconcile_notes.overwritten(2)
