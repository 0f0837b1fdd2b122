"""Kafka's primitive types, and structures of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.kafka.group.wire import (
    BYTES,
    INT16,
    INT32,
    NULLABLE_STRING,
    STRING,
    Array,
    Field,
    Reader,
    Struct,
    WireError,
)

PAIR = Struct(
    Field("name", STRING),
    Field("note", NULLABLE_STRING, since=1),
    Field("old", INT16, until=0),
    Field("numbers", Array(INT32, may_be_null=True)),
    Field("content", BYTES),
    trailing={"content": b"none"},
)


@given(
    name=st.text(max_size=50),
    note=st.none() | st.text(max_size=50),
    numbers=st.none() | st.lists(st.integers(-(2**31), 2**31 - 1), max_size=5),
    content=st.binary(max_size=50),
    version=st.sampled_from([0, 1]),
)
def test_what_is_written_is_read_again(
    name: str, note: str | None, numbers: list[int] | None, content: bytes, version: int
) -> None:
    value: dict[str, object] = {"name": name, "numbers": numbers, "content": content}
    value |= {"old": 7} if version == 0 else {"note": note}
    assert PAIR.loads(PAIR.dumps(value, version), version) == value


def test_the_bytes_are_big_endian_behind_their_lengths() -> None:
    content = PAIR.dumps({"name": "é", "note": None, "numbers": [1, -1], "content": b"x"}, 1)
    assert content.hex() == "0002c3a9ffff0000000200000001ffffffff0000000178"


def test_fields_that_the_sender_did_not_know_have_their_defaults() -> None:
    content = PAIR.dumps({"name": "a", "note": None, "numbers": None, "content": b""}, 1)
    assert PAIR.loads(content[:-4], 1)["content"] == b"none"


@given(st.binary(max_size=40))
def test_nothing_that_is_sent_is_worse_than_a_wire_error(content: bytes) -> None:
    try:
        PAIR.loads(content, 1)
    except WireError:
        return


@pytest.mark.parametrize(
    "content",
    [
        "0005",  # a text that ends before it begins
        "ffff",  # null, where null is not allowed
        "fffe",  # a length that is none
        "0001ff",  # not UTF-8
    ],
)
def test_damaged_text_is_refused(content: str) -> None:
    with pytest.raises(WireError):
        STRING.read(Reader(bytes.fromhex(content)), 0)


def test_an_array_that_claims_too_much_is_refused_before_memory_is_spent_on_it() -> None:
    with pytest.raises(WireError, match="2147483647 items"):
        Array(INT16).read(Reader(bytes.fromhex("7fffffff")), 0)


def test_what_does_not_fit_is_not_written() -> None:
    with pytest.raises(WireError):
        Struct(Field("n", INT16)).dumps({"n": 70_000})
    with pytest.raises(WireError, match="null"):
        Struct(Field("s", STRING)).dumps({"s": None})
    with pytest.raises(WireError, match="null"):
        Struct(Field("a", Array(INT16))).dumps({"a": None})
