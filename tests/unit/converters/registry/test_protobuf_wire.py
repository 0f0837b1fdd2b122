"""Protobuf's wire: whatever there is on it is read as protoc's code reads it."""

from __future__ import annotations

import contextlib
import struct
from datetime import datetime
from typing import Any, Final

import pytest
from google.protobuf import message as runtime
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectd.converters import protobuf_wire as wire
from connectd.errors import ConvertError
from connectd.model import logical
from connectd.model.schema import Struct
from tests.unit.converters.registry.protobuf_records import EVERYTHING, message_class, read


def as_runtime(found: Any) -> dict[str, Any]:
    """A message of protoc's code, as ``as_ours`` has it."""
    known: dict[str, Any] = {}
    for field in found.DESCRIPTOR.fields:
        value, is_message = getattr(found, field.name), field.message_type is not None
        if is_message and field.message_type.GetOptions().map_entry:
            inner = field.message_type.fields_by_name["value"]
            known[field.name] = {key: _runtime_value(inner, value[key]) for key in value}
        elif field.is_repeated:
            known[field.name] = [_runtime_value(field, each) for each in value]
        elif field.has_presence and not found.HasField(field.name):
            known[field.name] = None
        else:
            known[field.name] = _runtime_value(field, value)
    return known


def _runtime_value(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        if field.message_type.name == "Timestamp":
            return value.seconds * 1000 + value.nanos // 1_000_000
        return as_runtime(value)
    if field.enum_type is not None:
        name = field.enum_type.values_by_number.get(value)
        return f"UNKNOWN_ENUM_VALUE_Kind_{value}" if name is None else name.name
    if field.name in ("s", "x") and value >= 1 << 63:
        return value - (1 << 64)  # Java has no number without sign
    return _comparable(value)


def as_ours(value: Any) -> Any:
    """A value of Connect, with the members of choices beside the others."""
    match value:
        case Struct():
            known: dict[str, Any] = {}
            for field, each in value.items():
                if field.name == "choice_0":
                    nothing = Struct(field.schema, (None,) * len(field.schema.fields))
                    choice = each if isinstance(each, Struct) else nothing
                    known |= {member.name: as_ours(part) for member, part in choice.items()}
                else:
                    known[field.name] = as_ours(each)
            return known
        case list():
            return [as_ours(each) for each in value]
        case dict():
            return {key: as_ours(each) for key, each in value.items()}
        case datetime():
            return logical.epoch_ms(value)
    return _comparable(value)


def _comparable(value: Any) -> Any:
    return struct.pack("<d", value) if isinstance(value, float) else value


_NUMBERS: Final = st.one_of(
    st.integers(0, 300), st.integers(0, (1 << 64) - 1), st.sampled_from([(1 << 31), (1 << 64) - 1])
)
_VARINTS: Final = _NUMBERS.map(wire.varint)


_MAPS: Final = (9, 24)
_CHOICES: Final = (10, 11, 12)


@st.composite
def _pair(draw: st.DrawFn, number: int) -> bytes:
    """A pair of a map, perhaps without its key or value; of their types, or readers differ."""
    names = st.text(max_size=2).map(wire.text)
    keys, members = (names, _VARINTS) if number == _MAPS[0] else (_VARINTS, _fields(1))
    found = b""
    if draw(st.booleans()):
        found += wire.tag(1, wire.LENGTH if keys is names else wire.VARINT) + draw(keys)
    if draw(st.booleans()):
        member = draw(members)
        is_number = members is _VARINTS
        found += wire.tag(2, wire.VARINT) + member if is_number else b""
        found += b"" if is_number else wire.tag(2, wire.LENGTH) + wire.delimited(member)
    return found


@st.composite
def _fields(draw: st.DrawFn, depth: int = 2) -> bytes:
    """Fields of any number and type, well formed as far as the wire goes."""
    found = b""
    some = draw(st.lists(st.integers(1, 27 if depth == 2 else 4), min_size=1, max_size=3))
    for _ in range(draw(st.integers(0, 5))):
        number = draw(st.sampled_from([*some, *_CHOICES] if depth == 2 else some))
        if depth == 2 and number in _MAPS:
            found += wire.tag(number, wire.LENGTH) + wire.delimited(draw(_pair(number)))
            continue
        wire_type = draw(st.sampled_from([0, 0, 1, 2, 2, 2, 5]))
        match wire_type:
            case wire.VARINT:
                content = draw(_VARINTS)
            case wire.EIGHT_BYTES:
                content = draw(st.binary(min_size=8, max_size=8))
            case wire.FOUR_BYTES:
                content = draw(st.binary(min_size=4, max_size=4))
            case _:
                choices: list[st.SearchStrategy[bytes]] = [
                    st.text(max_size=3).map(lambda text: text.encode()),
                    st.lists(_VARINTS, max_size=3).map(b"".join),
                    st.binary(max_size=16),
                ]
                if depth:
                    choices += [_fields(depth - 1)] * 3
                content = wire.delimited(draw(st.one_of(choices)))
        found += wire.tag(number, wire_type) + content
    return found


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=_fields())
def test_whatever_the_wire_has_is_read_as_protocs_code_reads_it(data: bytes) -> None:
    try:
        expected = as_runtime(message_class(EVERYTHING).FromString(data))
    except runtime.DecodeError:
        with contextlib.suppress(ConvertError):  # what a later value replaces is not looked at
            read(EVERYTHING, data)
        return
    if (
        expected["y"] is not None
        and not -62_135_596_800_000 <= expected["y"] <= 253_402_300_799_999
    ):
        with pytest.raises(ConvertError, match="outside of the years"):
            read(EVERYTHING, data)
        return
    assert as_ours(read(EVERYTHING, data)[1]) == expected


@given(data=st.binary(max_size=40))
def test_bytes_of_any_kind_are_a_message_or_refused(data: bytes) -> None:
    with contextlib.suppress(ConvertError):
        read(EVERYTHING, data)


@pytest.mark.parametrize(
    "parts",
    [
        [{"a": 1}, {"a": 2}],
        [{"j": 1}, {"k": "x"}],
        [{"k": "x"}, {"l": {"x": 1}}, {"j": 0}],
        [{"l": {"x": 1}}, {"l": {"y": "x"}}],
        [{"l": {"x": 1}}, {"j": 5}, {"l": {"y": "x"}}],
        [{"h": {"x": 1, "z": [1]}}, {"h": {"y": "b", "z": [2]}}],
        [{"e": [1, 2]}, {"a": 7}, {"e": [3]}],
        [{"i": {"a": 1, "b": 2}}, {"i": {"b": 3}}],
        [{"w": 0}, {"z": {}}, {"m": "LOW", "t": ["HIGH", "NONE"]}],
    ],
)
def test_a_message_in_parts_is_one_message(parts: list[dict[str, Any]]) -> None:
    cls = message_class(EVERYTHING)
    data = b"".join(cls(**part).SerializeToString() for part in parts)
    assert as_ours(read(EVERYTHING, data)[1]) == as_runtime(cls.FromString(data))
