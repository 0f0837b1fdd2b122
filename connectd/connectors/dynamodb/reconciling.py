"""What it means that a topic holds the same as a table: keys, states, differences, the report.

A topic stands for the last record of each key. That record says a *state*: the item as it is, or
that there is none (a tombstone, or an envelope with operation ``d``). ``StateReader`` turns the
bytes of a value into such a state, once for the record that the connector would write of the item
today and once for the record that is there. Two states are the same when their digests are.

What a record of a scan and one of the stream say differently by nature is left out where the value
is our envelope: ``op``, ``ts_ms``, ``old_document``, ``user_identity`` and everything about the
initial scan in ``source``. The document is compared by content: members in any order, sets in any
order, numbers digit for digit. Other JSON is compared by content as a whole, everything else byte
for byte; ``Compared`` says which of them it was.

A topic may be shared: a record that is there may be another table's, and hold the key. Then its
state is not what it says but whose it is (``owner_of``), so that no older record of the own table
is ever taken for the key's last.

Pure; keys are bytes, since that is what Kafka's compaction goes by.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple

import orjson

from connectd.connectors.dynamodb.envelope import Operation
from connectd.connectors.dynamodb.plan import JSON_CONVERTER
from connectd.errors import ConvertError
from connectd.model.schema import Struct
from connectd.plugins import spi

Decode = Callable[[str, bytes], object]
"""The content of a key or value in a topic, as ``plain_data``. Raises ``ConvertError``."""

DIGEST_BYTES: Final = 16
"""128 bits: among ten billion keys two would be taken for one with a probability of 10^-19."""

_BY_NATURE: Final = ("op", "ts_ms", "old_document", "user_identity")
_OF_INIT_SYNC: Final = "init_sync"
# The first byte of a digest says what it is of; behind the last two stands text: the name of a
# table, and why an item cannot be converted.
_DOCUMENT: Final = b"d"
_JSON: Final = b"j"
_BYTES: Final = b"b"
_FOREIGN: Final = b"f"
_UNCONVERTIBLE: Final = b"u"

REASON_BYTES_MAX: Final = 300
"""Of why an item cannot be converted: a disk must not fill with one sentence."""

NO_TOPIC: Final = ""
"""Where an item stands that cannot be converted: nobody knows its topic, nor the key there."""

_DIGITS: Final = "\0number"
_SCHEMA_AND_PAYLOAD: Final = frozenset({"schema", "payload"})
_SETS: Final = frozenset({"ss", "ns", "bs"})
_SET_LETTERS: Final = tuple(f'"{letter}"' for letter in _SETS)


class Compared(Enum):
    """How values were compared."""

    DOCUMENTS = "documents"
    JSON = "json"
    BYTES = "bytes"


class Kind(Enum):
    """The ways to differ."""

    MISSING = "missing"
    """In the table, and not in the topic."""
    STALE = "stale"
    """In both; the topic says something else."""
    EXTRA = "extra"
    """In the topic, and not in the table."""
    CONFLICT = "conflict"
    """In the table, and the key's last record is another table's."""
    UNCONVERTIBLE = "unconvertible"
    """In the table, and the connector cannot make a record of it."""


class State(NamedTuple):
    """What a value says: a digest of the item's state, None for "there is none".

    ``table`` is the table that it names, None where it names none.
    """

    digest: bytes | None
    compared: Compared
    table: str | None


DELETED: Final = State(None, Compared.DOCUMENTS, None)


def key_id(topic: str, key: bytes | None) -> bytes:
    """What a key is known by."""
    return _digest(b"k", topic.encode(), b"\0" if key is None else b"\1" + key)


def item_id(item_key: bytes) -> bytes:
    """What an item is known by that has no key in a topic; ``item_key`` is DynamoDB's JSON."""
    return _digest(b"i", item_key)


def unconvertible(reason: str) -> bytes:
    """What stands for the record of an item that cannot be converted."""
    text = reason.encode(errors="backslashreplace")[:REASON_BYTES_MAX]
    return _UNCONVERTIBLE + text


def reason_of(digest: bytes | None) -> str | None:
    """Why an item cannot be converted; None: it can."""
    if digest is None or digest[:1] != _UNCONVERTIBLE:
        return None
    return digest[1:].decode(errors="ignore")


