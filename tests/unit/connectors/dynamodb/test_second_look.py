"""When a difference is one, and when it was only on its way."""

from __future__ import annotations

from connectd.connectors.dynamodb.second_look import Candidate, SecondLook


def candidate(
    expected: bytes | None = b"1", found: bytes | None = b"0", partition: int | None = 0
) -> Candidate:
    place = (None, None, None) if partition is None else (partition, 10, 1000)
    return Candidate(b"k", "t", b"key", b"{}", expected, found, *place)


def find(look: SecondLook, digest: bytes | None, offset: int = 11, **place: int) -> None:
    where = {"partition": 0, "timestamp_ms": 1001, **place}
    look.find(b"k", digest, offset=offset, **where)


def test_a_topic_that_catches_up_settles_it() -> None:
    look = SecondLook([candidate()])
    find(look, b"2")
    assert len(look) == 1
    find(look, b"1", offset=12)
    assert len(look) == 0
    assert [each.offset for each in look.settled] == [12]


def test_a_table_that_was_behind_settles_it() -> None:
    look = SecondLook([candidate(expected=b"1", found=b"2")])
    look.expect(b"k", b"2")
    assert len(look) == 0


def test_a_deletion_on_its_way_settles_it() -> None:
    look = SecondLook([candidate()])
    look.expect(b"k", None)
    find(look, None)
    assert len(look) == 0


def test_a_busy_item_is_settled_by_any_record_that_shows_what_the_table_showed() -> None:
    look = SecondLook([candidate(expected=b"3")])
    for offset, digest in enumerate((b"1", b"2", b"3", b"4", b"5"), start=11):
        find(look, digest, offset=offset)
    assert [each.found for each in look.settled] == [b"3"]


def test_an_older_record_says_nothing() -> None:
    look = SecondLook([candidate()])
    find(look, b"1", offset=9)
    find(look, b"1", partition=1, timestamp_ms=999)
    assert len(look) == 1


def test_in_another_partition_the_later_record_counts() -> None:
    look = SecondLook([candidate()])
    find(look, b"1", offset=0, partition=1)
    assert len(look) == 0


def test_a_first_record_counts_whatever_its_place() -> None:
    look = SecondLook([candidate(found=None, partition=None)])
    find(look, b"1", offset=0)
    assert len(look) == 0


def test_other_keys_are_nobodys_business() -> None:
    look = SecondLook([candidate()])
    look.expect(b"other", b"0")
    look.find(b"other", b"1", partition=0, offset=99, timestamp_ms=0)
    assert [each.key_id for each in look] == [b"k"]
