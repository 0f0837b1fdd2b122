"""A Protobuf file, as far as Connect's data need it: messages, their fields, and enums. Pure.

``protobuf_layout`` makes one of a Connect schema, ``protobuf_text`` writes it down,
``protobuf_grammar`` reads it back, and ``protobuf_types`` finds what its names stand for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

WRAPPERS: Final = (
    ("DoubleValue", "double"),
    ("FloatValue", "float"),
    ("Int64Value", "int64"),
    ("UInt64Value", "uint64"),
    ("Int32Value", "int32"),
    ("UInt32Value", "uint32"),
    ("BoolValue", "bool"),
    ("StringValue", "string"),
    ("BytesValue", "bytes"),
)
"""Messages of one scalar each, in the order of google/protobuf/wrappers.proto."""

WRAPPERS_PACKAGE: Final = "google.protobuf"
WRAPPERS_FILE: Final = "google/protobuf/wrappers.proto"

Enum = dict[str, int]
"""Numbers of an enum by their names."""


@dataclass
class ProtoField:
    """A line of a message.

    ``label`` is ``optional``, ``repeated`` or nothing; ``key`` is the type of a map's keys, whose
    values are of ``type``; ``one_of`` names the choice that the field is part of; ``params`` are
    what Confluent's ``field_meta`` says beside the type.
    """

    name: str
    number: int
    type: str
    label: str = ""
    params: dict[str, str] = field(default_factory=dict)
    one_of: str | None = None
    key: str | None = None


@dataclass
class ProtoMessage:
    """A message, and the types that are declared inside of it.

    ``is_map_entry``: a list of them is a map, spelled out.
    """

    name: str
    fields: list[ProtoField] = field(default_factory=list)
    messages: dict[str, ProtoMessage] = field(default_factory=dict)
    enums: dict[str, Enum] = field(default_factory=dict)
    is_map_entry: bool = False


@dataclass
class ProtoFile:
    """A file: its package, without which names have none, and what it declares, in its order."""

    package: str = ""
    messages: dict[str, ProtoMessage] = field(default_factory=dict)
    enums: dict[str, Enum] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)


def wrappers() -> ProtoFile:
    """The file of all wrappers."""
    messages = {name: ProtoMessage(name, [ProtoField("value", 1, kind)]) for name, kind in WRAPPERS}
    return ProtoFile(WRAPPERS_PACKAGE, messages)