def kind_of(expected: bytes | None, found: bytes | None) -> Kind | None:
    """How two states differ, by their digests; None: they do not."""
    is_foreign = owner_of(found) is not None
    if expected == found or (is_foreign and expected is None):
        return None
    if reason_of(expected) is not None:
        return Kind.UNCONVERTIBLE
    if is_foreign:
        return Kind.CONFLICT
    if expected is None:
        return Kind.EXTRA
    return Kind.MISSING if found is None else Kind.STALE


def owner_of(digest: bytes | None) -> str | None:
    """The other table that a key's last record is of; None: it is of none."""
    return digest[1:].decode() if digest is not None and digest[:1] == _FOREIGN else None


def names_table(digest: bytes | None) -> bool:
    """Whether a record names the table that it is of, so that it is surely not another's."""
    return digest is not None and digest[:1] == _DOCUMENT


class StateReader:
    """Reads values of one table of one connector; see the module's docstring."""

    def __init__(self, decode: Decode | None, table: str, *, plain_documents: bool) -> None:
        """``decode`` is None for a converter whose bytes do not tell what was put in."""
        self._decode = decode
        self._table = table
        self._document = _plain_content if plain_documents else _typed_content

    def found(self, topic: str, value: bytes | None) -> State:
        """The state of a record that is there, which may be another table's."""
        state = self.read(topic, value)
        if state.digest is None or state.table is None or not self.is_foreign(state):
            return state
        return state._replace(digest=_FOREIGN + state.table.encode(errors="backslashreplace"))

    def is_foreign(self, state: State) -> bool:
        """Whether a record is another table's."""
        return state.table is not None and state.table != self._table

    def read(self, topic: str, value: bytes | None) -> State:
        """The state that a value says, whosever it is."""
        if value is None:
            return DELETED
        members = self._members(topic, value)
        if not isinstance(members, dict):
            return State(_digest(_BYTES, value), Compared.BYTES, None)
        table = _table_of(members)
        if table is None:
            return State(_digest(_JSON, _canonical(members)), Compared.JSON, None)
        if members.get("op") == Operation.DELETE.value:
            return State(None, Compared.DOCUMENTS, table)
        told = {name: each for name, each in members.items() if name not in _BY_NATURE}
        told["source"] = {
            name: each
            for name, each in members["source"].items()
            if not name.startswith(_OF_INIT_SYNC)
        }
        told["document"] = self._document(members["document"])
        return State(_digest(_DOCUMENT, _canonical(told)), Compared.DOCUMENTS, table)

    def _members(self, topic: str, value: bytes) -> object:
        if self._decode is None:
            return None
        try:
            return self._decode(topic, value)
        except ConvertError:
            return None  # written by something else: it is compared as it is


def decoder(converter: spi.Converter) -> Decode:
    """What reads the bytes of a converter."""
    if converter.spec.class_name == JSON_CONVERTER:
        carries = converter.spec.setting("schemas.enable", "true").strip().lower() == "true"
        return json_decoder(carries_schema=carries)
    return lambda topic, data: plain_data(converter.to_connect_data(topic, data)[1])


def json_decoder(*, carries_schema: bool) -> Decode:
    """Reads what JsonConverter has written, with every digit of its numbers."""

    def decode(_: str, data: bytes) -> object:
        value = _parsed(data)
        if carries_schema and isinstance(value, dict) and value.keys() == _SCHEMA_AND_PAYLOAD:
            return value["payload"]
        return value

    return decode


def _parsed(text: str | bytes) -> Any:
    try:
        return _READER.decode(text if isinstance(text, str) else text.decode())
    except (ValueError, RecursionError) as error:
        raise ConvertError(f"reading {len(text)} bytes as JSON: {error}") from error


def _number(digits: str) -> dict[str, str]:
    """A number as its digits: as a float it would lose some, as text it would be a text."""
    return {_DIGITS: digits}


def digits_of(value: Mapping[str, Any]) -> str | None:
    """The digits of what ``_number`` made; None: this is a real object."""
    return value.get(_DIGITS) if len(value) == 1 else None


_READER: Final = json.JSONDecoder(parse_float=_number, parse_int=_number)
_WRITER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=repr)


