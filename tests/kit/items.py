"""DynamoDB items for tests: samples that have broken others, and strategies that find more.

Everything is DynamoDB JSON as Python objects (``{"id": {"S": "5028"}}``); ``scan_body`` and
``records_body`` make response bodies of them, as bytes of the wire. ``lowered`` is a second, plain
implementation of the typed document, for comparison.

``CONNECTD_EXAMPLES=20000`` asks every property for that many examples instead of CI's few.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Sequence
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

Value = dict[str, Any]
Item = dict[str, Value]

examples = settings(max_examples=int(os.environ.get("CONNECTD_EXAMPLES", "80")), deadline=None)
"""How often a property is tried, as a decorator of the test; no deadline on a busy machine."""

TYPE_LETTERS = ("S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "M", "L")

AWKWARD_NAMES = (
    *TYPE_LETTERS,
    *(letter.lower() for letter in TYPE_LETTERS),
    *("a-b", "ab", "a.b", "@x", "/x", "1a", "a", "名前", "naïve", "😀", "name ", "-", "9", "99"),
    *(
        'q"uote',
        "back\\slash",
        "{",
        "}",
        '{"S":"',
        '"},{"M":{',
        "\\u001f",
        "tab\t",
        "nul\0",
        "#data",
    ),
)

ALL_TYPES: Item = {
    "id": {"S": "5028"},
    "empty": {"S": ""},
    "text": {"S": 'NUL \x00, emoji 😀, "quoted", back\\slash, \x1f\x7f\u2028, </script>'},
    "n38": {"N": "12345678901234567890123456789012345678"},
    "n40": {"N": "1234567895171680000000000000000000000000"},
    "n101": {"N": "1" + "0" * 100},
    "small": {"N": "-1.5E-130"},
    "bytes": {"B": base64.b64encode(b"\x00\xff").decode()},
    "no bytes": {"B": ""},
    "yes": {"BOOL": True},
    "no": {"BOOL": False},
    "nothing": {"NULL": True},
    "texts": {"SS": ["1aa", "2aa"]},
    "numbers": {"NS": ["3", "1"]},
    "blobs": {"BS": ["AQ==", "AgM="]},
    "list": {"L": [{"NULL": True}, {"S": ""}, {"L": []}, {"M": {}}, {"N": "1"}]},
    "map": {"M": {"M": {"M": {"L": {"L": []}}}, "S": {"S": "S"}, "NULL": {"NULL": True}}},
    "a-b": {"S": "hyphen"},
    "ab": {"S": "plain"},
    "a.b": {"S": "dot"},
    "@x": {"S": "at"},
    "1a": {"S": "digit first"},
    "名前": {"S": "名前"},
    "name ": {"S": "blank at the end"},
    "M": {"S": "an attribute called M"},
}
"""One item with every type and with names that other software has tripped over."""


def nested(depth: int) -> Value:
    """A value nested as deep as asked, maps and lists in turn, around a text."""
    value: Value = {"S": "at the bottom"}
    for level in range(depth):
        value = {"M": {"M": value}} if level % 2 else {"L": [value]}
    return value


def lowered(item: Item) -> dict[str, Value]:
    """The typed document of an item, as Python objects."""
    return {name: _lowered_value(value) for name, value in item.items()}


def _lowered_value(value: Value) -> Value:
    ((letter, content),) = value.items()
    if letter == "M":
        return {"m": lowered(content)}
    if letter == "L":
        return {"l": [_lowered_value(element) for element in content]}
    return {letter.lower(): content}


def wire(value: object, *, ascii_only: bool = False) -> bytes:
    """Compact JSON, as the service sends it; ``ascii_only`` escapes what need not be escaped."""
    return json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":")).encode()


def scan_body(
    items: Sequence[Item], *, last_evaluated_key: Item | None = None, ascii_only: bool = False
) -> bytes:
    """The body of a Scan response."""
    body: dict[str, Any] = {
        "ConsumedCapacity": {"CapacityUnits": 128.5, "TableName": "orders"},
        "Count": len(items),
        "Items": list(items),
        "ScannedCount": len(items),
    }
    if last_evaluated_key is not None:
        body["LastEvaluatedKey"] = last_evaluated_key
    return wire(body, ascii_only=ascii_only)


def stream_record(
    event_name: str,
    keys: Item,
    *,
    new_image: Item | None = None,
    old_image: Item | None = None,
    user_identity: dict[str, str] | None = None,
    created_s: float = 1557387726,
    sequence_number: str = "123400000000012345678901",
) -> dict[str, Any]:
    """One member of ``Records`` in a GetRecords response."""
    change: dict[str, Any] = {
        "ApproximateCreationDateTime": created_s,
        "Keys": keys,
        "SequenceNumber": sequence_number,
        "SizeBytes": 26,
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    }
    if new_image is not None:
        change["NewImage"] = new_image
    if old_image is not None:
        change["OldImage"] = old_image
    record: dict[str, Any] = {
        "awsRegion": "eu-west-1",
        "dynamodb": change,
        "eventID": "c4ca4238a0b923820dcc509a6f75849b",
        "eventName": event_name,
        "eventSource": "aws:dynamodb",
        "eventVersion": "1.1",
    }
    if user_identity is not None:
        record["userIdentity"] = user_identity
    return record


def records_body(
    records: Sequence[dict[str, Any]],
    *,
    next_iterator: str | None = "arn:aws:dynamodb:…|1|AAAA",
    ascii_only: bool = False,
) -> bytes:
    """The body of a GetRecords response."""
    body: dict[str, Any] = {"Records": list(records)}
    if next_iterator is not None:
        body["NextShardIterator"] = next_iterator
    return wire(body, ascii_only=ascii_only)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
"""Any text that UTF-8 can carry: control characters, quotes, non-BMP."""

names = st.sampled_from(AWKWARD_NAMES) | texts.filter(bool)
"""Attribute names, with those that look like syntax well represented."""

numbers = st.one_of(
    st.integers(-(10**38) + 1, 10**38 - 1).map(str),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.sampled_from(["0", "-0.5", "1.5E+2", "1E-130", "9.99E+125"]),
)
"""Decimal text in forms that DynamoDB and its emulators give."""

blobs = st.binary(max_size=12).map(lambda data: base64.b64encode(data).decode())


def _sets_of(elements: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(elements, min_size=1, max_size=4, unique=True)


_scalars: st.SearchStrategy[Value] = st.one_of(
    st.fixed_dictionaries({"S": texts}),
    st.fixed_dictionaries({"N": numbers}),
    st.fixed_dictionaries({"B": blobs}),
    st.fixed_dictionaries({"BOOL": st.booleans()}),
    st.fixed_dictionaries({"NULL": st.just(True)}),
    st.fixed_dictionaries({"SS": _sets_of(texts)}),
    st.fixed_dictionaries({"NS": _sets_of(numbers)}),
    st.fixed_dictionaries({"BS": _sets_of(blobs)}),
)

values: st.SearchStrategy[Value] = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"M": st.dictionaries(names, inner, max_size=4)}),
        st.fixed_dictionaries({"L": st.lists(inner, max_size=4)}),
    ),
    max_leaves=12,
)
"""Attribute values of every type, nested."""

key_values: dict[str, st.SearchStrategy[str]] = {
    "S": texts.filter(bool),
    "N": numbers,
    "B": st.binary(min_size=1, max_size=12).map(lambda data: base64.b64encode(data).decode()),
}
"""Contents of key attributes, by type letter."""


def keys(key: Sequence[tuple[str, str]]) -> st.SearchStrategy[Item]:
    """The key attributes of an item, for key attributes given as (name, type letter)."""
    return st.fixed_dictionaries(
        {name: st.fixed_dictionaries({letter: key_values[letter]}) for name, letter in key}
    )


@st.composite
def items(draw: st.DrawFn, key: Sequence[tuple[str, str]] = (("id", "S"),)) -> Item:
    """Whole items with such a key, their attributes in any order."""
    item = draw(st.dictionaries(names, values, max_size=6)) | draw(keys(key))
    order = draw(st.permutations(sorted(item)))
    return {name: item[name] for name in order}
