"""The texts of an item, its key and its document, in the portable tier.

To parse an item, walk over it and write it is most of the work that a record costs. Items of one
table differ in little but their strings, so what has been found out about one serves the others.
An item's text is cut at the strings that stand behind a colon (contents of ``S``, ``N`` and ``B``;
arrays of strings likewise, which are sets). What is left is its *skeleton*: names, type letters,
punctuation, facts. For each skeleton, an item with marks in the place of the strings goes the long
way once, and its document is cut open where the marks stand: a *mould*, that the strings of other
items are poured into.

Why the bytes are those of the long way, whatever the text is:

- The item with marks is JSON. So the quote before each mark opens a string (were it the end of one,
  the mark behind it would be no JSON), and the quote behind it closes that. An item with the same
  skeleton is the same text up to there; then comes a string, whole; and so on to the end.
- What stands behind a colon is never a name. Which names there are, and whether twice, is decided
  by the skeleton.
- Only those strings are cut out that the long way writes as they came: valid UTF-8, without escapes
  but those that Jackson writes too.
- Writers of typed documents look into no string and no set, and refuse both where a map or a list
  has to be. All marks are found again, in their order, or there is no mould.

Whatever has no mould takes the long way, and errors are its errors. A skeleton has to be met twice
before there is a mould for it, the moulds of a table are bounded, and where they cost more than
they save (names that are data, an order that changes), they are given up.

The general road (``payload``) does without any of this: it is what the tests hold this to.
"""

from __future__ import annotations

import re
import secrets
from typing import Final, NamedTuple, TypeAlias

import orjson

from connectd.connectors.dynamodb.decode import Raw
from connectd.connectors.dynamodb.document import DocumentWriter, parse_item
from connectd.connectors.dynamodb.keys import KeySchema
from connectd.errors import ConvertError
from connectd.model import java_json

Texts: TypeAlias = tuple[tuple[str, ...], bytes]
"""The parts of an item's key, and its document."""

MOULDS_MAX: Final = 64
ITEM_BYTES_MAX: Final = 4_096
"""Of larger items there are no moulds; so those of a table take five megabytes at the very most."""

DEBT_MAX: Final = 10_000
"""Moulds are given up for a table when they have cost so much more than they saved. The unit is
what one saves for an item, a microsecond or two."""
_STRANGER_COST: Final = 2
_CAST_COST: Final = 15

_STRING: Final = rb'"[^"\\\x00-\x1f]*+(?:\\["\\bfnrt][^"\\\x00-\x1f]*+)*+"'
_CONTENT: Final = re.compile(rb":(%b|\[%b(?:,%b)*+\])" % (_STRING, _STRING, _STRING))

_MARK: Final = secrets.token_hex(20).encode()
"""Nobody can guess it."""
_ANY_MARK: Final = re.compile(rb'("%b-[0-9]+")' % _MARK)


class _Mould(NamedTuple):
    pieces: list[bytes]
    """Of the document: one before each string, and one behind."""
    quoted_pieces: list[bytes]
    """The same of the document as a JSON string."""
    key_places: tuple[int, ...]
    """Where the parts of the key stand among pieces and strings."""


class ItemTexts:
    """Reads the items of one table."""

    def __init__(self, key_schema: KeySchema, write_document: DocumentWriter) -> None:
        self._key_schema = key_schema
        self._write_document = write_document

    def texts(self, raw: Raw | bytes) -> Texts:
        """The texts of an item.

        Raises:
            ConvertError: as ``parse_item``, ``KeySchema.values`` and the writer do.
        """
        item = parse_item(raw)
        key = self._key_schema.values(item)
        return key, self._write_document(item)

    def quoted_texts(self, raw: Raw | bytes) -> Texts:
        """The same with the document as a JSON string, as ``java_json.quoted`` writes it."""
        key, document = self.texts(raw)
        return key, java_json.quoted(document)


class MouldedItemTexts(ItemTexts):
    """The same for typed documents, by moulds. One object may serve several threads."""

    def __init__(self, key_schema: KeySchema, write_document: DocumentWriter) -> None:
        super().__init__(key_schema, write_document)
        self._moulds: dict[tuple[bytes, ...], _Mould | None] = {}
        self._met: set[tuple[bytes, ...]] = set()
        self._debt = 0

    @property
    def moulds(self) -> int:
        """How many skeletons have been tried; bounded."""
        return len(self._moulds)

    def texts(self, raw: Raw | bytes) -> Texts:
        """See ``ItemTexts``."""
        found = self._found(raw)
        if found is None:
            return super().texts(raw)
        mould, key, parts = found
        parts[::2] = mould.pieces
        return key, b"".join(parts)

    def quoted_texts(self, raw: Raw | bytes) -> Texts:
        """See ``ItemTexts``."""
        found = self._found(raw)
        if found is None:
            key, document = super().texts(raw)
            return key, java_json.quoted(document)
        mould, key, parts = found
        parts[1::2] = java_json.quoted_parts(parts[1::2])
        parts[::2] = mould.quoted_pieces
        return key, b"".join(parts)

    def _found(self, raw: Raw | bytes) -> tuple[_Mould, tuple[str, ...], list[bytes]] | None:
        """An item's mould and key, and its text in parts: every second one is a string."""
        if self._debt > DEBT_MAX:
            return None
        text = bytes(raw)
        if len(text) > ITEM_BYTES_MAX or not (text.isascii() or _is_utf8(text)):
            return None
        parts = _CONTENT.split(text)
        skeleton = tuple(parts[::2])
        mould = self._moulds.get(skeleton)
        if mould is None:
            self._meet(skeleton)
            return None
        if self._debt > 0:
            self._debt -= 1
        key: tuple[str, ...] = ()
        for place in mould.key_places:
            part = orjson.loads(parts[place])
            if type(part) is not str:
                return None
            key += (part,)
        return mould, key, parts

    def _meet(self, skeleton: tuple[bytes, ...]) -> None:
        """There is no mould for an item; there may be one for the next of its kind."""
        self._debt += _STRANGER_COST
        if skeleton in self._met:
            self._met.discard(skeleton)
            self._debt += _CAST_COST
            if len(self._moulds) >= MOULDS_MAX:
                self._moulds.clear()
            self._moulds[skeleton] = self._cast(skeleton)
        elif skeleton not in self._moulds:
            if len(self._met) >= MOULDS_MAX:
                self._met.clear()
            self._met.add(skeleton)

    def _cast(self, skeleton: tuple[bytes, ...]) -> _Mould | None:
        marks = [b'"%b-%d"' % (_MARK, number) for number in range(len(skeleton) - 1)]
        first, *others = skeleton
        behind = (b":" + mark + piece for mark, piece in zip(marks, others, strict=True))
        try:
            key, document = super().texts(first + b"".join(behind))
        except ConvertError:
            return None
        pieces = _ANY_MARK.split(document)
        key_marks = [part.join('""').encode() for part in key]
        if pieces[1::2] != marks or not set(marks).issuperset(key_marks):
            return None
        return _Mould(
            pieces[::2],
            _quoted_pieces(pieces[::2]),
            tuple(2 * marks.index(mark) + 1 for mark in key_marks),
        )


def _quoted_pieces(pieces: list[bytes]) -> list[bytes]:
    """Of a document as a JSON string: with a quote before the first and behind the last one."""
    first, *others, last = java_json.quoted_parts(pieces)
    return [b'"' + first, *others, last + b'"']


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