def plain_data(value: object) -> object:
    """Connect data without schemas: structs and maps become dicts, the rest stays."""
    if isinstance(value, Struct):
        return {each.name: plain_data(member) for each, member in value.items()}
    if isinstance(value, Mapping):
        return {str(name): plain_data(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(member) for member in value]
    return value


def _table_of(members: Mapping[str, Any]) -> str | None:
    """The table that an envelope names; None: this is no envelope."""
    source, document = members.get("source"), members.get("document")
    if not isinstance(source, dict) or not isinstance(document, str) or "version" not in members:
        return None
    table = source.get("table_name")
    return table if isinstance(table, str) else None


def _typed_content(text: str) -> object:
    """The document with its members in order, as text: faster to digest than its parts."""
    try:
        item = orjson.loads(text)
        if isinstance(item, dict) and any(letter in text for letter in _SET_LETTERS):
            item = _sorted_sets(item)
        return orjson.dumps(item, option=orjson.OPT_SORT_KEYS).decode()
    except (ValueError, TypeError):
        return text


def _sorted_sets(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _sorted_value(value) for name, value in attributes.items()}


def _sorted_value(value: Any) -> Any:
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((letter, content),) = value.items()
    if letter in _SETS and isinstance(content, list):
        return {letter: sorted(content, key=str)}
    if letter == "m" and isinstance(content, dict):
        return {letter: _sorted_sets(content)}
    if letter == "l" and isinstance(content, list):
        return {letter: [_sorted_value(each) for each in content]}
    return value


def _plain_content(text: str) -> object:
    try:
        return _parsed(text)
    except ConvertError:
        return text


def _canonical(value: object) -> bytes:
    return _WRITER.encode(value).encode()


def _digest(kind: bytes, *parts: bytes) -> bytes:
    digest = hashlib.blake2b(kind, digest_size=DIGEST_BYTES)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return kind + digest.digest()


@dataclass(frozen=True)
class Difference:
    """One key that differs. Partition and offset are those of its last record, if it has one;
    ``held_by`` is the other table that this record is of, ``reason`` why the item cannot be
    converted."""

    kind: Kind
    topic: str
    key: object
    partition: int | None
    offset: int | None
    held_by: str | None = None
    reason: str | None = None

    def to_json(self) -> dict[str, object]:
        """Members in a fixed order."""
        return {
            "kind": self.kind.value,
            "topic": self.topic,
            "key": self.key,
            "partition": self.partition,
            "offset": self.offset,
            "held_by": self.held_by,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Counts:
    """How much was compared, and how it came out.

    ``items``: of the table, all of them. ``records``: read from the topics. ``keys``: that the
    topics have a state of. ``skipped``: items that a transform drops, or makes a tombstone of, so
    that the topic is to have nothing of them. ``foreign``: records of other tables. ``unchecked``:
    differences that were not looked at a second time.
    """

    items: int = 0
    records: int = 0
    keys: int = 0
    equal: int = 0
    missing: int = 0
    stale: int = 0
    extra: int = 0
    skipped: int = 0
    foreign: int = 0
    unchecked: int = 0
    conflict: int = 0
    unconvertible: int = 0

    @property
    def different(self) -> int:
        """All kinds together."""
        return self.missing + self.stale + self.extra + self.conflict + self.unconvertible

    def plus(self, other: Counts) -> Counts:
        """Both together."""
        return Counts(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def minus(self, other: Counts) -> Counts:
        """What is left without the other."""
        return Counts(*(a - b for a, b in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class Repaired:
    """What a repair has written, all of it acknowledged."""

    records: int
    tombstones: int


@dataclass(frozen=True)
class Exported:
    """The export that was compared instead of the table; ``time`` is that of its picture."""

    arn: str
    time: str | None


@dataclass(frozen=True)
class Report:
    """The answer. ``differences`` are the first few; ``counts`` has them all."""

    connector: str
    table: str
    topics: tuple[str, ...]
    compared: Compared
    counts: Counts
    differences: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()
    repaired: Repaired | None = field(default=None)
    export: Exported | None = None

    @property
    def is_equal(self) -> bool:
        """Whether the topic is the table."""
        return not self.counts.different

    def to_json(self) -> dict[str, object]:
        """As ``--json`` prints it; no member ever goes away."""
        repaired, export = self.repaired, self.export
        return {
            "connector": self.connector,
            "table": self.table,
            "topics": list(self.topics),
            "equal": self.is_equal,
            "compared": self.compared.value,
            "counts": dict(vars(self.counts)),
            "differences": [each.to_json() for each in self.differences],
            "notes": list(self.notes),
            "repaired": None if repaired is None else dict(vars(repaired)),
            "export": None if export is None else dict(vars(export)),
        }
