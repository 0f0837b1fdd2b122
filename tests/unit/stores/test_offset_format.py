"""Bytes of the offsets topic (spec kafka-connect C.3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.errors import ConfigError
from connectd.model.record import Primitive, SourcePartition
from connectd.stores import offset_format

_primitives = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.text(), st.floats(-1e9, 1e9)
)
_members = st.dictionaries(st.text(), _primitives, max_size=5)


def test_the_bytes_are_those_of_kafka_connect() -> None:
    partition = SourcePartition.of({"filename": "/tmp/in.txt"})
    assert offset_format.encode_key("s", partition) == b'["s",{"filename":"/tmp/in.txt"}]'
    assert offset_format.encode_value({"position": 1024}) == b'{"position":1024}'
    assert offset_format.encode_value(None) is None


def test_members_keep_their_order_and_order_is_identity() -> None:
    one = SourcePartition.of({"table_name": "t", "shard_id": "s"})
    other = SourcePartition.of({"shard_id": "s", "table_name": "t"})
    assert offset_format.encode_key("c", one) != offset_format.encode_key("c", other)
    assert one != other


@given(name=st.text(min_size=1), partition=_members, offset=_members)
def test_what_is_written_is_read_back(
    name: str, partition: dict[str, Primitive], offset: dict[str, Primitive]
) -> None:
    source = SourcePartition.of(partition)
    key = offset_format.encode_key(name, source)
    assert offset_format.decode_key(key) == (name, source)
    assert offset_format.decode_value(offset_format.encode_value(offset)) == offset


def test_a_null_partition_is_read_and_belongs_to_nobody() -> None:
    assert offset_format.decode_key(b'["c",null]') == ("c", None)


@pytest.mark.parametrize(
    "key",
    [
        None,
        b"",
        b"{}",
        b'["c"]',
        b'["c",{},1]',
        b"[1,{}]",
        b'["c",[1]]',
        b'["c",{"a":[]}]',
        b"\xff",
    ],
)
def test_keys_of_another_form_are_refused(key: bytes | None) -> None:
    with pytest.raises(ValueError, match=r"offset record|partition"):
        offset_format.decode_key(key)


@pytest.mark.parametrize("value", [b"", b"[1]", b'{"a":{}}', b"nonsense", b"\xff"])
def test_values_of_another_form_are_refused(value: bytes) -> None:
    with pytest.raises(ValueError, match="offset"):
        offset_format.decode_value(value)


def test_a_users_offset_with_a_nested_value_is_refused_in_kafkas_words() -> None:
    with pytest.raises(ConfigError, match="Offsets may only contain primitive types as values"):
        offset_format.normalised({"a": [1]}, "offset")
