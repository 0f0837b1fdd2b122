"""The comparison on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from connectd.connectors.dynamodb.digest_file import DigestFile, Expected, Found
from connectd.connectors.dynamodb.reconciling import Counts, Kind, unconvertible
from connectd.errors import ConnectdError


def expected(key: bytes, digest: bytes = b"1") -> Expected:
    return Expected(key, "t", key, b"{}", digest)


def found(
    key: bytes, digest: bytes | None = b"1", offset: int = 0, partition: int = 0, time: int = 0
) -> Found:
    return Found(key, "t", key, digest, partition, offset, time)


def kinds(file: DigestFile) -> dict[bytes, Kind | None]:
    return {each.key_id: each.kind for each in file.differences(100)}


def test_both_sides_come_in_any_order() -> None:
    with DigestFile() as file:
        file.find([found(b"a"), found(b"b", b"2"), found(b"x"), found(b"gone", None)])
        file.expect([expected(b"a"), expected(b"b"), expected(b"c")])
        file.find([found(b"d")])
        file.expect([expected(b"d")])
        assert file.counts() == Counts(items=4, keys=4, equal=2, missing=1, stale=1, extra=1)
        assert kinds(file) == {b"b": Kind.STALE, b"c": Kind.MISSING, b"x": Kind.EXTRA}


def test_an_item_with_a_tombstone_is_missing() -> None:
    with DigestFile() as file:
        file.expect([expected(b"a")])
        file.find([found(b"a", b"1", 0), found(b"a", None, 1)])
        assert kinds(file) == {b"a": Kind.MISSING}


def test_of_a_key_the_last_record_counts() -> None:
    with DigestFile() as file:
        file.find([found(b"a", b"new", 5), found(b"a", b"old", 4)])
        file.find([found(b"b", b"old", 9, 0, 100), found(b"b", b"new", 1, 1, 200)])
        file.find([found(b"c", b"new", 1, 1, 200), found(b"c", b"old", 9, 0, 100)])
        assert {each.key_id: each.found for each in file.differences(9)} == {
            b"a": b"new",
            b"b": b"new",
            b"c": b"new",
        }


def test_a_key_that_another_table_holds_last_is_in_conflict_or_no_difference() -> None:
    theirs = b"finvoices"
    with DigestFile() as file:
        file.expect([expected(b"ours")])
        file.find([found(key, b"1", 0) for key in (b"ours", b"gone", b"back")])
        file.find([found(key, theirs, 1) for key in (b"ours", b"gone", b"back", b"theirs")])
        file.find([found(b"back", b"1", 2)])
        assert kinds(file) == {b"ours": Kind.CONFLICT, b"back": Kind.EXTRA}
        assert file.counts() == Counts(items=1, keys=1, conflict=1, extra=1)


def test_an_item_that_cannot_be_converted_is_of_one_kind_whatever_the_topic_has() -> None:
    broken = unconvertible("no such field")
    with DigestFile() as file:
        file.expect([expected(key, broken) for key in (b"alone", b"old", b"held")])
        file.find([found(b"old", b"1"), found(b"held", b"finvoices")])
        assert set(kinds(file).values()) == {Kind.UNCONVERTIBLE}
        assert file.counts() == Counts(items=3, keys=1, unconvertible=3)


def test_the_state_of_a_key_is_known_whether_it_differs_or_not() -> None:
    with DigestFile() as file:
        file.expect([expected(b"a")])
        file.find([found(b"a", b"1", 7)])
        state = file.state(b"a")
        assert state is not None
        assert (state.kind, state.place, state.item_key) == (None, (0, 7), b"{}")
        assert file.state(b"b") is None


def test_what_a_killed_comparison_has_left_is_swept(tmp_path: Path) -> None:
    (tmp_path / "connectd-reconcile-dead").mkdir()
    with DigestFile(tmp_path) as one, DigestFile(tmp_path) as other:
        for file in (one, other):
            file.expect([expected(b"a")])
        assert len(list(tmp_path.iterdir())) == 2


def test_what_comes_later_changes_only_what_differs() -> None:
    with DigestFile() as file:
        file.expect([expected(b"equal"), expected(b"stale"), expected(b"missing")])
        file.find([found(b"equal", b"1", 5), found(b"stale", b"2", 5), found(b"extra", b"1", 5)])
        later = [found(key, b"3", 6) for key in (b"equal", b"new", b"stale")]
        file.find_again([*later, found(b"extra", b"finvoices", 6), found(b"missing", b"1", 6)])
        file.find_again([found(b"stale", b"1", 4)])  # an older one
        (stale,) = file.differences(9)
        assert (stale.key_id, stale.found, stale.place) == (b"stale", b"3", (0, 6))


def test_differences_come_page_by_page() -> None:
    with DigestFile() as file:
        file.expect([expected(bytes([number])) for number in range(250)])
        seen, after = [], b""
        while page := file.differences(100, after=after):
            seen += [each.key_id[0] for each in page]
            after = page[-1].key_id
        assert seen == list(range(250))


def test_what_a_second_look_has_shown_is_put_down() -> None:
    with DigestFile() as file:
        file.expect([expected(b"a"), expected(b"b")])
        first, second = file.differences(2)
        first.found, first.partition, first.offset, first.timestamp_ms = b"1", 0, 3, 7
        second.expected = None
        file.settle([first, second])
        assert file.counts() == Counts(items=1, keys=1, equal=1)


def test_the_file_goes_with_its_owner(tmp_path: Path) -> None:
    with DigestFile(tmp_path) as file:
        (home,) = tmp_path.iterdir()
        assert home.stat().st_mode & 0o077 == 0
        file.expect([expected(b"a")])
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_refuses_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConnectdError, match=r"nowhere.*--spill"):
        DigestFile(tmp_path / "nowhere")
    with DigestFile(tmp_path) as file:
        file._file.execute("PRAGMA max_page_count = 3")
        with pytest.raises(ConnectdError, match="full"):
            file.expect([expected(bytes([number]) * 99) for number in range(250)])
