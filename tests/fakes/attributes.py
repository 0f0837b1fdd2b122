"""DynamoDB attribute values: validation, the canonical form, and the size that AWS bills.

An item is kept as the bytes of its canonical wire form: attributes sorted by name, sets sorted,
numbers in DynamoDB's normal form. Equal items have equal bytes, which is how writes without
effect are recognised; AWS promises no order of attributes or set elements either.
"""

from __future__ import annotations

import base64
import binascii
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import orjson

from tests.fakes.wire import validation

ITEM_BYTES_MAX = 400 * 1024
_DEPTH_MAX = 32
_SIGNIFICANT_DIGITS_MAX = 38

AttributeValue = dict[str, Any]
Item = dict[str, AttributeValue]


class StoredItem(NamedTuple):
    """An item at rest: canonical wire bytes, and its size in bytes by DynamoDB's rules."""

    wire: bytes
    size: int


def stored(item: Item) -> StoredItem:
    """Validate an item and bring it into its canonical form.

    Raises:
        AwsError: ValidationException, in AWS's words where they are known.
    """
    canonical, size = canonical_item(item)
    return StoredItem(encode(canonical), size)


def encode(canonical: Item) -> bytes:
    """The wire bytes of an item that is already canonical."""
    return orjson.dumps(canonical, option=orjson.OPT_SORT_KEYS)


def canonical_item(item: object) -> tuple[Item, int]:
    """An item's canonical form and its size in bytes (names and values)."""
    if not isinstance(item, dict):
        raise validation("Item must be a map of attribute values")
    canonical: Item = {}
    size = 0
    for name, value in item.items():
        canonical[name], value_size = canonical_value(value)
        size += len(name.encode()) + value_size
    return canonical, size


def canonical_value(value: object, depth: int = 1) -> tuple[AttributeValue, int]:
    """One attribute value's canonical form and its size in bytes."""
    if depth > _DEPTH_MAX:
        raise validation("Nesting Levels have exceeded supported limits")
    if not isinstance(value, dict) or len(value) != 1:
        raise validation(
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one "
            "of the supported datatypes"
            if isinstance(value, dict) and value
            else "Supplied AttributeValue is empty, must contain exactly one of the supported "
            "datatypes"
        )
    ((tag, content),) = value.items()
    if tag in ("L", "M"):
        return _canonical_document(tag, content, depth)
    if tag in ("SS", "NS", "BS"):
        return _canonical_set(tag, content)
    if tag == "BOOL" and isinstance(content, bool):
        return {tag: content}, 1
    if tag == "NULL":
        if content is not True:
            raise validation(
                "One or more parameter values were invalid: Null attribute value types must have "
                "the value of true"
            )
        return {tag: True}, 1
    text, size = _canonical_scalar(tag, content)
    return {tag: text}, size


def _canonical_scalar(tag: str, content: object) -> tuple[str, int]:
    if not isinstance(content, str):
        raise validation(f"Unexpected value for attribute type {tag}")
    if tag == "S":
        return content, len(content.encode())
    if tag == "N":
        number = canonical_number(content)
        return number, number_size(number)
    if tag == "B":
        return content, len(decode_binary(content))
    raise validation(
        "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
    )


def _canonical_document(tag: str, content: object, depth: int) -> tuple[AttributeValue, int]:
    size = 3
    if tag == "L" and isinstance(content, list):
        elements = []
        for element in content:
            canonical, element_size = canonical_value(element, depth + 1)
            elements.append(canonical)
            size += 1 + element_size
        return {"L": elements}, size
    if tag == "M" and isinstance(content, dict):
        members: Item = {}
        for name, member in content.items():
            members[name], member_size = canonical_value(member, depth + 1)
            size += 1 + len(name.encode()) + member_size
        return {"M": members}, size
    raise validation(f"Unexpected value for attribute type {tag}")


_SET_NAMES = {"SS": "An string set", "NS": "An number set", "BS": "Binary sets"}


def _canonical_set(tag: str, content: object) -> tuple[AttributeValue, int]:
    if not isinstance(content, list) or not content:
        raise validation(
            f"One or more parameter values were invalid: {_SET_NAMES[tag]} may not be empty"
        )
    scalars = [_canonical_scalar(tag[0], element) for element in content]
    texts = [text for text, _ in scalars]
    if len(set(texts)) != len(texts):
        raise validation(
            "One or more parameter values were invalid: Input collection "
            f"[{', '.join(texts)}] contains duplicates."
        )
    order: Any = {"SS": str.encode, "NS": Decimal, "BS": decode_binary}[tag]
    return {tag: sorted(texts, key=order)}, sum(size for _, size in scalars)


def decode_binary(text: str) -> bytes:
    """The bytes of a B value."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise validation("Invalid base64 data in an attribute value of type B") from None


def canonical_number(text: str) -> str:
    """DynamoDB's normal form of a number: plain digits, no leading or trailing zeros.

    At most 38 significant digits, magnitude 1E-130 to 9.99…E+125.
    """
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or text != text.strip() or "_" in text:
        raise validation(f"The parameter cannot be converted to a numeric value: {text}")
    if not number:
        return "0"
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    significant = "".join(map(str, digits)).strip("0")
    if len(significant) > _SIGNIFICANT_DIGITS_MAX:
        raise validation("Attempting to store more than 38 significant digits in a Number")
    if number.adjusted() > 125:
        raise validation(
            "Number overflow. Attempting to store a number with magnitude larger than supported "
            "range"
        )
    if number.adjusted() < -130:
        raise validation(
            "Number underflow. Attempting to store a number with magnitude smaller than supported "
            "range"
        )
    plain = format(number, "f")
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    unsigned = plain.lstrip("-").lstrip("0")
    if not unsigned or unsigned.startswith("."):
        unsigned = "0" + unsigned
    return ("-" if sign else "") + unsigned


def number_size(canonical: str) -> int:
    """The size of a number: one byte per two significant digits, plus one, plus one if negative."""
    significant = canonical.lstrip("-").replace(".", "").strip("0")
    return (len(significant) + 1) // 2 + 1 + canonical.startswith("-")
