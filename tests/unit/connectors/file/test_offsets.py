"""Positions of the FileStream source: Kafka's form, and Kafka's texts for every other one."""

from __future__ import annotations

import pytest

from connectd.connectors.file import offsets
from connectd.connectors.file.connector import FileStreamSourceConnector
from connectd.connectors.file.offsets import OffsetRefusedError
from connectd.errors import ConfigError, FatalTaskError
from connectd.model.record import Primitive, SourcePartition
from connectd.stores import offset_format

_CONFIG = {"file": "/tmp/in.txt", "topic": "t"}
_PARTITION = SourcePartition.of({"filename": "/tmp/in.txt"})


def test_keys_and_values_are_those_of_a_real_worker() -> None:
    assert offset_format.encode_key("s", offsets.partition_of("/tmp/in.txt")) == (
        b'["s",{"filename":"/tmp/in.txt"}]'
    )
    assert offset_format.encode_value(offsets.offset_at(20)) == b'{"position":20}'
    assert offset_format.encode_key("s", offsets.partition_of(None)) == b'["s",{"filename":null}]'
    assert offset_format.encode_value(offsets.offset_at(None)) == b'{"position":null}'


@pytest.mark.parametrize(
    ("partition", "offset", "message"),
    [
        ({"filename": "/x"}, {"position": "x"}, "is expected to be a Long value"),
        ({"filename": "/x"}, {"position": 1.0}, "is expected to be a Long value"),
        ({"filename": "/x"}, {"position": True}, "is expected to be a Long value"),
        ({"filename": "/x"}, {"position": None}, "is expected to be a Long value"),
        ({"filename": "/x"}, {"position": 1 << 63}, "is expected to be a Long value"),
        ({"filename": "/x"}, {"position": -1}, "should be a non-negative value"),
        ({"filename": "/x"}, {}, "should either be null or contain the key 'position'"),
        ({"filename": "/x"}, {"pos": 1}, "should either be null or contain the key 'position'"),
        ({}, {"position": 1}, "Partition objects should contain the key 'filename'"),
        ({"file": "/x"}, {"position": 1}, "Partition objects should contain the key 'filename'"),
        ({"file": "/x"}, {"position": "y"}, "is expected to be a Long value"),
    ],
)
def test_a_foreign_offset_is_refused_in_kafkas_words(
    partition: dict[str, Primitive], offset: dict[str, Primitive], message: str
) -> None:
    with pytest.raises(OffsetRefusedError, match=message) as refused:
        FileStreamSourceConnector.alter_offsets(
            _CONFIG, {_PARTITION: {"position": 0}, SourcePartition.of(partition): offset}
        )
    assert isinstance(refused.value, ConfigError), "the client's mistake, so 400"


@pytest.mark.parametrize(
    ("partition", "offset"),
    [
        ({"filename": "/tmp/in.txt"}, {"position": 0}),
        ({"filename": "/another"}, {"position": (1 << 63) - 1, "more": "x"}),
        ({"filename": None, "b": 1}, {"position": 1}),
        ({"filename": 5}, {"position": 2}),
        ({"anything": 1}, None),
    ],
)
def test_what_kafka_lets_pass_passes(
    partition: dict[str, Primitive], offset: dict[str, Primitive] | None
) -> None:
    assert FileStreamSourceConnector.alter_offsets(_CONFIG, {SourcePartition.of(partition): offset})


@pytest.mark.parametrize("file", [None, "", " "])
def test_standard_input_has_no_offsets_to_change(file: str | None) -> None:
    config = {"topic": "t"} if file is None else {"topic": "t", "file": file}
    for changes in ({}, {_PARTITION: None}):
        with pytest.raises(OffsetRefusedError, match="stdin is used for input"):
            FileStreamSourceConnector.alter_offsets(config, changes)


@pytest.mark.parametrize("position", ["5", 1.5, True])
def test_a_stored_offset_of_another_kind_fails_the_task(position: Primitive) -> None:
    with pytest.raises(FatalTaskError, match="Offset position is the incorrect type"):
        offsets.stored_position({"position": position})


def test_without_a_stored_offset_a_file_is_read_from_its_start() -> None:
    assert offsets.stored_position(None) == 0
    assert offsets.stored_position({}) == 0
    assert offsets.stored_position({"position": None}) == 0
    assert offsets.stored_position({"position": 7}) == 7
