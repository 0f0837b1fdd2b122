"""Lines: the same, at the same positions, in whatever pieces the bytes arrive."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.connectors.file import lines as splitting
from connectd.connectors.file.lines import LineSplitter, text_of
from connectd.errors import FatalTaskError

_TEXTS = st.lists(st.sampled_from([b"\n", b"\r", b"\r\n", b"a", b"bc", b"\xc3\xa9", b""])).map(
    b"".join
)


def _lines(*pieces: bytes, lines_max: int = 1000, start: int = 0) -> list[tuple[bytes, int]]:
    """Every complete line with the position behind it."""
    splitter, found = LineSplitter(start), []
    for piece in pieces:
        splitter.feed(piece)
        while taken := splitter.take(1):
            assert taken[0].position == splitter.position
            found.append((taken[0].data, taken[0].position))
    assert splitter.take(lines_max) == []
    return found


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (b"", []),
        (b"partial", []),
        (b"\n", [(b"", 1)]),
        (b"a\nb\n", [(b"a", 2), (b"b", 4)]),
        (b"a\r\nb\r\n", [(b"a", 3), (b"b", 6)]),
        (b"a\rb\rc", [(b"a", 2), (b"b", 4)]),
        (b"a\n\rb\n", [(b"a", 2), (b"", 3), (b"b", 5)]),
        (
            b"one\ntwo\r\nthree\rfour\nrest",
            [(b"one", 4), (b"two", 9), (b"three", 15), (b"four", 20)],
        ),
    ],
)
def test_lines_end_in_three_ways(text: bytes, lines: list[tuple[bytes, int]]) -> None:
    assert _lines(text) == lines


def test_a_last_carriage_return_waits_for_its_other_half() -> None:
    splitter = LineSplitter()
    splitter.feed(b"a\r")
    assert splitter.take(1) == []
    splitter.feed(b"\nb")
    assert splitter.take(1) == [(b"a", 3)]
    assert (splitter.position, splitter.read_position) == (3, 4)


@given(text=_TEXTS, cuts=st.lists(st.integers(0, 60)), start=st.integers(0, 10))
def test_no_cut_changes_lines_or_positions(text: bytes, cuts: list[int], start: int) -> None:
    places = sorted({0, *(min(cut, len(text)) for cut in cuts), len(text)})
    pieces = [text[begin:end] for begin, end in itertools.pairwise(places)]
    assert _lines(*pieces, start=start) == _lines(text, start=start)


@given(text=_TEXTS, lines_max=st.integers(1, 5))
def test_batches_are_full_and_lose_nothing(text: bytes, lines_max: int) -> None:
    splitter, batches = LineSplitter(), []
    splitter.feed(text)
    while batch := splitter.take(lines_max):
        batches.append(batch)
    assert all(len(batch) == lines_max for batch in batches[:-1])
    assert [line for batch in batches for line in batch] == _lines(text)


@given(text=_TEXTS, stops=st.integers(0, 20))
def test_whoever_goes_on_at_a_position_finds_the_rest(text: bytes, stops: int) -> None:
    whole = _lines(text)
    taken = whole[:stops]
    position = taken[-1][1] if taken else 0
    assert taken + _lines(text[position:], start=position) == whole


def test_a_file_without_lines_is_refused_before_it_fills_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(splitting, "LINE_BYTES_MAX", 10)
    splitter = LineSplitter(7)
    for _ in range(3):
        splitter.feed(b"\0\0\0\0")
        assert splitter.take(1) == []
    with pytest.raises(FatalTaskError, match="line at byte 7 has more than 10 bytes"):
        splitter.feed(b"\0\0\0\0")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        # A FileStreamSource of Kafka 4.3.1 wrote these.
        (b"x\xff\xfey", "x��y"),
        (b"\xf0\x9f", "�"),
        (b"\xed\xa0\x80", "�"),
        (b"\xc3(", "�("),
        (b"\xe2\x82", "�"),
        (b"\xef\xbb\xbfbom", "\ufeffbom"),
        (b"\xc0\x80", "��"),
        (b"\xf4\x90\x80\x80", "����"),
        (b"\xf8\x88\x80\x80\x80", "�����"),
        (b"a\x00b", "a\x00b"),
        ("é€😀".encode(), "é€😀"),
    ],
)
def test_what_is_no_text_is_replaced_as_java_does(line: bytes, text: str) -> None:
    assert text_of(line) == text
