"""What a record must say about an item, told by others: the standard library's JSON, and boto3.

Nothing here is connectd's. A typed document is read back and compared with the item whose letters
are lowered; a plain one with what boto3's ``TypeDeserializer`` makes of the item, which is what
programs see; names of attributes with a second, plain reading of their rule (spec
dynamodb-connector 4.3: what Avro does not know is deleted, where no attribute is lost by it).
"""

from __future__ import annotations

import base64
import json
import string
from collections import Counter
from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Any, Literal

from boto3.dynamodb.types import Binary, TypeDeserializer

from tests.kit.items import Item, lowered

_FIRST = string.ascii_letters + "_"
_LATER = _FIRST + string.digits


class _OfTheWire(TypeDeserializer):
    """boto3's, for binary as base64 and for numbers that are longer than DynamoDB's own."""

    def _deserialize_n(self, value: str) -> Decimal:
        return Decimal(value)

    def _deserialize_b(self, value: str) -> Binary:
        return Binary(base64.b64decode(value))


_DESERIALIZER: Any = _OfTheWire()


def is_document(text: str, item: Item, form: Literal["typed", "plain"], *, sanitised: bool) -> bool:
    """Whether ``text`` is the document of the item; ``sanitised``: typed, with cleaned names."""
    if form == "plain":
        found = json.loads(text, parse_int=Decimal, parse_float=Decimal)
        return list(found) == list(item) and all(
            _is_plain(found[name], _DESERIALIZER.deserialize(value)) for name, value in item.items()
        )
    wanted = lowered(item)
    if sanitised:
        names = sanitised_names(item)
        wanted = {names[name]: value for name, value in wanted.items()}
    return _same_json(json.loads(text), wanted)


def is_key(text: bytes, item: Item, names: Sequence[str], *, sanitised: bool) -> bool:
    """Whether ``text`` is the key of the item without schema; ``names`` are its key attributes."""
    fields = sanitised_names(names) if sanitised else {name: name for name in names}
    wanted = {fields[name]: next(iter(item[name].values())) for name in names}
    return _same_json(json.loads(text), wanted)


def sanitised_names(names: Collection[str]) -> dict[str, str]:
    """What the attributes of one item are called, by their names."""
    clean = {name: _cleaned(name) for name in names}
    claims = Counter(clean.values())
    return {
        name: new if new and claims[new] == 1 and new not in clean else name
        for name, new in clean.items()
    }


def _cleaned(name: str) -> str:
    kept = [each for each in name[1:] if each in _LATER]
    return "".join(kept if name[0] not in _FIRST else [name[0], *kept])


def _same_json(found: object, wanted: object) -> bool:
    """The same values, members in the same order."""
    return json.dumps(found) == json.dumps(wanted)


def _is_plain(found: Any, wanted: Any) -> bool:
    """Whether JSON says what boto3 says, as far as JSON can: sets are arrays, binary is base64."""
    if isinstance(wanted, Binary):
        return bool(wanted == base64.b64decode(found, validate=True))
    if isinstance(wanted, set):
        members = (
            {Binary(base64.b64decode(each)) for each in found} if _is_binary(wanted) else found
        )
        return type(found) is list and set(members) == wanted
    if type(found) is not type(wanted):
        return False
    if isinstance(wanted, dict):
        return list(found) == list(wanted) and all(map(_is_plain, found.values(), wanted.values()))
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(_is_plain, found, wanted))
    return bool(found == wanted)


def _is_binary(members: set[Any]) -> bool:
    return any(isinstance(each, Binary) for each in members)
